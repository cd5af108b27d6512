"""The search for a capacity: its steps, and whether its interval holds the truth."""

from collections.abc import Callable
from math import log

import numpy as np
import pytest

from benchlab.stats.capacity import CLOSE, Gap, Outcome, following, gap, rungs
from benchlab.stats.estimates import over_sessions

K, B, U = "kept", "broken", "unknown"


@pytest.mark.parametrize(
    ("words", "kept", "stop", "is_bound"),
    [
        ("KKB", 2, 3, False),
        ("KKK", 3, None, False),
        ("BBB", None, 1, False),
        ("KBKB", 1, 4, False),
        ("BKKKB", 4, 5, False),
        ("KKBKBB", 2, 5, False),
        ("KKU", 2, 3, True),
        ("KUKB", 3, 4, False),
        ("KUB", 1, 3, False),
        ("UU", None, 1, True),
    ],
)
def test_the_gap_is_where_the_fewest_steps_contradict(
    words: str, kept: float | None, stop: float | None, is_bound: bool
) -> None:
    named: dict[str, Outcome] = {"K": "kept", "B": "broken", "U": "unknown"}
    steps = {float(rate): named[word] for rate, word in enumerate(words, 1)}
    assert gap(steps) == Gap(kept, stop, is_bound)


def searched(
    outcome: Callable[[float], Outcome], steps: dict[float, Outcome], factor: float | None
) -> dict[float, Outcome]:
    """Steps until there is nothing more to be found."""
    while (rate := following(steps, factor)) is not None:
        steps[rate] = outcome(rate)
    return steps


@pytest.mark.parametrize("truth", [3.0, 40.0, 777.0, 123_456.0])
def test_a_search_doubles_until_it_breaks_and_closes_in(truth: float) -> None:
    steps = searched(sharp(truth), {100.0: sharp(truth)(100.0)}, 2.0)
    found = gap(steps)
    assert found.kept is not None and found.stop is not None
    assert found.kept < truth <= found.stop <= CLOSE * found.kept
    doubled = [rate for rate in steps if round(log(rate / 100, 2), 9).is_integer()]
    assert list(steps)[: len(doubled)] == doubled and len(steps) == len(doubled) + 4


def sharp(truth: float) -> Callable[[float], Outcome]:
    """A system that keeps its target below one rate, and above it never."""
    return lambda rate: "kept" if rate < truth else "broken"


def test_one_step_that_could_not_tell_is_gone_on_above_and_beside() -> None:
    steps: dict[float, Outcome] = {100.0: "kept", 200.0: "unknown"}
    assert following(steps, 2.0) == 400
    assert following(steps | {400.0: "kept"}, 2.0) == 800
    steps |= {400.0: "broken"}
    assert following(steps, 2.0) == pytest.approx(100 * 4**0.25)


def test_what_no_step_can_tell_ends_a_search() -> None:
    blind = searched(lambda rate: "kept" if rate < 1000 else "unknown", {100.0: "kept"}, 2.0)
    found = gap(blind)
    assert found.is_bound and found.kept is not None and 1000 / CLOSE <= found.kept < 1000
    assert found.middle == found.kept
    nothing = searched(lambda rate: "broken", {100.0: "broken"}, 2.0)
    assert gap(nothing).kept is None and min(nothing) >= 1


def test_a_session_finds_its_own_capacity_wherever_it_lies() -> None:
    for truth in np.geomspace(20, 5000, 60):
        steps: dict[float, Outcome] = {}
        for _, rate in rungs(500.0, f"{truth}"):
            steps[rate] = "kept" if rate < truth else "broken"
        found = gap(searched(sharp(truth), steps, None))
        assert found.is_close and found.kept < truth <= found.stop, truth


def test_the_shift_makes_the_middle_of_the_gap_true_in_the_mean() -> None:
    """A capacity that is the same in each session: without the shift all sessions err alike."""
    for truth in (907.0, 951.0, 1000.0, 1033.0, 1070.0):
        middles = []
        for session in range(400):
            steps: dict[float, Outcome] = {
                rate: "kept" if rate < truth else "broken"
                for _, rate in rungs(1000.0, f"7/{session}")
            }
            found = gap(searched(sharp(truth), steps, None))
            assert found.middle is not None
            middles.append(log(found.middle / truth))
        assert abs(np.mean(middles)) < 0.004 and np.std(middles) > 0.01


def queue_p99_s(
    random: np.random.Generator, arrivals_per_second: float, served_per_second: float
) -> float:
    """The p99 of 16 s of responses of one exponential server to Poisson arrivals (Lindley 1952)."""
    count = random.poisson(arrivals_per_second * 16.5)
    between = random.exponential(1 / arrivals_per_second, count)
    service = random.exponential(1 / served_per_second, count)
    # The wait of the n-th is the greatest fall of the walk of service less arrivals before it.
    walk = np.concatenate(([0.0], np.cumsum(service[:-1] - between[1:])))
    waits = walk - np.minimum.accumulate(walk)
    kept = np.cumsum(between) > 0.5
    return float(np.quantile((waits + service)[kept], 0.99, method="inverted_cdf"))


SERVED_PER_SECOND, TARGET_S, APART = 1000.0, 0.010, 0.02
CAPACITY = SERVED_PER_SECOND - log(100) / TARGET_S
"""Responses of M/M/1 are exponential with μ - λ (Kleinrock 1975, § 3.2): p99 = ln 100/(μ - λ)."""


def one_run(random: np.random.Generator, sessions: int) -> tuple[float, float, float]:
    """A search and its sessions, each of a server that is a little faster or slower."""

    def outcome_of(served: float) -> Callable[[float], Outcome]:
        return lambda rate: "kept" if queue_p99_s(random, rate, served) < TARGET_S else "broken"

    served = [SERVED_PER_SECOND * exp for exp in np.exp(random.normal(0, APART, sessions))]
    first = outcome_of(served[0])
    found = gap(searched(first, {100.0: first(100.0)}, 2.0)).middle
    assert found is not None
    middles = []
    for session, each in enumerate(served):
        outcome = outcome_of(each)
        steps = {rate: outcome(rate) for _, rate in rungs(found, f"{random.random()}/{session}")}
        middle = gap(searched(outcome, steps, None)).middle
        assert middle is not None
        middles.append(middle)
    over = over_sessions(middles)
    assert over.low is not None and over.high is not None
    return over.estimate, over.low, over.high


@pytest.mark.parametrize("sessions", [3, 8])
def test_the_interval_holds_the_capacity_of_a_queue(sessions: int) -> None:
    random = np.random.default_rng(sessions)
    runs = [one_run(random, sessions) for _ in range(120)]
    held = sum(low <= CAPACITY <= high for _, low, high in runs)
    off = np.mean([estimate for estimate, _, _ in runs]) / CAPACITY - 1
    width = np.median([high / low - 1 for _, low, high in runs])
    print(f"\n{sessions} sessions: {held}/120 intervals hold {CAPACITY:.0f}/s, mean off by "
          f"{off:+.2%}, median width {width:.1%}")  # fmt: skip
    assert held >= 106 and abs(off) < 0.01
