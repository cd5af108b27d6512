"""The six verdicts, in their order, over a family of comparisons.

The rule is fixed before the run: what counts, the smallest effect that matters and the number of
sessions. Two tests must agree (Student's t and the exact sign flip); where they differ the wider
conclusion holds. Absent: whether the values may be used at all; where not, the judge gives None.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchlab.model.evidence import Verdict
from benchlab.model.metrics import Direction
from benchlab.stats.estimates import CONFIDENCE
from benchlab.stats.family import ALPHA, holm, holm_level, ranks, smallest_sessions
from benchlab.stats.paired import Paired, sign_flip_p
from benchlab.stats.power import detectable, sessions_needed

EQUIVALENCE_CONFIDENCE = 1 - 2 * ALPHA
"""Two one-sided tests at 5 % each are the 90 % interval inside ±δ (Schuirmann 1987)."""


class Contrast(Protocol):
    """A difference of two sides: the intervals of its effect, and what δ is on that scale."""

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The interval of the effect."""

    def smallest(self, smallest_effect: float) -> float:
        """The smallest effect that matters."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one comparison; effects are shares of one or, by difference, plain."""

    effect: float
    low: float | None
    high: float | None
    p: float | None
    """Holm-adjusted sign-flip p; None for a comparison that does not count."""
    detectable: float | None
    sessions_needed: int | None
    excludes_zero: bool
    disagree: bool
    """Whether only one of the two tests excluded zero."""
    verdict: Verdict | None
    may_matter: bool = False
    """Of what is different-but-small: whether its 95 % interval holds effects that are not."""


def describe(paired: Paired, smallest_effect: float, comparisons: int = 1) -> Finding:
    """The figures of a comparison without a verdict."""
    seen = paired.spread
    limits = paired.interval(CONFIDENCE)
    level = ALPHA / comparisons
    could = detectable(seen.sd, seen.count, level, seen.freedom)
    distance = paired.distance(smallest_effect)
    fewest = smallest_sessions(comparisons)
    return Finding(
        effect=paired.effect(seen.mean),
        low=limits[0] if limits else None,
        high=limits[1] if limits else None,
        p=None,
        detectable=None if could is None else paired.effect(could),
        sessions_needed=(
            sessions_needed(distance, seen.sd, level, fewest)
            if seen.count > 1 and distance > 0
            else None
        ),
        excludes_zero=False,
        disagree=False,
        verdict=None,
    )


def decide(
    family: Sequence[Paired | None], better: Sequence[Direction], smallest_effect: float
) -> tuple[Finding | None, ...]:
    """A verdict for each comparison of the family; None stands for invalid, before and after.

    Invalid comparisons stay in the family with a p of 1: m was fixed beforehand.
    """
    flips = [1.0 if paired is None else sign_flip_p(paired.differences) for paired in family]
    ties = [1.0 if paired is None else paired.spread.t_p() for paired in family]
    adjusted = holm(flips)
    places = ranks(list(zip(flips, ties, strict=True)))
    return tuple(
        None if paired is None else _decide(paired, way, smallest_effect, p, place, len(family))
        for paired, way, p, place in zip(family, better, adjusted, places, strict=True)
    )


def _decide(
    paired: Paired, way: Direction, smallest_effect: float, p: float, place: int, comparisons: int
) -> Finding:
    found = describe(paired, smallest_effect, comparisons)
    limits = paired.spread.interval(1 - holm_level(place, comparisons))
    by_flips = p <= ALPHA
    by_t = limits is not None and (limits[0] > 0 or limits[1] < 0)
    excludes = by_flips and by_t
    said = word(paired, way, smallest_effect, found.effect, excludes)
    return Finding(
        effect=found.effect,
        low=found.low,
        high=found.high,
        p=p,
        detectable=found.detectable,
        sessions_needed=found.sessions_needed,
        excludes_zero=excludes,
        disagree=by_flips != by_t,
        verdict=said,
        may_matter=may_matter(paired, said, smallest_effect),
    )


def may_matter(sides: Contrast, said: Verdict, smallest_effect: float) -> bool:
    """Whether what was seen to be small need not be so."""
    is_small = said == "different-but-small"
    return is_small and not _is_within(sides, smallest_effect, CONFIDENCE)


def word(
    sides: Contrast, way: Direction, smallest_effect: float, effect: float, excludes_zero: bool
) -> Verdict:
    """The verdict on an effect, once it is known whether it excludes zero."""
    matters = sides.smallest(smallest_effect)
    if excludes_zero and abs(effect) >= matters and way != "none":
        return "better" if (effect > 0) == (way == "up") else "worse"
    if excludes_zero and abs(effect) < matters:
        return "different-but-small"
    return "equivalent" if is_equivalent(sides, smallest_effect) else "inconclusive"


def is_equivalent(sides: Contrast, smallest_effect: float) -> bool:
    """Whether the 90 % interval of the effect lies inside ±δ (Schuirmann 1987)."""
    return _is_within(sides, smallest_effect, EQUIVALENCE_CONFIDENCE)


def _is_within(sides: Contrast, smallest_effect: float, confidence: float) -> bool:
    limits = sides.interval(confidence)
    matters = sides.smallest(smallest_effect)
    return limits is not None and limits[0] >= -matters and limits[1] <= matters
