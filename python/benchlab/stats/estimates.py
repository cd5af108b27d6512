"""A metric over sessions: one value a session in, an estimate with its interval out.

The session is the replicate, so these functions never see a request or a second. Absent: percentile
bootstraps, which are far too narrow on the few sessions a run has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

Scale = Literal["ratio", "difference"]
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of some values, their standard deviation and how many there are."""

    mean: float
    sd: float
    count: int
    freedom: int
    """Degrees of freedom of `sd`: one less than the values that it was made of."""

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """Student's t interval of the mean (Student 1908); None for fewer than two values."""
        if self.freedom < 1:
            return None
        half = t_critical(1 + self.freedom, 1 - confidence) * self.sd / float(np.sqrt(self.count))
        return self.mean - half, self.mean + half

    def t_p(self) -> float:
        """Two-sided p of the t test that the mean is zero; 1 for fewer than two values."""
        if self.freedom < 1:
            return 1.0
        if self.sd == 0:
            return 1.0 if self.mean == 0 else 0.0
        statistic = abs(self.mean) / self.sd * np.sqrt(self.count)
        return float(2 * stats.t.sf(statistic, self.freedom))


@dataclass(frozen=True, slots=True)
class OverSessions:
    """A metric's estimate with its 95 % interval, on the metric's own scale."""

    estimate: float
    low: float | None
    high: float | None
    sessions: int


def t_critical(count: float, alpha: float) -> float:
    """The two-sided critical value of Student's t for `count` values."""
    return float(stats.t.ppf(1 - alpha / 2, count - 1))


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation (n - 1 in the denominator) of one value or more.

    Values that are all alike have no spread at all, rather than the rounding error of their mean.
    """
    array = np.asarray(values, dtype=np.float64)
    alike = bool(np.all(array == array[0]))
    mean = float(array[0]) if alike else float(array.mean())
    sd = 0.0 if alike else float(array.std(ddof=1))
    return Spread(mean, sd, array.size, array.size - 1)


def over_sessions(
    values: Sequence[float], confidence: float = CONFIDENCE, *, is_share: bool = False
) -> OverSessions:
    """Geometric mean with its t interval on the log scale; arithmetic where a value is not above 0.

    A share of events is averaged as it is (`is_share`): its geometric mean is far below the share
    of all events wherever they come in few sessions. Raises ValueError where there is no value or
    one is infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError("an estimate needs at least one value, all of them finite")
    if np.all(array == array[0]):
        only = float(array[0])
        end = only if array.size > 1 else None
        return OverSessions(only, end, end, array.size)
    geometric = not is_share and bool(np.all(array > 0))
    found = spread(np.log(array).tolist() if geometric else array.tolist())
    limits = found.interval(confidence) or (found.mean, found.mean)
    mean, low, high = (
        float(np.exp(bound)) if geometric else bound for bound in (found.mean, *limits)
    )
    return OverSessions(mean, low, high, array.size)


def share_interval(found: int, count: int) -> tuple[float, float]:
    """The exact 95 % interval of a share, of `found` among `count` (Clopper and Pearson 1934)."""
    limits = stats.binomtest(found, count).proportion_ci(CONFIDENCE, method="exact")
    return float(limits.low), float(limits.high)


def count_interval(
    counts: Sequence[int], lengths: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The interval of the expected sum of what was counted in sessions of these lengths.

    Exact for Poisson counts (Garwood 1936). Where sessions differ by more than chance does, by
    Pearson's dispersion φ of their counts (at least 1), the sum is worth its φ-th part of
    independent events (McCullagh and Nelder 1989, § 6.2).
    """
    total = sum(counts)
    dispersion = 1.0
    if total and len(counts) > 1:
        due = [total * length / sum(lengths) for length in lengths]
        chi = sum((count - mean) ** 2 / mean for count, mean in zip(counts, due, strict=True))
        dispersion = max(1.0, chi / (len(counts) - 1))
    events, alpha = total / dispersion, 1 - confidence
    low = float(stats.chi2.ppf(alpha / 2, 2 * events)) / 2 if total else 0.0
    high = float(stats.chi2.ppf(1 - alpha / 2, 2 * events + 2)) / 2
    return low * dispersion, high * dispersion
