"""Detectable effects and sessions needed, against simulation and a known table."""

import numpy as np
import pytest

from benchlab.stats.estimates import t_critical
from benchlab.stats.power import detectable, power, sessions_needed


def test_a_textbook_case() -> None:
    # Cohen (1988), table 2.3: one standard deviation at 5 % needs 10 pairs for 80 %.
    assert sessions_needed(1.0, 1.0, 0.05, 2) == 10
    assert power(1.0, 1.0, 10, 0.05) == pytest.approx(0.803, abs=0.001)


@pytest.mark.parametrize(("sessions", "alpha"), [(6, 0.05), (8, 0.05), (8, 0.05 / 3), (20, 0.01)])
def test_detectable_is_found_in_four_runs_of_five(sessions: int, alpha: float) -> None:
    shift = detectable(0.02, sessions, alpha)
    assert shift is not None
    runs = 20_000
    drawn = np.random.default_rng(7).normal(shift, 0.02, (runs, sessions))
    statistic = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * np.sqrt(sessions)
    found = np.mean(np.abs(statistic) > t_critical(sessions, alpha))
    assert found == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / runs))


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
