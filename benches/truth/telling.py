"""Figures as the table says them.

Absent: which figures.
"""

import statistics
from collections.abc import Iterable, Sequence

from benchlab.model import quantities
from benchlab.stats.estimates import share_interval, spread


def percent(value: float, signed: bool = False) -> str:
    """`1.25 %`."""
    return f"{value * 100:{'+' if signed else ''}.3g} %"


def seconds(value: float | None) -> str:
    """`1.25ms`; of what is infinite or withheld, a dash."""
    return "-" if value is None else quantities.format(value, "s")


def share(found: int, count: int) -> str:
    """`3 of 100 (3 %, 95 % interval 0.6–8.5 %)`, by Clopper and Pearson."""
    if not count:
        return "0 of 0"
    low, high = share_interval(found, count)
    interval = f"95 % interval {low * 100:.3g}–{high * 100:.3g} %"
    return f"{found} of {count} ({percent(found / count)}, {interval})"


def mean(values: Sequence[float]) -> str:
    """The mean of shares with its t interval, in per cent."""
    if not values:
        return "-"
    found = spread(values)
    limits = found.interval(0.95)
    text = percent(found.mean, signed=True)
    if limits is None:
        return text
    return f"{text} (95 % interval {limits[0] * 100:+.3g} … {limits[1] * 100:+.3g} %)"


def told_median(values: Iterable[float | None]) -> str:
    """The median of those times that were given."""
    given = [value for value in values if value is not None]
    return seconds(statistics.median(given) if given else None)
