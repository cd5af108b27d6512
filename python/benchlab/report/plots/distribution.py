"""The distribution of latency on a percentile axis: 50, 90, 99, 99.9 … equally far apart.

What latency means under the load (response when open, service when closed) is the strong line, the
other the thin one, in the tone of the case's level. Beyond the
highest quantile that enough independent samples stand behind, a line is dashed: it was seen, but
may not be claimed. All panels share both axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.model.evidence import CaseResult
from benchlab.report.grouping import Grouping, Panel
from benchlab.report.material import Curve
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
from benchlab.report.readable import SPACE

HEIGHT = 226
_TOP, _BOTTOM = 8, 196
ROOM = 0.13
"""Share of the width that a percentile's words take, in the narrowest panel."""
ALIKE = 0.1
"""Response and service are drawn as one where they differ by less than this share everywhere."""


@dataclass(frozen=True)
class Distribution:
    """One panel."""

    label: str
    canvas: Canvas


def distributions(
    cases: Sequence[CaseResult], curves: Sequence[Curve], grouping: Grouping, *, is_open: bool
) -> list[Distribution]:
    """A panel for each combination of levels that colour does not tell."""
    by_case: dict[tuple[str, str], Curve] = {
        (curve.case, curve.kind): curve for curve in curves if curve.points
    }
    shown = [case for case in cases if (case.name, "service") in by_case]
    if not shown:
        return []
    values = [value for curve in by_case.values() for _, value in curve.points if value > 0]
    y = value_scale(values, _BOTTOM, _TOP, "s", log_above=6.0)
    last = max(curve.points[-1][0] for curve in by_case.values())
    x = Scale(0.0, min(max(last, 0.99), 0.99999), kind="nines")
    panels = grouping.panels(shown, by_sweep=True)
    return [Distribution(p.label, _panel(p, by_case, grouping, x, y, is_open)) for p in panels]


def _panel(
    panel: Panel,
    curves: Mapping[tuple[str, str], Curve],
    grouping: Grouping,
    x: Scale,
    y: Scale,
    is_open: bool,
) -> Canvas:
    words = ", ".join(case.name for case in panel.cases)
    names = [grouping.series_of(case) if grouping.colour else "" for case in panel.cases]
    room = label_room([*names, "response"])
    canvas = Canvas(HEIGHT, f"Latency distribution of {words}", left=58, right=room)
    canvas.name = f"distribution-{panel.label or 'all'}"
    draw_y(canvas, y, 4)
    draw_x(canvas, x, _percentiles(x), _TOP, _BOTTOM)
    ends: list[tuple[float, str, str]] = []
    for name, case in zip(names, panel.cases, strict=True):
        service, response = (curves.get((case.name, kind)) for kind in ("service", "response"))
        hue = tone(grouping.colour_of(case))
        main, other = (response, service) if is_open else (service, response)
        if main is None:
            main, other = other, None
        assert main is not None
        split = other is not None and not _alike(main, other)
        if other is not None and split:
            _line(canvas, other, x, y, f"thin s-{hue}")
            ends.append((y(other.points[-1][1]), other.kind, hue))
        _line(canvas, main, x, y, f"line s-{hue}")
        ends.append((y(main.points[-1][1]), shortened(name) or main.kind, hue))
        _leave(canvas, curves.get((case.name, "user-seen")), (x, y), hue)
    places = spread([end[0] for end in ends], 14, _TOP, _BOTTOM)
    for place, (_, label, hue) in zip(places, ends, strict=True):
        canvas.text((1, place + 4), label, f"label f-{hue}", dx=6)
    return canvas


def _leave(canvas: Canvas, seen: Curve | None, scales: tuple[Scale, Scale], hue: str) -> None:
    """What users saw, up to where it leaves for infinity, which is marked on the upper edge."""
    if seen is None or seen.endless is None:
        return
    x, y = scales
    points = [(x(q), y(value)) for q, value in seen.points if x.low <= q <= x.high and value > 0]
    where = min(max(seen.endless, x.low), x.high)
    if points:
        points.append((x(where), points[-1][1]))
    share = f"{(1 - seen.endless) * 100:.3g}{SPACE}%"
    title = f"{seen.case}: to users {share} never ended well"
    canvas.path([*points, (x(where), _TOP)], f"thin dashed s-{hue}", title)
    canvas.text((x(where), _TOP + 4), "∞", f"label f-{hue}", "end", dx=-4)


def _percentiles(x: Scale) -> list[tuple[float, str]]:
    """The nines, without words where those before leave no room for them."""
    labels: list[tuple[float, str]] = []
    free = -1.0
    for q in x.ticks():
        fits = x(q) >= free
        labels.append((q, f"{q * 100:.6g}" + "%" * (q == 0.5) if fits else ""))
        free = x(q) + ROOM if fits else free
    return labels


def _alike(one: Curve, other: Curve) -> bool:
    values = dict(other.points)
    return all(
        abs(value - values[q]) <= ALIKE * max(value, 1e-12)
        for q, value in one.points
        if q in values
    )


def _line(canvas: Canvas, curve: Curve, x: Scale, y: Scale, style: str) -> None:
    points = [(q, value) for q, value in curve.points if x.low <= q <= x.high and value > 0]
    sure = [(x(q), y(value)) for q, value in points if q <= curve.resolved]
    unsure = [(x(q), y(value)) for q, value in points if q > curve.resolved]
    if sure:
        canvas.path(sure, style)
        unsure = [sure[-1], *unsure]
    if len(unsure) > 1:
        canvas.path(unsure, f"{style} dashed")
