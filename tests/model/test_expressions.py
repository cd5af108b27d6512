"""Thresholds on metrics."""

import pytest

from benchlab.model.errors import InputError
from benchlab.model.expressions import holds, parse


@pytest.mark.parametrize(
    ("text", "metric", "operator", "limit"),
    [
        ("latency_p99 < 50ms", "latency_p99", "<", 0.05),
        ("errors<=0.1%", "errors", "<=", 0.001),
        ("  throughput > 5,000/s ", "throughput", ">", 5000.0),
        ("system_memory >= 1GiB", "system_memory", ">=", 2.0**30),
        ("system_cpu < 1.5", "system_cpu", "<", 1.5),
    ],
)
def test_reading(text: str, metric: str, operator: str, limit: float) -> None:
    found = parse(text)
    assert (found.metric, found.operator, found.limit) == (metric, operator, pytest.approx(limit))
    assert found.text == text.strip()


def test_a_systems_own_counter_is_a_plain_number() -> None:
    assert parse("threads < 20", counters={"threads": "count"}).limit == 20.0
    with pytest.raises(InputError, match="unknown metric 'threads'"):
        parse("threads < 20")


@pytest.mark.parametrize("text", ["", "errors", "errors < ", "< 5%", "errors = 5%", "errors < 5%x"])
def test_refusing(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "below", "equal", "above"),
    [
        ("errors < 5%", True, False, False),
        ("errors <= 5%", True, True, False),
        ("errors > 5%", False, False, True),
        ("errors >= 5%", False, True, True),
    ],
)
def test_holding(text: str, below: bool, equal: bool, above: bool) -> None:
    threshold = parse(text)
    found = [holds(threshold, figure) for figure in (0.04, threshold.limit, 0.06)]
    assert found == [below, equal, above]
