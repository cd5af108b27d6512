"""Trials made of numbers, for tests of what is read from them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from benchlab.judge.checks import Evidence
from benchlab.judge.counted import Books, Counted, Field, Operation
from benchlab.judge.probed import Line, Probed
from benchlab.model.records import CpuSets
from benchlab.stats.distribution import Distribution
from benchlab.store.measurement import MAXIMA, SUMS

MS = 1_000_000


def times(values_ns: Mapping[int, int]) -> Distribution:
    """A distribution of these lengths, each so often."""
    ordered = sorted(values_ns.items())
    return Distribution(
        np.array([value for value, _ in ordered], dtype=np.int64),
        np.array([count for _, count in ordered], dtype=np.int64),
    )


def plan(
    *,
    rate: float | None = None,
    kind: str = "http",
    stop: Mapping[str, int] | None = None,
    clients: int = 8,
    expect: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A Plan as far as the judge looks at it."""
    closed: dict[str, Any] = {"closed": {"clients": clients}}
    shape = [{"from_per_second": rate, "to_per_second": rate, "length_ns": 1_000_000_000}]
    opened = {"open": {"arrivals": "constant", "connections": clients, "shape": shape}}
    return {
        "driver": {"kind": kind},
        "schedule": closed if rate is None else opened,
        "stop": dict(stop or {"duration_ns": 5_000_000_000}),
        "workload": {
            "transactions": [
                {"name": "login", "operations": [{"name": "read", "expect": expect or {}}]}
            ]
        },
    }


def counted(
    *,
    rate: float = 1000.0,
    service_ns: int = 4 * MS,
    lag_ns: int = 10_000,
    seconds: int = 5,
    failed: float = 0.0,
    open_at: float | None = None,
    done_share: float = 1.0,
    busy: float = 0.3,
    in_flight: float | None = None,
    the_plan: Mapping[str, Any] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
) -> Counted:
    """A steady trial: `rate` transactions a second of `service_ns` each, a share of them failed."""
    slots = seconds * 10
    due = np.full(slots, rate / 10)
    bad = due * failed
    ok = due - bad
    under_way = rate * service_ns / 1e9 if in_flight is None else in_flight
    columns = dict.fromkeys(SUMS, np.zeros(slots)) | {
        "due": due,
        "ok": ok,
        "failed": bad,
        "completed": ok * done_share,
        "bytes_out": ok * 100,
        "bytes_in": ok * 900,
        "in_flight_ns": np.full(slots, under_way * 1e8),
    }
    longest = (service_ns + lag_ns + 7.0, service_ns + 7.0, float(lag_ns))
    maxima = dict(zip(MAXIMA, longest, strict=True))
    count = round(float(ok[:10].sum()))
    per_second: dict[Field, tuple[Distribution, ...]] = {
        "response": (times({service_ns + lag_ns: count}),) * seconds,
        "service": (times({service_ns: count}),) * seconds,
        "wait": (times({1000: count}),) * seconds,
        "lag": (times({lag_ns: round(rate)}),) * seconds,
    }
    return Counted(
        plan=the_plan or plan(rate=open_at),
        reason="complete",
        start={"origin_monotonic_ns": 0},
        end={
            "elapsed_ns": seconds * 10**9,
            "user_cpu_ns": round(busy * seconds * 0.6e9),
            "system_cpu_ns": round(busy * seconds * 0.4e9),
        },
        slots=columns,
        peaks={name: np.full(slots, value) for name, value in maxima.items()},
        open_at_origin=under_way,
        warmup=np.full(10, rate / 10),
        maxima=maxima,
        busy_ns={"0": busy * seconds * 1e9},
        seconds=per_second,
        operations={
            "read": Operation(
                ended=round(float(due.sum())),
                errors=round(float(bad.sum())),
                seconds=per_second["service"],
                max_service_ns=service_ns + 7.0,
            )
        },
        books=Books(
            in_flight_ns=under_way * seconds * 1e9,
            service_ns=float(ok.sum()) * service_ns,
            due=float(due.sum()),
            ok=float(ok.sum()),
        ),
        errors=tuple(errors),
    )


def probed(
    *,
    seconds: float = 5.0,
    system_cores: float = 0.8,
    resident: Sequence[float] = (1e6, 3e6, 2e6),
    core_busy: Mapping[int, float] | None = None,
    steal: float = 0.0,
    swapped: float = 0.0,
    clock_step_ns: float = 0.0,
    run_delay: float = 0.01,
) -> Probed:
    """Probes at 10 Hz over the trial, half a second before it to half a second after."""
    at_s = np.arange(-0.5, seconds + 0.55, 0.1)
    grows = at_s - at_s[0]

    def line(values: Any) -> Line:
        return Line(at_s, np.broadcast_to(values, at_s.shape).astype(np.float64))

    memory = np.interp(at_s, np.linspace(0, seconds, len(resident)), resident)
    lines = {
        ("system", "cpu_user_s", ""): line(grows * system_cores * 0.75),
        ("system", "cpu_system_s", ""): line(grows * system_cores * 0.25),
        ("system", "resident_bytes", ""): line(memory),
        ("agent", "resident_bytes", ""): line(memory / 2),
        ("agent", "waited_s", ""): line(grows * run_delay),
        ("host", "swap_in_pages", ""): line(np.where(at_s > 2, swapped, 0.0)),
        ("host", "swap_out_pages", ""): line(0.0),
        ("host", "wall_minus_monotonic_ns", ""): line(np.where(at_s > 2, clock_step_ns, 0.0)),
    }
    for core, share in (core_busy or {0: 0.3, 1: 0.8}).items():
        lines["host", "busy_s", str(core)] = line(grows * share)
        lines["host", "steal_s", str(core)] = line(grows * (steal if core else 0.0))
    return Probed(lines, seconds)


def evidence(
    seen: Counted | None = None,
    resources: Probed | None = None,
    *,
    cpus: CpuSets | None = None,
    placement: str = "own",
    allow: Mapping[str, float] | None = None,
    ceiling: float | None = 10_000.0,
    path: Mapping[int, int] | None = MappingProxyType({200_000: 10_000}),
) -> Evidence:
    """A trial in good order, but for what is given."""
    return Evidence(
        seen or counted(),
        resources or probed(),
        cpus or CpuSets(agent=(0,), system=(1,)),
        placement,
        allow or {},
        ceiling,
        None if path is None else times(path),
    )
