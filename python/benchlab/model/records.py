"""What a run writes down as it goes: `run.json`, each trial's `trial.json`, and its probes."""

from collections.abc import Mapping
from typing import Any, Literal

from benchlab.model.evidence import Frozen

PROBE_COLUMNS: Mapping[str, type] = {
    "before_ns": int,
    "after_ns": int,
    "source": str,
    "member": str,
    "counter": str,
    "kind": str,
    "unit": str,
    "value": float,
}
"""Of the table of probes: CLOCK_MONOTONIC around the sample, whose it is, and what it says."""


class CpuSets(Frozen):
    """Cores by number; empty where nothing was pinned."""

    agent: tuple[int, ...] = ()
    system: tuple[int, ...] = ()
    shared: bool = False


class Step(Frozen):
    """One rate of a search for the highest that keeps a target."""

    rate: float
    """Transactions a second."""
    share: float | None = None
    """Of the rate that the search had found, about; None in the search itself."""


class TrialRecord(Frozen):
    """One measured stretch of one case."""

    session: int
    block: int
    case: str
    attempt: int
    state: Literal["ok", "died", "failed", "aborted", "interrupted"]
    why: str = ""
    used: bool = True
    """False for an attempt that was superseded or whose session was run again."""
    started_utc: str
    step: Step | None = None
    """Of a case whose rate is sought: at which one it was asked here."""
    cpus: CpuSets = CpuSets()
    ceiling: str | None = None
    """Folder, relative to the run's, of the null server's Measurements under this Plan's shape."""


class SkippedCase(Frozen):
    """A case that could not be run at all, and why."""

    case: str
    why: str


SHORT = 10
"""Digits of a commit's id that are shown."""


class SourceRecord(Frozen):
    """What a system was built from."""

    system: str
    git: str
    revision: str
    commit: str
    uncommitted: int = 0
    """Files of the repository's work tree that differ from its HEAD; no revision has them."""
    build: str | None = None


class Calibration(Frozen):
    """What this machine made of two equal systems: its own noise."""

    run: str
    """Whose trials it rests on."""
    fingerprint: str
    created_utc: str
    sessions: int
    session_s: float
    """How long a session of one pair took, all told."""
    spread: dict[str, float]
    """Standard deviation of a session's log ratio, by metric."""
    called_different: int
    comparisons: int
    """Of six sessions each, on throughput; so many of them were called different."""


class TwoStage(Frozen):
    """The number of sessions as it was fixed once, after a first stage, and what from."""

    precision: float
    """The half-width that was asked for, as a share."""
    first: int
    """Sessions of the first stage."""
    sessions: int
    """All of them, as they were fixed."""
    needed: int
    """What the precision takes, were there no limit."""
    half_width: float
    """What is to be had of these, as a share."""
    comparison: str = ""
    """The one that takes most; empty where none had a spread to go by."""
    spread: float = 0.0
    """Standard deviation of its log ratios in the first stage."""
    freedom: int = 0
    level: float
    """Of the interval: Holm's strictest."""


class Restart(Frozen):
    """How far one more start may lie from what others gave, in one comparison."""

    metric: str
    baseline: str
    candidate: str
    at: dict[str, str]
    share: float


class Restarts(Frozen):
    """What a restart does to systems that this run leaves running, by an earlier one of theirs."""

    run: str
    """Whose sessions began with restarts."""
    found: tuple[Restart, ...]


TakingTurns = Literal["", "resident", "blocks", "sequential"]


class RunRecord(Frozen):
    """The recipe of a run and how far it came."""

    format: int = 1
    id: str
    experiment: str
    state: Literal["running", "complete", "interrupted", "failed"]
    created_utc: str
    command: tuple[str, ...]
    seed: int
    sessions: int
    """How many are to be made; with a `precision`, those of the first stage until `two_stage`."""
    blocks: int
    precision: float | None = None
    two_stage: TwoStage | None = None
    """None where the number of sessions was given, or is not fixed yet."""
    order: TakingTurns = ""
    """How the systems took turns, as it was asked for; empty where there is one system alone."""
    blocks_from: int | None = None
    """The session in which systems that were to be resident began to be started for each block."""
    sessions_done: int = 0
    overrides: dict[str, Any] = {}
    """What the command line changed: `--set`, `--sessions`, `--only`, `--budget`, `--full`."""
    versions: dict[str, Any] = {}
    host: dict[str, Any] = {}
    calibration: Calibration | None = None
    """This machine's noise as it was known when the run began."""
    restarts: Restarts | None = None
    """As it was known when the run began; None where nothing is left running, or none can tell."""
    systems: dict[str, Any] = {}
    sources: tuple[SourceRecord, ...] = ()
    commit: str = ""
    """Of the repository that the experiment file is in, with a + where it was not all committed."""
    skipped: tuple[SkippedCase, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_staged(self) -> bool:
        """Whether the number of sessions is still to be fixed, once the first stage is done."""
        return self.precision is not None and self.two_stage is None

    @property
    def is_done(self) -> bool:
        """Whether every session there is to be was finished."""
        is_fixed = not self.is_staged or self.state == "complete"
        return self.sessions_done >= self.sessions and is_fixed
