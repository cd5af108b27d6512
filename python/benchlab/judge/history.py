"""A metric over runs: its points, where it changed its level, and a run held against the rest.

A point is the median of a run's sessions. Only runs of one experiment on one machine are laid side
by side, case by case, and only where the case was asked alike. An alarm takes two runs: one beyond
the rest is told, and says that the next one will tell. Absent: how a series is divided
(`stats.changes`), and which of its levels stands (`stats.stable`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchlab.judge.alike import Told, changed, is_alike
from benchlab.judge.between import (
    Earlier,
    Pair,
    answer,
    comparison,
    counts,
    decide,
    declared,
    smallest_effect,
    unfitness,
)
from benchlab.judge.validity import what_bounds
from benchlab.model.evidence import Between, CaseResult, Comparison
from benchlab.model.experiment import Case
from benchlab.model.records import SHORT
from benchlab.stats.between import ahead
from benchlab.stats.family import FEWEST_COUNTING
from benchlab.stats.stable import levels, longest, standing

HISTORY = "history"
"""What a gate's baseline is called that is no run."""


@dataclass(frozen=True)
class Point:
    """A run in the history of a metric."""

    run: str
    created_utc: str
    label: str
    """The commit it measured, else the version of the system; empty where neither is known."""
    value: float | None
    low: float | None
    high: float | None
    why: str
    """Why it has no value."""
    segment: int = 0
    """The number of the level of the history that it belongs to, from 0."""
    is_change: bool = False
    """Whether a new level begins here."""


@dataclass(frozen=True)
class Series:
    """A metric of a case, run by run, oldest first."""

    case: str
    metric: str
    unit: str
    points: tuple[Point, ...]

    @property
    def known(self) -> tuple[Point, ...]:
        """The points that have a value."""
        return tuple(point for point in self.points if point.value is not None)


def series_of(runs: Sequence[Told], case: str, metric: str) -> Series:
    """The history of a metric of the last run's case, as far as it was asked alike there.

    Args:
        runs: Of one experiment, oldest first.
        case: A case of the last one.
        metric: Its name.
    """
    last = runs[-1]
    alike = [run for run in runs if is_alike(run, last, case)]
    points = [_point(run, case, metric) for run in alike]
    found = (_result(run, case).metrics.get(metric) for run in reversed(alike))
    unit = next((one.unit for one in found if one is not None), "")
    return Series(case, metric, unit, _segmented(points))


def _result(run: Told, case: str) -> CaseResult:
    return next(one for one in run.summary.cases if one.name == case)


def _point(run: Told, case: str, metric: str) -> Point:
    result = _result(run, case)
    found = result.metrics.get(metric)
    why = unfitness(metric, result, found, run.id)
    if found is not None and found.validity == "at-least":
        why = f"{metric} of {case} in {run.id} is a bound: {what_bounds(metric)}"
    values = [] if found is None else [value for value in found.values if value is not None]
    if not why and not run.record.is_done:
        why = f"{run.id} was cut off"
    if not why and len(values) < FEWEST_COUNTING:
        why = f"{len(values)} of {FEWEST_COUNTING} sessions needed are usable in {run.id}"
    if why:
        values = []
    return Point(
        run=run.id,
        created_utc=run.record.created_utc,
        label=label_of(run, run.cases[case]),
        value=median(values) if values else None,
        low=found.low if found is not None and values else None,
        high=found.high if found is not None and values else None,
        why=why,
    )


def label_of(run: Told, case: Case) -> str:
    """What a run is called in a history: the commit it measured, or the system's version."""
    source = case.system.source
    for record in run.record.sources:
        is_its = record.system == case.system_name
        if is_its and (source is None or record.revision == source.revision):
            return record.commit[:SHORT]
    if run.record.commit:
        return run.record.commit
    described = run.record.systems.get(case.system_name)
    return str(described.get("version") or "") if isinstance(described, dict) else ""


def _segmented(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points with the levels they belong to; one without a value is of the level before it."""
    numbers = iter(levels([point.value for point in points if point.value is not None]))
    found, level = [], 0
    for point in points:
        was, level = level, level if point.value is None else next(numbers)
        found.append(replace(point, segment=level, is_change=level > was))
    return tuple(found)


def apart_from(a: Told, b: Told, runs: Sequence[Told]) -> Earlier:
    """What the history tells of how far runs like `a` lie apart, without what `b` says."""

    def earlier(case: str, metric: str) -> Sequence[float]:
        others = [run for run in runs if run.id != b.id and is_alike(run, a, case)]
        points = _segmented([_point(run, case, metric) for run in others])
        level = next((point.segment for point in points if point.run == a.id), -1)
        held = [p.value for p in points if p.segment == level and p.value is not None]
        return held if len(held) >= FEWEST_COUNTING else ()

    return earlier


def against_history(runs: Sequence[Told]) -> Between:
    """The last of some runs of one experiment, held against the present stable segment.

    Args:
        runs: On one machine, oldest first; the last is the candidate, whose file says what counts.
    """
    last, delta = runs[-1], smallest_effect(runs[-1].experiment)
    cells = [
        (case, metric)
        for case in last.cases.values()
        if counts(last.experiment, case.levels)
        for metric in declared(last.experiment)
    ]
    held = [_held(runs, case, metric) for case, metric in cells]
    pairs = [one.pair for one in held]
    comparisons = tuple(
        _alarmed(comparison(one.pair, finding, HISTORY, last.id), one)
        for one, finding in zip(held, decide(pairs, delta), strict=True)
    )
    said = answer(comparisons, last.id, "the present stable segment of the history", delta)
    return Between(
        experiment=last.experiment.name,
        baseline=HISTORY,
        candidate=last.id,
        answer=f"{said} The runs were not interleaved.",
        changed=changed(runs[-2], last) if len(runs) > 1 else (),
        comparisons=comparisons,
    )


@dataclass(frozen=True)
class _Held:
    """A case and metric of the last run against the segment, and how many runs lie beyond it."""

    pair: Pair
    segment: int
    beyond: int


def _held(runs: Sequence[Told], case: Case, metric: str) -> _Held:
    series = series_of(runs, case.name, metric)
    *before, newest = series.points
    earlier = [point.value for point in before if point.value is not None]
    stands = None if newest.value is None else standing(earlier, newest.value)
    invalid = newest.why
    if stands is None and not invalid:
        invalid = (
            "the history cannot tell yet how far runs lie apart: its longest level has "
            f"{longest(levels(earlier))} of the {FEWEST_COUNTING} runs needed"
        )
    segment = () if stands is None else stands.segment
    pair = Pair(
        case=case.name,
        metric=metric,
        at=case.levels,
        counts=True,
        found=None if stands is None else ahead(stands.segment, stands.beyond),
        invalid=invalid,
        bound="",
        unit=series.unit,
        sessions=len(segment),
    )
    return _Held(pair, len(segment), 0 if stands is None else len(stands.beyond))


def _alarmed(one: Comparison, held: _Held) -> Comparison:
    """One run beyond the segment is no alarm yet: a second one must say the same."""
    of = f"against {held.segment} runs"
    if one.verdict == "worse" and held.beyond < 2:
        why = f"{of}; the first run beyond them: measure again, a second one would tell"
        return one.model_copy(update={"verdict": "inconclusive", "why": why})
    if one.verdict in ("invalid", None):
        return one
    return one.model_copy(update={"why": "; ".join(part for part in (one.why, of) if part)})
