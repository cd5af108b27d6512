"""Detectable effects and sessions needed, against simulation and a known table."""

import numpy as np
import pytest

from benchlab.stats.estimates import t_critical
from benchlab.stats.paired import sign_flip_p
from benchlab.stats.power import detectable, power, sessions_needed


def test_a_textbook_case() -> None:
    # Cohen (1988), table 2.3: one standard deviation at 5 % needs 10 pairs for 80 %.
    assert power(1.0, 1.0, 10, 0.05) == pytest.approx(0.803, abs=0.001)
    # The sign flip beside it takes one more.
    assert sessions_needed(1.0, 1.0, 0.05, 2) in (10, 11)


LEVELS = [(6, 0.05), (8, 0.05), (8, 0.05 / 3), (8, 0.05 / 6), (10, 0.05 / 16), (20, 0.01)]


@pytest.mark.parametrize(("sessions", "alpha"), LEVELS)
def test_detectable_is_found_in_four_runs_of_five(sessions: int, alpha: float) -> None:
    shift = detectable(0.02, sessions, alpha)
    assert shift is not None
    runs = 5_000
    drawn = np.random.default_rng(7).normal(shift, 0.02, (runs, sessions))
    statistic = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * np.sqrt(sessions)
    by_t = np.abs(statistic) > t_critical(sessions, alpha)
    by_flips = np.array([sign_flip_p(one) <= alpha for one in drawn.tolist()])
    found, alone = np.mean(by_t & by_flips), np.mean(by_t)
    print(f"{sessions} sessions at {alpha:.4f}: found in {found:.1%}, by t in {alone:.1%}")
    assert found == pytest.approx(0.8, abs=0.03)


def test_where_the_sign_flip_can_find_nothing_nothing_is_detectable() -> None:
    assert detectable(0.02, 5, 0.05) is None
    assert detectable(0.02, 5, 0.05, flips=False) is not None
    # The first stage's degrees of freedom: flips are over all sessions, which are enough.
    assert detectable(0.02, 12, 0.05, 7) == pytest.approx(
        (detectable(0.02, 8, 0.05, flips=False) or 0) * np.sqrt(8 / 12)
    )


def test_sessions_needed_is_the_first_that_does() -> None:
    needed = sessions_needed(0.03, 0.05, 0.05, 6)
    assert needed is not None
    assert power(0.03, 0.05, needed, 0.05) >= 0.8 > power(0.03, 0.05, needed - 1, 0.05)


def test_no_number_of_sessions_finds_next_to_nothing() -> None:
    assert sessions_needed(1e-6, 1.0, 0.05, 6) is None


def test_without_spread_the_fewest_will_do() -> None:
    assert sessions_needed(0.03, 0.0, 0.05, 6) == 6
    assert detectable(0.0, 8, 0.05) == 0.0
    assert detectable(0.1, 3, 0.05) is None
