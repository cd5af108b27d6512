"""A unit of work, where it is done, and the journal that keeps what came of it.

Whatever ended is a line of the journal at once, so that nothing is measured twice, however the
harness ends. Absent: what the units measure.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchlab.host import cores, fingerprint
from benchlab.host.processes import Leash
from benchlab.model.records import CpuSets

LOOK_S = 0.25
QUIET = 0.1
"""Cores' worth of others' work up to which a machine counts as quiet."""
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Lengths:
    """How long a trial is, and how often it comes."""

    duration_s: float = 2.0
    warmup_s: float = 0.3
    sessions: int = 8
    is_short: bool = False

    @property
    def comparison_s(self) -> float:
        """About what a comparison of two systems takes."""
        return 2 * self.sessions * (self.duration_s + self.warmup_s + 0.6) + 12


SHORT = Lengths(0.2, 0.1, 6, is_short=True)
"""Just to see that everything works."""


@dataclass(frozen=True)
class Place:
    """Where a unit is done."""

    name: str
    """The unit's, as a file may be called."""
    folder: Path
    leash: Leash
    lengths: Lengths

    @property
    def cpus(self) -> CpuSets:
        """Cores as the lab itself divides them."""
        return cores.divide("own")


@dataclass(frozen=True)
class Unit:
    """One comparison or one round, which takes about so long."""

    name: str
    about_s: float
    measure: Callable[[Place], Found]


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    setup: str
    truth: str
    seen: str
    done: Sequence["Line"]
    """What it rests on."""
    of: int
    """How many there are to be."""
    means: str


@dataclass(frozen=True)
class Part:
    """A question about Benchlab itself."""

    name: str
    title: str
    about: str
    """What the rows have in common."""
    units: Callable[[Lengths], Sequence[Unit]]
    rows: Callable[["Journal"], Sequence[Row]]


@dataclass(frozen=True)
class Line:
    """What came of a unit, and how it stood with the machine."""

    unit: str
    utc: str
    took_s: float
    load: float
    """The load average of a minute as the unit began; most of it is that of the unit before."""
    others: float
    """Cores' worth of work of others, just before."""
    machine: str
    commit: str
    short: bool
    found: Found

    @property
    def is_quiet(self) -> bool:
        """Whether nobody else worked on the machine as it began."""
        return self.others <= QUIET


class Journal:
    """The lines of a work folder, by unit."""

    def __init__(self, folder: Path, lengths: Lengths) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / ("short.jsonl" if lengths.is_short else "units.jsonl")
        texts = self._file.read_bytes().split(b"\n") if self._file.exists() else [b""]
        if texts[-1]:
            # An outage cut it off.
            os.truncate(self._file, sum(len(text) + 1 for text in texts[:-1]))
        read = (Line(**json.loads(text)) for text in texts[:-1])
        self._lines = {line.unit: line for line in read}
        self.lengths = lengths

    def __contains__(self, unit: Unit) -> bool:
        return unit.name in self._lines

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines.values())

    def add(self, line: Line) -> None:
        """Keeps what came of a unit, on the disk."""
        with self._file.open("a") as file:
            file.write(json.dumps(line.__dict__) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._lines[line.unit] = line

    def of(self, beginning: str) -> list[Line]:
        """The lines of all units whose names begin so."""
        return [line for line in self if line.unit.startswith(beginning)]


def others_at_work() -> float:
    """Cores' worth of work while nothing of this harness runs."""
    share = float(psutil.cpu_percent(interval=LOOK_S))
    return share / 100 * (psutil.cpu_count() or 1)


def machine() -> Mapping[str, Any]:
    """The machine's description, with its fingerprint."""
    return fingerprint.take()
