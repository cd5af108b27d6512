"""What systems counted of themselves in a trial, made metrics.

A counter becomes its rate and what of it one transaction took, both over the stretch between its
first and its last sample in the measured part; a gauge becomes its mean there. Counters of several
members add up, gauges are averaged. Absent: how a figure is called and compared (`model.metrics`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchlab.judge.counted import SLOT_S, Counted
from benchlab.judge.probed import Line, Probed
from benchlab.model.metrics import made_of

LEAST_SHARE = 0.4
"""Of the measured part that the stretch must hold: two samples of three seconds do."""


def units(resources: Probed) -> dict[str, str]:
    """The units of these metrics."""
    return {
        metric.name: metric.unit
        for (source, counter), (kind, unit) in resources.own.items()
        for metric in made_of(source, counter, kind, unit)
    }


@dataclass(frozen=True)
class _Grown:
    """What a member's counter did in its stretch."""

    rate: float
    per_transaction: float | None


def own(seen: Counted, resources: Probed) -> dict[str, float]:
    """Every metric made of the systems' own counters, by name."""
    found: dict[str, float] = {}
    for (source, counter), (kind, unit) in resources.own.items():
        names = [metric.name for metric in made_of(source, counter, kind, unit)]
        lines = [
            line
            for member in resources.members(source, counter)
            if (line := resources.line(source, counter, member)) is not None
        ]
        if kind == "gauge":
            means = [float(v.mean()) for line in lines if (v := _inside(line, resources)[1]).size]
            figures = [fmean(means)] if means else []
        else:
            figures = list(_together([_grown(line, seen, resources) for line in lines]))
        found |= dict(zip(names, figures, strict=False))
    return found


def _together(members: list[_Grown | None]) -> Iterator[float]:
    """Rate and figure per transaction of all members; nothing where one is not known."""
    known = [one for one in members if one is not None]
    if not known or len(known) < len(members):
        return
    yield sum(one.rate for one in known)
    shares = [one.per_transaction for one in known if one.per_transaction is not None]
    if len(shares) == len(known):
        yield sum(shares)


def _inside(line: Line, resources: Probed) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    kept = (line.at_s >= 0) & (line.at_s <= resources.length_s)
    return line.at_s[kept], line.values[kept]


def _grown(line: Line, seen: Counted, resources: Probed) -> _Grown | None:
    at_s, values = _inside(line, resources)
    if at_s.size < 2 or at_s[-1] - at_s[0] < LEAST_SHARE * resources.length_s:
        return None
    grown = float(steps(values).sum())
    done = _completed(seen, at_s[0], at_s[-1])
    return _Grown(grown / float(at_s[-1] - at_s[0]), grown / done if done > 0 else None)


def steps(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much a counter grew from each sample to the next.

    One that is lower than before began anew in between, as when its system was restarted; what it
    says then is what it has grown since.
    """
    differences: NDArray[np.float64] = np.diff(values)
    return np.where(differences < 0, values[1:], differences)


def slope(line: Line | None) -> Line | None:
    """A counter's growth a second between its samples."""
    if line is None or line.at_s.size < 2:
        return None
    lengths = np.diff(line.at_s)
    kept = lengths > 0
    middles = (line.at_s[1:] + line.at_s[:-1]) / 2
    return Line(middles[kept], steps(line.values)[kept] / lengths[kept])


def courses(resources: Probed) -> dict[str, Line]:
    """Every counter's rate and every gauge second by second, for drawing; members together."""
    found = {}
    for (source, counter), (kind, _) in resources.own.items():
        members = resources.members(source, counter)
        lines = [resources.line(source, counter, member) for member in members]
        drawn = lines if kind == "gauge" else [slope(line) for line in lines]
        seconds = [_seconds(line) for line in drawn if line is not None]
        whole = sorted(set.intersection(*map(set, seconds))) if seconds else []
        join = fmean if kind == "gauge" else sum
        found[f"{source}.{counter}"] = Line(
            np.array([second + 0.5 for second in whole]),
            np.array([join([member[second] for member in seconds]) for second in whole]),
        )
    return found


def _seconds(line: Line) -> dict[int, float]:
    """The mean of each second with samples; in its middle members and trials meet."""
    by_second: dict[int, list[float]] = {}
    for at, value in zip(line.at_s, line.values, strict=True):
        by_second.setdefault(int(np.floor(at)), []).append(float(value))
    return {second: fmean(values) for second, values in by_second.items()}


def _completed(seen: Counted, begin_s: float, end_s: float) -> float:
    """Transactions that were done in a stretch; within a slot they are taken as evenly spread."""
    counts = np.concatenate([[0.0], np.cumsum(seen.slots["completed"])])
    edges = np.arange(counts.size) * SLOT_S
    first, last = np.interp([begin_s, end_s], edges, counts)
    return float(last - first)
