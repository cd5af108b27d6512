"""Two sides of a comparison, paired by session.

What two sides of one session share (the machine's mood that quarter of an hour) cancels in the
pair's difference, which is why the pairs, and not the sides, are what is averaged. Absent:
verdicts, which need the whole family of comparisons.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchlab.stats.estimates import Scale, Spread, spread

MOST_PAIRS = 40
"""The exact sign-flip p looks through 2^(K/2) half patterns twice: quick up to 40 sessions."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Differences d_k, one a session: ln(candidate) - ln(baseline); plain where a value is zero."""

    by: Scale
    differences: tuple[float, ...]
    size: float
    """The larger of the two sides' means: what a relative δ is a share of, on the plain scale."""
    first: int | None = None
    """How many of them, at the beginning, are the first of two stages; None for a single stage."""

    @property
    def spread(self) -> Spread:
        """Mean and standard deviation of the differences.

        After two stages the mean is of all, the standard deviation of the first stage alone, which
        has fixed how many there are (Stein 1945); of all, where the first stage has no spread.
        """
        whole = spread(self.differences)
        staged = spread(self.differences[: self.first]) if self.first else whole
        return replace(whole, sd=staged.sd, freedom=staged.freedom) if staged.sd else whole

    def effect(self, difference: float) -> float:
        """A difference as an effect: candidate/baseline - 1, or the plain difference."""
        return float(np.expm1(difference)) if self.by == "ratio" else difference

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The t interval of the mean difference, as effects."""
        limits = self.spread.interval(confidence)
        return (self.effect(limits[0]), self.effect(limits[1])) if limits else None

    def smallest(self, smallest_effect: float) -> float:
        """The smallest effect that matters (a share of one) on the scale of `effect`."""
        return smallest_effect if self.by == "ratio" else smallest_effect * self.size

    def distance(self, smallest_effect: float) -> float:
        """The same on the scale of the differences."""
        given = self.smallest(smallest_effect)
        return float(np.log1p(given)) if self.by == "ratio" else given


def pair(baseline: Sequence[float], candidate: Sequence[float]) -> Paired:
    """Pair two sides, session by session, by ratio where all values are above zero.

    Raises ValueError where the sides differ in length, are empty, or a value is infinite.
    """
    if len(baseline) != len(candidate) or not baseline:
        raise ValueError("pairs need as many baseline as candidate values, and one at least")
    a, b = (np.asarray(side, dtype=np.float64) for side in (baseline, candidate))
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
        raise ValueError("an infinite value cannot be compared")
    size = float(max(a.mean(), b.mean()))
    if np.all(a > 0) and np.all(b > 0):
        return Paired("ratio", tuple((np.log(b) - np.log(a)).tolist()), size)
    return Paired("difference", tuple((b - a).tolist()), size)


def _signed_sums(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate((sums - difference, sums + difference))
    return sums


def sign_flip_p(differences: Sequence[float]) -> float:
    """Exact two-sided sign-flip p: the share of all 2^K sign patterns with a sum as far from zero.

    Under the null hypothesis each session's difference could as well have had the other sign
    (Fisher 1935, The Design of Experiments, § 21). Both halves of the sessions are enumerated and
    the patterns counted where they meet, so that K = 40 still takes 2^20 steps.
    Raises ValueError for no difference, or more than 40.
    """
    array = np.asarray(differences, dtype=np.float64)
    if not 0 < array.size <= MOST_PAIRS:
        raise ValueError(f"the sign-flip p needs 1 to {MOST_PAIRS} differences, not {array.size}")
    largest = float(np.abs(array).sum())
    # Sums that are equal but for rounding are ties, and ties count against the finding.
    reach = abs(float(array.sum())) - 1e-9 * largest
    half = array.size // 2
    first, second = _signed_sums(array[:half]), np.sort(_signed_sums(array[half:]))
    above = second.size - np.searchsorted(second, reach - first, side="left")
    below = np.searchsorted(second, -reach - first, side="right")
    overlap = 0 if reach > 0 else first.size * second.size
    extreme = overlap or int(above.sum() + below.sum())
    return extreme / (first.size * second.size)


def sign_flip_ps(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of each row of many short ones, all patterns at once."""
    width = rows.shape[1]
    places = np.arange(2 ** (width - 1))[:, None] >> np.arange(width) & 1
    sums = np.abs(rows @ (1.0 - 2.0 * places).T)
    reach = np.abs(rows.sum(axis=1)) - 1e-9 * np.abs(rows).sum(axis=1)
    found: NDArray[np.float64] = np.mean(sums >= reach[:, None], axis=1)
    return found
