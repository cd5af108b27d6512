"""The six verdicts, in their order, and the symmetries they keep."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.model.metrics import Direction
from benchlab.stats.paired import Paired, pair
from benchlab.stats.verdicts import Finding, decide, describe


def shifted(effect: float, noise: float = 0.002, sessions: int = 8) -> Paired:
    """Sessions whose differences lie evenly about ln(1 + effect)."""
    steps = [(k - (sessions - 1) / 2) * noise for k in range(sessions)]
    centre = math.log1p(effect)
    return Paired("ratio", tuple(centre + step for step in steps), 1.0)


def verdict(paired: Paired, way: Direction = "up", delta: float = 0.03) -> str | None:
    found = decide([paired], [way], delta)[0]
    return None if found is None else found.verdict


@pytest.mark.parametrize(
    ("paired", "expected"),
    [
        (shifted(0.05), "better"),
        (shifted(-0.05), "worse"),
        (shifted(0.02), "different-but-small"),
        (shifted(-0.02), "different-but-small"),
        (shifted(0.0), "equivalent"),
        (shifted(0.0, noise=0.05), "inconclusive"),
        (shifted(0.05, noise=0.05), "inconclusive"),
    ],
)
def test_the_word_for_each_picture(paired: Paired, expected: str) -> None:
    assert verdict(paired) == expected


def test_each_metric_knows_its_good_direction() -> None:
    assert verdict(shifted(0.05), "down") == "worse"
    assert verdict(shifted(-0.05), "down") == "better"
    assert verdict(shifted(-0.05), "none") == "inconclusive"


def test_difference_comes_before_equivalence() -> None:
    # Both hold: zero is excluded, and the 90 % interval lies well inside the 3 %.
    assert verdict(shifted(0.01, noise=0.0005)) == "different-but-small"


def test_what_was_seen_to_be_small_need_not_be() -> None:
    # A mean of -2.9 %, whose interval reaches to -5.1 %.
    drawn = (-0.07, -0.06, -0.045, -0.03, -0.02, -0.01, -0.005, 0.005)
    found = decide([Paired("ratio", drawn, 1.0)], ["up"], 0.03)[0]
    assert found is not None and found.verdict == "different-but-small" and found.may_matter
    found = decide([shifted(0.02, noise=0.002)], ["up"], 0.03)[0]
    assert found is not None and found.verdict == "different-but-small" and not found.may_matter
    found = decide([shifted(0.05)], ["up"], 0.03)[0]
    assert found is not None and found.verdict == "better" and not found.may_matter


def test_the_wider_of_two_tests_holds() -> None:
    # One far session: the sign flip sees all signs alike, the t interval does not exclude zero.
    paired = Paired("ratio", (0.5, *([0.04] * 7)), 1.0)
    found = decide([paired], ["up"], 0.03)[0]
    assert found is not None
    assert found.p == 2 / 2**8 and found.low is not None and found.low < 0
    assert found.disagree and not found.excludes_zero
    assert found.verdict == "inconclusive"


def test_too_few_sessions_never_find() -> None:
    assert verdict(shifted(0.5, sessions=5)) == "inconclusive"
    assert verdict(shifted(0.5, sessions=6)) == "better"


def test_a_family_needs_more() -> None:
    one = decide([shifted(0.05, sessions=6)], ["up"], 0.03)
    two = decide([shifted(0.05, sessions=6)] * 2, ["up"] * 2, 0.03)
    assert one[0] is not None and one[0].verdict == "better"
    assert [found.p for found in two if found] == [2 * 2 / 2**6] * 2
    assert {found.verdict for found in two if found} == {"inconclusive"}


def test_invalid_stays_in_the_family() -> None:
    found = decide([None, shifted(0.05)], ["up", "up"], 0.03)
    assert found[0] is None
    assert found[1] is not None and found[1].p == 2 * 2 / 2**8


def test_by_difference() -> None:
    errors = pair([0.0] * 8, [0.010, 0.011, 0.009, 0.010, 0.010, 0.012, 0.008, 0.010])
    found = decide([errors], ["down"], 0.03)[0]
    assert found is not None
    assert found.verdict == "worse"
    assert found.effect == pytest.approx(0.01)
    none = decide([pair([0.0] * 8, [0.0] * 8)], ["down"], 0.03)[0]
    assert none is not None and none.verdict == "equivalent"


def test_inconclusive_says_what_would_do() -> None:
    found = describe(shifted(0.0, noise=0.02), 0.03)
    assert found.verdict is None and found.p is None
    assert found.detectable is not None and found.detectable > 0.03
    assert found.sessions_needed is not None and found.sessions_needed > 8


OPPOSITE = {"better": "worse", "worse": "better"}
effects = st.lists(st.floats(min_value=-0.2, max_value=0.2), min_size=6, max_size=10)


@given(effects, st.sampled_from(["up", "down"]))
def test_swapping_the_sides_turns_the_word(differences: list[float], way: Direction) -> None:
    there = decide([Paired("ratio", tuple(differences), 1.0)], [way], 0.03)[0]
    back = decide([Paired("ratio", tuple(-d for d in differences), 1.0)], [way], 0.03)[0]
    assert there is not None and back is not None
    assert there.excludes_zero == back.excludes_zero and there.p == back.p
    # +3 % one way is -2.9 % the other, so the words may differ between those two alone.
    near = any(0.029 < abs(found.effect) < 0.031 for found in (there, back))
    if there.excludes_zero and not near:
        assert there.verdict is not None
        assert back.verdict == OPPOSITE.get(there.verdict, there.verdict)


@given(effects)
def test_turning_the_good_direction_turns_the_word(differences: list[float]) -> None:
    paired = Paired("ratio", tuple(differences), 1.0)
    up, down = (decide([paired], [way], 0.03)[0] for way in ("up", "down"))
    assert isinstance(up, Finding) and isinstance(down, Finding) and up.verdict is not None
    assert down.verdict == OPPOSITE.get(up.verdict, up.verdict)
