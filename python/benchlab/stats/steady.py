"""Whether a series keeps its level: where its warm-up ends, its slope, and a change of level.

A rate that wanders is not yet one that changes: what neighbouring values have in common is taken
into account, or every stall and every burst would look like a new level. Absent: series that are
meant to change, and what unsteadiness does to a figure.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

CONFIDENCE = 0.95
BATCH = 5
"""Values of a batch in MSER-5, to which it owes its name."""
SUP_T = sqrt(12.16)
"""Of the greatest t over all places for a step, exceeded by chance in 1 % of long steady series.

The sup-Wald statistic of one parameter with 15 % left out at either end (Andrews 2003, table 1,
which corrects that of 1993).
"""
EDGE = 0.15
"""Share of the series at either end in which a step is not looked for."""
LEAST = 20
"""Values below which neither test can tell."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level over a series, as a share of its mean."""

    share: float
    margin: float
    """How far to either side the true change may lie."""
    at: int = 0
    """The index of the first value of the new level; of a slope, 0."""

    @property
    def certain(self) -> float:
        """The least change that the interval leaves possible; 0 where it holds zero."""
        return max(0.0, abs(self.share) - self.margin)


def mser5(values: ArrayLike) -> int:
    """How many leading values are warm-up, at most half of them; a multiple of five.

    The cut at which the standard error of the mean of what is left would be least, on means of five
    values each: min over d of Σ (y - mean)² / (n - d)² (White 1997; White, Cobb and Spratt 2000).
    """
    y = np.asarray(values, dtype=np.float64)
    count = y.size // BATCH
    if count < 2:
        return 0
    means = y[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    scores = [
        float(np.square(rest - rest.mean()).sum()) / rest.size**2
        for rest in (means[d:] for d in range(count // 2 + 1))
    ]
    # Of cuts that differ by rounding alone, the first.
    best = int(np.argmax(np.asarray(scores) <= min(scores) * (1 + 1e-9)))
    return best * BATCH


def slope(values: ArrayLike, confidence: float = CONFIDENCE) -> Change | None:
    """By how much the least-squares line rises over the series, with its confidence interval.

    Standard error and degrees of freedom are those of n_e = n (1 - r)/(1 + r) independent values,
    with r the autocorrelation of the residuals at one step (Santer et al. 2000, eqs. 4-6). None
    where there are too few values or their mean is not above zero.
    """
    y = np.asarray(values, dtype=np.float64)
    if y.size < LEAST or y.mean() <= 0:
        return None
    t = np.arange(y.size) - (y.size - 1) / 2
    spread = float(np.square(t).sum())
    rise = float((t * (y - y.mean())).sum()) / spread
    residuals = y - y.mean() - rise * t
    independent = _independent(residuals, 2)
    freedom = max(independent - 2, 1.0)
    error = sqrt(float(np.square(residuals).sum()) / freedom / spread)
    scale = y.size / y.mean()
    critical = float(stats.t.ppf((1 + confidence) / 2, freedom))
    return Change(rise * scale, critical * error * scale)


def step(values: ArrayLike) -> Change | None:
    """The likeliest single change of level, with a margin that holds for its place being sought.

    The place is that of the greatest t of the means before and after it. The margin is as many
    standard errors, of n_e independent values as in `slope`, as Student's t of n_e - 2 exceeds as
    seldom as a normal deviate exceeds `SUP_T`. None as there.
    """
    y = np.asarray(values, dtype=np.float64)
    if y.size < LEAST or y.mean() <= 0:
        return None
    places = np.arange(int(np.ceil(EDGE * y.size)), int(y.size * (1 - EDGE)) + 1)
    sums = np.cumsum(y)
    before = sums[places - 1] / places
    after = (sums[-1] - sums[places - 1]) / (y.size - places)
    weights = np.sqrt(places * (y.size - places) / y.size)
    at = int(places[np.argmax(np.abs(after - before) * weights)])
    levels = np.where(np.arange(y.size) < at, y[:at].mean(), y[at:].mean())
    residuals = y - levels
    independent = _independent(residuals, 2)
    freedom = max(independent - 2, 1.0)
    variance = float(np.square(residuals).sum()) / freedom
    error = sqrt(variance * y.size / (at * (y.size - at)))
    critical = float(stats.t.isf(stats.norm.sf(SUP_T), freedom))
    share = float(y[at:].mean() - y[:at].mean()) / float(y.mean())
    return Change(share, critical * error / float(y.mean()), at)


def _independent(residuals: NDArray[np.float64], fitted: int) -> float:
    """How many independent values the residuals are worth.

    Their autocorrelation at one step is too small by about (fitted + 4r)/n on average (Marriott
    and Pope 1954; Kendall 1954), which is given back; below zero it counts as none.
    """
    whole = float(np.square(residuals).sum())
    n = residuals.size
    if whole <= 0:
        return float(n)
    r = float((residuals[1:] * residuals[:-1]).sum()) / whole
    r = min(max(0.0, r + (fitted + 4 * max(r, 0.0)) / n), 0.99)
    return n * (1 - r) / (1 + r)
