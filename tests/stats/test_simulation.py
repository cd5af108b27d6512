"""Coverage, false alarms and power, by simulation with a fixed seed.

A session shifts both sides alike, each fresh start shifts one side (1 %), each block adds noise
(1 %): what the pairs of a real run are made of. The figures are printed and must lie within the
binomial bounds of the number of runs simulated.
"""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchlab.stats.estimates import over_sessions
from benchlab.stats.paired import Paired, pair
from benchlab.stats.verdicts import decide

SESSIONS, BLOCKS, RUNS = 8, 2, 3000
RESTART, BLOCK = 0.01, 0.01


def sides(
    generator: np.random.Generator, effect: float, candidates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Session values of a baseline and of several candidates that share its sessions."""
    session = generator.normal(0, 0.05, (SESSIONS, 1))
    starts = generator.normal(0, RESTART, (SESSIONS, candidates + 1))
    blocks = generator.normal(0, BLOCK, (SESSIONS, candidates + 1, BLOCKS)).mean(axis=2)
    values = 1000 * np.exp(session + starts + blocks)
    return values[:, 0], values[:, 1:] * (1 + effect)


def at_most(runs: int, share: float) -> float:
    """The count that a binomial of this share exceeds once in a thousand times."""
    return float(stats.binom.ppf(0.999, runs, share))


@pytest.mark.parametrize("comparisons", [1, 2, 3])
def test_equal_sides_are_called_different_no_oftener_than_allowed(comparisons: int) -> None:
    generator = np.random.default_rng(20)
    alarms = 0
    for _ in range(RUNS):
        baseline, others = sides(generator, 0.0, comparisons)
        family: list[Paired | None] = [
            pair(baseline.tolist(), others[:, index].tolist()) for index in range(comparisons)
        ]
        found = decide(family, ["up"] * comparisons, 0.0)
        alarms += any(one.excludes_zero for one in found if one)
    print(f"family of {comparisons}: {alarms / RUNS:.2%} false alarms in {RUNS} runs")
    assert 0 < alarms <= at_most(RUNS, 0.05)


def test_equal_sides_are_never_both_relevant_and_significant() -> None:
    generator = np.random.default_rng(21)
    words: Counter[str | None] = Counter()
    for _ in range(RUNS):
        baseline, others = sides(generator, 0.0, 1)
        found = decide([pair(baseline.tolist(), others[:, 0].tolist())], ["up"], 0.03)[0]
        words[found.verdict if found else None] += 1
    print(f"equal sides: {dict(words)}")
    assert words["better"] + words["worse"] <= at_most(RUNS, 0.005)
    assert words["equivalent"] > RUNS / 2


@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_the_interval_covers_the_truth(effect: float) -> None:
    generator = np.random.default_rng(22)
    covered = means = 0
    for _ in range(RUNS):
        baseline, others = sides(generator, effect, 1)
        limits = pair(baseline.tolist(), others[:, 0].tolist()).interval(0.95)
        assert limits is not None
        covered += limits[0] <= effect <= limits[1]
        one = over_sessions(baseline.tolist())
        assert one.low is not None and one.high is not None
        means += one.low <= 1000 <= one.high
    print(f"effect {effect:.0%}: interval covers {covered / RUNS:.2%}, mean {means / RUNS:.2%}")
    low, high = stats.binom.ppf([0.001, 0.999], RUNS, 0.95)
    assert low <= covered <= high
    assert low <= means <= high


def test_a_known_five_per_cent_is_found() -> None:
    generator = np.random.default_rng(23)
    better = 0
    for _ in range(RUNS):
        baseline, others = sides(generator, 0.05, 1)
        found = decide([pair(baseline.tolist(), others[:, 0].tolist())], ["up"], 0.03)[0]
        better += found is not None and found.verdict == "better"
    sd = math.sqrt(2 * (RESTART**2 + BLOCK**2 / BLOCKS))
    # Found where the mean lies above 3 % and the test sees it; the first limit binds here.
    expected = stats.norm.sf((math.log(1.03) - math.log(1.05)) / (sd / math.sqrt(SESSIONS)))
    print(f"a true +5 %: called better in {better / RUNS:.2%} of {RUNS} runs")
    assert better / RUNS == pytest.approx(expected, abs=0.02)
    assert better / RUNS > 0.95
