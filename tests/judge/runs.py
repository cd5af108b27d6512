"""Run folders made of numbers: what a lab would have written, without a lab."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars
from hdr import encode
from synthetic import MS, plan

from benchlab._core import Histogram
from benchlab.model.experiment import Case, Compare, Experiment, Load, System, Workload
from benchlab.model.records import CpuSets, RunRecord, SkippedCase, TrialRecord

COUNTERS = (
    "due",
    "completed",
    "ok",
    "failed",
    "timed_out",
    "unknown",
    "bytes_out",
    "bytes_in",
    "max_response_ns",
    "max_service_ns",
    "max_lag_ns",
    "in_flight_ns",
    "busy_ns",
    "cpu_ns",
)
TIMES = ("response", "service", "wait", "lag")


@dataclass(frozen=True)
class Course:
    """How one trial went."""

    rate: float = 1000.0
    service_ns: int = 4 * MS
    slow_ns: int | None = None
    """What one transaction in twenty takes instead."""
    failed: float = 0.0
    busy: float = 0.3
    cpu: float = 0.0
    """Of the worker's thread, read once a second."""
    wait: str = "sleep"
    lag_ns: int = 10_000
    steal: float = 0.0
    ceiling: float | None = 10_000.0
    floor_ns: int | None = 200_000
    state: str = "ok"
    why: str = ""
    reason: str | None = "complete"
    attempt: int = 0
    used: bool = True
    seconds: int = 2
    open_at: float | None = None
    stuck: bool = False
    """Whether eight clients wait from the warm-up to after the end, and time out."""
    counted: float | None = None
    """How often the system's own counter `shop.asked` grows with a transaction."""
    early: float = 1.0
    """Share of its rate in the warm-up and the first second."""
    late: float = 1.0
    """The same of the last two seconds."""
    stands_still: bool = False
    """Whether nothing is done from 1.2 s to 1.7 s, while eight wait."""
    tail_s: int = 0
    """How long the worker is busy all the time after the measured part."""


class FakeMeasurement:
    """The rows of a Measurement as the file has them."""

    def __init__(self, course: Course) -> None:
        stop = {"duration_ns": course.seconds * 10**9}
        self.plan = plan(rate=course.open_at, stop=stop)
        self.rows = _rows(course)
        self._course = course

    def totals(self) -> dict[str, int]:
        measured = self.rows.filter(kind="transaction").filter(polars.col("interval") >= 0)
        return {"completed": int(measured["completed"].sum())}

    def histogram(self, field: str) -> Histogram:
        found = Histogram()
        for encoded in self.rows.filter(kind="transaction")[field].drop_nulls():
            found.add(Histogram.from_v2(encoded))
        return found

    def events(self, name: str) -> tuple[Mapping[str, Any], ...]:
        course = self._course
        if name == "start":
            return ({"origin_monotonic_ns": 10**12, "wait": self._course.wait},)
        if name == "end" and course.reason is not None:
            cpu = round(course.busy * course.seconds * 1e9 / 2)
            elapsed = course.seconds * 10**9
            figures = {"elapsed_ns": elapsed, "user_cpu_ns": cpu, "system_cpu_ns": cpu}
            return ({"reason": course.reason, **figures},)
        if name == "error" and course.stuck:
            return ({"operation": "read", "outcome": "timed_out", "message": "silence"},)
        if name == "error" and course.failed:
            return ({"operation": "read", "outcome": "failed", "message": "status 500"},)
        return ()


