"""Figures of one trial, against what the numbers it was made of say."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from synthetic import MS, counted, plan, probed, times

from benchlab.judge.figures import figures
from benchlab.judge.probed import Line, Probed


def test_a_closed_trial() -> None:
    found = figures(counted(rate=1000, service_ns=4 * MS, lag_ns=10_000, busy=0.3), probed())
    assert found == pytest.approx(
        {
            "throughput": 1000.0,
            "errors": 0.0,
            "bytes_per_transaction": 1000.0,
            "system_cpu": 0.8,
            "system_cpu_per_transaction": 0.0008,
            "system_memory": 2e6,
            "system_memory_peak": 3e6,
            "agent_cpu_per_transaction": 0.0003,
            **{f"{kind}_{q}": 0.004 for kind in ("latency", "service") for q in QUANTILES},
            **{f"response_{q}": 0.00401 for q in QUANTILES},
            "latency_max": 0.004000007,
            "service_max": 0.004000007,
            "response_max": 0.004010007,
            "wait_p99": 1e-6,
            "lag_p99": 1e-5,
        }
    )


def test_what_disks_gave_and_took_is_told_for_each_transaction_where_the_kernel_tells() -> None:
    bare = probed()
    busy = bare.lines["system", "cpu_user_s", ""]
    grown = Line(busy.at_s, (busy.at_s - busy.at_s[0]) * 1000 * 4096)
    written = replace(bare, lines={**bare.lines, ("system", "written_bytes", ""): grown})
    found = figures(counted(rate=1000), written)
    assert found["system_written_per_transaction"] == pytest.approx(4096)
    assert "system_read_per_transaction" not in found
    embedded = figures(counted(rate=1000, the_plan=plan(kind="sqlite")), written)
    assert "system_written_per_transaction" not in embedded


QUANTILES = ("p50", "p95", "p99", "p999", "mean")


def test_latency_is_response_under_an_open_load() -> None:
    found = figures(counted(open_at=1000.0), probed())
    assert found["latency_p99"] == found["response_p99"] > found["service_p99"]


def test_errors_are_infinitely_slow_to_a_user_and_absent_from_successes() -> None:
    found = figures(counted(failed=0.02), probed())
    assert found["errors"] == pytest.approx(0.02)
    assert found["latency_p95"] == pytest.approx(0.004)
    assert found["latency_p99"] == found["latency_max"] == found["latency_mean"] == inf
    assert found["service_p99"] == pytest.approx(0.004)


def test_what_is_done_in_the_tail_is_no_throughput() -> None:
    seen = counted(rate=1000)
    tail = {name: np.append(values, [7.0] * 10) for name, values in seen.slots.items()}
    found = figures(replace(seen, slots=tail), probed())
    assert found["throughput"] == pytest.approx(1000.0)


def test_a_trial_that_ends_by_count_has_a_completion_time() -> None:
    stop = {"transactions": 4800}
    seen = counted(rate=1000, the_plan=plan(stop=stop))
    short = replace(seen, end=dict(seen.end) | {"elapsed_ns": 4_800_000_000})
    found = figures(short, probed(seconds=4.8))
    assert found["completion_time"] == pytest.approx(4.8)
    assert found["throughput"] == pytest.approx(5000 / 4.8)
    assert "completion_time" not in figures(counted(), probed())


def test_in_the_agent_cpu_is_reported_jointly() -> None:
    found = figures(counted(busy=0.5, the_plan=plan(kind="sqlite")), probed())
    assert found["system_cpu"] == pytest.approx(0.5)
    assert found["system_cpu_per_transaction"] == pytest.approx(0.0005)
    assert "agent_cpu_per_transaction" not in found
    assert found["system_memory"] == pytest.approx(1e6)


def test_memory_is_what_processes_hold_together_where_that_is_told() -> None:
    def found(at_s: list[float], values: list[float]) -> tuple[float, float]:
        told = {("system", "memory_bytes", ""): Line(np.array(at_s), np.array(values))}
        seen = figures(counted(), Probed({**probed().lines, **told}, 5.0))
        return seen["system_memory"], seen["system_memory_peak"]

    assert found([-1.0, 1.0, 2.0, 4.5, 6.0], [9e6, 1e6, 1.5e6, 1.2e6, 8e6]) == (1.2e6, 1.5e6)
    # A trial too short to have one of its own.
    assert found([-2.0, -1.0, 6.0], [9e6, 7e6, 1e6]) == (7e6, 7e6)


def test_what_was_not_sampled_is_absent() -> None:
    found = figures(counted(), Probed({}, 5.0))
    assert "system_cpu" not in found and "system_memory" not in found
    short = probed(seconds=2.0)
    assert "system_cpu" not in figures(counted(), replace(short, length_s=5.0))


def test_nothing_done_has_no_times() -> None:
    seen = counted(rate=0)
    empty = replace(seen, seconds={field: (times({}),) for field in seen.seconds})
    found = figures(empty, probed())
    assert found["throughput"] == 0.0
    assert "latency_p99" not in found and "errors" not in found
