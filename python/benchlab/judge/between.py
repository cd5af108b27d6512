"""A run beside an earlier one: metric by metric, with what may be claimed of runs at two times.

What counts is what the file fixed: the metrics of `compare:` at the cells of its `at`, case by
case. All else is a lead. Absent: whether the runs may be compared at all (`alike`), and the
formulas (`stats.between`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.judge.alike import Told, changed, check_alike, missing
from benchlab.judge.answer import MOST_CLAUSES, SPACE, figures, label, levels, small
from benchlab.judge.validity import what_bounds
from benchlab.model import metrics
from benchlab.model.evidence import Between, CaseResult, Comparison, Estimate, Verdict
from benchlab.model.experiment import SMALLEST_EFFECT, Experiment
from benchlab.model.quantities import significant
from benchlab.stats.between import Apart, apart, decide_apart, describe_apart
from benchlab.stats.family import FEWEST_COUNTING, explores
from benchlab.stats.verdicts import Finding

Earlier = Callable[[str, str], Sequence[float]]
"""Of a case and metric, the values of the runs between which nothing had changed; else none."""


@dataclass(frozen=True)
class Pair:
    """One case and metric on both sides."""

    case: str
    metric: str
    at: Mapping[str, str]
    counts: bool
    found: Apart | None
    invalid: str
    bound: str
    """The run whose figure is at least this, by `what_bounds`; of one side alone."""
    unit: str
    sessions: int


def declared(experiment: Experiment) -> tuple[str, ...]:
    """The metrics that count: of `compare:`, or what would be compared by default."""
    if experiment.compare is not None:
        return experiment.compare.metrics
    if experiment.load.find:
        return (metrics.CAPACITY,)
    return ("latency_p99",) if experiment.load.is_open else ("throughput",)


def smallest_effect(experiment: Experiment) -> float:
    """δ of the file."""
    return SMALLEST_EFFECT if experiment.compare is None else experiment.compare.smallest_effect


def counts(experiment: Experiment, at: Mapping[str, str]) -> bool:
    """Whether a case is at the cells that the file says count."""
    wanted = {} if experiment.compare is None else experiment.compare.at
    return all(at.get(name) == level for name, level in wanted.items())


def compare_runs(a: Told, b: Told, earlier: Earlier | None = None) -> Between:
    """The later run beside the earlier one.

    Args:
        a: The baseline.
        b: The candidate, whose file says what counts.
        earlier: What the history tells of how far runs lie apart.

    Raises:
        InputError: they may not be compared.
    """
    shared = check_alike(a, b)
    is_exploring = any(explores(side.record.sessions) for side in (a, b))
    pairs = _pairs(a, b, shared, earlier, not is_exploring)
    found = decide(pairs, smallest_effect(b.experiment))
    comparisons = tuple(
        comparison(one, finding, a.id, b.id) for one, finding in zip(pairs, found, strict=True)
    )
    said = answer(comparisons, b.id, a.id, smallest_effect(b.experiment))
    return Between(
        experiment=b.experiment.name,
        baseline=a.id,
        candidate=b.id,
        answer=f"{said} {_claimable(earlier, pairs, comparisons)}",
        changed=changed(a, b),
        notes=missing(a, b),
        comparisons=comparisons,
    )


def _claimable(
    earlier: Earlier | None, pairs: Sequence[Pair], comparisons: Sequence[Comparison]
) -> str:
    """What runs at two times can tell, and what was allowed for."""
    known = [earlier(one.case, one.metric) for one in pairs if one.counts] if earlier else []
    if known and all(known):
        runs = f"from {min(map(len, known))} earlier runs"
        allowed = f"The interval holds how far runs of this experiment lie apart ({runs})."
    else:
        allowed = (
            "How far runs of this experiment lie apart is not known here, so that each run was "
            "taken for one session more."
        )
    is_open = any(one.verdict == "inconclusive" for one in comparisons)
    settle = " Both in one run, as levels of a factor, would be interleaved and can tell more."
    return (
        "The runs were not interleaved: whatever else changed between them is in the effect. "
        f"{allowed}{settle if is_open else ''}"
    )


def _pairs(
    a: Told, b: Told, shared: Sequence[str], earlier: Earlier | None, may_count: bool
) -> list[Pair]:
    """What counts first, in file order; then the leads."""
    sides = [{case.name: case for case in side.summary.cases} for side in (a, b)]
    wanted = declared(b.experiment)
    found = []
    for name in shared:
        at = b.cases[name].levels
        cell = may_count and counts(b.experiment, at)
        for metric in (*wanted, *(lead for lead in metrics.HEADLINES if lead not in wanted)):
            results = (sides[0][name], sides[1][name])
            if metric not in wanted and not all(metric in case.metrics for case in results):
                continue
            runs = () if earlier is None else earlier(name, metric)
            is_counting = cell and metric in wanted
            found.append(_pair(metric, results, (a, b), at, is_counting, runs))
    return sorted(found, key=lambda one: not one.counts)


def _pair(
    metric: str,
    cases: tuple[CaseResult, CaseResult],
    told: tuple[Told, Told],
    at: Mapping[str, str],
    is_counting: bool,
    runs: Sequence[float],
) -> Pair:
    ids = [run.id for run in told]
    estimates = [case.metrics.get(metric) for case in cases]
    unfit = [
        why
        for case, found, run in zip(cases, estimates, ids, strict=True)
        if (why := unfitness(metric, case, found, run))
    ]
    known = [one for one in estimates if one is not None]
    values = [[v for v in one.values if v is not None] for one in known]
    bounds = [run for one, run in zip(known, ids, strict=False) if one.validity == "at-least"]
    if len(bounds) == 2 and not unfit:
        unfit.append(f"{what_bounds(metric)} of both runs")
    fewest = min((len(side) for side in values), default=0)
    if not unfit and fewest < FEWEST_COUNTING:
        unfit.append(f"{fewest} of {FEWEST_COUNTING} sessions needed are usable in both runs")
    unfit += [f"{run.id} was cut off" for run in told if not run.record.is_done]
    usable = len(known) == 2 and fewest > 1 and all(one.estimate is not None for one in known)
    return Pair(
        case=cases[0].name,
        metric=metric,
        at=at,
        counts=is_counting,
        found=apart(values[0], values[1], runs) if usable else None,
        invalid=unfit[0] if unfit else "",
        bound=bounds[0] if len(bounds) == 1 else "",
        unit=next((one.unit for one in known), ""),
        sessions=fewest,
    )


def unfitness(metric: str, case: CaseResult, found: Estimate | None, run: str) -> str:
    """Why a figure may not be compared; empty where it may."""
    where = f"{metric} of {case.name} in {run}"
    if case.state == "skipped":
        return f"{case.name} was skipped in {run}: {case.why}"
    if found is None:
        return f"{where} was not measured"
    if found.validity == "withheld":
        return f"{where} is withheld ({found.why})"
    if not found.resolved or found.estimate is None:
        return f"{where} is {found.why}"
    return ""


def decide(pairs: Sequence[Pair], delta: float) -> list[Finding | None]:
    """The findings of all pairs; those that count are one family."""
    family = [one for one in pairs if one.counts]
    decided = decide_apart(
        [None if one.invalid else one.found for one in family],
        [metrics.metric(one.metric).better for one in family],
        delta,
    )
    found = iter(decided)
    every: list[Finding | None] = []
    for one in pairs:
        finding = next(found) if one.counts else None
        if finding is None and one.found is not None:
            finding = describe_apart(one.found, delta, max(1, len(family)))
        every.append(finding)
    return every


def comparison(one: Pair, found: Finding | None, baseline: str, candidate: str) -> Comparison:
    """A pair with what was found, for machines; a lead has no verdict."""
    verdict, why = _word(one, found, candidate) if one.counts else (None, one.invalid)
    shown = found
    if shown is not None and not one.counts and one.invalid.startswith(f"{one.metric} of "):
        shown = None
    return Comparison(
        metric=one.metric,
        baseline=baseline,
        candidate=candidate,
        at=dict(one.at),
        counts=one.counts,
        effect=None if shown is None else shown.effect,
        unit=one.unit,
        by="ratio" if one.found is None else one.found.by,
        low=None if shown is None else shown.low,
        high=None if shown is None else shown.high,
        p=None if shown is None or verdict == "invalid" else shown.p,
        detectable=None if shown is None or not one.counts else shown.detectable,
        sessions=one.sessions,
        verdict=verdict,
        may_matter=found is not None and verdict == found.verdict and found.may_matter,
        why=why,
    )


def _word(one: Pair, found: Finding | None, candidate: str) -> tuple[Verdict, str]:
    if one.invalid or found is None or found.verdict is None:
        return "invalid", one.invalid or "there is no figure"
    if one.bound:
        # Where one run's figure is a lower bound the effect is known from the other alone.
        limit = what_bounds(one.metric)
        sound = found.effect > 0 if one.bound == candidate else found.effect < 0
        if not (sound and found.verdict in ("better", "worse")):
            return "invalid", f"{limit} of {one.bound}: its rate is a lower bound"
        return found.verdict, f"at least: {limit} of the faster run"
    by_difference = one.found is not None and one.found.by == "difference"
    return found.verdict, "compared by difference, since a value is zero" if by_difference else ""


def answer(comparisons: Sequence[Comparison], candidate: str, baseline: str, delta: float) -> str:
    """What is claimed, in words."""
    head = f"{candidate} against {baseline}"
    counting = [one for one in comparisons if one.counts]
    if not counting:
        return f"{head}: figures without a claim, for a run of so few sessions explores."
    reasons = {one.why for one in counting if one.verdict == "invalid"}
    if len(reasons) == 1 and all(one.verdict == "invalid" for one in counting):
        return f"{head}: no valid answer: {reasons.pop().rstrip('.')}."
    if len(counting) <= MOST_CLAUSES:
        return f"{head}: {'; '.join(_clause(one, delta) for one in counting)}."
    words = Counter(one.verdict for one in counting)
    tally = ", ".join(f"{number} {word}" for word, number in words.most_common())
    largest = sorted(counting, key=lambda one: -abs(one.effect or 0.0))[:3]
    said = "; ".join(_clause(one, delta) for one in largest)
    return f"{head}: of {len(counting)} comparisons {tally}; the largest: {said}."


def _clause(one: Comparison, delta: float) -> str:
    where = f" at {levels(one.at)}" if one.at else ""
    what, shown = f"{label(one.metric)}{where}", figures(one)
    smallest = f"{significant(delta * 100)}{SPACE}%"
    match one.verdict:
        case "better" | "worse":
            return f"{what} is {one.verdict} ({shown})"
        case "different-but-small":
            return f"{what} differs, {small(one, smallest)} ({shown})"
        case "equivalent":
            return f"{what} is equal to within {smallest} ({shown})"
        case "inconclusive":
            return f"it cannot be told whether {what} differs ({shown})"
        case _:
            return f"no valid answer on {what}: {one.why.rstrip('.')}"
