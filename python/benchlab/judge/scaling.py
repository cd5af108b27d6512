"""How throughput grows over a sweep of clients or members: the law, or why there is none.

Absent: the law itself (`stats.scaling`) and any extrapolation.
"""

from collections.abc import Iterator, Mapping, Sequence

from benchlab.judge.cases import CaseJudgement
from benchlab.model.evidence import Interval, Scaling
from benchlab.model.experiment import Experiment, Factor
from benchlab.stats.family import FEWEST_COUNTING
from benchlab.stats.scaling import Range, fit, refusal

COUNTED = ("clients", "connections", "instances", "masters", "replicas")
"""Keys whose values are numbers of those that ask or serve."""
METRIC = "throughput"
FEWEST_SHOWN = 4
"""A sweep of fewer levels is not one that a law was expected of."""


def scalings(experiment: Experiment, cases: Mapping[str, CaseJudgement]) -> tuple[Scaling, ...]:
    """A law for each sweep: one factor of numbers, all other levels alike."""
    if experiment.load.is_open:
        return ()
    return tuple(
        _scaling(factor.name, at, curve)
        for factor in experiment.factors
        if (counts := _counts(factor)) is not None
        for at, curve in _curves(factor.name, counts, cases)
        if len(curve) >= FEWEST_SHOWN
    )


def _counts(factor: Factor) -> dict[str, float] | None:
    """The number that each level sets; None for a factor of something else."""
    counts = {}
    for level, sets in factor.levels.items():
        if len(sets) != 1:
            return None
        ((path, value),) = sets.items()
        if path.rpartition(".")[2] not in COUNTED or not isinstance(value, int) or value < 1:
            return None
        counts[level] = float(value)
    return counts


def _curves(
    name: str, counts: Mapping[str, float], cases: Mapping[str, CaseJudgement]
) -> Iterator[tuple[dict[str, str], dict[float, CaseJudgement]]]:
    found: dict[tuple[tuple[str, str], ...], dict[float, CaseJudgement]] = {}
    for judged in cases.values():
        levels = dict(judged.case.levels)
        count = counts[levels.pop(name)]
        if judged.result.state != "skipped":
            found.setdefault(tuple(levels.items()), {})[count] = judged
    for at, curve in found.items():
        yield dict(at), curve


def _scaling(factor: str, at: dict[str, str], curve: Mapping[float, CaseJudgement]) -> Scaling:
    counts = sorted(curve)
    why = refusal(counts) or _unusable([curve[count] for count in counts])
    rows = zip(*(curve[count].values(METRIC) for count in counts), strict=True)
    rates = [[rate for rate in row if rate] for row in rows]
    whole = [row for row in rates if len(row) == len(counts)]
    if why is None and len(whole) < FEWEST_COUNTING:
        why = f"{len(whole)} of {FEWEST_COUNTING} sessions needed have a rate at every level"
    if why is not None:
        return Scaling(factor=factor, at=at, levels=tuple(counts), sessions=len(whole), why=why)
    law = fit(counts, whole)
    return Scaling(
        factor=factor,
        at=at,
        levels=tuple(counts),
        sessions=len(whole),
        alone_per_second=_interval(law.alone),
        contention=_interval(law.contention),
        coherence=_interval(law.coherence),
        peak=None if law.peak is None else _interval(law.peak),
        why="" if law.peak else "no peak within half as many again as were measured can be named",
    )


def _unusable(curve: Sequence[CaseJudgement]) -> str | None:
    """Why a rate of the curve is not the system's own; None where all are."""
    for judged in curve:
        found = judged.result.metrics.get(METRIC)
        if found is None or not found.is_usable:
            return f"{judged.case.name} has no usable throughput"
        if found.validity == "at-least":
            return f"the agent was the limit of {judged.case.name}"
        if judged.result.state != "ok":
            return f"{judged.case.name} is {judged.result.state}"
    return None


def _interval(found: Range) -> Interval:
    return Interval(estimate=found.estimate, low=found.low, high=found.high)
