"""A case whose rate is sought: each step decided, and the capacity of all sessions together.

A step keeps the target, breaks it, or cannot tell. Only the system breaks it: where the generator
was late or at its limit, the host was disturbed, or too little was seen, a step cannot tell, and
the capacity is "at least" what was kept. Absent: which rate comes next (`stats.capacity`), and
measuring (`lab.seeking`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isinf

from benchlab.judge.cases import CaseJudgement, judge_case
from benchlab.judge.checks import ERRORS
from benchlab.judge.sessions import Exceedances, Session, above, session_of
from benchlab.judge.trial import Totals, TrialJudgement, judge_trial
from benchlab.judge.validity import GENERATOR
from benchlab.model.evidence import Capacity, CapacityStep, Estimate
from benchlab.model.experiment import Case, Experiment, Expression
from benchlab.model.expressions import holds
from benchlab.model.metrics import CAPACITY, METRICS, OVER_PEAK
from benchlab.model.metrics import metric as metric_of
from benchlab.model.quantities import format as readable
from benchlab.model.records import Step
from benchlab.stats.capacity import DOUBLE, Gap, Outcome, following, gap
from benchlab.stats.estimates import over_sessions, share_interval
from benchlab.stats.resolution import effective_size, overdispersion, smallest_size
from benchlab.store import Trial

PACED = "latency_p50"
"""Withheld where the generator did not keep to the schedule, so that the rate was not asked."""
SHOWN_SHARE = 0.9
"""The share whose trials stand for the case in all its other figures."""


@dataclass(frozen=True)
class Weighed:
    """One rate in one session, decided."""

    outcome: Outcome
    why: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    exceeding: Mapping[str, Exceedances] = field(default_factory=dict)
    """Of each quantile that is to be kept: how many lay above its limit, second by second."""


def weigh(
    trials: Sequence[TrialJudgement],
    keep: Sequence[Expression],
    allow: Mapping[str, float],
    blocks: int = 1,
) -> Weighed:
    """Whether the trials of one session at one rate keep the target, counted together.

    Args:
        trials: Those of the session's blocks.
        keep: The target; all of it must hold, and the system must keep up and keep answering.
        allow: The file's widened rows.
        blocks: How many trials there should be; half of them must be usable.
    """
    for trial in trials:
        if trial.record.state in ("died", "aborted"):
            return Weighed("broken", f"{trial.record.state}: {trial.why}")
    names = {PACED, *(one.metric for one in keep)}
    sound = [trial for trial in trials if all(trial.usable(name) for name in names)]
    if not sound or 2 * len(sound) < blocks:
        return Weighed("unknown", _unusable(trials, sorted(names)))
    seen = session_of(sound[0].record.session, sound, len(sound))
    found = {one.metric: seen.values.get((None, one.metric)) for one in keep}
    figures = {n: None if x is None or isinf(x) else x for n, x in found.items()}
    exceeding = {
        one.metric: above(sound, one.metric, one.limit) for one in keep if _quantile(one.metric)
    }
    whole = Weighed("kept", figures=figures, exceeding=exceeding)
    # Errors that are bounded by name are not bounded by the usual limit as well.
    named = any(one.metric == "errors" for one in keep)
    allowed = 1.0 if named else allow.get("errors", ERRORS)
    state, why = sum((trial.totals for trial in sound), start=Totals()).state(allowed)
    if state != "ok":
        return replace(whole, outcome="broken", why=f"{state}: {why}")
    decided = [_decide(one, found[one.metric], exceeding, sound) for one in keep]
    words: tuple[Outcome, ...] = ("broken", "unknown")
    for word in words:
        if said := [one for one in decided if one.outcome == word]:
            reasons = "; ".join(one.why for one in said)
            return replace(whole, outcome=word, why=reasons)
    return whole


def _decide(
    one: Expression,
    figure: float | None,
    exceeding: Mapping[str, Exceedances],
    trials: Sequence[TrialJudgement],
) -> Weighed:
    if figure is None:
        return Weighed("unknown", f"{one.metric} was not measured")
    if one.metric in exceeding and (lacking := _lacking(one.metric, exceeding[one.metric])):
        return Weighed("unknown", lacking)
    if holds(one, figure):
        return Weighed("kept")
    if why := _may_not_be_its_own(one.metric, trials):
        return Weighed("unknown", why)
    shown = "infinite" if isinf(figure) else readable(figure, metric_of(one.metric).unit)
    return Weighed("broken", f"{one.metric} is {shown}")


def _may_not_be_its_own(name: str, trials: Sequence[TrialJudgement]) -> str:
    """Why a figure that breaks a target may be the generator's or the path's; empty where not.

    What holds with their share in it holds without.
    """
    for trial in trials:
        if not trial.uses[name].resolved:
            return f"{name} is {trial.uses[name].why}"
        for check in trial.checks:
            if check.name in GENERATOR and check.verdict == "invalid":
                return f"{check.name}: {check.why}"
    return ""


def _quantile(name: str) -> float | None:
    return metric_of(name).quantile


def _lacking(name: str, seen: Exceedances) -> str:
    """Why a step tells nothing of a quantile: it has too few transactions; empty where it does.

    It takes 1/(1 - q), as for any session's quantile, unless the exact interval of the share above
    the limit leaves 1 - q out. How they clump is not asked: to measure again or to leave out what
    is bursty would do so to steps that break oftener than to those that keep.
    """
    share, count = 1 - (_quantile(name) or 0.0), int(seen.seen.sum())
    needs = ceil(1 / share - 1e-9)
    if count >= needs:
        return ""
    if count:
        low, high = share_interval(int(seen.above.sum()), count)
        if not low <= share <= high:
            return ""
    return f"{name} is not resolved (needs {needs:,} in each session, has {count:,})"


def _unusable(trials: Sequence[TrialJudgement], names: Sequence[str]) -> str:
    for trial in trials:
        if not trial.is_whole:
            return trial.record.why or trial.why or "it did not run to its end"
        for name in names:
            if not trial.usable(name):
                return trial.uses[name].why if name in trial.uses else f"there is no {name}"
    return "nothing was measured"


@dataclass(frozen=True)
class Steps:
    """All steps of a case, decided, and the trials that stand for its other figures."""

    weighed: Mapping[tuple[int, Step], Weighed]
    shown: tuple[TrialJudgement, ...]

    def searched(self) -> dict[float, Outcome]:
        """The steps of the search, by rate."""
        return {s.rate: w.outcome for (_, s), w in self.weighed.items() if s.share is None}

    def of_session(self, number: int) -> dict[float, Outcome]:
        """The steps of one session, the search's left out: they chose where the others lie."""
        return {
            step.rate: weighed.outcome
            for (session, step), weighed in self.weighed.items()
            if session == number and step.share is not None
        }


