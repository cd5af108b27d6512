"""The universal scalability law: how a rate grows with the number of those that ask or serve.

X(N) = λN / (1 + σ(N - 1) + κN(N - 1)) (Gunther 2007, Guerrilla Capacity Planning, ch. 4): λ is the
rate of one alone, σ what they wait for each other, κ what it costs them to agree. Sessions are
resampled whole, since what they share is not independent; the percentiles lie further out than for
many of them, by as much as Student's t does (Hesterberg 2015, The American Statistician 69, the
expanded percentile interval). Absent: which rates may be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from benchlab.stats.estimates import CONFIDENCE, t_critical

FEWEST_LEVELS = 6
LEAST_FACTOR = 8.0
RESAMPLES = 1000
FARTHEST_PEAK = 1.5
"""A peak is named up to so many times the largest N measured."""
_NOTHING = 1e-9
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Range:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Law:
    """The fitted law."""

    alone: Range
    """λ, in the rate's unit."""
    contention: Range
    """σ, without a unit."""
    coherence: Range
    """κ, without a unit."""
    peak: Range | None
    """N at which the rate is greatest; None where none may be named."""


def refusal(counts: Sequence[float]) -> str | None:
    """Why a law cannot be fitted over these N; None where it can."""
    levels = sorted(set(counts))
    if len(levels) < FEWEST_LEVELS:
        return f"a scaling law needs {FEWEST_LEVELS} levels, has {len(levels)}"
    if levels[-1] < LEAST_FACTOR * levels[0]:
        return f"a scaling law needs levels over a factor of {LEAST_FACTOR:g}"
    return None


def fit(counts: Sequence[float], rates: Sequence[Sequence[float]]) -> Law:
    """Least squares on ln X with σ and κ not below 0; percentile intervals over sessions.

    Args:
        counts: N.
        rates: One row a session, a rate above 0 for each N.

    Raises:
        ValueError: where `refusal` refuses.
    """
    if why := refusal(counts):
        raise ValueError(why)
    at = np.asarray(counts, dtype=np.float64)
    logs = np.log(np.asarray(rates, dtype=np.float64))
    best = _fit(at, logs.mean(axis=0))
    random = np.random.default_rng(len(logs))
    drawn = random.integers(0, len(logs), size=(RESAMPLES, len(logs)))
    found = np.array([_fit(at, logs[rows].mean(axis=0)) for rows in drawn])
    ends = _ends(len(logs))
    alone, contention, coherence = (
        _range(estimate, found[:, index], ends) for index, estimate in enumerate(best)
    )
    return Law(alone, contention, coherence, _peak(best, found, ends, float(at.max())))


def _fit(at: _Floats, logs: _Floats) -> _Floats:
    """λ, σ, κ."""
    # N/X is linear in 1/λ, σ/λ and κ/λ, which gives a start near the answer.
    columns = np.column_stack((np.ones_like(at), at - 1, at * (at - 1)))
    rate = np.exp(logs)
    linear, _ = optimize.nnls(columns / (at / rate)[:, None], np.ones_like(at))
    first = max(float(linear[0]), _NOTHING / float(rate.max()))
    start = np.array([np.log(1 / first), linear[1] / first, linear[2] / first])

    def residuals(given: _Floats) -> _Floats:
        off: _Floats = given[0] + np.log(at / _slowing(at, given[1], given[2])) - logs
        return off

    def slopes(given: _Floats) -> _Floats:
        slowing = _slowing(at, given[1], given[2])
        return np.column_stack((np.ones_like(at), -(at - 1) / slowing, -at * (at - 1) / slowing))

    found: _Floats = optimize.least_squares(
        residuals, start, jac=slopes, bounds=([-np.inf, 0, 0], [np.inf, np.inf, np.inf])
    ).x
    law: _Floats = np.concatenate((np.exp(found[:1]), found[1:]))
    return law


def _slowing(count: _Floats, sigma: float, kappa: float) -> _Floats:
    """How much slower one of N is than one alone."""
    return 1 + sigma * (count - 1) + kappa * count * (count - 1)


def _ends(sessions: int) -> tuple[float, float]:
    """The percentiles that make a 95 % interval of so few: Φ(∓√(n/(n - 1))·t)."""
    reach = t_critical(sessions, 1 - CONFIDENCE) * np.sqrt(sessions / (sessions - 1))
    return 100 * float(stats.norm.sf(reach)), 100 * float(stats.norm.cdf(reach))


def _range(estimate: float, found: _Floats, ends: tuple[float, float]) -> Range:
    low, high = np.percentile(found, ends)
    return Range(float(estimate), float(low), float(high))


def _peak(best: _Floats, found: _Floats, ends: tuple[float, float], largest: float) -> Range | None:
    """√((1 - σ)/κ), where κ is not zero and the peak not far beyond what was measured."""
    if np.percentile(found[:, 2], ends[0]) <= _NOTHING or best[1] >= 1:
        return None
    peaks = np.sqrt(np.maximum(0.0, 1 - found[:, 1]) / np.maximum(found[:, 2], _NOTHING))
    named = _range(float(np.sqrt((1 - best[1]) / best[2])), peaks, ends)
    return named if named.estimate <= FARTHEST_PEAK * largest else None
