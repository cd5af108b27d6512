"""Little's law and slopes, against closed forms."""

import pytest
from scipy import stats

from benchlab.stats.series import little_gap, slope


def test_little_holds_where_the_books_agree() -> None:
    # Eight in flight for two seconds are sixteen thousand requests of one millisecond.
    assert little_gap(16e9, 16_000 * 1e6) == pytest.approx(0)
    assert little_gap(16e9, 15_000 * 1e6) == pytest.approx(1 / 16)
    assert little_gap(0, 5) is None


def test_slope_of_a_straight_line() -> None:
    found = slope([90 + k for k in range(21)])
    assert found is not None
    assert found.change == pytest.approx(20 / 100)
    assert (found.low, found.high) == pytest.approx((0.2, 0.2))


def test_slope_interval_is_scipy_s() -> None:
    values = [10.0, 12.0, 9.0, 11.0, 13.0, 12.5]
    fit = stats.linregress(range(6), values)
    found = slope(values)
    assert found is not None
    half = stats.t.ppf(0.975, 4) * fit.stderr
    whole = 5 / (sum(values) / 6)
    assert found.high - found.low == pytest.approx(2 * half * whole)
    assert found.low < found.change < found.high


def test_no_slope_of_nothing() -> None:
    assert slope([1.0, 2.0]) is None
    assert slope([0.0, 0.0, 0.0]) is None
