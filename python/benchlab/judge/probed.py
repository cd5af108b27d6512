"""What the probes saw during one trial, on the trial's own clock.

Absent: what a figure means for validity (`checks`) and what is made of it (`figures`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
import polars
from numpy.typing import NDArray

Key = tuple[str, str, str]
"""Source, counter and member; the member is a core's number, or empty for the sum."""
Kind = Literal["counter", "gauge"]
PROCESSES = ("host", "system", "agent", "idle")
"""Sources that are not a kind of system telling of itself."""
EDGE_S = 0.5
"""How far the samples may end before the measured part does: five samples at 10 Hz."""
NS = 1e9


@dataclass(frozen=True, eq=False)
class Line:
    """Samples of one counter or gauge: seconds since the origin, and values."""

    at_s: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Probed:
    """All lines of a trial whose measured part lasts from 0 to `length_s`."""

    lines: Mapping[Key, Line]
    length_s: float
    own: Mapping[tuple[str, str], tuple[Kind, str]] = field(default_factory=dict)
    """What systems count of themselves: kind of system and counter to kind and unit."""

    def line(self, source: str, counter: str, member: str = "") -> Line | None:
        """The samples of one counter, those before and after the measured part included."""
        return self.lines.get((source, counter, member))

    def members(self, source: str, counter: str) -> tuple[str, ...]:
        """The members that have this counter."""
        return tuple(key[2] for key in self.lines if key[:2] == (source, counter))

    def increase(self, source: str, counter: str, member: str = "") -> float | None:
        """By how much a counter grew in the measured part; None where samples do not span it."""
        line = self.line(source, counter, member)
        if line is None or line.at_s.size < 2 or self.length_s <= 0:
            return None
        if line.at_s[0] > EDGE_S or line.at_s[-1] < self.length_s - EDGE_S:
            return None
        first, last = np.interp([0.0, self.length_s], line.at_s, line.values)
        return float(last - first)

    def during(self, source: str, counter: str, member: str = "") -> NDArray[np.float64]:
        """The values of a gauge sampled in the measured part."""
        line = self.line(source, counter, member)
        if line is None:
            return np.zeros(0)
        inside = (line.at_s >= 0) & (line.at_s <= self.length_s)
        return line.values[inside]


def memory(seen: Probed, source: str) -> Line | None:
    """What a source's processes held together; their summed resident sets in runs without that."""
    return seen.line(source, "memory_bytes") or seen.line(source, "resident_bytes")


def probed(frame: polars.DataFrame, origin_ns: int | None, length_s: float) -> Probed:
    """Puts the probes' samples on the clock of a trial; without an origin nothing is seen."""
    lines: dict[Key, Line] = {}
    if origin_ns is None:
        return Probed(lines, length_s)
    ordered = frame.sort("source", "counter", "member", "before_ns")
    groups = ordered.partition_by("source", "counter", "member", as_dict=True)
    for (source, counter, member), rows in groups.items():
        # A sample was taken somewhere between its two stamps; the middle is off by least.
        before, after = (rows[name].to_numpy() for name in ("before_ns", "after_ns"))
        at_s = ((before - origin_ns) + (after - origin_ns)) / (2 * NS)
        values = rows["value"].to_numpy().astype(np.float64)
        lines[str(source), str(counter), str(member)] = Line(at_s, values)
    return Probed(lines, length_s, _own(frame))


def _own(frame: polars.DataFrame) -> dict[tuple[str, str], tuple[Kind, str]]:
    rows = frame.filter(~polars.col("source").is_in(PROCESSES))
    found = rows.select("source", "counter", "kind", "unit").unique().sort("source", "counter")
    return {
        (source, counter): (cast(Kind, kind), unit) for source, counter, kind, unit in found.rows()
    }
