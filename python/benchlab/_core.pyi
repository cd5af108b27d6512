"""The engine and its Measurements, compiled from Rust (`crates/pyext`).

Lengths of time are whole nanoseconds, slots 100 ms from the trial's origin.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, final

_Kind = Literal["transaction", "operation", "worker"]
_Field = Literal["response", "service", "wait", "lag"]

class PlanError(Exception):
    """You asked wrongly; the message names the field.

    Attributes:
        field: the path of the field.
        value: its value as JSON; empty where there is none to show.
        why: what is wrong with it.
        nearest: the nearest valid choice, where there is one.
    """

    field: str
    value: str
    why: str
    nearest: str | None

class HostError(Exception):
    """The world is not as needed; it says what to do."""

class EngineBug(Exception):  # noqa: N818 - what went wrong is a bug
    """The engine broke a promise of its own."""

@final
class Histogram:
    """Lengths of time and how often each was seen, to 3 significant digits from 1 ns to 1 h."""

    def __new__(cls) -> Histogram: ...
    @staticmethod
    def from_v2(encoded: bytes) -> Histogram:
        """Decodes HDR V2 encoding without compression; ValueError when it is something else."""

    def to_v2(self) -> bytes: ...
    def record(self, value: int, count: int = 1) -> None: ...
    def add(self, other: Histogram) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def mean(self) -> float:
        """NaN of none."""

    @property
    def max(self) -> int:
        """Zero of none."""

    @property
    def min(self) -> int:
        """Zero of none."""

    def quantile(self, q: float) -> int:
        """The least recorded length that at least the share `q` of all do not exceed."""

    def quantiles(self, shares: Sequence[float]) -> list[int]: ...
    def count_at_or_below(self, value: int) -> int: ...
    def recorded(self) -> list[tuple[int, int]]:
        """Every length that was seen, rising, and how often."""

@final
class Part:
    """One agent's share of a Measurement."""

    @property
    def plan(self) -> str:
        """The Plan as it was given, JSON."""

    @property
    def build(self) -> str:
        """Version, profile and target of the engine, JSON."""

    @property
    def torn(self) -> str | None:
        """What is wrong with its tail, if anything."""

    @property
    def events(self) -> list[tuple[int, str, str]]:
        """Slot, name and note (JSON) of each, in order of time."""

@final
class Measurement:
    """What a trial left; several agents' parts read as one."""

    @staticmethod
    def open(*paths: str | PathLike[str]) -> Measurement:
        """Reads streams or IPC files, whole or cut, as parts of one trial.

        Raises:
            OSError: a file cannot be read.
            ValueError: a file is no Measurement.
        """

    @property
    def parts(self) -> list[Part]: ...
    def rows(self) -> list[bytes]:
        """The rows as they were written: an Arrow IPC stream for each part."""

    def names(self, kind: _Kind) -> list[str]: ...
    def totals(self, kind: _Kind, name: str | None, from_slot: int, to_slot: int) -> dict[str, int]:
        """Each counter over the slots from `from_slot` up to `to_slot`; name None is all."""

    def histogram(
        self, kind: _Kind, name: str | None, field: _Field, from_slot: int, to_slot: int
    ) -> Histogram:
        """Lengths of the seconds whose first slot lies in the range; name None is all."""

def seal(stream: str | PathLike[str], file: str | PathLike[str]) -> str | None:
    """Makes an IPC file of a stream, keeping every whole batch; `file` may be `stream` itself.

    Returns what was wrong with the stream's tail, if anything.

    Raises:
        OSError: the one cannot be read or the other not written.
        ValueError: the stream is no Measurement.
    """

def plan_schema() -> str:
    """The JSON Schema of Plans."""

def check_plan(plan: str) -> None:
    """Checks a Plan, given as JSON, as far as that can be done without running it.

    Raises:
        PlanError: it cannot be run as it is.
    """

def run_plan(plan: str, allow_debug: bool = False) -> bytes:
    """Runs the trial of a Plan, given as JSON, in this process; its Measurement as a stream.

    Raises:
        PlanError: the Plan cannot be run as it is.
        HostError: the world is not as needed; a debug build without `allow_debug`, say.
        EngineBug: the engine broke a promise of its own.
    """

def build() -> dict[str, str]:
    """Version, profile (`debug`, `release`) and target of the engine."""
