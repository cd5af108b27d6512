"""Figures of one trial's course: whether its bookkeeping adds up, and whether it drifts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


def little_gap(in_flight_ns: float, times_ns: float) -> float | None:
    """How far the integral of those in flight is from the sum of their times, as a share of it.

    Little's law, N = X·R (Little 1961), with both sides multiplied by the length of the trial.
    None where nothing was in flight.
    """
    if in_flight_ns <= 0:
        return None
    return abs(times_ns - in_flight_ns) / in_flight_ns


@dataclass(frozen=True, slots=True)
class Slope:
    """Change over the whole series as a share of its mean, with a 95 % interval."""

    change: float
    low: float
    high: float


def slope(values: Sequence[float]) -> Slope | None:
    """Least-squares slope of a series of equal steps; None below three values or at a zero mean."""
    array = np.asarray(values, dtype=np.float64)
    if array.size < 3 or array.mean() == 0:
        return None
    fit = stats.linregress(np.arange(array.size), array)
    whole = (array.size - 1) / float(array.mean())
    half = float(stats.t.ppf(0.975, array.size - 2)) * float(fit.stderr)
    change = float(fit.slope)
    low, high = sorted(((change - half) * whole, (change + half) * whole))
    return Slope(change * whole, low, high)
