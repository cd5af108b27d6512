"""Where a series of runs changed its level: E-divisive means.

A series is split where the values before and after differ most by their energy distance, and the
split holds if shuffled series hardly ever have one as large; then each half is looked at likewise.
The method is Matteson and James 2014 ("A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", JASA 109), used on benchmarks by Daly et al. 2020 ("The Use of
Change Point Detection to Identify Software Performance Regressions") and by Apache Otava. Absent:
what the values are of, and whether a change is good.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEWEST = 2
"""Values on each side of a change: a lone value is an outlier until a second one says the same."""
LEVEL = 0.01
"""Of a look at one series; a history is looked at after every run, so it is strict."""
SHUFFLES = 999
SEED = 20140315
"""The same series gives the same changes each time it is looked at."""

Array = NDArray[np.float64]


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """The positions of the first values after a change, ascending.

    Ratio metrics are given as logarithms, so that a change is one by a factor.
    Raises ValueError for a value that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("a change cannot be sought among values that are not finite")
    return tuple(sorted(_within(array, 0, np.random.default_rng(SEED))))


def _within(array: Array, offset: int, generator: np.random.Generator) -> list[int]:
    if array.size < 2 * FEWEST:
        return []
    distances = np.abs(array[:, None] - array[None, :])
    place, size = split(distances)
    if not _holds(distances, size, generator):
        return []
    before = _within(array[:place], offset, generator)
    return [*before, offset + place, *_within(array[place:], offset + place, generator)]


def split(distances: Array) -> tuple[int, float]:
    """Where a series is best divided, by the distances of its values, and how large the gap is.

    For m values X before and n values Y after, Q = mn/(m+n)·(2·mean|X - Y| - mean|X - X'| -
    mean|Y - Y'|), with means over different values (equation 5 of the paper, with exponent 1).
    """
    total = distances.shape[0]
    before = np.arange(FEWEST, total - FEWEST + 1)
    after = total - before
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    among_first = sums[before - 1, before - 1]
    across = sums[before - 1, -1] - among_first
    among_last = sums[-1, -1] - 2 * across - among_first
    energy = (
        2 * across / (before * after)
        - among_first / (before * (before - 1))
        - among_last / (after * (after - 1))
    )
    gaps = before * after / total * energy
    best = int(np.argmax(gaps))
    return int(before[best]), float(gaps[best])


def _holds(distances: Array, size: float, generator: np.random.Generator) -> bool:
    """Whether at most `LEVEL` of the shuffled series, the one seen among them, gap as much."""
    allowed = int(LEVEL * (SHUFFLES + 1))
    # Ties count against the change; sums that are equal but for rounding are ties.
    reach = size - 1e-9 * float(distances.max())
    as_large = 1
    for _ in range(SHUFFLES):
        order = generator.permutation(distances.shape[0])
        as_large += split(distances[np.ix_(order, order)])[1] >= reach
        if as_large > allowed:
            return False
    return size > 0