def _rows(course: Course) -> polars.DataFrame:
    rows = []
    last = course.seconds * 10 - 20
    for slot in range(-10, course.seconds * 10):
        share = course.early if slot < 10 else course.late if slot >= last else 1.0
        ok = round(course.rate / 10 * share * (1 - course.failed))
        bad = round(course.rate / 10 * share) - ok
        row: dict[str, Any] = (
            dict.fromkeys(COUNTERS, 0)
            | dict.fromkeys(TIMES)
            | {
                "interval": slot,
                "kind": "transaction",
                "name": "login",
                "due": ok + bad,
                "completed": ok,
                "ok": ok,
                "failed": bad,
                "bytes_out": ok * 100,
                "bytes_in": ok * 900,
                "max_response_ns": course.service_ns + course.lag_ns,
                "max_service_ns": course.service_ns,
                "max_lag_ns": course.lag_ns,
            }
        )
        if course.stuck:
            waiting = 8 if slot == -10 else 0
            row |= dict.fromkeys(COUNTERS, 0) | {"due": waiting, "timed_out": waiting}
        elif slot % 10 == 0:
            row |= _histograms(course, ok * 10, bad * 10)
        if course.stands_still and slot in range(12, 17):
            row |= {"completed": 0, "due": 0, "ok": 0, "failed": 0}
        if course.stands_still and slot == -1:
            row |= {"completed": ok - 8}
        rows.append(row)
        rows.append(row | {"kind": "operation", "name": "read"})
        mean = course.service_ns * 0.95 + (course.slow_ns or course.service_ns) * 0.05
        worker = dict.fromkeys(COUNTERS, 0) | dict.fromkeys(TIMES)
        in_flight = round(ok * mean)
        busy = round(course.busy * 1e8)
        rows.append(
            worker
            | {"interval": slot, "kind": "worker", "name": "0"}
            | {"in_flight_ns": in_flight, "busy_ns": busy}
            | {"cpu_ns": 0 if slot % 10 else round(course.cpu * 1e9)}
        )
    for slot in range(course.seconds * 10, (course.seconds + course.tail_s) * 10):
        rows.append(worker | {"interval": slot, "kind": "worker", "name": "0", "busy_ns": 10**8})
    return polars.DataFrame(
        rows,
        schema={"interval": polars.Int64, "kind": polars.String, "name": polars.String}
        | dict.fromkeys(COUNTERS, polars.UInt64)
        | dict.fromkeys(TIMES, polars.Binary),
    )


def _histograms(course: Course, ok: int, bad: int) -> dict[str, bytes]:
    slow = ok // 20
    service = {course.service_ns: ok - slow}
    service[course.slow_ns or course.service_ns] = (
        slow if course.slow_ns not in (None, course.service_ns) else ok
    )
    response = {value + course.lag_ns: count for value, count in service.items()}
    return {
        "service": encode(service),
        "response": encode(response),
        "wait": encode({1000: ok}),
        "lag": encode({course.lag_ns: ok + bad}),
    }


def probes_of(course: Course, origin_ns: int) -> polars.DataFrame:
    """What the probes saw: cores, memory and steal, at 10 Hz about the trial."""
    rows = []
    for step in range(-5, course.seconds * 10 + 6):
        at = origin_ns + step * 10**8
        grown = (step + 5) / 10
        for source, member, counter, value in (
            ("system", "", "cpu_user_s", grown * 0.6),
            ("system", "", "cpu_system_s", grown * 0.2),
            ("system", "", "resident_bytes", 5e7),
            ("host", "0", "busy_s", grown * 0.3),
            ("host", "1", "busy_s", grown * 0.8),
            ("host", "0", "steal_s", 0.0),
            ("host", "1", "steal_s", grown * course.steal),
            ("host", "", "swap_in_pages", 0.0),
            ("host", "", "swap_out_pages", 0.0),
            ("host", "", "wall_minus_monotonic_ns", 5e17),
        ):
            rows.append((at, at + 1000, source, member, counter, "counter", "", value))
        if course.counted is not None:
            asked = grown * course.rate * course.counted
            rows.append((at, at + 1000, "shop", "", "asked", "counter", "", asked))
    columns = ("before_ns", "after_ns", "source", "member", "counter", "kind", "unit", "value")
    return polars.DataFrame(rows, schema=columns, orient="row")


