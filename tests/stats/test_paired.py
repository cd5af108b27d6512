"""Pairs and the exact sign flip, against scipy's permutation test and by properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchlab.stats.paired import pair, sign_flip_p, sign_flip_ps

rates = st.lists(
    st.tuples(st.floats(min_value=1, max_value=1e5), st.floats(min_value=1, max_value=1e5)),
    min_size=2,
    max_size=10,
)


@given(st.lists(st.integers(min_value=-50, max_value=50), min_size=2, max_size=9))
def test_sign_flip_is_scipy_s_exact_permutation_test(differences: list[int]) -> None:
    oracle = stats.permutation_test(
        (np.asarray(differences, dtype=float),),
        lambda sample, axis: np.abs(np.mean(sample, axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert sign_flip_p([float(d) for d in differences]) == pytest.approx(oracle.pvalue)
    (many,) = sign_flip_ps(np.array([differences], dtype=np.float64))
    assert many == pytest.approx(oracle.pvalue)


@pytest.mark.parametrize("sessions", [1, 5, 6, 8, 13, 20])
def test_all_one_way_gives_the_smallest_p(sessions: int) -> None:
    assert sign_flip_p([1.0 + k / 10 for k in range(sessions)]) == 2 / 2**sessions


def test_ties_count_against_the_finding() -> None:
    # 0.1 + 0.2 differs from 0.3 by rounding alone, so these four patterns are two ties.
    assert sign_flip_p([0.1, 0.2, 0.3]) == sign_flip_p([1.0, 2.0, 3.0]) == 0.25
    assert sign_flip_p([0.3, -0.1, -0.2]) == 1.0


def test_no_difference_at_all() -> None:
    assert sign_flip_p([0.0] * 8) == 1.0


def test_forty_sessions_are_still_exact() -> None:
    generator = np.random.default_rng(1)
    differences = generator.normal(0.35, 1, 40)
    # Past 40 flips the permuted mean is normal to well within 2 % of p.
    z = differences.sum() / math.sqrt(np.square(differences).sum())
    assert sign_flip_p(differences.tolist()) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=0.1)


@pytest.mark.parametrize("count", [0, 41])
def test_sign_flip_refuses_what_it_cannot_enumerate(count: int) -> None:
    with pytest.raises(ValueError, match="1 to 40"):
        sign_flip_p([1.0] * count)


@given(rates)
def test_swapping_the_sides_inverts_the_effect(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    there, back = pair(a, b), pair(b, a)
    assert sign_flip_p(there.differences) == sign_flip_p(back.differences)
    effect = 1 + there.effect(there.spread.mean)
    assert effect * (1 + back.effect(back.spread.mean)) == pytest.approx(1)
    limits, mirrored = there.interval(0.95), back.interval(0.95)
    assert limits is not None and mirrored is not None
    if limits[1] < 1e12:
        assert (1 + limits[1]) * (1 + mirrored[0]) == pytest.approx(1, rel=1e-3)


@given(rates, st.floats(min_value=1e-3, max_value=1e3))
def test_a_ratio_does_not_know_the_unit(pairs: list[tuple[float, float]], unit: float) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    plain = pair(a, b)
    scaled = pair([x * unit for x in a], [y * unit for y in b])
    assert scaled.differences == pytest.approx(plain.differences, abs=1e-9)


def test_a_zero_makes_the_comparison_one_by_difference() -> None:
    found = pair([0.0, 0.01], [0.02, 0.03])
    assert found.by == "difference"
    assert found.differences == pytest.approx((0.02, 0.02))
    assert found.smallest(0.1) == pytest.approx(0.0025)


def test_infinity_is_not_compared() -> None:
    with pytest.raises(ValueError, match="infinite"):
        pair([1.0, 2.0], [1.0, math.inf])
