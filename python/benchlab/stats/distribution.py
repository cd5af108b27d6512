"""A distribution as values and how often each was seen, with what never ended as infinitely slow.

Counts are merged first and quantiles read last: a quantile is never an average of quantiles.
Absent: the histogram's encoding, which is the engine's.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchlab._core import Histogram


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Recorded values in rising order (ns), how often each, and how many are infinitely slow."""

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    infinite: int = 0

    @property
    def total(self) -> int:
        """How many were counted, the infinitely slow ones included."""
        return int(self.counts.sum()) + self.infinite

    def quantile(self, share: float) -> float | None:
        """The least value that `share` of all do not exceed; inf where that is one never seen to
        end, None of nothing."""
        total = self.total
        if total == 0:
            return None
        rank = min(total, max(1, int(np.ceil(share * total - 1e-9 * total))))
        reached = np.cumsum(self.counts)
        if not reached.size or rank > reached[-1]:
            return float("inf")
        return float(self.values[int(np.searchsorted(reached, rank))])

    def mean(self) -> float | None:
        """The mean; inf where one is infinitely slow, None of nothing."""
        if self.total == 0:
            return None
        if self.infinite:
            return float("inf")
        return float(np.dot(self.values.astype(np.float64), self.counts) / self.counts.sum())

    def exceeding(self, value: float) -> int:
        """How many lie above `value`."""
        first = int(np.searchsorted(self.values, value, side="right"))
        return int(self.counts[first:].sum()) + self.infinite

    def with_infinite(self, infinite: int) -> "Distribution":
        """The same with so many infinitely slow ones."""
        return Distribution(self.values, self.counts, infinite)


def quantile_of_sum(one: Distribution, other: Distribution, share: float) -> float:
    """The least length that `share` of the sums of two independent ones do not exceed, to 1 ns.

    Both hold some, and none that is infinite. The sum's distribution function is Σ w F(x - v) over
    the values v of one, with w the share of each and F that of the other; it is bisected.
    """
    reached = np.concatenate([[0], np.cumsum(one.counts)]) / one.counts.sum()
    weights = other.counts / other.counts.sum()
    low = float(one.values[0] + other.values[0]) - 1
    high = float(one.values[-1] + other.values[-1])
    while high - low > 1:
        middle = (low + high) / 2
        places = np.searchsorted(one.values, middle - other.values, side="right")
        if np.dot(weights, reached[places]) >= share - 1e-9:
            high = middle
        else:
            low = middle
    return high


def merge(parts: Iterable[Distribution]) -> Distribution:
    """All of them counted together; associative and commutative, and of nothing is empty."""
    listed = list(parts)
    if len(listed) == 1:
        return listed[0]
    none = np.zeros(0, dtype=np.int64)
    values = np.concatenate([none, *(part.values for part in listed)])
    counts = np.concatenate([none, *(part.counts for part in listed)])
    merged, places = np.unique(values, return_inverse=True)
    sums = np.zeros(merged.size, dtype=np.int64)
    np.add.at(sums, places, counts)
    seen = sums > 0
    return Distribution(merged[seen], sums[seen], sum(part.infinite for part in listed))


def decode(encoded: bytes) -> Distribution:
    """A histogram of a Measurement. Raises ValueError when it is something else."""
    return of(Histogram.from_v2(encoded))


def of(histogram: Histogram) -> Distribution:
    """What a histogram of the engine's holds."""
    values, counts = np.array(histogram.recorded(), dtype=np.int64).reshape(-1, 2).T
    return Distribution(values, counts)
