"""Effective sample sizes and the thresholds below which a quantile is not printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.stats.resolution import effective_size, overdispersion, smallest_size


@pytest.mark.parametrize(
    ("quantile", "size"), [(0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36887)]
)
def test_thresholds(quantile: float, size: int) -> None:
    assert smallest_size(quantile) == size
    assert quantile**size <= 0.025 < quantile ** (size - 1)


def test_independent_requests_count_in_full() -> None:
    generator = np.random.default_rng(3)
    seen = np.full(400, 1000)
    exceeded = generator.binomial(seen, 0.01)
    assert overdispersion([(exceeded, seen)]) == pytest.approx(1, abs=0.25)


def test_requests_that_are_slow_together_count_once() -> None:
    # Whole batches of 50 exceed or not: the variance, and so tau, is 50 times the binomial's.
    generator = np.random.default_rng(4)
    exceeded = generator.binomial(np.full(2000, 20), 0.05) * 50
    found = overdispersion([(exceeded, np.full(2000, 1000))])
    assert found == pytest.approx(50, rel=0.15)
    assert effective_size(1000, found) == pytest.approx(20, abs=4)


def test_sessions_are_pooled_about_their_own_share() -> None:
    # Two sessions with different, steady shares: no overdispersion within either.
    seen = np.full(200, 1000)
    generator = np.random.default_rng(5)
    sessions = [(generator.binomial(seen, p), seen) for p in (0.01, 0.2)]
    assert overdispersion(sessions) == pytest.approx(1, abs=0.25)
    whole = (np.concatenate([x for x, _ in sessions]), np.concatenate([seen, seen]))
    assert overdispersion([whole]) > 10


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(5, 50)), max_size=8))
def test_never_below_one(seconds: list[tuple[int, int]]) -> None:
    assert overdispersion([([x for x, _ in seconds], [n for _, n in seconds])]) >= 1


def test_a_single_second_says_nothing() -> None:
    assert overdispersion([([3], [100])]) == 1
    assert overdispersion([]) == 1
