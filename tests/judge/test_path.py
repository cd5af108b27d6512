"""What the path costs: named where it is in a figure, and not where it hardly is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from synthetic import times

from benchlab.judge.path import costs
from benchlab.stats.distribution import Distribution, quantile_of_sum

COUNT, US = 200_000, 1000
LIMIT = 0.2
NAMES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
drawn = np.random.default_rng(7)
SYSTEMS = {
    "always alike": np.full(COUNT, 1.0),
    "a little apart": drawn.lognormal(0, 0.3, COUNT),
    "far apart": drawn.lognormal(0, 1, COUNT),
    "exponential": drawn.exponential(1, COUNT),
    "two kinds": np.where(drawn.random(COUNT) < 0.1, 10, 1) * drawn.lognormal(0, 0.2, COUNT),
}
PATHS = {
    "always alike": np.full(COUNT, 1.0),
    "exponential": drawn.exponential(1, COUNT),
    "far apart": drawn.lognormal(0, 1.5, COUNT),
    "dear once in 500": np.where(drawn.random(COUNT) < 0.002, 30, 0.5),
    "dear once in 80": np.where(drawn.random(COUNT) < 0.0125, 30, 0.5),
    "dear once in 30": np.where(drawn.random(COUNT) < 0.033, 30, 0.5),
}
lengths = st.dictionaries(st.integers(1, 1000), st.integers(1, 50), min_size=1, max_size=8)


def recorded(values: NDArray[np.float64]) -> Distribution:
    """To three digits, as the engine has them."""
    steps = np.exp(np.round(np.log(values * US * 1000) * 1000) / 1000)
    return times(
        dict(
            zip(
                *map(np.ndarray.tolist, np.unique(steps.astype(int), return_counts=True)),
                strict=True,
            )
        )
    )


@given(lengths, lengths, st.floats(0.01, 1))
def test_the_quantile_of_a_sum_is_that_of_all_pairs(
    one: dict[int, int], other: dict[int, int], share: float
) -> None:
    pairs = np.repeat(
        np.add.outer(list(one), list(other)).ravel(),
        np.outer(list(one.values()), list(other.values())).ravel(),
    )
    seen = times({int(v): int((pairs == v).sum()) for v in np.unique(pairs)}).quantile(share)
    assert quantile_of_sum(times(one), times(other), share) == pytest.approx(seen, abs=1.5)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scale", [0.01, 0.03, 0.1, 0.3, 1.0])
def test_where_it_is_told_as_little_it_is_little(system: str, path: str, scale: float) -> None:
    alone, cost = SYSTEMS[system], PATHS[path] * scale
    found = costs(recorded(cost), recorded(alone + cost))
    for name, share in NAMES.items():
        whole = np.quantile(alone + cost, share)
        true = 1 - np.quantile(alone, share) / whole
        if found[name].share <= LIMIT:
            assert true <= LIMIT + 0.01, name
        if true > LIMIT:
            assert found[name].share > LIMIT, name
    assert found["mean"].share == pytest.approx(cost.mean() / (alone + cost).mean(), rel=0.01)


def test_a_short_run_of_the_null_server_says_nothing_of_far_quantiles() -> None:
    system = times({1000: 9000, 9000: 1000})
    assert costs(times({10: 8}), system)["p50"].path_ns == 10
    few, enough = (costs(times({10: n - 5, 500: 5}), system) for n in (100, 7377))
    assert few["p999"] == few["p99"] == few["max"] == few["p95"]
    assert enough["p999"] != enough["p99"] == enough["max"]


def test_without_times_nothing_is_known() -> None:
    assert costs(None, times({5: 1})) == costs(times({}), times({5: 1})) == {}
    assert costs(times({5: 1}), times({})) == {}
