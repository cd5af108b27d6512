"""A metric against a numeric factor, such as the number of clients: one line a level.

Bars are the estimates' intervals. A hollow point is a floor ("at least"); a figure that is withheld
or not resolved leaves a gap, for a gap is all that is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.model.evidence import CaseResult, Estimate
from benchlab.report import readable
from benchlab.report.grouping import Grouping, Panel, number
from benchlab.report.plots.axes import (
    Scale,
    draw_x,
    draw_y,
    label_room,
    shortened,
    spread,
    value_scale,
)
from benchlab.report.plots.canvas import Canvas
from benchlab.report.plots.colours import tone

HEIGHT = 236
_TOP, _BOTTOM = 26, 204


@dataclass(frozen=True)
class Sweep:
    """One metric in one panel."""

    metric: str
    label: str
    canvas: Canvas


def sweeps(cases: Sequence[CaseResult], metrics: Sequence[str], grouping: Grouping) -> list[Sweep]:
    """A panel for each metric that varies and each combination of the remaining levels."""
    if grouping.sweep is None:
        return []
    found = []
    for metric in metrics:
        having = [case for case in cases if _usable(case.metrics.get(metric))]
        values = [_at(case, metric) for case in having]
        if len(values) < 3 or not any(values):
            continue
        ends = [b for case in having for b in _bounds(case.metrics[metric])]
        y = value_scale(ends, _BOTTOM, _TOP, having[0].metrics[metric].unit)
        for panel in grouping.panels(having, by_sweep=False):
            found.append(Sweep(metric, panel.label, _panel(panel, metric, grouping, y)))
    return found


def _usable(estimate: Estimate | None) -> bool:
    return (
        estimate is not None
        and estimate.estimate is not None
        and estimate.resolved
        and estimate.validity != "withheld"
    )


def _at(case: CaseResult, metric: str) -> float:
    return case.metrics[metric].estimate or 0.0


def _bounds(estimate: Estimate) -> list[float]:
    return [v for v in (estimate.estimate, estimate.low, estimate.high) if v is not None]


def _horizontal(places: Sequence[float]) -> Scale:
    low, high = min(places), max(places)
    if low > 0 and high / low >= 6:
        return Scale(low, high, 0.03, 0.97, "log")
    return Scale(low, high, 0.03, 0.97)


def _panel(panel: Panel, metric: str, grouping: Grouping, y: Scale) -> Canvas:
    sweep = grouping.sweep or ""
    levels = {case.levels[sweep]: number(case.levels[sweep]) or 0.0 for case in panel.cases}
    x = _horizontal(list(levels.values()))
    names = [case.levels[grouping.colour] if grouping.colour else "" for case in panel.cases]
    room = label_room([*names, sweep])
    canvas = Canvas(HEIGHT, f"{metric} against {sweep}", left=58, right=room)
    canvas.name = f"sweep-{metric}-{panel.label or 'all'}"
    canvas.text((0, 11), readable.metric_label(metric), "caption", dx=-canvas.left)
    draw_y(canvas, y, 4)
    draw_x(canvas, x, [(value, level) for level, value in levels.items()], _BOTTOM, _BOTTOM + 4)
    canvas.text((1, _BOTTOM + 20), shortened(sweep), dx=10)
    series: dict[str, list[CaseResult]] = {}
    for case in panel.cases:
        key = case.levels[grouping.colour] if grouping.colour else ""
        series.setdefault(key, []).append(case)
    ends = []
    for name, cases in series.items():
        ordered = sorted(cases, key=lambda case: levels[case.levels[sweep]])
        hue = tone(grouping.colour_of(ordered[0]))
        points = [(x(levels[c.levels[sweep]]), y(_at(c, metric))) for c in ordered]
        canvas.path(points, f"line s-{hue}")
        for place, case in zip(points, ordered, strict=True):
            _point(canvas, place, case, metric, y, hue)
        ends.append((points[-1][1], name, hue))
    for height, (_, name, hue) in zip(
        spread([end[0] for end in ends], 14, _TOP, _BOTTOM), ends, strict=True
    ):
        canvas.text((1, height + 4), shortened(name), f"label f-{hue}", dx=4)
    return canvas


def _point(
    canvas: Canvas, at: tuple[float, float], case: CaseResult, metric: str, y: Scale, hue: str
) -> None:
    estimate = case.metrics[metric]
    title = f"{case.name}: {readable.estimate(estimate).text}"
    if estimate.validity == "at-least":
        canvas.dot(at, 4, f"hollow s-{hue}", title)
        return
    if estimate.low is not None and estimate.high is not None:
        canvas.segment((at[0], y(estimate.low)), (at[0], y(estimate.high)), f"interval s-{hue}")
    canvas.dot(at, 4, f"mark f-{hue}", title)
