"""Which cases are compared on what, and the verdict on each.

The file fixes beforehand what counts; all other pairs of the same factor are leads: figures without
a verdict. Absent: the rule of the verdicts (`stats.verdicts`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf

from benchlab.judge.calibration import showable
from benchlab.judge.cases import CaseJudgement
from benchlab.judge.validity import what_bounds
from benchlab.model import metrics
from benchlab.model.evidence import Comparison, Pair, Verdict
from benchlab.model.experiment import Case, Compare
from benchlab.model.quantities import significant
from benchlab.model.records import Calibration
from benchlab.stats.family import FEWEST_COUNTING
from benchlab.stats.paired import Paired, pair
from benchlab.stats.verdicts import Finding, decide, describe

MOST_UNUSABLE_APART = 2
"""Unusable trials may differ by this many between the sides before the pairs are a selection."""


@dataclass(frozen=True)
class Cell:
    """One candidate against the baseline on one metric, all else equal."""

    metric: str
    baseline: str
    candidate: str
    at: Mapping[str, str]
    counts: bool
    baseline_case: str
    candidate_case: str


def cells(compare: Compare, cases: Iterable[Case]) -> tuple[Cell, ...]:
    """Every comparison these cases allow, those that count first decided by `compare.at`."""
    listed = list(cases)
    by_levels = {frozenset(case.levels.items()): case for case in listed}
    found = []
    for metric in compare.metrics:
        for case in listed:
            level = case.levels.get(compare.factor)
            if level is None or level == compare.baseline:
                continue
            rest = {name: at for name, at in case.levels.items() if name != compare.factor}
            other = by_levels.get(frozenset({**rest, compare.factor: compare.baseline}.items()))
            if other is None:
                continue
            counts = all(rest.get(name) == wanted for name, wanted in compare.at.items())
            found.append(Cell(metric, compare.baseline, level, rest, counts, other.name, case.name))
    return tuple(found)


def counting(compare: Compare | None, cases: Iterable[Case]) -> int:
    """m: how many comparisons count, which is what the number of sessions must suffice for."""
    return 0 if compare is None else sum(cell.counts for cell in cells(compare, cases))


@dataclass(frozen=True)
class _Weighed:
    """A cell with its pairs, and why it has none or may not be used."""

    cell: Cell
    paired: Paired | None
    sessions: tuple[int, ...]
    invalid: str
    bound: str
    """`low` or `high`: the true effect may lie further that way, since an agent was the limit."""
    unit: str


def compare_all(
    compare: Compare,
    cases: Mapping[str, CaseJudgement],
    *,
    explores: bool,
    calibration: Calibration | None = None,
    first_stage: int | None = None,
) -> tuple[Comparison, ...]:
    """All comparisons in file order; a skipped candidate leaves them, an exploration has leads.

    `calibration` is of the machine that measured: none is called equal beyond what it can show.
    `first_stage` are the sessions whose spread has fixed how many there are; None where that was
    given.
    """
    weighed = [
        _weigh(cell, cases[cell.baseline_case], cases[cell.candidate_case], first_stage)
        for cell in cells(compare, [judged.case for judged in cases.values()])
        if cases[cell.candidate_case].result.state != "skipped"
    ]
    family = [one for one in weighed if one.cell.counts and not explores]
    decided = decide(
        [None if one.invalid else one.paired for one in family],
        [metrics.metric(one.cell.metric).better for one in family],
        compare.smallest_effect,
    )
    findings = dict(zip((id(one) for one in family), decided, strict=True))
    return tuple(
        _counted(one, findings[id(one)], compare, len(family), calibration)
        if id(one) in findings
        else _lead(one, compare)
        for one in weighed
    )


def _weigh(
    cell: Cell, baseline: CaseJudgement, candidate: CaseJudgement, first_stage: int | None
) -> _Weighed:
    sides = (baseline, candidate)
    values = [side.values(cell.metric) for side in sides]
    both = [
        (session.number, a, b)
        for session, a, b in zip(baseline.sessions, *values, strict=False)
        if a is not None and b is not None
    ]
    endless = any(isinf(a) or isinf(b) for _, a, b in both)
    usable = both and not endless
    estimates = [side.result.metrics for side in sides]
    paired = pair([a for _, a, _ in both], [b for _, _, b in both]) if usable else None
    fewest = len(both)
    if first_stage is not None:
        fewest = sum(number < first_stage for number, _, _ in both)
        paired = paired and replace(paired, first=fewest)
    return _Weighed(
        cell=cell,
        paired=paired,
        sessions=tuple(number for number, _, _ in both),
        invalid=_invalid(cell, sides, fewest, endless),
        bound=_bound(cell, sides),
        unit=next((m[cell.metric].unit for m in estimates if cell.metric in m), ""),
    )


def _invalid(cell: Cell, sides: Sequence[CaseJudgement], count: int, endless: bool) -> str:
    """Why the pairs may not answer the question; empty where they may."""
    for side in sides:
        result, found = side.result, side.result.metrics.get(cell.metric)
        if result.state == "skipped":
            return f"{result.name} was skipped: {result.why}"
        if found is not None and found.validity == "withheld":
            return f"{cell.metric} of {result.name} is withheld ({found.why})"
        if found is not None and not found.resolved:
            return f"{cell.metric} of {result.name} is {found.why}"
    if endless:
        return f"{cell.metric} is infinite: too many transactions did not end well"
    unusable = [side.unusable(cell.metric) for side in sides]
    apart = abs(unusable[0] - unusable[1])
    worse = sides[0] if unusable[0] > unusable[1] else sides[1]
    reason = f" ({_reason(worse, cell.metric)})" if max(unusable) else ""
    if count < FEWEST_COUNTING:
        return f"{count} of {FEWEST_COUNTING} sessions needed are usable on both sides{reason}"
    if apart > MOST_UNUSABLE_APART:
        return f"{max(unusable)} trials of {worse.result.name} cannot be used, {apart} more{reason}"
    bounds = [_is_bound(side, cell.metric) for side in sides]
    return f"{what_bounds(cell.metric)} on both sides" if all(bounds) else ""


def _reason(side: CaseJudgement, metric: str) -> str:
    """Why trials of a side have no usable figure: the first reason there is."""
    for trial in side.trials:
        if trial.usable(metric):
            continue
        use = trial.uses.get(metric)
        why = use.why if trial.is_whole and use is not None else trial.why or trial.record.why
        return f"{side.result.name}: {why or trial.record.state}"
    return f"{side.result.name}: not measured"


def _is_bound(side: CaseJudgement, metric: str) -> bool:
    found = side.result.metrics.get(metric)
    return found is not None and found.validity == "at-least"


def _bound(cell: Cell, sides: Sequence[CaseJudgement]) -> str:
    baseline, candidate = (_is_bound(side, cell.metric) for side in sides)
    if baseline == candidate:
        return ""
    return "high" if candidate else "low"


def _comparison(one: _Weighed, found: Finding | None, why: str) -> Comparison:
    cell, paired = one.cell, one.paired
    differences = () if paired is None else paired.differences
    return Comparison(
        metric=cell.metric,
        baseline=cell.baseline,
        candidate=cell.candidate,
        at=dict(cell.at),
        counts=False,
        effect=None if found is None else found.effect,
        unit=one.unit,
        by="ratio" if paired is None else paired.by,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        sessions=len(one.sessions),
        why=why,
        pairs=tuple(
            Pair(session=number, effect=paired.effect(difference) if paired else 0.0)
            for number, difference in zip(one.sessions, differences, strict=False)
        ),
    )


def _lead(one: _Weighed, compare: Compare) -> Comparison:
    found = None
    if one.paired is not None and not one.invalid.startswith(f"{one.cell.metric} of "):
        found = describe(one.paired, compare.smallest_effect)
    return _comparison(one, found, one.invalid)


def _counted(
    one: _Weighed,
    found: Finding | None,
    compare: Compare,
    comparisons: int,
    calibration: Calibration | None,
) -> Comparison:
    shown = found
    if found is None and one.paired is not None:
        shown = describe(one.paired, compare.smallest_effect, comparisons)
    verdict, why = _word(one, found, comparisons)
    if verdict == "equivalent":
        noise = showable(calibration, one.cell.metric, len(one.sessions), comparisons)
        verdict, noted = _among_noise(noise, compare.smallest_effect)
        why = "; ".join(filter(None, (why, noted)))
    return _comparison(one, shown, why).model_copy(
        update={
            "counts": True,
            "p": None if found is None else found.p,
            "detectable": None if shown is None else shown.detectable,
            "sessions_needed": None if shown is None else shown.sessions_needed,
            "verdict": verdict,
            "may_matter": found is not None and verdict == found.verdict and found.may_matter,
        }
    )


def _word(one: _Weighed, found: Finding | None, comparisons: int) -> tuple[Verdict, str]:
    if found is None or found.verdict is None:
        return "invalid", one.invalid
    if one.bound:
        # Where one side's figure is a lower bound the effect is known from the other alone.
        limit = what_bounds(one.cell.metric)
        sound = found.effect > 0 if one.bound == "high" else found.effect < 0
        if not (sound and found.verdict in ("better", "worse")):
            whose = one.cell.candidate_case if one.bound == "high" else one.cell.baseline_case
            return "invalid", f"{limit} of {whose}, so its rate is a lower bound"
        return found.verdict, f"at least: {limit} of the faster side"
    notes = []
    if found.disagree:
        notes.append("the t interval and the sign-flip test disagree: the wider conclusion holds")
    if found.verdict == "inconclusive" and comparisons > 1 and _excludes_alone(found):
        notes.append(f"alone it would exclude no difference, among {comparisons} it does not")
    if one.paired is not None and one.paired.by == "difference":
        notes.append("compared by difference, since a value is zero")
    return found.verdict, "; ".join(notes)


def _among_noise(noise: float | None, smallest_effect: float) -> tuple[Verdict, str]:
    """What is left of `equivalent` once this machine's own noise is known."""
    if noise is None:
        return "equivalent", "this machine's noise is not calibrated"
    if noise <= smallest_effect:
        return "equivalent", ""
    why = (
        f"equal systems would have to differ here by {significant(noise * 100)} % to be told apart"
    )
    return "inconclusive", why


def _excludes_alone(found: Finding) -> bool:
    return found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