def found_by(searched: Mapping[float, Outcome]) -> float | None:
    """The rate that a search found once it is over; None before, and where it found none."""
    return None if following(searched, DOUBLE) is not None else gap(searched).middle


def decide_steps(trials: Sequence[Trial], experiment: Experiment, case: Case) -> Steps:
    """Judges a case's trials from their folders and decides each of its steps."""
    by_step: dict[tuple[int, Step], list[Trial]] = {}
    for trial in trials:
        record = trial.record
        if record.step is not None:
            by_step.setdefault((record.session, record.step), []).append(trial)
    weighed: dict[tuple[int, Step], Weighed] = {}
    shown: list[TrialJudgement] = []
    for place, own in by_step.items():
        judged = [judge_trial(trial, experiment, case) for trial in own]
        blocks = 1 if place[1].share is None else experiment.blocks
        weighed[place] = weigh(judged, case.load.keep, experiment.allow, blocks)
        for one in judged:
            one.forget()
        if place[1].share == SHOWN_SHARE:
            shown += judged
    return Steps(weighed, tuple(shown))


def judge_capacity(
    experiment: Experiment, case: Case, trials: Sequence[Trial], sessions: int
) -> CaseJudgement:
    """Judges a case whose rate is sought.

    Its capacity has one value a session, the geometric middle of the session's gap; all its other
    figures are those of the trials at 0.9 of the rate that the search found.
    """
    steps = decide_steps(trials, experiment, case)
    numbers = range(sessions)
    judged = judge_case(case, steps.shown, numbers, experiment.blocks, experiment.allow)
    gaps = {number: gap(steps.of_session(number)) for number in numbers}
    estimate = _estimate(steps, gaps)
    found = {CAPACITY: estimate}
    if case.load.peak is not None:
        found[OVER_PEAK] = _scaled(estimate, 1 / case.load.peak)
    # That a rate near its own limit was too much now and then is no trouble of the case.
    strained = judged.result.state in ("overloaded", "failing") and estimate.is_usable
    trouble = {"state": "ok", "why": ""} if strained else {}
    result = judged.result.model_copy(
        update={
            "metrics": {**found, **judged.result.metrics},
            "why": judged.result.why or ("" if estimate.is_usable else estimate.why),
            "capacity": Capacity(
                keep=tuple(one.text for one in case.load.keep),
                limits={one.metric: one.limit for one in case.load.keep},
                peak=case.load.peak,
                found=found_by(steps.searched()),
                steps=_listed(steps),
                why=estimate.why,
            ),
            **trouble,
        }
    )
    scales = {CAPACITY: 1.0, OVER_PEAK: 1 / (case.load.peak or 1.0)}
    scales = {name: scale for name, scale in scales.items() if name in found}
    return replace(
        judged,
        result=result,
        sessions=tuple(
            _with_values(session, gaps[session.number].middle, scales, judged.blocks)
            for session in judged.sessions
        ),
    )


