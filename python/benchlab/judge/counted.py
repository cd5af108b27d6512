"""One Measurement, counted together over names and workers: what checks and metrics are read from.

Its size grows with the length of the trial and not with the requests. Absent: units other than
nanoseconds and counts, and any judgement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars
from numpy.typing import NDArray

from benchlab.model.schemes import EMBEDDED
from benchlab.stats.distribution import Distribution, decode, merge
from benchlab.store.measurement import MAXIMA, SLOTS_PER_SECOND, SUMS, Measurement

Field = Literal["response", "service", "wait", "lag"]
FIELDS: tuple[Field, ...] = ("response", "service", "wait", "lag")
SLOT_S = 1 / SLOTS_PER_SECOND
NS = 1e9


@dataclass(frozen=True)
class Operation:
    """What was seen of one operation name in the measured part."""

    ended: int
    errors: int
    seconds: tuple[Distribution, ...]
    """Service times, second by second."""
    max_service_ns: float

    @cached_property
    def service(self) -> Distribution:
        """Those of the whole measured part."""
        return merge(self.seconds)


@dataclass(frozen=True)
class Books:
    """The whole trial, warm-up and tail included, in which every transaction begins and ends."""

    in_flight_ns: float
    """The integral of those sent and not done, kept by a counter of its own."""
    service_ns: float
    """The sum of the service times of those that ended ok."""
    due: float
    ok: float
    failed: float = 0.0
    timed_out: float = 0.0
    unknown: float = 0.0


@dataclass(frozen=True)
class Counted:
    """The measured part of one trial: counters a slot, distributions a second."""

    plan: Mapping[str, Any]
    reason: str | None
    """How the agent ended: `complete`, `interrupted`; None where it did not get to say so."""
    start: Mapping[str, Any]
    end: Mapping[str, Any]
    slots: Mapping[str, NDArray[np.float64]]
    """Counters of all transactions and workers, by column; index 0 begins at the origin."""
    peaks: Mapping[str, NDArray[np.float64]]
    """The greatest of each slot, by column of `MAXIMA`."""
    open_at_origin: float
    """Transactions of the warm-up that had not ended when the measured part began."""
    warmup: NDArray[np.float64]
    """What was completed in the slots before the origin; the last of them ends there."""
    maxima: Mapping[str, float]
    busy_ns: Mapping[str, float]
    """Work time by worker in the counted slots; what the tail cost is not in it.

    By its own clock, or its thread's CPU time where that is more and nothing was polled: with
    io_uring the kernel sends and receives while the worker waits.
    """
    seconds: Mapping[Field, tuple[Distribution, ...]]
    """Distributions of all transactions, second by second."""
    operations: Mapping[str, Operation]
    books: Books
    errors: tuple[Mapping[str, Any], ...]

    @property
    def is_open(self) -> bool:
        """Whether transactions start by a rate."""
        return "open" in self.plan["schedule"]

    @property
    def ends_by_count(self) -> bool:
        """Whether the trial ends when so many transactions are done."""
        return "duration_ns" not in self.plan["stop"]

    @property
    def is_embedded(self) -> bool:
        """Whether the system runs in the agent's own process."""
        return self.plan["driver"]["kind"] in EMBEDDED

    @property
    def length_s(self) -> float:
        """Length of the measured part."""
        return float(self.end.get("elapsed_ns", 0)) / NS

    @property
    def origin_ns(self) -> int | None:
        """The origin on the monotonic clock."""
        origin = self.start.get("origin_monotonic_ns")
        return None if origin is None else int(origin)

    @property
    def whole_slots(self) -> int:
        """Slots that lie within the measured part from end to end."""
        return min(len(self.slots["completed"]), _whole_slots(self.length_s))

    @property
    def counted_slots(self) -> int:
        """Slots in which `completed` counts: whole ones, or all where the trial ends by count.

        What is done after the measured part, while its tail is waited for, is no throughput.
        """
        if self.ends_by_count:
            return len(self.slots["completed"])
        return _whole_slots(self.length_s)

    @property
    def counted_s(self) -> float:
        """The time those slots stand for."""
        return self.length_s if self.ends_by_count else self.counted_slots * SLOT_S

    def total(self, column: str) -> float:
        """The sum over the measured part and its tail: outcomes belong to the intended time."""
        return float(self.slots[column].sum())

    def during(self, column: str) -> float:
        """The sum over the counted slots: what is counted at the time it was done."""
        return float(self.slots[column][: self.counted_slots].sum())

    @property
    def failures(self) -> float:
        """Transactions that failed, timed out or ended unknown."""
        return self.total("failed") + self.total("timed_out") + self.total("unknown")

    @property
    def never_ok(self) -> int:
        """Transactions that failed or were still open at the end: to a user, infinitely slow."""
        return max(0, round(self.total("due") - self.total("ok")))

    def per_second(self, field: Field, *, user_seen: bool) -> tuple[Distribution, ...]:
        """The distributions second by second; as a user sees them, with what never ended well."""
        listed = self.seconds[field]
        if not user_seen:
            return listed
        missing = per_second(self.slots["due"] - self.slots["ok"])
        empty = merge(())
        padded = [*listed, *([empty] * (missing.size - len(listed)))]
        return tuple(
            one.with_infinite(max(0, round(float(missing[second]))) if second < missing.size else 0)
            for second, one in enumerate(padded)
        )

    @cached_property
    def merged(self) -> Mapping[Field, Distribution]:
        """The distributions of the whole measured part."""
        return {field: merge(self.seconds[field]) for field in FIELDS}

    @property
    def throughput(self) -> float:
        """Transactions completed ok per second of the measured part."""
        return self.during("completed") / self.counted_s if self.counted_s > 0 else 0.0


