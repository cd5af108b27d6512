"""Warm-up, slope and steps of series whose truth is known.

`pytest tests/stats/test_steady.py -s` prints the figures of the method's page.
"""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchlab.stats.steady import LEAST, Change, mser5, slope, step

Series = NDArray[np.float64]
LIMIT = 0.02
SERIES = st.lists(st.floats(0.1, 10), min_size=LEAST, max_size=120)


def wandering(count: int, keeps: float, sd: float, generator: np.random.Generator) -> Series:
    """A stationary AR(1) series about 1; each value keeps this share of what the last was off."""
    shocks = generator.normal(0, sd * np.sqrt(1 - keeps**2), count)
    off = np.zeros(count)
    off[0] = generator.normal(0, sd)
    for place in range(1, count):
        off[place] = keeps * off[place - 1] + shocks[place]
    return 1 + off


def certain(values: Series) -> float:
    found = [one for one in (slope(values), step(values)) if one is not None]
    assert len(found) == 2
    return max(one.certain for one in found)


def share_called(shape: Callable[[Series], Series], keeps: float, sd: float, count: int) -> float:
    """How many of 400 wandering series with this shape added are called unsteady."""
    generator = np.random.default_rng([round(keeps * 10), round(sd * 100), count])
    at = np.linspace(0, 1, count, endpoint=False)
    made = (wandering(count, keeps, sd, generator) + shape(at) for _ in range(400))
    return float(np.mean([certain(np.maximum(values, 0.0)) > LIMIT for values in made]))


def level(at: Series) -> Series:
    return np.zeros_like(at)


def drift(share: float) -> Callable[[Series], Series]:
    return lambda at: share * (at - 0.5)


def jump(share: float, where: float = 0.5) -> Callable[[Series], Series]:
    return lambda at: share * (at >= where)


def warming(share: float) -> Callable[[Series], Series]:
    return lambda at: -share * np.exp(-5 * at)


def stalled(at: Series) -> Series:
    """Half a second of five in which nothing is done."""
    return -1.0 * ((at >= 0.45) & (at < 0.55))


QUIET, BUSY, STICKY = (0.3, 0.05), (0.3, 0.1), (0.8, 0.1)
"""What a value keeps of the last one, and the standard deviation."""


@pytest.mark.parametrize(
    ("noise", "count", "most"),
    [(QUIET, 50, 0.02), (BUSY, 50, 0.05), (STICKY, 50, 0.09), (STICKY, 300, 0.05)],
)
def test_a_steady_series_is_seldom_called_unsteady(
    noise: tuple[float, float], count: int, most: float
) -> None:
    found = share_called(level, *noise, count)
    print(f"steady, {count} values, {noise}: {found:.1%}")
    assert found <= most


@pytest.mark.parametrize(
    ("name", "shape", "noise", "least"),
    [
        ("drift 20 %", drift(0.2), QUIET, 0.95),
        ("drift 30 %", drift(0.3), BUSY, 0.9),
        ("step 10 %", jump(0.1), QUIET, 0.7),
        ("step 20 %", jump(0.2), BUSY, 0.9),
        ("step 20 % at a quarter", jump(0.2, 0.25), BUSY, 0.65),
        ("warm-up from half speed", warming(0.5), BUSY, 0.9),
    ],
)
def test_what_changes_is_found(
    name: str, shape: Callable[[Series], Series], noise: tuple[float, float], least: float
) -> None:
    found = share_called(shape, *noise, 50)
    print(f"{name}, {noise}: {found:.1%}")
    assert found >= least


def test_a_stall_is_no_change_of_level() -> None:
    found = share_called(stalled, *QUIET, 50)
    print(f"stall of a tenth: {found:.1%}")
    assert found <= 0.02


def test_the_slope_s_interval_covers_the_truth() -> None:
    generator = np.random.default_rng(7)
    at = np.linspace(0, 1, 100, endpoint=False)
    found = [slope(wandering(100, 0.5, 0.1, generator) + drift(0.1)(at)) for _ in range(800)]
    covered = [abs(one.share - 0.1) <= one.margin for one in found if one is not None]
    print(f"slope's interval covers {np.mean(covered):.1%}")
    assert len(covered) == 800 and 0.925 <= np.mean(covered) <= 0.985


def test_a_line_and_a_step_without_noise_are_met() -> None:
    at = np.arange(100)
    rising = slope(1 + at / 1000)
    assert rising is not None
    assert (rising.share, rising.margin) == pytest.approx((0.1 / 1.0495, 0), abs=1e-9)
    jumping = step(np.where(at < 30, 10.0, 12.0))
    assert jumping == Change(pytest.approx(2 / 11.4), pytest.approx(0, abs=1e-9), 30)


def test_mser_cuts_a_warm_up_and_no_more() -> None:
    generator = np.random.default_rng(8)
    cuts = []
    for _ in range(200):
        values = wandering(200, 0.2, 0.02, generator)
        values[:40] -= 0.5
        cuts.append(mser5(values))
    assert np.median(cuts) == 40 and min(cuts) >= 40


def test_mser_of_a_worked_example() -> None:
    # Means 1, 9, 10, 8, 9, 10: without the first Σ (y - 9.2)² / 5² = 2.8 / 25, the least of four.
    values = np.repeat([1.0, 9.0, 10.0, 8.0, 9.0, 10.0], 5)
    assert mser5(values) == 5
    assert mser5(np.ones(40)) == 0 == mser5([1.0, 2.0])


@given(SERIES, st.floats(0.01, 100))
def test_the_unit_does_not_matter(values: list[float], scale: float) -> None:
    for test in (slope, step):
        one, other = test(values), test(np.asarray(values) * scale)
        assert one is not None and other is not None
        assert other.certain == pytest.approx(one.certain, rel=1e-6, abs=1e-9)


@given(SERIES)
def test_backwards_the_slope_is_turned_round(values: list[float]) -> None:
    forth, back = slope(values), slope(values[::-1])
    assert forth is not None and back is not None
    assert back.share == pytest.approx(-forth.share, abs=1e-9)
    assert back.margin == pytest.approx(forth.margin, rel=1e-6, abs=1e-9)


@given(SERIES)
def test_at_most_half_is_cut(values: list[float]) -> None:
    cut = mser5(values)
    assert cut % 5 == 0 and 0 <= cut <= len(values) / 2


def test_too_little_tells_nothing() -> None:
    assert slope([1.0] * (LEAST - 1)) is None is step([1.0] * (LEAST - 1))
    assert slope([0.0] * 50) is None is step([0.0] * 50)
