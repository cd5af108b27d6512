"""How long a run will take, told beforehand, and made to fit where that is too long.

Absent: running anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.load import null
from benchlab.model.experiment import Case, Experiment
from benchlab.model.schemes import EMBEDDED
from benchlab.stats.precision import MOST_STAGED
from benchlab.systems import instance_key

START_S = 1.0
"""About what one start of a system takes, loading included."""
TRIAL_S = 0.4
"""About what surrounds a trial: an agent's start, sealing, judging."""
UNKNOWN_S = 5.0
"""Assumed of a trial that ends by count."""
SEARCH_STEPS = 12
"""About what a search takes that begins a thousand times below what it finds."""
SESSION_STEPS = 5
"""About what a session measures of what was found: three rates, and what closes in on its own."""
SHORTEST_S = 1.0
"""A duration is not lowered below this."""


@dataclass(frozen=True)
class TimeEstimate:
    """Seconds a run is expected to take, by what they go to."""

    trials: int
    sessions: int
    trials_s: float
    starts_s: float
    null_s: float
    is_guess: bool
    """Whether trials end by count or rates are sought, so that it is not known beforehand."""
    most_sessions: int
    """More than `sessions` where a second stage may follow these."""

    @property
    def total_s(self) -> float:
        """All of it; with two stages, if the first one is enough."""
        return self.trials_s + self.starts_s + self.null_s

    @property
    def most_s(self) -> float:
        """All of it, if every session is made that may be."""
        more = self.most_sessions / self.sessions
        return more * (self.trials_s + self.starts_s) + self.null_s


@dataclass(frozen=True)
class Fitted:
    """An experiment made shorter, and in what."""

    experiment: Experiment
    cases: tuple[Case, ...]
    notes: tuple[str, ...]


def estimate_time(experiment: Experiment, cases: Sequence[Case]) -> TimeEstimate:
    """Cases x sessions x blocks x (warm-up + duration), starts and null-server runs."""
    sessions, blocks = experiment.sessions, experiment.blocks
    once_s = sum((_length_s(case) + TRIAL_S) * _steps(case) for case in cases)
    sought = [case for case in cases if case.load.find]
    search_s = sum((_length_s(case) + TRIAL_S) * SEARCH_STEPS for case in sought)
    instances = {instance_key(case) for case in cases}
    starts = len(instances) * sessions * (blocks if experiment.order == "blocks" else 1)
    shapes = {_shape(case) for case in cases if case.system.kind not in EMBEDDED}
    return TimeEstimate(
        trials=sum(map(_steps, cases)) * sessions * blocks + SEARCH_STEPS * len(sought),
        sessions=sessions,
        trials_s=once_s * sessions * blocks + search_s,
        starts_s=starts * START_S,
        null_s=len(shapes) * (null.RUNS_S + TRIAL_S),
        is_guess=any(case.load.duration is None or case.load.find for case in cases),
        most_sessions=sessions if experiment.precision is None else MOST_STAGED,
    )


def fit(experiment: Experiment, cases: Sequence[Case], budget_s: float) -> Fitted:
    """Lowers duration, then blocks, then leaves out cases from the end; never sessions.

    What cannot be made to fit is left at its shortest, and said.
    """
    notes: list[str] = []
    left = tuple(cases)

    def over_s() -> float:
        return estimate_time(experiment, left).most_s - budget_s

    if over_s() > 0:
        left = _shorten(experiment, left, budget_s)
        before = [case.load.duration for case in cases]
        after = [case.load.duration for case in left]
        if before != after:
            notes.append(f"duration lowered to {min(d for d in after if d):.3g} s")
    if over_s() > 0 and experiment.blocks > 1:
        blocks = experiment.blocks
        while blocks > 1 and over_s() > 0:
            blocks -= 1
            experiment = experiment.model_copy(update={"blocks": blocks})
        notes.append(f"blocks lowered to {blocks}")
    out: list[str] = []
    while over_s() > 0 and len(left) > 1:
        out.append(left[-1].name)
        left = left[:-1]
    if out:
        notes.append(f"left out: {', '.join(reversed(out))}")
    if over_s() > 0:
        notes.append(f"still {over_s():.0f} s over the budget: {experiment.sessions} sessions stay")
    return Fitted(experiment, left, tuple(notes))


def _shorten(experiment: Experiment, cases: tuple[Case, ...], budget_s: float) -> tuple[Case, ...]:
    """Every duration by the same share, as far as is needed and allowed."""

    def at(share: float) -> tuple[Case, ...]:
        return tuple(_with_duration(case, share) for case in cases)

    fits, too_long = 0.0, 1.0
    for _ in range(30):
        middle = (fits + too_long) / 2
        if estimate_time(experiment, at(middle)).most_s <= budget_s:
            fits = middle
        else:
            too_long = middle
    return at(fits)


def _with_duration(case: Case, share: float) -> Case:
    duration = case.load.duration
    if duration is None:
        return case
    shorter = max(min(duration, SHORTEST_S), round(duration * share, 1))
    return case.model_copy(update={"load": case.load.model_copy(update={"duration": shorter})})


def _steps(case: Case) -> int:
    return SESSION_STEPS if case.load.find else 1


def _length_s(case: Case) -> float:
    duration = UNKNOWN_S if case.load.duration is None else case.load.duration
    return case.load.warmup + duration


def _shape(case: Case) -> str:
    at_once = case.load.connections if case.load.is_open else case.load.clients
    return repr((at_once, case.load.connection, case.workload))
