"""Histories held against a new run: which segment stands, false alarms and power by simulation."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from benchlab.stats.between import ahead
from benchlab.stats.stable import levels, longest, standing

SPREAD = 0.02


def alarms(values: Sequence[float], newest: float, delta: float = 0.0) -> bool:
    """Whether two runs or more lie below the segment, beyond noise and by δ."""
    found = standing(values, newest)
    if found is None or len(found.beyond) < 2:
        return False
    contrast = ahead(found.segment, found.beyond)
    return contrast.p() <= 0.05 and contrast.effect(contrast.mean) < -delta


def history(generator: np.random.Generator, runs: int) -> list[float]:
    return [float(v) for v in 1000 * np.exp(generator.normal(0, SPREAD, runs))]


def test_a_history_without_a_change_alarms_seldom() -> None:
    generator = np.random.default_rng(50)
    looks = seen = 0
    for _ in range(150):
        values = history(generator, 24)
        for place in range(8, 24):
            looks += 1
            seen += alarms(values[:place], values[place])
    print(f"{seen} alarms in {looks} looks ({seen / looks:.2%})")
    assert seen <= stats.binom.ppf(0.999, looks, 0.025)


def test_the_second_run_after_a_slowdown_alarms() -> None:
    generator = np.random.default_rng(51)
    first = second = 0
    for _ in range(200):
        values = history(generator, 14)
        slow = [value * 0.9 for value in history(generator, 2)]
        first += alarms(values, slow[0], 0.03)
        second += alarms([*values, slow[0]], slow[1], 0.03)
    print(f"alarms at the first {first / 200:.1%}, at the second {second / 200:.1%}")
    assert first <= 0.05 * 200
    assert second >= 0.9 * 200


def test_an_alarm_lasts_until_the_new_level_has_come_to_stay() -> None:
    generator = np.random.default_rng(52)
    values = history(generator, 12)
    told = []
    for value in history(generator, 9):
        told.append(alarms(values, value * 0.8))
        values.append(value * 0.8)
    assert told == [False, True, True, True, True, True, False, False, False]


def test_a_regression_that_was_repaired_is_no_alarm() -> None:
    generator = np.random.default_rng(54)
    values = [*history(generator, 12), *(0.8 * value for value in history(generator, 4))]
    found = standing(values, 1000.0)
    assert found is not None and found.beyond == (1000.0,)
    assert not alarms(values, 1000.0)
    again = standing([*values, 1000.0], 805.0)
    assert again is not None and again.beyond == (805.0,)


def test_one_run_below_others_above_is_the_first_of_its_kind() -> None:
    generator = np.random.default_rng(55)
    values = [*history(generator, 12), *(1.2 * value for value in history(generator, 3))]
    found = standing(values, 500.0)
    assert found is not None and found.beyond == (500.0,)


def test_no_level_is_long_enough() -> None:
    values = [1000.0, 1001.0, 999.0, 1002.0, 1000.5]
    assert standing(values, 1000.0) is None
    assert longest(levels(values)) == 5
    assert longest(levels([])) == 0
    found = standing([*values, 1000.0], 900.0)
    assert found is not None
    assert (len(found.segment), found.beyond) == (6, (900.0,))


def test_levels_are_numbered() -> None:
    generator = np.random.default_rng(53)
    values = [*history(generator, 8), *(v * 2 for v in history(generator, 8))]
    assert levels(values) == (0,) * 8 + (1,) * 8
    assert levels([0.0] * 5) == (0,) * 5
