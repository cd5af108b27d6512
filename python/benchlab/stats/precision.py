"""How many sessions an interval of a wanted width takes: Stein's procedure in two stages.

The spread of a first stage fixes the final number once. It does not depend on where the mean lies,
so that the number is not chosen by what was found. Absent: which comparisons are looked at.
"""

import math

from benchlab.stats.estimates import t_critical
from benchlab.stats.family import ALPHA, smallest_sessions

MOST_STAGED = 20
"""Two stages never take more sessions than this."""


def level(comparisons: int) -> float:
    """The strictest level at which Holm's correction tests one of so many comparisons."""
    return ALPHA / max(comparisons, 1)


def half_width(sd: float, sessions: int, freedom: int, alpha: float) -> float:
    """Half the width of the t interval of so many sessions, on the scale of `sd`."""
    return t_critical(1 + freedom, alpha) * sd / math.sqrt(sessions)


def sessions_for(half: float, sd: float, freedom: int, alpha: float) -> int:
    """How many sessions bring the half-width down to `half`: ⌈(t·sd/half)²⌉ (Stein 1945).

    Args:
        half: The half-width that is wanted, on the scale of `sd`.
        sd: The standard deviation of the first stage.
        freedom: Its degrees of freedom, which the final interval keeps.
        alpha: The level of the interval.
    """
    ratio = t_critical(1 + freedom, alpha) * sd / half
    return max(1, math.ceil(ratio**2 - 1e-9))


def fewest(first: int, comparisons: int) -> int:
    """What is taken at least: the first stage, and as many as so many comparisons need."""
    return max(first, smallest_sessions(comparisons)) if comparisons else first
