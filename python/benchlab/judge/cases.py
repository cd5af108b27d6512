"""One case over all its sessions: state, checks and estimates.

Absent: comparisons between cases (`comparisons`), and the choice of trials that are used (`run`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isinf
from typing import Literal

from benchlab.judge.checks import ERRORS
from benchlab.judge.sessions import Key, Session, session_of
from benchlab.judge.trial import Totals, TrialJudgement
from benchlab.judge.validity import GENERATOR
from benchlab.model import metrics
from benchlab.model.evidence import (
    CaseResult,
    CaseState,
    Check,
    CheckVerdict,
    Estimate,
    OperationResult,
    Stalls,
)
from benchlab.model.experiment import Case
from benchlab.model.metrics import METRICS
from benchlab.stats.distribution import Distribution, merge
from benchlab.stats.estimates import count_interval, over_sessions
from benchlab.stats.resolution import effective_size, overdispersion, smallest_size

MOST_STALLS = 100
"""Of a case, so many are told one by one."""
_ONE_IS_ENOUGH = ("answers",)
"""Rows that shade a case once one trial breaks them; trials that break others are left out."""
_KEPT = ("steady", "idle")
"""Rows whose failing trials are used all the same."""
_WORST_FIRST: tuple[CheckVerdict, ...] = ("invalid", "valid", "unknown", "not-applicable")


@dataclass(frozen=True)
class CaseJudgement:
    """What is known of one case; raw data are read again when they are asked for."""

    case: Case
    result: CaseResult
    trials: tuple[TrialJudgement, ...]
    """The trials that are used, in order of session and block."""
    sessions: tuple[Session, ...]
    blocks: int

    def values(self, metric: str) -> tuple[float | None, ...]:
        """One value a session; None where it does not count, inf where it is infinite."""
        return tuple(session.values.get((None, metric)) for session in self.sessions)

    def unusable(self, metric: str) -> int:
        """Trials of finished sessions without a usable figure of the metric."""
        used = sum(session.usable.get((None, metric), 0) for session in self.sessions)
        return len(self.sessions) * self.blocks - used

    def distribution(self, field: Literal["response", "service"]) -> Distribution:
        """All successes of its whole trials, counted together."""
        parts = []
        for trial in self.trials:
            if trial.is_whole and trial.usable(f"{field}_mean"):
                parts.append(trial.seen.merged[field])
                trial.forget()
        return merge(parts)

    @property
    def resolved_to(self) -> float:
        """The highest quantile of latency that enough evidence stands behind; 0 for none."""
        found = [
            METRICS[name].quantile or 0.0
            for name, estimate in self.result.metrics.items()
            if name.startswith("latency_p") and estimate.resolved and estimate.sessions
        ]
        return max(found, default=0.0)


def judge_case(
    case: Case,
    trials: Sequence[TrialJudgement],
    numbers: Sequence[int],
    blocks: int,
    allow: Mapping[str, float],
) -> CaseJudgement:
    """Judges a case from the trials that are used, by session; lets go of their raw data."""
    trials = _without_few_bounds(trials)
    sessions, counts = [], Counter[str]()
    errors = Counter[str]()
    for number in numbers:
        own = [trial for trial in trials if trial.record.session == number]
        sessions.append(session_of(number, own, blocks))
        for trial in own:
            for name, seen in trial.seen.operations.items() if trial.is_whole else ():
                counts[name] += seen.ended
                errors[name] += seen.errors
            trial.forget()
    state, why = _state(trials, allow.get("errors", ERRORS))
    estimates = {key: _estimate(key, sessions, trials) for key in _keys(sessions)}
    withheld = [one.why for (name, _), one in estimates.items() if name is None]
    rate = estimates.get((None, "throughput"))
    is_bound = rate is not None and rate.validity == "at-least"
    if state not in ("died", "aborted") and not any(one.is_usable for one in estimates.values()):
        reason = _most(withheld) or _most([trial.why for trial in trials if trial.why])
        why = "; ".join(dict.fromkeys(part for part in (why, reason) if part))
    result = CaseResult(
        name=case.name,
        system=case.system_name,
        levels=case.levels,
        state=state,
        why=why,
        checks=_checks([trial for trial in trials if trial.checks], is_bound),
        metrics={name: estimates[None, name] for name in _ordered(estimates)},
        operations={
            name: OperationResult(
                count=counts[name],
                errors=errors[name],
                metrics={m: estimates[name, m] for m in METRICS if (name, m) in estimates},
            )
            for name in sorted(counts)
        },
        stalls=_stalls(trials),
    )
    return CaseJudgement(case, result, tuple(trials), tuple(sessions), blocks)


def _without_few_bounds(trials: Sequence[TrialJudgement]) -> Sequence[TrialJudgement]:
    """The trials, with the rates left out that are bounds, where they are no more than half.

    Of a case whose other trials tell, they would make a bound.
    """
    rated = [trial for trial in trials if trial.usable("throughput")]
    bounds = {id(trial) for trial in rated if trial.uses["throughput"].validity == "at-least"}
    if 2 * len(bounds) > len(rated):
        return trials
    return [trial.without("throughput") if id(trial) in bounds else trial for trial in trials]


def _stalls(trials: Sequence[TrialJudgement]) -> Stalls | None:
    """How often the case stalled, in the trials whose rate may be used."""
    watched = [trial for trial in trials if trial.usable("throughput")]
    length_s = sum(trial.length_s for trial in watched)
    if length_s <= 0:
        return None
    found = [stall for trial in watched for stall in trial.stalls]
    by_session = Counter(stall.session for stall in found)
    lengths: dict[int, float] = defaultdict(float)
    for trial in watched:
        lengths[trial.record.session] += trial.length_s
    counts = [by_session[session] for session in lengths]
    low, high = count_interval(counts, tuple(lengths.values()))
    shown = sorted(found, key=lambda stall: -stall.length_s)[:MOST_STALLS]
    scale = 3600 / length_s
    return Stalls(
        count=len(found),
        watched_s=length_s,
        per_hour=len(found) * scale,
        low=low * scale,
        high=high * scale,
        found=tuple(sorted(shown, key=lambda s: (s.session, s.block, s.at_s))),
    )


def _ordered(estimates: Mapping[Key, Estimate]) -> list[str]:
    """Metrics of transactions as they are listed, then those of the systems' own counters."""
    names = [name for operation, name in estimates if operation is None]
    return [name for name in METRICS if name in names] + sorted(set(names) - METRICS.keys())


