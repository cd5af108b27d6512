"""Which figures an invalid row takes away."""

import pytest

from benchlab.judge.validity import uses
from benchlab.model.evidence import Check
from benchlab.model.metrics import METRICS

NAMES = tuple(METRICS)
PER_TRANSACTION = ("system_cpu_per_transaction", "system_memory", "agent_cpu_per_transaction")


def broken(*rows: str) -> list[Check]:
    return [Check(name=row, verdict="invalid", why=f"{row} is off") for row in rows]


def test_without_a_fault_all_may_be_used() -> None:
    rows = [Check(name="steady", verdict="unknown"), Check(name="cores", verdict="not-applicable")]
    found = uses(rows, NAMES, is_paced=False)
    assert {use.validity for use in found.values()} == {"valid"}


@pytest.mark.parametrize("row", ["steal", "swap", "clock", "cores", "little"])
def test_a_fault_of_the_host_or_the_books_withholds_all(row: str) -> None:
    found = uses(broken(row), NAMES, is_paced=True)
    assert {use.validity for use in found.values()} == {"withheld"}
    assert found["throughput"].why == f"{row}: {row} is off"


@pytest.mark.parametrize("row", ["head-room", "run-delay"])
def test_agent_bound_or_starved_under_a_closed_load(row: str) -> None:
    found = uses(broken(row), NAMES, is_paced=False)
    assert found["throughput"].validity == "at-least"
    assert found["completion_time"].validity == "withheld"
    for name in ("latency_p50", "service_p99", "response_max", "wait_p99"):
        assert found[name].validity == "withheld"
    for name in (*PER_TRANSACTION, "errors", "lag_p99"):
        assert found[name].validity == "valid"


@pytest.mark.parametrize("row", ["head-room", "run-delay"])
def test_agent_bound_on_schedule_keeps_response(row: str) -> None:
    found = uses(broken(row), NAMES, is_paced=True)
    assert found["throughput"].validity == "at-least"
    assert found["response_p99"].validity == "valid"


@pytest.mark.parametrize("is_paced", [True, False])
def test_lag_withholds_times_under_any_load(is_paced: bool) -> None:
    found = uses(broken("lag"), NAMES, is_paced=is_paced)
    assert found["throughput"].validity == "at-least"
    assert found["latency_p99"].validity == found["service_p50"].validity == "withheld"
    assert found["lag_p99"].validity == found["system_cpu_per_transaction"].validity == "valid"


def test_a_dear_path_leaves_times_unresolved() -> None:
    found = uses(broken("floor"), NAMES, is_paced=False, dear={"p99": "it costs 2ms"})
    assert not found["latency_p99"].resolved
    assert found["latency_p99"].why == "not resolved (it costs 2ms)"
    assert found["latency_p99"].validity == "valid"
    for name in ("throughput", "wait_p99", "latency_p50", "service_mean"):
        assert found[name].resolved


def test_wrong_answers_withhold_nothing() -> None:
    found = uses(broken("answers"), NAMES, is_paced=False)
    assert {use.validity for use in found.values()} == {"valid"}
