"""Runs that were not interleaved: each has a shift of its own, which must not pass for one."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchlab.stats.between import ahead, apart, decide_apart, describe_apart

RUNS, SESSIONS, SPREAD = 2000, 8, 0.01


def run_of(
    generator: np.random.Generator, effect: float = 0.0, shift: float = SPREAD
) -> NDArray[np.float64]:
    """The sessions of a run, with what its hour did to all of them."""
    hour = generator.normal(0, shift)
    return np.asarray(
        1000 * (1 + effect) * np.exp(hour + generator.normal(0, SPREAD, SESSIONS)), dtype=np.float64
    )


def test_a_run_s_own_shift_is_no_finding_where_welch_s_test_takes_it_for_one() -> None:
    generator = np.random.default_rng(30)
    alarms = naive = 0
    for _ in range(RUNS):
        a, b = run_of(generator), run_of(generator)
        (found,) = decide_apart([apart(a.tolist(), b.tolist())], ["up"], 0.0)
        assert found is not None
        alarms += found.excludes_zero
        naive += bool(stats.ttest_ind(np.log(a), np.log(b), equal_var=False).pvalue < 0.05)
    print(f"{alarms / RUNS:.1%} false alarms, by Welch's test {naive / RUNS:.1%}")
    assert 0 < alarms <= stats.binom.ppf(0.999, RUNS, 0.05)
    assert naive > 0.4 * RUNS


def test_a_history_tells_how_far_runs_lie_apart() -> None:
    generator = np.random.default_rng(31)
    covered = guessed = 0
    for _ in range(RUNS):
        runs = [float(np.exp(np.log(run_of(generator, shift=0.05)).mean())) for _ in range(10)]
        a, b = run_of(generator, shift=0.05), run_of(generator, 0.1, shift=0.05)
        for known in (True, False):
            low, high = apart(a.tolist(), b.tolist(), runs if known else ()).interval(0.95)
            covered += known and low <= 0.1 <= high
            guessed += not known and low <= 0.1 <= high
    print(f"covers in {covered / RUNS:.1%}, without a history in {guessed / RUNS:.1%}")
    assert covered >= stats.binom.ppf(0.001, RUNS, 0.95)
    assert guessed < 0.8 * RUNS


def test_a_large_slowdown_is_found_from_two_runs_alone() -> None:
    generator = np.random.default_rng(32)
    found = [
        decide_apart(
            [apart(run_of(generator).tolist(), run_of(generator, -0.1).tolist())], ["up"], 0.03
        )[0]
        for _ in range(200)
    ]
    assert sum(one is not None and one.verdict == "worse" for one in found) >= 190


def test_what_could_be_found_is_found_in_four_of_five() -> None:
    generator = np.random.default_rng(33)
    could = np.log1p([_could(generator) for _ in range(200)]).mean()
    hits = 0
    for _ in range(RUNS):
        one = apart(run_of(generator).tolist(), run_of(generator, np.expm1(could)).tolist())
        hits += one.p() <= 0.05
    assert hits / RUNS == pytest.approx(0.8, abs=0.05)


def _could(generator: np.random.Generator) -> float:
    sides = run_of(generator), run_of(generator)
    found = describe_apart(apart(sides[0].tolist(), sides[1].tolist()), 0.03)
    assert found.detectable is not None
    return found.detectable


@pytest.mark.parametrize("points", [1, 2])
def test_a_value_to_come_lies_where_it_is_foretold(points: int) -> None:
    generator = np.random.default_rng(34)
    inside = 0
    for _ in range(RUNS):
        drawn = np.exp(generator.normal(0, 0.02, 8 + points)).tolist()
        low, high = ahead(drawn[:8], drawn[8:]).limits(0.95)
        inside += low <= 0 <= high
    assert abs(inside / RUNS - 0.95) < 0.016


def test_zeros_are_compared_by_difference() -> None:
    one = apart([0.0, 0.01, 0.0, 0.02], [0.1, 0.12, 0.11, 0.1])
    assert one.by == "difference"
    assert one.effect(one.mean) == pytest.approx(0.1)
    assert one.smallest(0.03) == pytest.approx(0.03 * 0.1075)


def test_values_that_never_vary_differ_for_certain() -> None:
    assert apart([2.0] * 6, [2.0] * 6).p() == 1.0
    assert apart([2.0] * 6, [3.0] * 6).p() == 0.0
