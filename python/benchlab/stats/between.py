"""Two runs that were not interleaved: what their sessions say of the difference, unpaired.

Sessions of one run share what that hour did to the machine, and those of another run share another
hour. The sessions alone would take such a shift for a difference of the systems, so that the error
holds a part for the run itself: what the history has shown runs to lie apart, and until there is
one, as much as two sessions of a run do. Absent: pairs, which such runs do not have, and the
sign-flip test, which rests on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import expm1, log, sqrt

from scipy import stats

from benchlab.model.metrics import Direction
from benchlab.stats.estimates import CONFIDENCE, Scale, Spread, spread, t_critical
from benchlab.stats.family import ALPHA, holm, holm_level, ranks
from benchlab.stats.power import detectable
from benchlab.stats.verdicts import Finding, may_matter, word


@dataclass(frozen=True, slots=True)
class Apart:
    """A difference of two means, ln(candidate) - ln(baseline), with its standard error.

    Where a value is zero the difference is plain.
    """

    by: Scale
    mean: float
    error: float
    freedom: float
    """Degrees of freedom of the error."""
    size: float
    """The larger of the two sides' means: what a relative δ is a share of, on the plain scale."""

    def effect(self, difference: float) -> float:
        """A difference as an effect: candidate/baseline - 1, or the plain difference."""
        return expm1(difference) if self.by == "ratio" else difference

    def limits(self, confidence: float) -> tuple[float, float]:
        """The t interval of the difference."""
        half = t_critical(1 + self.freedom, 1 - confidence) * self.error
        return self.mean - half, self.mean + half

    def interval(self, confidence: float) -> tuple[float, float]:
        """The same as effects."""
        low, high = self.limits(confidence)
        return self.effect(low), self.effect(high)

    def smallest(self, smallest_effect: float) -> float:
        """The smallest effect that matters (a share of one) on the scale of `effect`."""
        return smallest_effect if self.by == "ratio" else smallest_effect * self.size

    def p(self) -> float:
        """Two-sided p of the t test that there is no difference."""
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * stats.t.sf(abs(self.mean) / self.error, self.freedom))


def apart(
    baseline: Sequence[float], candidate: Sequence[float], runs: Sequence[float] = ()
) -> Apart:
    """The difference of two runs from the values of their sessions, two or more on each side.

    With sessions' variances s² and n of them on a side, Welch's standard error (Welch 1947) is
    √(Σ s²/n). A run's own shift adds a variance to each side. Unknown, it is taken to be s², so
    that a run counts as one session: √(Σ s²(1 + 1/n)), with Satterthwaite's degrees of freedom
    (1946). Known, it is in the spread S of M like runs' means: √2·S with M - 1 degrees of freedom,
    or Welch's where that is wider.

    Args:
        baseline: One value a session.
        candidate: Likewise, in any number.
        runs: The values of runs between which nothing had changed; none where there are too few.
    """
    size = max(sum(side) / len(side) for side in (baseline, candidate))
    by: Scale = "ratio" if min(*baseline, *candidate, *(runs or (1.0,))) > 0 else "difference"
    a, b = (spread(_scaled(side, by)) for side in (baseline, candidate))
    mean = b.mean - a.mean
    if not runs:
        error, freedom = _together(a, b, own=1.0)
        return Apart(by, mean, error, freedom, size)
    between = spread(_scaled(runs, by))
    ways = [_together(a, b, own=0.0), (sqrt(2) * between.sd, float(between.count - 1))]
    error, freedom = max(ways, key=lambda way: t_critical(1 + way[1], ALPHA) * way[0])
    return Apart(by, mean, error, freedom, size)


def ahead(segment: Sequence[float], points: Sequence[float]) -> Apart:
    """The mean of some new runs against those of a segment in which nothing had changed.

    A value still to come lies about the mean of M values with the standard error S·√(1/k + 1/M)
    where k of them are averaged (Hahn and Meeker 1991, § 4.7), with M - 1 degrees of freedom.
    """
    size = max(sum(segment) / len(segment), sum(points) / len(points))
    by: Scale = "ratio" if min(*segment, *points) > 0 else "difference"
    before, after = spread(_scaled(segment, by)), spread(_scaled(points, by))
    error = before.sd * sqrt(1 / after.count + 1 / before.count)
    return Apart(by, after.mean - before.mean, error, float(before.count - 1), size)


def _scaled(values: Sequence[float], by: Scale) -> list[float]:
    return [log(value) for value in values] if by == "ratio" else list(values)


def _together(a: Spread, b: Spread, own: float) -> tuple[float, float]:
    """The standard error with a share of each side's variance for the run itself."""
    parts = [(side.sd**2 * (own + 1 / side.count), side.count - 1) for side in (a, b)]
    total = sum(part for part, _ in parts)
    below = sum(part**2 / freedom for part, freedom in parts)
    return sqrt(total), total**2 / below if below else float(min(free for _, free in parts))


def describe_apart(found: Apart, smallest_effect: float, comparisons: int = 1) -> Finding:
    """The figures of a comparison of two runs without a verdict."""
    low, high = found.interval(CONFIDENCE)
    pairs = int(found.freedom) + 1
    could = detectable(found.error * sqrt(pairs), pairs, ALPHA / comparisons, flips=False)
    return Finding(
        effect=found.effect(found.mean),
        low=low,
        high=high,
        p=None,
        detectable=None if could is None else found.effect(could),
        sessions_needed=None,
        excludes_zero=False,
        disagree=False,
        verdict=None,
    )


def decide_apart(
    family: Sequence[Apart | None], better: Sequence[Direction], smallest_effect: float
) -> tuple[Finding | None, ...]:
    """A verdict for each comparison of the family, as `verdicts.decide`, by the t test alone."""
    tests = [1.0 if one is None else one.p() for one in family]
    adjusted = holm(tests)
    places = ranks([(test,) for test in tests])
    found: list[Finding | None] = []
    for one, way, p, place in zip(family, better, adjusted, places, strict=True):
        if one is None:
            found.append(None)
            continue
        low, high = one.limits(1 - holm_level(place, len(family)))
        excludes = p <= ALPHA and (low > 0 or high < 0)
        bare = describe_apart(one, smallest_effect, len(family))
        said = word(one, way, smallest_effect, bare.effect, excludes)
        open_ = may_matter(one, said, smallest_effect)
        found.append(replace(bare, p=p, excludes_zero=excludes, verdict=said, may_matter=open_))
    return tuple(found)
