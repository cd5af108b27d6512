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
    recorded = Histogram.from_v2(encoded).recorded()
    values, counts = np.array(recorded, dtype=np.int64).reshape(-1, 2).T
    return Distribution(values, counts)
