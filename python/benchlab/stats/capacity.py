"""The search for the highest rate that keeps a target: which rate is next, and what was found.

A step is one rate that was measured, and it kept the target, broke it, or could not tell. Over the
steps of one session the capacity lies between a kept and a broken rate. Where each session places
its steps is shifted by chance, evenly over one such gap on the log scale: the middle of the gap is
then off by an error whose mean is zero whatever the capacity is (dithered quantization: Schuchman
1964; Widrow and Kollár 2008, ch. 19), so that the sessions' middles may be treated like any other
values. Absent: measuring, and how a step is decided (`judge.capacity`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from random import Random
from typing import Literal

Outcome = Literal["kept", "broken", "unknown"]

SHARES = (0.9, 1.0, 1.1)
"""Of the rate that the search found: what each session measures, in random order."""
CLOSE = 1.055
"""A gap of this factor is narrow enough: half of that between 0.9 and 1."""
DOUBLE = 2.0
SLOWEST_PER_SECOND = 1.0
FASTEST_PER_SECOND = 1e8
MOST_STEPS = 40
"""Of a search, with what it takes to come back from noise."""
MOST_BLIND = 3
"""After so many steps in a row of which none could tell, none will."""
_BETWEEN = (0.5, 0.25, 0.75)
_SAME = 1.01
"""Rates nearer than this are not told apart."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Where the capacity lies by some steps: above `kept` and below `stop`, each where known."""

    kept: float | None = None
    stop: float | None = None
    is_bound: bool = False
    """Whether at `stop` nothing could be told, so that the capacity may lie above it as well."""

    @property
    def middle(self) -> float | None:
        """The geometric middle; what was kept where that is all that is known."""
        if self.kept is None:
            return None
        return self.kept if self.stop is None or self.is_bound else sqrt(self.kept * self.stop)

    @property
    def is_close(self) -> bool:
        """Whether it is narrow enough."""
        if self.kept is None or self.stop is None:
            return False
        return self.stop <= CLOSE * self.kept


def gap(steps: Mapping[float, Outcome]) -> Gap:
    """Where the fewest steps contradict a single change from kept to broken.

    The target is kept below some rate and broken above it; of noisy steps the likeliest such rate
    is the one that the fewest lie on the wrong side of. Where several are equally likely the gap
    holds all of them. A step that could not tell counts where nothing above it did: as the end of
    what could be looked at.
    """
    told: dict[float, Outcome] = {rate: word for rate, word in steps.items() if word != "unknown"}
    stops = {rate for rate, word in told.items() if word == "broken"}
    highest = max((rate for rate, word in told.items() if word == "kept"), default=0.0)
    blind = [rate for rate, word in steps.items() if word == "unknown" and rate > highest]
    if blind and not stops:
        told[min(blind)] = "unknown"
    rates = sorted(told)
    wrong = [
        sum(told[rate] != "kept" for rate in rates[:place])
        + sum(told[rate] == "kept" for rate in rates[place:])
        for place in range(len(rates) + 1)
    ]
    best = [place for place, count in enumerate(wrong) if count == min(wrong)]
    kept = rates[best[0] - 1] if best[0] > 0 else None
    stop = rates[best[-1]] if best[-1] < len(rates) else None
    return Gap(kept, stop, stop is not None and told[stop] == "unknown")


def following(steps: Mapping[float, Outcome], factor: float | None = None) -> float | None:
    """The rate to be measured next; None where there is nothing more to be found.

    Up while all is kept and down while nothing is, then in the geometric middle of the gap until
    it is narrow enough; beside it where the middle could not tell. One rate that could not tell may
    be an accident, so that it is gone on above it; several in a row are the generator's limit.

    Args:
        steps: What is known; some rate was measured.
        factor: How far up or down; from what was measured where it is not given: as far again, so
            that a session whose capacity lies elsewhere finds it too.
    """
    if not steps or len(steps) >= MOST_STEPS:
        return None
    if len(steps) >= MOST_BLIND and set(steps.values()) == {"unknown"}:
        return None
    found = gap(steps)
    lowest, highest = min(steps), max(steps)
    far = factor or min(DOUBLE, max(CLOSE, highest / lowest))
    blind = [
        rate for rate, word in steps.items() if word == "unknown" and rate >= (found.stop or 0)
    ]
    if found.kept is None:
        return _new((lowest / far,), steps)
    if found.stop is None or (found.is_bound and len(blind) < MOST_BLIND):
        return _new((highest * far,), steps)
    if found.is_close:
        return None
    apart = log(found.stop / found.kept)
    return _new([found.kept * exp(apart * place) for place in _BETWEEN], steps)


def _new(rates: Sequence[float], steps: Iterable[float]) -> float | None:
    """The first of these that can be asked and was not."""
    for rate in rates:
        known = any(max(rate, other) <= _SAME * min(rate, other) for other in steps)
        if not known and SLOWEST_PER_SECOND <= rate <= FASTEST_PER_SECOND:
            return rate
    return None


def rungs(found: float, seed: str) -> tuple[tuple[float, float], ...]:
    """(share, rate) of what a session measures of the rate found, shifted by chance (above)."""
    shift = exp((Random(seed).random() - 0.5) * log(CLOSE))
    return tuple((share, found * share * shift) for share in SHARES)