def _with_values(
    session: Session, middle: float | None, scales: Mapping[str, float], blocks: int
) -> Session:
    """A session with its own capacity among its values."""
    values, usable = dict(session.values), dict(session.usable)
    for name, by in scales.items():
        usable[None, name] = 0 if middle is None else blocks
        if middle is not None:
            values[None, name] = middle * by
    return replace(session, values=values, usable=usable)


def _listed(steps: Steps) -> tuple[CapacityStep, ...]:
    listed = [
        CapacityStep(
            session=session,
            rate=step.rate,
            share=step.share,
            outcome=weighed.outcome,
            why=weighed.why,
            figures=dict(weighed.figures),
        )
        for (session, step), weighed in steps.weighed.items()
    ]
    return tuple(sorted(listed, key=lambda one: (one.session, one.share is not None, one.rate)))


def _estimate(steps: Steps, gaps: Mapping[int, Gap]) -> Estimate:
    """The capacity over the sessions that have one."""
    values = [found.middle for found in gaps.values()]
    known = [value for value in values if value is not None]
    bare = Estimate(unit=METRICS[CAPACITY].unit, estimate=None, sessions=len(known))
    if not known:
        return bare.model_copy(update={"validity": "withheld", "why": _nothing(steps)})
    bare = bare.model_copy(update={"values": tuple(values)})
    if lost := _lost(steps, gaps):
        return bare.model_copy(update={"validity": "withheld", "why": lost})
    if lacking := _lacking_over(steps, gaps):
        return bare.model_copy(update={"resolved": False, "why": lacking})
    over = over_sessions(known)
    bounds = [
        number
        for number, found in gaps.items()
        if found.kept is not None and (found.is_bound or found.stop is None)
    ]
    return bare.model_copy(
        update={
            "estimate": over.estimate,
            "low": over.low,
            "high": over.high,
            "validity": "at-least" if bounds else "valid",
            "why": _bound(steps, gaps, bounds),
        }
    )


def _bound(steps: Steps, gaps: Mapping[int, Gap], bounds: Sequence[int]) -> str:
    """Why what was kept is a bound in these sessions; empty where it is in none."""
    whys = []
    for (session, step), weighed in steps.weighed.items():
        if session in bounds and step.share is not None and step.rate == gaps[session].stop:
            whys.append(weighed.why)
    if not bounds:
        return ""
    why = Counter(whys).most_common(1)[0][0] if whys else "no rate was asked that broke it"
    return f"in {len(bounds)} of {len(gaps)} sessions the system was not seen to break it: {why}"


def _nothing(steps: Steps) -> str:
    """Why there is no capacity at all: what the lowest rate had to say."""
    if not steps.weighed:
        return "no session was finished"
    (_, step), weighed = min(steps.weighed.items(), key=lambda item: item[0][1].rate)
    rate = readable(step.rate, "1/s")
    verb = "breaks it" if weighed.outcome == "broken" else "cannot tell"
    return f"no rate was seen to keep it; the lowest that was asked, {rate}, {verb}: {weighed.why}"


def _lost(steps: Steps, gaps: Mapping[int, Gap]) -> str:
    """In which sessions the system kept the target at no rate: the others' mean is too high."""
    whys = [
        weighed.why
        for number, found in gaps.items()
        if found.middle is None
        for (session, step), weighed in steps.weighed.items()
        if session == number and step.share is not None and weighed.outcome == "broken"
    ]
    if not whys:
        return ""
    without = sum(found.middle is None for found in gaps.values())
    return f"in {without} of {len(gaps)} sessions no rate was seen to keep it: {whys[0]}"


def _lacking_over(steps: Steps, gaps: Mapping[int, Gap]) -> str:
    """Why the sessions together hold too little for a quantile, at the rates that keep it."""
    for name in dict.fromkeys(n for w in steps.weighed.values() for n in w.exceeding):
        pairs = [
            (weighed.exceeding[name].above, weighed.exceeding[name].seen)
            for (session, step), weighed in steps.weighed.items()
            if step.share is not None
            and name in weighed.exceeding
            and step.rate == gaps[session].kept
        ]
        count = sum(int(seen.sum()) for _, seen in pairs)
        has = effective_size(count, overdispersion(pairs))
        needs = smallest_size(_quantile(name) or 0.0)
        if has < needs:
            return f"not resolved ({name} needs {needs:,}, has {has:,}: lengthen `duration`)"
    return ""


def _scaled(found: Estimate, by: float) -> Estimate:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * by

    return found.model_copy(
        update={
            "unit": METRICS[OVER_PEAK].unit,
            "estimate": scaled(found.estimate),
            "low": scaled(found.low),
            "high": scaled(found.high),
            "values": tuple(map(scaled, found.values)),
        }
    )