def skipped(case: Case, why: str) -> CaseJudgement:
    """A case that was not measured, and why."""
    result = CaseResult(
        name=case.name, system=case.system_name, levels=case.levels, state="skipped", why=why
    )
    return CaseJudgement(case, result, (), (), 0)


def _keys(sessions: Sequence[Session]) -> list[Key]:
    return list(dict.fromkeys(key for session in sessions for key in session.usable))


def _state(trials: Sequence[TrialJudgement], allowed: float) -> tuple[CaseState, str]:
    for word in ("died", "aborted"):
        ended = [trial for trial in trials if trial.state == word]
        if ended:
            where = "" if len(trials) == 1 else f"in {len(ended)} of {len(trials)} trials: "
            return ended[0].state, f"{where}{ended[0].why}"
    totals = sum((trial.totals for trial in trials), start=Totals())
    return totals.state(allowed)


def _checks(trials: Sequence[TrialJudgement], is_bound: bool) -> tuple[Check, ...]:
    """Each row over the trials: the verdict that holds for the case, with its worst figure.

    What made the case's rate a bound holds for the case, in however few trials: several rows may
    have done so together.
    """
    names = dict.fromkeys(check.name for trial in trials for check in trial.checks)
    rows = {name: [c for t in trials for c in t.checks if c.name == name] for name in names}
    decisive = (*_ONE_IS_ENOUGH, *(GENERATOR if is_bound else ()))
    return tuple(_row(name, found, name in decisive) for name, found in rows.items())


