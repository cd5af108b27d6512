"""Estimates over sessions, against closed forms and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchlab.stats.estimates import count_interval, over_sessions, spread

positive = st.lists(
    st.floats(min_value=1e-6, max_value=1e6, allow_nan=False), min_size=2, max_size=12
)


def test_geometric_mean_of_a_closed_form() -> None:
    found = over_sessions([1.0, 10.0, 100.0])
    # ln 10 apart: the mean is 10, the half width t(2) ln(10)/sqrt(3).
    half = stats.t.ppf(0.975, 2) * math.log(10) / math.sqrt(3)
    assert found.estimate == pytest.approx(10)
    assert found.low == pytest.approx(10 * math.exp(-half))
    assert found.high == pytest.approx(10 * math.exp(half))


@given(positive)
def test_interval_is_scipy_s_t_interval_of_the_logs(values: list[float]) -> None:
    found = over_sessions(values)
    logs = np.log(values)
    if np.ptp(logs) < 1e-9:
        assert found.low == pytest.approx(found.high, rel=1e-6)
        return
    expected = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert found.low == pytest.approx(math.exp(expected.low), rel=1e-6)
    assert found.high == pytest.approx(math.exp(expected.high), rel=1e-6)
    assert found.estimate == pytest.approx(stats.gmean(values), rel=1e-9)


@given(positive, st.floats(min_value=1e-3, max_value=1e3))
def test_changing_the_unit_changes_nothing_else(values: list[float], unit: float) -> None:
    plain = over_sessions(values)
    scaled = over_sessions([value * unit for value in values])
    assert scaled.estimate == pytest.approx(plain.estimate * unit, rel=1e-9)
    assert plain.low is not None and scaled.low is not None
    assert scaled.low == pytest.approx(plain.low * unit, rel=1e-6)


def test_a_zero_makes_the_mean_arithmetic() -> None:
    found = over_sessions([0.0, 0.02, 0.04])
    expected = stats.ttest_1samp([0.0, 0.02, 0.04], 0).confidence_interval(0.95)
    assert found.estimate == pytest.approx(0.02)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_one_session_has_no_interval() -> None:
    found = over_sessions([3.0])
    assert (found.estimate, found.low, found.high, found.sessions) == (3.0, None, None, 1)


@pytest.mark.parametrize("values", [[], [1.0, math.inf], [math.nan]])
def test_no_estimate_of_nothing_or_of_infinity(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        over_sessions(values)


def test_values_alike_have_no_spread_at_all() -> None:
    assert spread([0.1] * 7).sd == 0.0
    assert spread([0.1] * 7).t_p() == 0.0
    assert spread([0.0] * 7).t_p() == 1.0


@given(st.lists(st.floats(min_value=-5, max_value=5), min_size=2, max_size=10))
def test_t_p_is_scipy_s(values: list[float]) -> None:
    if np.ptp(values) < 1e-6:
        return
    assert spread(values).t_p() == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=1e-9)


@pytest.mark.parametrize(
    ("count", "low", "high"), [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39)]
)
def test_intervals_of_counts_are_garwood_s(count: int, low: float, high: float) -> None:
    # Garwood 1936, table 1, at 95 %.
    assert count_interval([count], [1.0]) == pytest.approx((low, high), rel=1e-3)


def test_counts_that_come_in_bursts_are_worth_less() -> None:
    even = count_interval([5] * 8, [1.0] * 8)
    uneven = count_interval([40, *[0] * 7], [1.0] * 8)
    assert uneven[0] < even[0] < 40 < even[1] < uneven[1]
    # A session that was watched twice as long has twice as many, and is no burst.
    assert count_interval([20, 10, 10], [2.0, 1.0, 1.0]) == pytest.approx((28.58, 54.47), abs=0.01)


def test_the_interval_of_counts_covers_the_truth() -> None:
    generator = np.random.default_rng(11)
    for mean in (0.2, 1.0, 4.0):
        limits = [
            count_interval(generator.poisson(mean, 8).tolist(), [1.0] * 8) for _ in range(1500)
        ]
        covered = np.mean([low <= 8 * mean <= high for low, high in limits])
        assert covered >= 0.945


@pytest.mark.parametrize("dispersion", [2.0, 4.0])
def test_the_interval_of_counts_that_come_in_bursts(dispersion: float) -> None:
    generator, mean = np.random.default_rng(12), 4.0
    rates = generator.gamma(mean / (dispersion - 1), dispersion - 1, (1500, 8))
    limits = [count_interval(one, [1.0] * 8) for one in generator.poisson(rates).tolist()]
    covered = np.mean([low <= 8 * mean <= high for low, high in limits])
    print(f"dispersion {dispersion:g}: held in {covered:.1%}")
    assert covered >= 0.92
