"""Holm's correction and the number of sessions a family needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.stats.family import explores, holm, ranks, refusal, smallest_sessions

shares = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=8)


def test_holm_of_a_worked_example() -> None:
    # Four p values at 5 %: 0.005 and 0.01 stand, 0.03 and 0.04 fall.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


@given(shares)
def test_holm_lies_between_no_correction_and_bonferroni(p_values: list[float]) -> None:
    for plain, adjusted in zip(p_values, holm(p_values), strict=True):
        assert plain <= adjusted <= min(1.0, len(p_values) * plain) + 1e-12


@given(shares)
def test_holm_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    assert [adjusted[index] for index in order] == sorted(adjusted)


def test_ranks_break_ties_by_the_second_p() -> None:
    assert ranks([(0.1, 0.5), (0.1, 0.2), (0.05, 0.9)]) == (2, 1, 0)


@pytest.mark.parametrize(("comparisons", "sessions"), [(1, 6), (2, 7), (3, 7), (6, 8), (7, 9)])
def test_smallest_number_of_sessions(comparisons: int, sessions: int) -> None:
    assert smallest_sessions(comparisons) == sessions
    assert 2 / 2**sessions <= 0.05 / comparisons < 2 / 2 ** (sessions - 1)


def test_refusal_names_what_would_do() -> None:
    said = refusal(5, 1)
    assert said is not None and "take 6 sessions" in said
    assert refusal(6, 2) is not None
    assert refusal(8, 6) is None
    assert refusal(5, 0) is None
    assert refusal(40, 1) is None
    said = refusal(41, 1)
    assert said is not None and "take 40 at most" in said


def test_three_sessions_explore() -> None:
    assert explores(3) and not explores(4)
    assert refusal(3, 5) is None