@dataclass
class FakeTrial:
    """A trial's folder as the judge sees it."""

    record: TrialRecord
    course: Course
    reads: int = 0

    def has_measurement(self) -> bool:
        return self.course.state != "failed"

    def measurement(self) -> FakeMeasurement:
        self.reads += 1
        return FakeMeasurement(self.course)

    def probes(self) -> polars.DataFrame:
        return probes_of(self.course, 10**12)

    def plan(self) -> dict[str, Any]:
        return FakeMeasurement(self.course).plan

    def ceiling(self) -> FakeMeasurement | None:
        rate = self.course.ceiling
        return None if rate is None else FakeMeasurement(Course(rate=rate))

    def floor(self) -> FakeMeasurement | None:
        cost = self.course.floor_ns
        return None if cost is None else FakeMeasurement(Course(service_ns=cost))


@dataclass
class FakeRun:
    """A run's folder as the judge sees it."""

    record: RunRecord
    kept: list[FakeTrial] = field(default_factory=list)

    def trials(self) -> tuple[FakeTrial, ...]:
        return tuple(self.kept)


Script = Callable[[Case, int, int], Course | Sequence[Course]]
"""How the trial of a case in a session and block went; several are attempts."""


def cases_of(factor: str, levels: Sequence[str], **rest: Sequence[str]) -> tuple[Case, ...]:
    """A case for each combination of levels."""
    combined: list[dict[str, str]] = [{}]
    for name, values in ({factor: levels} | rest).items():
        combined = [one | {name: value} for one in combined for value in values]
    return tuple(
        Case(
            name=",".join(f"{name}={level}" for name, level in one.items()) or "only",
            levels=one,
            system_name="db",
            system=System(kind="command"),
            workload=Workload(name="buddies"),
            load=Load(clients=8, duration=2.0),
        )
        for one in combined
    )


def experiment_of(
    cases: Sequence[Case], *, compare: Compare | None = None, **given: Any
) -> Experiment:
    """An experiment that holds these cases."""
    first = cases[0]
    return Experiment(
        experiment="buddies",
        question="Which is faster?",
        systems={"db": first.system},
        workload=first.workload,
        load=first.load,
        compare=compare,
        **given,
    )


def run_of(
    cases: Sequence[Case],
    script: Script,
    *,
    sessions: int = 8,
    blocks: int = 2,
    done: int | None = None,
    skipped: Mapping[str, str] | None = None,
    command: Sequence[str] = ("benchlab", "run", "buddies.yaml"),
) -> FakeRun:
    """A run that went by the script."""
    missing = skipped or {}
    record = RunRecord(
        id="abc",
        experiment="buddies",
        state="complete",
        created_utc="2026-01-01T00:00:00Z",
        command=tuple(command),
        seed=1,
        sessions=sessions,
        blocks=blocks,
        sessions_done=sessions if done is None else done,
        skipped=tuple(SkippedCase(case=name, why=why) for name, why in missing.items()),
    )
    run = FakeRun(record)
    for session in range(sessions):
        for block in range(blocks):
            for case in cases:
                if case.name in missing:
                    continue
                went = script(case, session, block)
                for course in [went] if isinstance(went, Course) else went:
                    run.kept.append(FakeTrial(_trial_record(case, session, block, course), course))
    return run


def _trial_record(case: Case, session: int, block: int, course: Course) -> TrialRecord:
    return TrialRecord.model_validate(
        {
            "session": session,
            "block": block,
            "case": case.name,
            "attempt": course.attempt,
            "state": course.state,
            "why": course.why,
            "used": course.used,
            "started_utc": "2026-01-01T00:00:00Z",
            "cpus": CpuSets(agent=(0,), system=(1,)),
            "ceiling": "null/x",
        }
    )


def wobble(session: int, block: int, salt: int = 0) -> float:
    """A factor about one, of half a per cent, the same for the same arguments."""
    return float(np.exp(np.random.default_rng([session, block, salt]).normal(0, 0.005)))