def _row(name: str, rows: Sequence[Check], one_is_enough: bool) -> Check:
    invalid = [row for row in rows if row.verdict == "invalid"]
    enough = 1 if one_is_enough else len(rows) // 2 + 1
    if len(invalid) >= enough:
        worst = _worst(invalid)
        return worst if len(rows) == 1 else worst.model_copy(update={"why": _of(invalid, rows)})
    rest = [row for row in rows if row.verdict != "invalid"]
    verdict = next(word for word in _WORST_FIRST if any(row.verdict == word for row in rest))
    shown = _worst([row for row in rest if row.verdict == verdict])
    if invalid:
        but = "not in" if name in _KEPT else "left out:"
        return shown.model_copy(update={"why": f"{but} {_of(invalid, rows)}"})
    return shown


def _of(invalid: Sequence[Check], rows: Sequence[Check]) -> str:
    return f"{len(invalid)} of {len(rows)} trials: {_worst(invalid).why}"


def _worst(rows: Sequence[Check]) -> Check:
    return max(rows, key=lambda row: -inf if row.figure is None else row.figure)


def _estimate(key: Key, sessions: Sequence[Session], trials: Sequence[TrialJudgement]) -> Estimate:
    """A metric over the sessions.

    No metric is below 0 and no share above 1, but Student's t on values that are near such an end
    reaches over it. The interval is cut off there: the part that goes away holds no possible value,
    so that the interval holds the true one as often as before.
    """
    unit = next((trial.units[key[1]] for trial in trials if key[1] in trial.units), "")
    metric = metrics.metric(key[1], unit)
    found = [session.values.get(key) for session in sessions]
    known = [value for value in found if value is not None]
    bare = Estimate(unit=metric.unit, estimate=None, sessions=len(known))
    why_withheld = _most([t.uses[metric.name].why for t in trials if _withheld(t, metric.name)])
    if not known:
        return bare.model_copy(update={"validity": "withheld", "why": why_withheld})
    endless = sum(isinf(value) for value in known)
    if endless:
        why = f"infinite in {endless} of {len(known)} sessions: too many did not end well"
        return bare.model_copy(update={"why": why, "values": _finite(found)})
    lacking = _lacking(key, sessions)
    if lacking:
        return bare.model_copy(update={"resolved": False, "why": lacking})
    is_share = metric.kind == "share"
    over = over_sessions(known, is_share=is_share)
    most = 1.0 if is_share else inf
    used = [t.uses[metric.name] for t in trials if t.usable(metric.name)]
    bound = [use.why for use in used if use.validity == "at-least"]
    unresolved = [use.why for use in used if not use.resolved]
    is_unresolved = 2 * len(unresolved) > len(used)
    return Estimate(
        unit=metric.unit,
        estimate=over.estimate,
        low=None if over.low is None else max(0.0, over.low),
        high=None if over.high is None else min(most, over.high),
        sessions=over.sessions,
        resolved=not is_unresolved,
        validity="at-least" if bound else "valid",
        why=_most(unresolved) if is_unresolved else _most(bound),
        values=_finite(found),
    )


def _withheld(trial: TrialJudgement, metric: str) -> bool:
    return trial.is_whole and metric in trial.uses and trial.uses[metric].validity == "withheld"


def _finite(values: Sequence[float | None]) -> tuple[float | None, ...]:
    return tuple(None if value is None or isinf(value) else value for value in values)


def _most(reasons: Sequence[str]) -> str:
    """The reason given oftenest; of equally frequent ones the first."""
    return Counter(reasons).most_common(1)[0][0] if reasons else ""


def _lacking(key: Key, sessions: Sequence[Session]) -> str:
    """Why a quantile is not printed: there is too little evidence for it.

    All sessions together must hold enough, and each enough for its quantile not to be its maximum.
    """
    share = metrics.metric(key[1]).quantile
    counting = [session for session in sessions if key in session.exceedances]
    if share is None or not counting:
        return ""
    tau = overdispersion(
        (session.exceedances[key].above, session.exceedances[key].seen) for session in counting
    )
    counts = [session.counts[key] for session in counting]
    has, needs = effective_size(sum(counts), tau), smallest_size(share)
    if has < needs:
        return f"not resolved (needs {needs:,}, has {has:,})"
    in_each = ceil(1 / (1 - share) - 1e-9)
    if min(counts) < in_each:
        return f"not resolved (needs {in_each:,} in each session, one has {min(counts):,})"
    return ""
