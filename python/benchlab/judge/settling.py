"""Whether a trial had settled: its transactions a second in slots, warm-up and measured part.

Absent: the tests on a series (`stats.steady`), and loads that are meant to change or to end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.judge.counted import SLOT_S, Counted
from benchlab.stats.steady import LEAST, Change, mser5, slope, step

SHORTEST_S = 5.0
"""Of a measured part: the means of less would be of a handful of seconds."""
LIMIT = 0.02
"""A change of level over the measured part of which no more than this is certain is none."""


@dataclass(frozen=True)
class Settling:
    """What became of the level over the measured part."""

    change: Change
    is_step: bool
    limit: float
    settled_s: float | None
    """From when on the level stays, where it changed before; None where it never does."""

    @property
    def is_steady(self) -> bool:
        """Whether no change above the limit is certain."""
        return self.change.certain <= self.limit

    @property
    def is_warming(self) -> bool:
        """Whether what is seen is a warm-up: a level that stays in the end, or still rises."""
        return not self.is_steady and (self.settled_s is not None or self.change.share > 0)


def untold(seen: Counted) -> tuple[bool, str]:
    """Why a trial cannot be examined, and whether that lies in what it is; empty where it can."""
    if seen.ends_by_count:
        return True, "the trial ends when its work is done"
    if _changes(seen.plan["schedule"]):
        return True, "the load is meant to change"
    if seen.length_s < SHORTEST_S:
        return False, f"trials under {SHORTEST_S:g} s are not examined"
    if not seen.during("completed"):
        return False, "nothing was completed"
    return False, ""


def _changes(schedule: Mapping[str, Any]) -> bool:
    shape = schedule.get("open", {}).get("shape", ())
    rates = {segment[end] for segment in shape for end in ("from_per_second", "to_per_second")}
    return len(rates) > 1


def settling(seen: Counted, limit: float = LIMIT) -> Settling:
    """Examines a trial of which `untold` says nothing.

    The cut is MSER-5's over warm-up and measured part together, at most half of both.
    """
    rates = seen.slots["completed"][: seen.counted_slots]
    change, is_step = _greatest(rates)
    if change.certain <= limit:
        return Settling(change, is_step, limit, 0.0)
    cut = mser5([*seen.warmup, *rates]) - len(seen.warmup)
    rest = rates[max(0, cut) :]
    stays = cut > 0 and rest.size >= LEAST and _greatest(rest)[0].certain <= limit
    return Settling(change, is_step, limit, cut * SLOT_S if stays else None)


def _greatest(rates: Any) -> tuple[Change, bool]:
    """The change of which most is certain, and whether it is a step rather than a slope."""
    found = [(slope(rates), False), (step(rates), True)]
    known = [(change, is_step) for change, is_step in found if change is not None]
    return max(known, key=lambda one: one[0].certain, default=(Change(0.0, 0.0), False))
