"""By how much a restart moves a comparison, learnt from an earlier run that restarted its systems.

Processes that ran before the lab came are one start of many: what they say may be of that start
alone. A run in which each session began with a restart has seen many, and the scatter of its
pairs foretells where one of them lies. Absent: where earlier runs are kept (`store`).
"""

from collections.abc import Iterable, Sequence
from math import expm1, log1p, sqrt

from benchlab.model.evidence import Comparison, Summary
from benchlab.model.experiment import Case, Compare
from benchlab.model.quantities import significant
from benchlab.model.records import Restart, Restarts
from benchlab.stats.estimates import CONFIDENCE, spread, t_critical
from benchlab.stats.family import FEWEST_COUNTING


def are_left_running(cases: Iterable[Case]) -> bool:
    """Whether a case is of a system that is already running and is not restarted."""
    return any(case.system.at and case.system.restart is None for case in cases)


def learnt(summary: Summary, run: str) -> Restarts | None:
    """What a run whose sessions began with restarts says; None where it has too few pairs."""
    found = tuple(
        Restart(
            metric=one.metric,
            baseline=one.baseline,
            candidate=one.candidate,
            at=one.at,
            share=_reach([log1p(pair.effect) for pair in one.pairs]),
        )
        for one in summary.comparisons
        if one.by == "ratio" and len(one.pairs) >= FEWEST_COUNTING and one.verdict != "invalid"
    )
    return Restarts(run=run, found=found) if found else None


def share_of(known: Restarts | None, comparison: Comparison) -> float | None:
    """By how much a restart may move this comparison, as a share; None where that is unknown."""
    for one in known.found if known else ():
        if _which(one) == _which(comparison):
            return one.share
    return None


def _which(one: Restart | Comparison) -> tuple[object, ...]:
    return one.metric, one.baseline, one.candidate, one.at


def shaded(
    comparisons: Iterable[Comparison],
    known: Restarts | None,
    compare: Compare,
    cases: Iterable[Case],
) -> tuple[Comparison, ...]:
    """The comparisons of processes that ran all the while, as far as a restart lets them stand.

    An effect below what a restart may do is inconclusive; so is "equivalent" where the effect and
    what a restart may do add up to more than what matters. Where nothing is known the verdicts
    stand.
    """
    left = [dict(case.levels) for case in cases if are_left_running([case])]

    def share(one: Comparison) -> float | None:
        sides = ({**one.at, compare.factor: level} for level in (one.baseline, one.candidate))
        return share_of(known, one) if any(side in left for side in sides) else None

    return tuple(_shade(one, share(one), compare.smallest_effect) for one in comparisons)


def _shade(one: Comparison, share: float | None, smallest_effect: float) -> Comparison:
    if share is None or one.effect is None or one.by != "ratio":
        return one
    seen, more = abs(log1p(one.effect)), log1p(share)
    is_small = one.verdict in _FOUND and seen < more
    may_matter = one.verdict == "equivalent" and seen + more > log1p(smallest_effect)
    if not (is_small or may_matter):
        return one
    why = f"{ONE_START} may differ by {significant(100 * share)} %, which another one would tell"
    return one.model_copy(update={"verdict": "inconclusive", "why": why})


_FOUND = ("better", "worse", "different-but-small")
ONE_START = "seen in one start of these processes: a restart"


def most(known: Restarts | None, comparisons: Sequence[Comparison]) -> float | None:
    """The most that a restart may move those that count; None where one of them is not known."""
    shares = [share_of(known, one) for one in comparisons if one.counts]
    found = [share for share in shares if share is not None]
    return max(found) if found and len(found) == len(shares) else None


def _reach(differences: Sequence[float]) -> float:
    """How far one more start lies from the mean of these, in 95 %: t·s·√(1 + 1/n).

    The prediction interval of one further value (Hahn and Meeker 1991, § 4.7).
    """
    seen = spread(differences)
    reach = t_critical(seen.count, 1 - CONFIDENCE) * seen.sd * sqrt(1 + 1 / seen.count)
    return expm1(reach)
