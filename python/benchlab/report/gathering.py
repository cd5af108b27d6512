"""From a judgement to what is drawn: one pass over the raw data of the trials that are used.

Only here does the report touch a Measurement, and each is let go of before the next is read, so
that memory does not grow with the number of trials.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from statistics import fmean, median, pstdev

import numpy as np
from numpy.typing import NDArray

from benchlab.judge.cases import CaseJudgement
from benchlab.judge.counted import SLOT_S, Counted
from benchlab.judge.run import Judgement
from benchlab.judge.trial import TrialJudgement, course, series
from benchlab.model.metrics import PER_TRANSACTION
from benchlab.report.material import (
    POINTS,
    Ceiling,
    Clock,
    Curve,
    CurveKind,
    Line,
    Material,
    asked_of,
)
from benchlab.stats.distribution import Distribution, merge

QUANTILES = tuple(1 - 10 ** (-step / 8) for step in range(1, 41))
"""Eight points for each nine."""
EDGE_S = 0.05
"""Half a sample: what was used between two samples is drawn in their middle, and the last pair may
reach over the end."""
_NS = 1e9


def summarised(judgement: Judgement) -> Material:
    """What the terminal needs: no raw data is read."""
    found = judgement.cases
    return Material(
        summary=judgement.summary,
        experiment=judgement.experiment,
        record=judgement.record,
        labels=tuple(label for label in judgement.labels if not label.startswith("allow ")),
        ceilings=tuple(c for name in found if (c := _ceiling(found[name])) is not None),
    )


def gather(judgement: Judgement) -> Material:
    """Everything that is drawn, besides what is told."""
    clocks: list[Clock] = []
    curves: list[Curve] = []
    logs: dict[str, str] = {}
    for name, judged in judgement.cases.items():
        parts: dict[CurveKind, list[Distribution]] = {
            "service": [],
            "response": [],
            "user-seen": [],
        }
        for trial in judged.trials:
            if trial.is_read:
                clocks.append(_clock(name, trial))
                if trial.is_whole:
                    for kind, found in parts.items():
                        if trial.usable("latency_mean" if kind == "user-seen" else f"{kind}_mean"):
                            found.append(_merged(trial.seen, kind))
            trial.forget()
            if trial.state == "died" and name not in logs:
                logs[name] = trial.trial.log_tail()
        curves += [c for kind in parts if (c := _curve(judged, kind, parts[kind])) is not None]
    light = summarised(judgement)
    clocks = _with_what_moved(clocks, asked_of(judgement.summary))
    return Material(
        summary=light.summary,
        experiment=light.experiment,
        record=light.record,
        experiment_text=judgement.run.experiment_text(),
        labels=light.labels,
        ceilings=light.ceilings,
        clocks=tuple(clocks),
        curves=tuple(curves),
        logs={name: text for name, text in logs.items() if text.strip()},
    )


MOVED = 3
"""Of what systems counted of themselves, so many are drawn beside what the file asks about."""
LEAST_POINTS = 3


def _with_what_moved(clocks: Sequence[Clock], asked: Collection[str]) -> list[Clock]:
    """The clocks with those of their counters that are drawn, the same for all cases.

    Those that the file compares or promises, and those that went up and down most within the
    trials: the greatest standard deviation for their mean, in the median of the trials.
    """
    spreads: dict[str, list[float]] = {}
    for clock in clocks:
        for name, line in clock.own.items():
            values = [value for _, value in line.known()]
            if len(values) >= LEAST_POINTS and fmean(values) > 0:
                spreads.setdefault(name, []).append(pstdev(values) / fmean(values))
    most = sorted(spreads, key=lambda name: -median(spreads[name]))
    named = {name.removesuffix(PER_TRANSACTION) for name in asked}
    chosen = {*named, *most[:MOVED]}
    return [
        replace(clock, own={n: line for n, line in clock.own.items() if n in chosen})
        for clock in clocks
    ]


def _merged(seen: Counted, kind: CurveKind) -> Distribution:
    if kind == "user-seen":
        own = seen.merged["response" if seen.is_open else "service"]
        return own.with_infinite(seen.never_ok)
    return seen.merged[kind]


def _curve(judged: CaseJudgement, kind: CurveKind, parts: Sequence[Distribution]) -> Curve | None:
    """The merged distribution; what users saw only where it differs from the successes."""
    whole = merge(parts)
    if kind == "user-seen" and not whole.infinite:
        return None
    points = []
    for share in QUANTILES:
        value = whole.quantile(share)
        if value is not None and math.isfinite(value) and (1 - share) * whole.total >= 1:
            points.append((share, value / _NS))
    if not points:
        return None
    return Curve(
        judged.case.name,
        kind,
        tuple(points),
        judged.resolved_to,
        1 - whole.infinite / whole.total if whole.infinite else None,
    )


def _clock(case: str, judged: TrialJudgement) -> Clock:
    seen = judged.seen
    if seen.length_s <= POINTS * SLOT_S:
        rate = _slots(seen.slots["completed"], seen) * (1 / SLOT_S)
        step_s = SLOT_S
    else:
        rate, step_s = series(judged).throughput, 1.0
    seconds, used = series(judged), course(judged)
    failed = seen.slots["failed"] + seen.slots["timed_out"] + seen.slots["unknown"]
    at_s = (np.arange(rate.size, dtype=np.float64) + 0.5) * step_s
    return Clock(
        case=case,
        session=judged.record.session,
        block=judged.record.block,
        rate=_line(at_s, rate, seen.length_s).thinned(POINTS),
        latency_p99=_line(
            _middles(seconds.at_s, seen.length_s), seconds.latency_p99_s, seen.length_s
        ).thinned(POINTS, max),
        errors=_errors(failed, seen.length_s),
        stalls=judged.stalls,
        joint=seen.is_embedded,
        own={
            name: _line(found.at_s, found.values, seen.length_s).thinned(POINTS)
            for name, found in used.own.items()
        },
        **{
            name: _line(found.at_s, found.values, seen.length_s - EDGE_S).thinned(POINTS)
            if found is not None
            else Line()
            for name, found in (
                ("cpu_user", used.cpu_user),
                ("cpu_system", used.cpu_system),
                ("memory", used.memory),
                ("agent_cpu", None if seen.is_embedded else used.agent_cpu),
            )
        },
    )


def _slots(values: NDArray[np.float64], seen: Counted) -> NDArray[np.float64]:
    """The whole slots of the measured part: what is done in the tail is not the trial's."""
    kept = np.zeros(int(seen.length_s / SLOT_S + 1e-6))
    count = min(kept.size, values.size)
    kept[:count] = values[:count]
    return kept


