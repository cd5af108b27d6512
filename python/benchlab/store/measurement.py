"""What the engine left of a trial, read: one agent's Measurement, or those of several as one.

Rows are increments (docs/FORMATS.md): sums are to be added, maxima maximised, histograms merged and
quantiles read last. Absent: estimates, and whether a figure may be used; `judge` knows that.
"""

import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars

from benchlab import _core
from benchlab.model.errors import HostError

Kind = Literal["transaction", "operation", "worker"]
Field = Literal["response", "service", "wait", "lag"]
QUANTILES_OF: tuple[Field, ...] = ("response", "service")
SLOTS_PER_SECOND = 10
SLOT_NS = 100_000_000
SUMS = (
    "due",
    "completed",
    "ok",
    "failed",
    "timed_out",
    "unknown",
    "bytes_out",
    "bytes_in",
    "in_flight_ns",
    "busy_ns",
    "cpu_ns",
)
MAXIMA = ("max_response_ns", "max_service_ns", "max_lag_ns")


@dataclass(frozen=True)
class Event:
    """Something that happened once, or an error's count."""

    slot: int
    name: str
    note: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """One agent's share."""

    plan: Mapping[str, Any]
    build: Mapping[str, str]
    torn: str | None
    """What is wrong with the file's tail, if anything."""
    events: tuple[Event, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the agent lived to its end."""
        return any(event.name == "end" for event in self.events)


@dataclass(frozen=True, eq=False)
class Measurement:
    """The record of one trial; slots count 100 ms from its origin and are negative in warm-up."""

    parts: tuple[Part, ...]
    """One for each agent, by its number."""
    rows: polars.DataFrame
    """Every row that is no event, as written: several may name the same cell."""
    _read: _core.Measurement

    @classmethod
    def read(cls, *paths: Path) -> "Measurement":
        """Reads the parts of one trial, as streams or files, whole or cut off.

        Raises:
            HostError: one cannot be read or is no Measurement.
        """
        try:
            core = _core.Measurement.open(*paths)
        except (OSError, ValueError) as error:
            raise HostError(f"{_reason(error)}; run the trial again") from error
        frames = [polars.read_ipc_stream(io.BytesIO(rows)) for rows in core.rows()]
        rows = polars.concat(frames).filter(polars.col("kind") != "event").drop("note")
        parts = sorted(map(_part, core.parts), key=lambda part: _index(part.plan))
        return cls(tuple(parts), rows, core)

    @property
    def plan(self) -> Mapping[str, Any]:
        """The Plan; of several agents, the first one's: they differ in `part` alone."""
        return self.parts[0].plan

    @property
    def is_complete(self) -> bool:
        """Whether every agent lived to its end."""
        return all(part.is_complete for part in self.parts)

    @property
    def torn(self) -> str | None:
        """What is wrong with the tail of a file, if anything."""
        return next((part.torn for part in self.parts if part.torn is not None), None)

    def events(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The notes of the events of a kind; of errors, equal ones are counted together."""
        found = [e.note for part in self.parts for e in part.events if e.name == name]
        if name != "error":
            return tuple(found)
        counts: Counter[tuple[Any, Any, Any]] = Counter()
        for note in found:
            counts[note["operation"], note["outcome"], note["message"]] += note["count"]
        return tuple(
            {"operation": operation, "outcome": outcome, "message": message, "count": count}
            for (operation, outcome, message), count in counts.most_common()
        )

    @cached_property
    def window_slots(self) -> range:
        """The slots of the measured part; without an `end`, as far as anything was counted."""
        elapsed = [int(note["elapsed_ns"]) for note in self.events("end")]
        if self.is_complete and elapsed:
            return range(-(-max(elapsed) // SLOT_NS))
        last = self.rows.select(polars.col("interval").max()).item()
        return range(max(0, -1 if last is None else int(last)) + 1)

    def totals(self, kind: Kind = "transaction", name: str | None = None) -> dict[str, int]:
        """Each counter over the measured part: of one name, or of all of a kind together."""
        return self._read.totals(kind, name, 0, len(self.window_slots))

    def histogram(
        self, field: Field, name: str | None = None, *, kind: Kind = "transaction"
    ) -> _core.Histogram:
        """The lengths (ns) of what was intended in the measured part."""
        whole_seconds = -(-len(self.window_slots) // SLOTS_PER_SECOND)
        return self._read.histogram(kind, name, field, 0, whole_seconds * SLOTS_PER_SECOND)

    def slots(self) -> polars.DataFrame:
        """Transactions and workers by slot of the measured part, one row each, without gaps."""
        sums = [polars.col(name).sum() for name in SUMS]
        maxima = [polars.col(name).max() for name in MAXIMA]
        counted = (
            self.rows.filter(polars.col("kind").is_in(["transaction", "worker"]))
            .group_by("interval")
            .agg(*sums, *maxima)
        )
        every = polars.Series("interval", self.window_slots, dtype=polars.Int64).to_frame()
        return every.join(counted, on="interval", how="left", maintain_order="left").fill_null(0)

    def seconds(self) -> polars.DataFrame:
        """The measured part by second: completed, errors, mean in flight, and quantiles in ns."""
        by_second = (
            self.slots()
            .group_by((polars.col("interval") // SLOTS_PER_SECOND).alias("second"))
            .agg(
                polars.col("completed").sum(),
                polars.sum_horizontal("failed", "timed_out", "unknown").sum().alias("errors"),
                (polars.col("in_flight_ns").sum() / (polars.len() * SLOT_NS)).alias("in_flight"),
            )
            .sort("second")
        )
        quantiles = [
            polars.Series(f"{field}_ns_p{round(q * 100)}", self._by_second(field, q))
            for field in QUANTILES_OF
            for q in (0.5, 0.99)
        ]
        return by_second.with_columns(*quantiles)

    def _by_second(self, field: Field, q: float) -> list[int | None]:
        found: list[int | None] = []
        for first in range(0, len(self.window_slots), SLOTS_PER_SECOND):
            end = first + SLOTS_PER_SECOND
            lengths = self._read.histogram("transaction", None, field, first, end)
            found.append(lengths.quantile(q) if lengths.count else None)
        return found


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _part(part: _core.Part) -> Part:
    return Part(
        plan=json.loads(part.plan),
        build=json.loads(part.build),
        torn=part.torn,
        events=tuple(Event(slot, name, json.loads(note)) for slot, name, note in part.events),
    )


def _index(plan: Mapping[str, Any]) -> int:
    return int(plan.get("part", {}).get("index", 0))
