"""Change points, against the formula written out and on simulated series."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchlab.stats.changes import change_points, split

series = st.lists(st.integers(min_value=-20, max_value=20), min_size=4, max_size=14)


def gap(values: list[float], place: int) -> float:
    """Q of the paper, term by term."""
    x, y = values[:place], values[place:]

    def mean(pairs: list[float]) -> float:
        return sum(pairs) / len(pairs)

    across = mean([abs(a - b) for a in x for b in y])
    first = mean([abs(a - b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j])
    last = mean([abs(a - b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j])
    return len(x) * len(y) / len(values) * (2 * across - first - last)


@given(series)
def test_the_split_is_the_largest_gap_of_the_formula(drawn: list[int]) -> None:
    values = [float(value) for value in drawn]
    array = np.asarray(values)
    place, size = split(np.abs(array[:, None] - array[None, :]))
    gaps = [gap(values, at) for at in range(2, len(values) - 1)]
    assert size == pytest.approx(max(gaps), abs=1e-9)
    assert gaps[place - 2] == pytest.approx(max(gaps), abs=1e-9)


def test_a_series_without_a_change_has_one_no_oftener_than_the_level() -> None:
    generator = np.random.default_rng(40)
    alarms = sum(bool(change_points(generator.normal(0, 1, 30).tolist())) for _ in range(400))
    print(f"{alarms / 400:.2%} of series without a change")
    assert alarms <= stats.binom.ppf(0.999, 400, 0.01)


def test_changes_are_found_where_they_are() -> None:
    generator = np.random.default_rng(41)
    found = []
    for _ in range(100):
        levels = np.repeat([0.0, 4.0, 1.0], [15, 12, 13])
        found.append(change_points((levels + generator.normal(0, 1, 40)).tolist()))
    assert sum(len(one) == 2 for one in found) >= 93
    first = [one[0] for one in found if one]
    assert np.mean([abs(at - 15) <= 1 for at in first]) >= 0.9


def test_two_runs_after_a_change_may_tell_and_one_never_does() -> None:
    generator = np.random.default_rng(42)
    before = generator.normal(0, 1, 20).tolist()
    assert change_points([*before, 12.0]) == ()
    assert change_points([*before, 12.0, 12.5]) == (20,)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(min_value=0, max_value=2**31),
    st.floats(min_value=0.01, max_value=1000),
    st.floats(min_value=-1e4, max_value=1e4),
)
def test_neither_unit_nor_origin_matters(seed: int, factor: float, shift: float) -> None:
    generator = np.random.default_rng(seed)
    values = np.concatenate([generator.normal(0, 1, 10), generator.normal(5, 1, 10)])
    assert change_points((values * factor + shift).tolist()) == change_points(values.tolist())


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [5.0] * 30])
def test_nothing_can_change_where_little_is_known_or_all_is_alike(values: list[float]) -> None:
    assert change_points(values) == ()


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        change_points([1.0, float("inf")])
