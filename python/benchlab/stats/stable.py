"""The present stable segment of a history, and which of its newest values lie beyond it.

A level that has just begun holds too few values to tell how far they lie apart, so that the one
before it stands until the new one has enough. Absent: verdicts, and what the values are of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from benchlab.stats.between import ahead
from benchlab.stats.changes import change_points
from benchlab.stats.estimates import CONFIDENCE
from benchlab.stats.family import FEWEST_COUNTING


@dataclass(frozen=True, slots=True)
class Standing:
    """How the newest value of a history stands to the rest."""

    segment: tuple[float, ...]
    """The stable segment; what is beyond it is left out."""
    beyond: tuple[float, ...]
    """The newest value, last, and those just before it that lie beyond the segment as it does."""


def levels(values: Sequence[float]) -> tuple[int, ...]:
    """The number of each value's level, from 0; by ratio where all values are above zero."""
    by_ratio = bool(values) and min(values) > 0
    begins = set(change_points([log(value) if by_ratio else value for value in values]))
    found, level = [], 0
    for place in range(len(values)):
        level += place in begins
        found.append(level)
    return tuple(found)


def longest(numbers: Sequence[int]) -> int:
    """How many values the longest level holds."""
    return max((numbers.count(level) for level in set(numbers)), default=0)


def standing(earlier: Sequence[float], newest: float) -> Standing | None:
    """How a value stands to those before it; None where no level holds enough to tell.

    The segment is the last level of six values or more. Values at its end that lie beyond the rest
    on the newest one's side, all of them, are counted with that one: as a part of the segment
    they would widen it and hide what they show. Of those after the segment only the newest ones
    that lie on its side count with it: a level that came and went says nothing of it.
    """
    numbers = levels(earlier)
    held = [level for level in numbers if numbers.count(level) >= FEWEST_COUNTING]
    if not held:
        return None
    pairs = list(zip(numbers, earlier, strict=True))
    segment = tuple(value for level, value in pairs if level == held[-1])
    later = tuple(value for level, value in pairs if level > held[-1])
    for newer in range(min(len(segment) - FEWEST_COUNTING, FEWEST_COUNTING), 0, -1):
        rest, last = segment[:-newer], segment[-newer:]
        sides = {_side(rest, value) for value in (*last, *later, newest)}
        if sides in ({1}, {-1}):
            return Standing(rest, (*last, *later, newest))
    side, alike = _side(segment, newest), [newest]
    for value in reversed(later):
        if side == 0 or _side(segment, value) != side:
            break
        alike.append(value)
    return Standing(segment, tuple(reversed(alike)))


def _side(segment: Sequence[float], value: float) -> int:
    """1 or -1 where a value lies above or below what the segment foretells, else 0."""
    low, high = ahead(segment, [value]).limits(CONFIDENCE)
    return 1 if low > 0 else -1 if high < 0 else 0