def counted(measurement: Measurement) -> Counted:
    """Reads a Measurement once and counts its rows together, warm-up left out."""
    rows = measurement.rows
    measured = rows.filter(polars.col("interval") >= 0)
    transactions = measured.filter(polars.col("kind") == "transaction")
    workers = measured.filter(polars.col("kind") == "worker")
    operations = measured.filter(polars.col("kind") == "operation")
    start, end = (_event(measurement, name) for name in ("start", "end"))
    if "duration_ns" in measurement.plan["stop"]:
        workers = workers.filter(
            polars.col("interval") < _whole_slots(end.get("elapsed_ns", 0) / NS)
        )
    sums = workers.group_by("name").agg(polars.col("busy_ns", "cpu_ns").sum()).sort("name")
    polls = "spin" in str(start.get("wait"))
    work = polars.col("busy_ns") if polls else polars.max_horizontal("busy_ns", "cpu_ns")
    return Counted(
        plan=measurement.plan,
        reason=end.get("reason"),
        start=start,
        end=end,
        slots=_slots(measured.filter(polars.col("kind").is_in(["transaction", "worker"]))),
        peaks=_peaks(transactions),
        open_at_origin=_open_at_origin(rows),
        warmup=_warmup(rows),
        maxima={name: _greatest(transactions[name]) for name in MAXIMA},
        busy_ns={str(name): float(ns) for name, ns in sums.select("name", work).iter_rows()},
        seconds={field: _seconds(transactions, field) for field in FIELDS},
        operations={
            str(name): _operation(operations.filter(polars.col("name") == name))
            for name in operations["name"].unique().sort()
        },
        books=_books(rows),
        errors=measurement.events("error"),
    )


def _books(rows: polars.DataFrame) -> Books:
    transactions = rows.filter(polars.col("kind") == "transaction")
    times = merge(decode(one) for one in transactions["service"].drop_nulls())
    return Books(
        in_flight_ns=float(rows["in_flight_ns"].sum()),
        service_ns=(times.mean() or 0.0) * times.total,
        due=float(transactions["due"].sum()),
        ok=float(transactions["ok"].sum()),
        failed=float(transactions["failed"].sum()),
        timed_out=float(transactions["timed_out"].sum()),
        unknown=float(transactions["unknown"].sum()),
    )


def _whole_slots(length_s: float) -> int:
    return int(length_s * SLOTS_PER_SECOND + 1e-6)


def per_second(slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of ten slots each; the last may be of fewer."""
    padded = np.zeros(-(-slots.size // SLOTS_PER_SECOND) * SLOTS_PER_SECOND)
    padded[: slots.size] = slots
    return np.asarray(padded.reshape(-1, SLOTS_PER_SECOND).sum(axis=1), dtype=np.float64)


def _event(measurement: Measurement, name: str) -> Mapping[str, Any]:
    found = measurement.events(name)
    return found[-1] if found else {}


def _slots(rows: polars.DataFrame) -> dict[str, NDArray[np.float64]]:
    places = rows["interval"].to_numpy()
    length = int(places.max()) + 1 if places.size else 0
    return {
        column: np.bincount(places, rows[column].to_numpy(), minlength=length).astype(np.float64)
        for column in SUMS
    }


def _peaks(rows: polars.DataFrame) -> dict[str, NDArray[np.float64]]:
    places = rows["interval"].to_numpy()
    found = {name: np.zeros(int(places.max()) + 1 if places.size else 0) for name in MAXIMA}
    for name, peaks in found.items():
        np.maximum.at(peaks, places, rows[name].to_numpy().astype(np.float64))
    return found


def _open_at_origin(rows: polars.DataFrame) -> float:
    before = rows.filter((polars.col("kind") == "transaction") & (polars.col("interval") < 0))
    ended = ("completed", "failed", "timed_out", "unknown")
    return float(before["due"].sum()) - sum(float(before[name].sum()) for name in ended)


def _warmup(rows: polars.DataFrame) -> NDArray[np.float64]:
    before = rows.filter((polars.col("kind") == "transaction") & (polars.col("interval") < 0))
    places = -1 - before["interval"].to_numpy()
    return np.bincount(places, before["completed"].to_numpy()).astype(np.float64)[::-1]


def _greatest(column: polars.Series) -> float:
    return float(column.to_numpy().max()) if len(column) else 0.0


def _seconds(rows: polars.DataFrame, field: Field) -> tuple[Distribution, ...]:
    seen = rows.filter(polars.col(field).is_not_null())
    parts: dict[int, list[Distribution]] = {}
    for slot, encoded in seen.select("interval", field).iter_rows():
        parts.setdefault(slot // SLOTS_PER_SECOND, []).append(decode(encoded))
    return tuple(merge(parts.get(second, [])) for second in range(max(parts, default=-1) + 1))


def _operation(rows: polars.DataFrame) -> Operation:
    ok, failed, timed_out, unknown = (
        int(rows[column].sum()) for column in ("ok", "failed", "timed_out", "unknown")
    )
    return Operation(
        ended=ok + failed + timed_out + unknown,
        errors=failed + timed_out + unknown,
        seconds=_seconds(rows, "service"),
        max_service_ns=_greatest(rows["max_service_ns"]),
    )
