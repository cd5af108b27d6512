"""Two stages: the number of sessions by Stein's rule, and what its interval holds, by simulation.

The pairs are those of a real run: each fresh start shifts one side by about 1 %, each block adds
noise. The figures are printed and must lie within the binomial bounds of the runs simulated.
"""

import math

import numpy as np
import pytest
from scipy import stats

from benchlab.stats.estimates import over_sessions
from benchlab.stats.paired import Paired
from benchlab.stats.precision import MOST_STAGED, fewest, half_width, level, sessions_for
from benchlab.stats.verdicts import decide

FIRST, RUNS = 8, 3000
SD = 0.03
HALF = math.log1p(0.02)


def staged(
    generator: np.random.Generator, effects: tuple[float, ...], most: int = MOST_STAGED
) -> list[Paired]:
    """Comparisons that share their sessions, as many as the first stage asks for."""
    m = len(effects)
    shared = generator.normal(0, SD * 0.6, (most, 1))
    own = generator.normal(0, SD * 0.8, (most, m))
    drawn = shared + own + np.log1p(np.array(effects))
    spreads = drawn[:FIRST].std(axis=0, ddof=1)
    asked = max(sessions_for(HALF, float(sd), FIRST - 1, level(m)) for sd in spreads)
    sessions = min(max(asked, fewest(FIRST, m)), most)
    rows = drawn[:sessions].T.tolist()
    return [Paired("ratio", tuple(row), 1.0, FIRST) for row in rows]


def test_a_worked_example() -> None:
    # t of 7 degrees of freedom leaves 2.5 % above 2.3646: (2.3646 · 0.03 / 0.02)² = 12.58.
    assert sessions_for(0.02, 0.03, 7, 0.05) == 13
    assert half_width(0.03, 13, 7, 0.05) < 0.02 < half_width(0.03, 12, 7, 0.05)
    assert sessions_for(0.02, 0.0, 7, 0.05) == 1
    assert fewest(8, 1) == 8 and fewest(8, 7) == 9
    assert level(4) == 0.0125


def test_the_interval_is_of_the_first_stage_s_spread() -> None:
    first = (0.01, 0.03, 0.02, 0.04, 0.00, 0.05, 0.02, 0.03)
    whole = Paired("ratio", (*first, 0.5, -0.5), 1.0, FIRST)
    seen = whole.spread
    assert seen.sd == pytest.approx(np.std(first, ddof=1)) and seen.freedom == 7
    assert seen.mean == pytest.approx(np.mean((*first, 0.5, -0.5))) and seen.count == 10
    # A first stage in which all were alike says nothing of how sure the mean is.
    alike = Paired("ratio", (0.1,) * 8 + (0.2, 0.3), 1.0, FIRST)
    assert alike.spread.sd > 0 and alike.spread.freedom == 9


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_the_interval_holds_the_truth_and_is_as_narrow_as_asked(effect: float) -> None:
    generator = np.random.default_rng(31)
    covered, sizes, widths = 0, [], []
    for _ in range(RUNS):
        # Without the limit of sessions, so that the promise is kept in every run.
        (paired,) = staged(generator, (effect,), most=120)
        limits = paired.interval(0.95)
        assert limits is not None
        covered += limits[0] <= effect <= limits[1]
        sizes.append(len(paired.differences))
        widths.append((math.log1p(limits[1]) - math.log1p(limits[0])) / 2)
    middle = sorted(sizes)[RUNS // 2]
    print(f"effect {effect:.0%}: {covered / RUNS:.2%} covered, {middle} sessions in the middle")
    low, high = stats.binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= covered <= high
    assert max(widths) <= HALF * (1 + 1e-9)


def test_twenty_sessions_at_most_cost_width_and_not_truth() -> None:
    generator = np.random.default_rng(32)
    covered = means = limited = 0
    for _ in range(RUNS):
        (paired,) = staged(generator, (0.03,), most=12)
        limited += len(paired.differences) == 12
        limits = paired.interval(0.95)
        assert limits is not None
        covered += limits[0] <= 0.03 <= limits[1]
        # A case's own figure has its ordinary interval, and shares half of its spread.
        noise = generator.normal(0, SD, len(paired.differences))
        side = over_sessions(np.exp(np.array(paired.differences) + noise).tolist())
        assert side.low is not None and side.high is not None
        means += side.low <= 1.03 <= side.high
    print(f"{limited / RUNS:.0%} limited: {covered / RUNS:.2%} covered; cases {means / RUNS:.2%}")
    assert RUNS / 4 < limited < RUNS
    low, high = stats.binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= covered <= high
    assert low <= means <= high


@pytest.mark.parametrize("comparisons", [1, 3])
def test_equal_sides_are_called_different_no_oftener_in_two_stages(comparisons: int) -> None:
    generator = np.random.default_rng(33)
    alarms = 0
    for _ in range(RUNS):
        family = staged(generator, (0.0,) * comparisons)
        found = decide(family, ["up"] * comparisons, 0.0)
        alarms += any(one.excludes_zero for one in found if one)
    print(f"family of {comparisons}: {alarms / RUNS:.2%} false alarms in {RUNS} runs")
    assert 0 < alarms <= stats.binom.ppf(0.999, RUNS, 0.05)


def test_what_could_be_detected_keeps_the_first_stage_s_freedom() -> None:
    generator = np.random.default_rng(34)
    differences = tuple(generator.normal(0, SD, 20).tolist())
    (once,) = decide([Paired("ratio", differences, 1.0)], ["up"], 0.03)
    (twice,) = decide([Paired("ratio", (*differences[:8], *differences[8:]), 1.0, 8)], ["up"], 0.03)
    assert once and twice and once.detectable and twice.detectable
    sd = float(np.std(differences[:8], ddof=1))
    # Noncentral t of 7 degrees of freedom is past its critical value in 80 % here.
    shift = math.log1p(twice.detectable) * math.sqrt(20) / sd
    found = stats.nct.sf(stats.t.ppf(0.975, 7), 7, shift)
    assert found == pytest.approx(0.8, abs=0.001)
