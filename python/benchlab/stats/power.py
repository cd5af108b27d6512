"""What a comparison of K sessions could have found, and how many sessions an effect needs.

Printed with every answer of "inconclusive", so that "nothing found" is never read as "nothing
there". The spread seen is taken for the true one. Absent: stopping rules.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import optimize, stats

from benchlab.stats.estimates import t_critical
from benchlab.stats.paired import sign_flip_ps

POWER = 0.8
FEWEST_FOR_POWER = 4
"""Below this the t distribution is so wide that a detectable effect means nothing."""
MOST_SESSIONS = 10_000
MOST_FLIPPED = 12
"""Up to so many sessions the steps in which a sign-flip p goes are felt beside the t test."""
DRAWS = 2000


def power(shift: float, sd: float, sessions: int, alpha: float) -> float:
    """How often the two-sided t test finds a true mean difference of `shift`.

    The statistic is noncentral t with K - 1 degrees of freedom and noncentrality √K·shift/sd
    (Cohen 1988, ch. 2).
    """
    if sd == 0:
        return 1.0 if shift else alpha
    return _found(abs(shift) / sd * math.sqrt(sessions), sessions, alpha)


def _found(noncentrality: float, sessions: int, alpha: float) -> float:
    critical, freedom = t_critical(sessions, alpha), sessions - 1
    above = stats.nct.sf(critical, freedom, noncentrality)
    # By symmetry the lower tail is the upper one of the opposite shift; the library's lower tail
    # is not a number where it is next to nothing.
    below = stats.nct.sf(critical, freedom, -noncentrality)
    return float(above + below)


def _missed(noncentrality: float, sessions: int, alpha: float) -> float:
    """How often the t test finds a difference that the sign flip does not, by simulation."""
    drawn = np.random.default_rng(sessions).normal(size=(DRAWS, sessions))
    drawn += noncentrality / math.sqrt(sessions)
    statistic = drawn.mean(axis=1) / drawn.std(axis=1, ddof=1) * math.sqrt(sessions)
    found = drawn[np.abs(statistic) > t_critical(sessions, alpha)]
    return float(np.count_nonzero(sign_flip_ps(found) > alpha)) / DRAWS


@lru_cache(maxsize=4096)
def _noncentrality(sessions: int, alpha: float, flips: bool) -> float:
    """The noncentrality that is found in 80 % of runs; infinite where none is."""
    farthest = 2 * t_critical(sessions, alpha) + 10
    by_t: float = optimize.brentq(
        lambda tried: _found(tried, sessions, alpha) - POWER, 0.0, farthest, xtol=1e-9
    )
    if not flips or sessions > MOST_FLIPPED:
        return by_t
    if 2.0 ** (1 - sessions) > alpha:
        return math.inf

    def found(tried: float) -> float:
        return _found(tried, sessions, alpha) - _missed(tried, sessions, alpha) - POWER

    by_both: float = optimize.brentq(found, by_t, farthest, xtol=1e-3) if found(by_t) < 0 else by_t
    return by_both


def detectable(
    sd: float,
    sessions: int,
    alpha: float,
    freedom: int | None = None,
    *,
    flips: bool = True,
) -> float | None:
    """The smallest true mean difference found in 80 % of runs; None where none is so.

    Args:
        sd: The standard deviation of a session's difference.
        sessions: How many there are.
        alpha: The level.
        freedom: Of `sd`, where that was not made of all sessions.
        flips: Whether the sign flip must find it too; by the t test alone otherwise.
    """
    values = sessions if freedom is None else 1 + freedom
    if values < FEWEST_FOR_POWER:
        return None
    found = _noncentrality(values, alpha, flips and values == sessions) * sd / math.sqrt(sessions)
    return found if math.isfinite(found) else None


def sessions_needed(shift: float, sd: float, alpha: float, fewest: int) -> int | None:
    """The smallest K, at least `fewest`, that finds `shift` in 80 % of runs; None beyond 10,000.

    By both tests, the t test and the sign flip.
    """

    def enough(sessions: int) -> bool:
        return abs(shift) * math.sqrt(sessions) >= _noncentrality(sessions, alpha, True) * sd

    fewest = max(fewest, FEWEST_FOR_POWER)
    if enough(fewest):
        return fewest
    low, high = fewest, 2 * fewest
    while not enough(high):
        low, high = high, 2 * high
        if low > MOST_SESSIONS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
