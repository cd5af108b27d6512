"""The response curve of a search: each step's figure against its rate, with the target as a line.

A green dot kept the target and a red one broke it; a hollow one could not tell. The pale
bar beneath is the interval of the capacity, a dot in it a session's own value, and the dashed line
the usual peak. A figure that is infinite stands at the upper edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.model.evidence import Capacity, CapacityStep, CaseResult
from benchlab.model.metrics import CAPACITY
from benchlab.model.metrics import metric as metric_of
from benchlab.report import readable
from benchlab.report.plots.axes import Scale, draw_x, draw_y, log_tick_labels, value_scale
from benchlab.report.plots.canvas import Canvas

HEIGHT = 272
_TOP, _BOTTOM, _BAR = 40, 206, 244
_WORDS = {"kept": "kept", "broken": "broken", "unknown": "cannot tell"}


@dataclass(frozen=True)
class Curve:
    """One metric of one case's search."""

    case: CaseResult
    metric: str
    canvas: Canvas


def curves(cases: Sequence[CaseResult]) -> list[Curve]:
    """A plot for each metric that is to be kept, of each case whose rate is sought."""
    return [
        Curve(case, metric, _curve(case, case.capacity, metric))
        for case in cases
        if case.capacity is not None and case.capacity.steps
        for metric in case.capacity.limits
    ]


def _curve(case: CaseResult, sought: Capacity, metric: str) -> Canvas:
    unit, limit = metric_of(metric).unit, sought.limits[metric]
    known = [step for step in sought.steps if step.figures.get(metric) is not None]
    figures = [step.figures[metric] or 0.0 for step in known]
    y = value_scale([limit, *figures], _BOTTOM, _TOP, unit)
    rates = [step.rate for step in sought.steps] + [sought.peak or sought.steps[0].rate]
    x = Scale(min(rates) / 1.1, max(rates) * 1.1, 0.02, 0.98, "log", "1/s")
    name = f"{readable.metric_label(metric)} of {case.name}"
    canvas = Canvas(HEIGHT, f"{name} against the rate", left=66, right=30)
    canvas.name = f"capacity-{metric}-{case.name}"
    canvas.text((0, 11), name, "caption", dx=-canvas.left)
    draw_y(canvas, y, 4)
    ticks = x.ticks()
    labels = list(zip(ticks, log_tick_labels(ticks, "1/s"), strict=True))
    draw_x(canvas, x, labels, _BOTTOM, _BOTTOM + 4)
    canvas.segment((0, y(limit)), (1, y(limit)), "error", f"{metric}: {sought.limits[metric]:g}")
    canvas.text((1, y(limit) - 5), f"limit {readable.limit(limit, unit)}", "label", "end")
    if sought.peak is not None:
        at = x(sought.peak)
        canvas.segment((at, _TOP), (at, _BOTTOM), "zero dashed", "the usual peak")
        canvas.text((at, _TOP - 8), "usual peak", anchor="middle")
    for step in sought.steps:
        _dot(canvas, step, metric, unit, x, y)
    _interval(canvas, case, x)
    return canvas


def _dot(canvas: Canvas, step: CapacityStep, metric: str, unit: str, x: Scale, y: Scale) -> None:
    figure = step.figures.get(metric)
    place = (x(step.rate), _TOP if figure is None else y(figure))
    title = f"session {step.session + 1}, {readable.amount(step.rate, '1/s')}: "
    title += f"{readable.amount(figure, unit)}, {_WORDS[step.outcome]}"
    if step.share is None:
        title += " (search)"
    size = 3.0 if step.share is None else 4.0
    match step.outcome:
        case "kept":
            canvas.dot(place, size, "mark f-better", title)
        case "broken":
            canvas.dot(place, size, "mark f-worse", title)
        case "unknown":
            canvas.dot(place, size, "hollow s-inconclusive", title)


def _interval(canvas: Canvas, case: CaseResult, x: Scale) -> None:
    found = case.metrics.get(CAPACITY)
    if found is None or found.estimate is None:
        return
    if found.low is not None and found.high is not None:
        ends = [x(min(max(end, x.low), x.high)) for end in (found.low, found.high)]
        canvas.segment((ends[0], _BAR), (ends[1], _BAR), "interval s-c1")
    for session, value in enumerate(found.values):
        if value is not None:
            title = f"session {session + 1}: {readable.amount(value, '1/s')}"
            canvas.dot((x(value), _BAR), 3, "dot f-c1", title)
    shown = readable.estimate(found).text
    canvas.dot((x(found.estimate), _BAR), 5.5, "mark f-c1", shown)
    canvas.text((x(found.estimate), _BAR + 20), shown, "label", "middle")
