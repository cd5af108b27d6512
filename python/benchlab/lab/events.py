"""What the lab says while it works, for whoever shows it.

Absent: how it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlab.judge.precision import Outlook
from benchlab.lab.budget import TimeEstimate
from benchlab.model.records import Step


@dataclass(frozen=True)
class RunStarted:
    """A run begins, or goes on after an interruption."""

    path: Path
    experiment: str
    cases: tuple[str, ...]
    sessions: int
    most_sessions: int
    """More than `sessions` where a first stage is to fix how many there are."""
    sessions_done: int
    blocks: int
    estimate: TimeEstimate
    is_blind: bool = False
    """Whether figures are to be kept back, since a verdict is to be given at the end."""


@dataclass(frozen=True)
class BuildStarted:
    """A commit is about to be checked out and built."""

    system: str
    revision: str
    commit: str


@dataclass(frozen=True)
class Built:
    """A commit is there and built."""

    system: str
    revision: str
    commit: str
    seconds: float


@dataclass(frozen=True)
class SessionStarted:
    """All systems are about to be started afresh."""

    session: int
    of: int
    systems: tuple[str, ...]


@dataclass(frozen=True)
class SystemStarted:
    """A system is up and has answered."""

    system: str
    urls: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class SystemDied:
    """A system ended by itself: a result, not a fault of the lab."""

    system: str
    why: str
    log_tail: str


@dataclass(frozen=True)
class TrialStarted:
    """A trial begins with its warm-up."""

    session: int
    block: int
    case: str
    attempt: int
    number: int
    of: int
    """0 where it is not known how many there will be."""
    step: Step | None = None
    """Where the case's rate is sought: at which one it is asked."""


@dataclass(frozen=True)
class Progress:
    """One second of a trial; negative seconds are the warm-up."""

    case: str
    second: int
    rate: float
    errors: int
    p99_s: float | None


@dataclass(frozen=True)
class TrialEnded:
    """A trial is over. `figures` are metrics by name, in SI units; None where not to be had."""

    session: int
    block: int
    case: str
    attempt: int
    state: str
    why: str
    used: bool
    figures: Mapping[str, float | None]


@dataclass(frozen=True)
class StepEnded:
    """A rate of a case whose highest is sought was measured: whether it keeps the target."""

    session: int
    case: str
    step: Step
    outcome: str
    """`kept`, `broken` or `unknown`."""
    why: str
    figures: Mapping[str, float | None]
    """Of the metrics that are to be kept, in SI units."""


@dataclass(frozen=True)
class Skipped:
    """A case is not run, here (`session`) or at all."""

    case: str
    why: str
    session: int | None = None


@dataclass(frozen=True)
class Note:
    """Something a reader of the result should know."""

    text: str


@dataclass(frozen=True)
class SessionEnded:
    """Every system of the session is gone again, and its trials count."""

    session: int
    of: int
    outlook: Outlook | None = None
    """How wide the intervals of what is compared are; None where that is not known yet."""


@dataclass(frozen=True)
class RunEnded:
    """The run is over: complete, interrupted (it can be resumed) or failed."""

    path: Path
    state: str
    sessions_done: int


Event = (
    RunStarted
    | BuildStarted
    | Built
    | SessionStarted
    | SystemStarted
    | SystemDied
    | TrialStarted
    | Progress
    | TrialEnded
    | StepEnded
    | Skipped
    | Note
    | SessionEnded
    | RunEnded
)
