"""Several comparisons at once: Holm's correction, and how many sessions a family needs.

The family is fixed beforehand by the experiment file, so that looking at more metrics afterwards
cannot make a finding. Absent: what belongs to a family; the judge knows that.
"""

from collections.abc import Sequence

from benchlab.stats.paired import MOST_PAIRS

ALPHA = 0.05
FEWEST_COUNTING = 6
"""The fewest sessions that can show anything: 2/2^6 is the first below 0.05."""
MOST_EXPLORING = 3
"""Up to this many sessions a run explores: figures, no verdicts."""


def ranks(p_values: Sequence[tuple[float, ...]]) -> tuple[int, ...]:
    """The place of each in order of p, from 0; ties go by the later entries, then by position."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    places = [0] * len(order)
    for place, index in enumerate(order):
        places[index] = place
    return tuple(places)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm-adjusted p values (Holm 1979), in the order given."""
    count = len(p_values)
    adjusted = [1.0] * count
    reached = 0.0
    for place, index in enumerate(sorted(range(count), key=lambda index: p_values[index])):
        reached = max(reached, min(1.0, (count - place) * p_values[index]))
        adjusted[index] = reached
    return tuple(adjusted)


def holm_level(rank: int, comparisons: int) -> float:
    """The level at which the comparison of this rank (from 0) is tested."""
    return ALPHA / (comparisons - rank)


def smallest_sessions(comparisons: int) -> int:
    """The smallest K whose smallest sign-flip p, 2/2^K, is at most 0.05/m."""
    sessions = FEWEST_COUNTING
    while 2 / 2**sessions > ALPHA / max(comparisons, 1):
        sessions += 1
    return sessions


def explores(sessions: int) -> bool:
    """Whether a run of this many sessions gives figures without verdicts."""
    return sessions <= MOST_EXPLORING


def refusal(sessions: int, comparisons: int) -> str | None:
    """Why this many sessions could never answer, and how many would do; None where they may.

    No comparison, or so few sessions that the run explores, is never refused.
    """
    needed = smallest_sessions(comparisons)
    if comparisons and sessions > MOST_PAIRS:
        return f"{sessions} sessions are more than can be tested exactly; take {MOST_PAIRS} at most"
    if comparisons == 0 or explores(sessions) or sessions >= needed:
        return None
    things = "1 comparison" if comparisons == 1 else f"{comparisons} comparisons"
    return (
        f"{sessions} sessions cannot answer {things}: the smallest p they can give is "
        f"{2 / 2**sessions:.3g}, above {ALPHA / comparisons:.3g}; "
        f"take {needed} sessions or more, or {MOST_EXPLORING} to explore without verdicts"
    )