def _line(at_s: NDArray[np.float64], values: NDArray[np.float64], length_s: float) -> Line:
    """The samples within the trial."""
    inside = (at_s >= 0) & (at_s <= length_s)
    return Line(
        tuple(round(float(at), 3) for at in at_s[inside]),
        tuple(float(v) if math.isfinite(v) else None for v in values[inside]),
    )


def _middles(seconds: NDArray[np.float64], length_s: float) -> NDArray[np.float64]:
    """The middle of each second, the last of which the trial may cut short."""
    return (seconds + np.minimum(seconds + 1.0, length_s)) / 2


def _errors(failed: NDArray[np.float64], length_s: float) -> Line:
    """Errors by step, so wide that no trial has more than `POINTS` of them."""
    width = max(1, math.ceil(length_s / SLOT_S / POINTS))
    size = math.ceil(failed.size / width)
    padded = np.zeros(size * width)
    padded[: failed.size] = failed
    sums = padded.reshape(size, width).sum(axis=1)
    return Line(
        tuple(round(n * width * SLOT_S, 1) for n in range(size)), tuple(float(v) for v in sums)
    )


def _ceiling(judged: CaseJudgement) -> Ceiling | None:
    """The least the null server reached for a case, and the most its path cost."""
    rates = [trial.ceiling for trial in judged.trials if trial.ceiling is not None]
    floors = [trial.floor_p99_s for trial in judged.trials if trial.floor_p99_s is not None]
    if not rates and not floors:
        return None
    return Ceiling(judged.case.name, min(rates) if rates else None, max(floors) if floors else None)
