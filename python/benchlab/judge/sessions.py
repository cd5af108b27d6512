"""One case in one session: the values that stand for the session, which is the replicate.

A quantile is read after the session's blocks are counted together; rates and means are averaged
over the blocks on the log scale, shares as they are. Absent: intervals and anything across
sessions (`cases`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from benchlab.judge.counted import NS, Operation
from benchlab.judge.figures import field_of
from benchlab.judge.trial import TrialJudgement
from benchlab.model import metrics
from benchlab.model.metrics import METRICS, Metric
from benchlab.stats.distribution import Distribution, merge

Key = tuple[str | None, str]
"""An operation's name, or None for transactions, and a metric's name."""
OPERATION_METRICS = tuple(name for name in METRICS if name.startswith("service_"))


@dataclass(frozen=True, eq=False)
class Exceedances:
    """How many of a session's transactions lay above its quantile, second by second."""

    above: NDArray[np.float64]
    seen: NDArray[np.float64]


@dataclass(frozen=True)
class Session:
    """What one session says of one case."""

    number: int
    values: Mapping[Key, float]
    """Only where at least half of the blocks are usable; infinite where the figure is."""
    usable: Mapping[Key, int]
    """Trials whose figure may be used."""
    counts: Mapping[Key, int]
    """What a quantile was read from."""
    exceedances: Mapping[Key, Exceedances]


def session_of(number: int, trials: Sequence[TrialJudgement], blocks: int) -> Session:
    """Counts a session's trials of one case together."""
    values: dict[Key, float] = {}
    usable: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    exceedances: dict[Key, Exceedances] = {}
    for key in _keys(trials):
        metric = metrics.metric(key[1])
        used = [trial for trial in trials if _usable(trial, key)]
        usable[key] = len(used)
        if not used or 2 * len(used) < blocks:
            continue
        if metric.kind != "quantile":
            values[key] = _over_blocks(metric, [_figure(trial, key) for trial in used])
            continue
        seconds = [one for trial in used for one in _seconds(trial, key)]
        together = merge(seconds)
        quantile = together.quantile(metric.quantile or 1.0)
        if quantile is None:
            continue
        values[key], counts[key] = quantile / NS, together.total
        exceedances[key] = _exceedances(seconds, quantile)
    return Session(number, values, usable, counts, exceedances)


def above(trials: Sequence[TrialJudgement], metric: str, limit_s: float) -> Exceedances:
    """How many of a session's transactions lay above a limit, second by second."""
    seconds = [one for trial in trials for one in _seconds(trial, (None, metric))]
    return _exceedances(seconds, limit_s * NS)


def _keys(trials: Iterable[TrialJudgement]) -> list[Key]:
    whole = [trial for trial in trials if trial.is_whole]
    own = {(None, name) for trial in whole for name in trial.figures}
    operations = {name for trial in whole for name in trial.seen.operations}
    below = {(name, metric) for name in operations for metric in OPERATION_METRICS}
    return sorted(own | below, key=lambda key: (key[0] or "", key[1]))


def _usable(trial: TrialJudgement, key: Key) -> bool:
    operation, metric = key
    if not trial.usable(metric):
        return False
    return operation is None or _operation(trial, operation) is not None


def _operation(trial: TrialJudgement, name: str) -> Operation | None:
    found = trial.seen.operations.get(name)
    return found if found is not None and found.service.total else None


def _seconds(trial: TrialJudgement, key: Key) -> Sequence[Distribution]:
    operation, name = key
    if operation is not None:
        return trial.seen.operations[operation].seconds
    metric = METRICS[name]
    field = field_of(metric, trial.seen)
    return trial.seen.per_second(field, user_seen=metric.histogram is None)


def _figure(trial: TrialJudgement, key: Key) -> float:
    operation, name = key
    if operation is None:
        return trial.figures[name]
    if METRICS[name].kind == "maximum":
        return trial.seen.operations[operation].max_service_ns / NS
    return (trial.seen.operations[operation].service.mean() or 0.0) / NS


def _over_blocks(metric: Metric, figures: Sequence[float]) -> float:
    if metric.kind == "maximum" or inf in figures:
        return max(figures)
    is_ratio = metric.kind != "share" and min(figures) > 0
    combine: Callable[[Sequence[float]], float] = _geometric if is_ratio else _arithmetic
    return combine(figures)


def _geometric(figures: Sequence[float]) -> float:
    return figures[0] if len(figures) == 1 else float(np.exp(np.mean(np.log(figures))))


def _arithmetic(figures: Sequence[float]) -> float:
    return float(np.mean(figures))


def _exceedances(seconds: Sequence[Distribution], quantile: float) -> Exceedances:
    if quantile == inf:
        above = [float(one.infinite) for one in seconds]
    else:
        above = [float(one.exceeding(quantile)) for one in seconds]
    return Exceedances(np.array(above), np.array([float(one.total) for one in seconds]))
