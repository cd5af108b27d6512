"""Boxes of sessions: quartiles and median of a case's sessions, with every session's dot.

One row a case. The boxes lie on a common axis in per cent of each case's own estimate, for what
they tell is how far sessions differ, and that must stay visible beside cases ten times faster.
How large the estimates are is told by a bar from zero beneath each name. Dots descend in session
order, so a drift over the run shows as a slope. The pale bar is the interval of the estimate, which
is what a verdict rests on; the box only describes the sessions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchlab.model.evidence import CaseResult, Estimate
from benchlab.report import readable
from benchlab.report.grouping import Grouping
from benchlab.report.plots.axes import Scale, draw_x
from benchlab.report.plots.canvas import Canvas
from benchlab.report.plots.colours import tone

ROW = 46
AXIS = 30
LEVEL = 8
FEWEST = 5
"""Sessions that a box is drawn for; fewer are dots alone, for they have no quartiles."""


@dataclass(frozen=True)
class Row:
    """One case: its sessions around its estimate, and the estimate's size."""

    case: CaseResult
    strip: Canvas
    level: Canvas


@dataclass(frozen=True)
class Boxes:
    """One metric over the cases that have it."""

    metric: str
    rows: tuple[Row, ...]
    axis: Canvas


def boxes(cases: Sequence[CaseResult], metric: str, grouping: Grouping) -> Boxes | None:
    """A metric's boxes; None where no case has two sessions of it that may be shown."""
    found = [(c, c.metrics[metric]) for c in cases if metric in c.metrics]
    usable = [(c, e) for c, e in found if _usable(e)]
    if not usable:
        return None
    shares = [share for _, e in usable for share in _shares(e)]
    for _, e in usable:
        shares += [b / _centre(e) - 1 for b in (e.low, e.high) if b is not None]
    reach = max(1e-4, *(abs(share) for share in shares)) * 1.12
    scale = Scale(-reach, reach, unit="")
    largest = max(_centre(e) for _, e in usable)
    rows = tuple(
        Row(
            case,
            _strip(case, metric, estimate, scale, tone(grouping.colour_of(case))),
            _level(_centre(estimate) / largest, tone(grouping.colour_of(case))),
        )
        for case, estimate in usable
    )
    axis = Canvas(AXIS, "", left=14, right=14)
    draw_x(axis, scale, [(tick, _signed(tick)) for tick in scale.ticks(5)], 0, 4)
    return Boxes(metric, rows, axis)


def _usable(estimate: Estimate) -> bool:
    known = [v for v in estimate.values if v is not None]
    shown = readable.estimate(estimate).state in ("plain", "at-least")
    return shown and len(known) > 1 and min(known) > 0 and _centre(estimate) > 0


def _centre(estimate: Estimate) -> float:
    return estimate.estimate or 0.0


def _shares(estimate: Estimate) -> list[float]:
    centre = _centre(estimate)
    return [v / centre - 1 for v in estimate.values if v is not None and math.isfinite(v)]


def _signed(share: float) -> str:
    if abs(share) < 1e-12:
        return "its estimate"
    sign = "+" if share > 0 else readable.MINUS
    return f"{sign}{abs(share) * 100:.3g}{readable.SPACE}%"


def _level(share: float, hue: str) -> Canvas:
    canvas = Canvas(LEVEL, "", left=0, right=0)
    canvas.segment((0, LEVEL - 1), (1, LEVEL - 1), "grid")
    canvas.rectangle((0, 2), (share, LEVEL - 1), f"deep f-{hue}")
    return canvas


def _strip(case: CaseResult, metric: str, estimate: Estimate, scale: Scale, hue: str) -> Canvas:
    shown = readable.estimate(estimate)
    canvas = Canvas(ROW, f"{metric}, {case.name}: {shown.text}", left=14, right=14)
    for tick in scale.ticks(5):
        canvas.segment((scale(tick), 0), (scale(tick), ROW), "axis" if tick == 0 else "grid")
    low, first, median, third, high = (
        scale(float(v)) for v in np.quantile(_shares(estimate), [0.0, 0.25, 0.5, 0.75, 1.0])
    )
    middle, centre = ROW / 2, _centre(estimate)
    boxed = len(_shares(estimate)) >= FEWEST
    if boxed:
        canvas.segment((low, middle), (high, middle), f"whisker s-{hue}")
        canvas.rectangle((first, 8), (third, ROW - 8), f"box f-{hue}")
    if estimate.low is not None and estimate.high is not None and estimate.validity == "valid":
        ends = [scale(bound / centre - 1) for bound in (estimate.low, estimate.high)]
        canvas.segment((ends[0], middle), (ends[1], middle), f"interval s-{hue}")
    if boxed:
        canvas.segment((median, 8), (median, ROW - 8), f"median s-{hue}")
    for session, value in enumerate(estimate.values):
        if value is not None and math.isfinite(value):
            y = 7 + (ROW - 14) * (session + 0.5) / len(estimate.values)
            title = f"session {session + 1}: {readable.amount(value, estimate.unit, 4)}"
            canvas.dot((scale(value / centre - 1), y), 3, f"dot f-{hue}", title)
    return canvas
