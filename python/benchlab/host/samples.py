"""Samples as a tidy table: one row for what one counter or gauge said at one moment.

Each is stamped before and after with CLOCK_MONOTONIC, so that it stands on the same clock as the
Measurement. Several threads may add at once. Absent: what is sampled, and where the table is kept.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars

from benchlab.model.records import PROBE_COLUMNS

CHUNK_ROWS = 50_000
Figures = Mapping[tuple[str, str], float]
"""What was seen: (member, counter) to value."""
Keep = Callable[[polars.DataFrame], None]
"""Puts rows where they survive the lab."""


@dataclass(frozen=True)
class Meaning:
    """What a figure is."""

    kind: Literal["counter", "gauge"]
    """A counter only grows, but for a restart of whoever counts."""
    unit: str = ""
    """Empty for a plain number."""


class Samples:
    """The rows so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[str, list[object]] = {name: [] for name in PROBE_COLUMNS}
        self._chunks: list[polars.DataFrame] = []

    def add(
        self,
        stamps: tuple[int, int],
        source: str,
        figures: Figures,
        meaning: Callable[[str], Meaning],
    ) -> None:
        """Takes in what was read between two stamps."""
        members, counters = zip(*figures, strict=True) if figures else ((), ())
        meanings = [meaning(counter) for counter in counters]
        before, after = stamps
        count = len(meanings)
        # By columns, since rows cost three times as much, which is most of what a sample does.
        cells: tuple[Iterable[object], ...] = (
            *([before] * count, [after] * count, [source] * count, members, counters),
            *([what.kind for what in meanings], [what.unit for what in meanings]),
            figures.values(),
        )
        with self._lock:
            for column, more in zip(self._columns.values(), cells, strict=True):
                column.extend(more)

    def pack(self, keep: Keep | None = None) -> None:
        """Puts the rows since the last time together, and keeps them where one is to."""
        with self._lock:
            if keep is None and len(self._columns["value"]) < CHUNK_ROWS:
                return
            columns, self._columns = self._columns, {name: [] for name in PROBE_COLUMNS}
        chunk = polars.DataFrame(columns, schema=PROBE_COLUMNS)
        self._chunks.append(chunk)
        if keep is not None:
            keep(chunk)

    def all(self) -> polars.DataFrame:
        """Every row; the table is empty afterwards."""
        with self._lock:
            rest = polars.DataFrame(self._columns, schema=PROBE_COLUMNS)
            chunks, self._chunks = [*self._chunks, rest], []
            self._columns = {name: [] for name in PROBE_COLUMNS}
        return polars.concat(chunks)
