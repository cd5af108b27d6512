"""Throughput and p99 on a trial's clock: each trial a faint line, their median a strong one.

Errors are marked beneath at the moment their transactions were due, stalls as bands with their
candidates. A trial too short for a line is drawn as dots.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from benchlab.report import readable, stalled
from benchlab.report.material import Clock, Line
from benchlab.report.plots.axes import Scale, draw_x, draw_y
from benchlab.report.plots.canvas import Canvas

HEIGHT = 118
_TOP, _BOTTOM = 24, 96
LEFT, RIGHT = 58, 10


def length_s(clocks: Sequence[Clock]) -> float:
    """The longest trial's end on the clock."""
    lines = [line for c in clocks for line in (c.rate, c.cpu_user, c.latency_p99, c.memory)]
    return max((line.at_s[-1] for line in lines if line.at_s), default=1.0)


def highest(lines: Sequence[Line]) -> float:
    """The greatest value of all lines, for a common axis; 0 where there is none."""
    return max((value for line in lines for _, value in line.known()), default=0.0)


def throughput(clocks: Sequence[Clock], hue: str, top: float, span_s: float) -> Canvas:
    """Completed transactions a second, errors and stalls marked."""
    canvas, x = panel([("Throughput", "")], "1/s", "throughput over time", top, span_s)
    y = vertical(top)
    for clock in clocks:
        for stall in clock.stalls:
            causes = "; ".join(one.cause for one in stall.candidates)
            title = f"{stalled.place(stall)}: {stalled.what(stall)}{f' ({causes})' * bool(causes)}"
            end = min(span_s, stall.at_s + stall.length_s)
            canvas.rectangle((x(stall.at_s), _TOP), (x(end), _BOTTOM), "stall", title)
    strands(canvas, [clock.rate for clock in clocks], x, y, hue)
    for clock in clocks:
        for at, errors in clock.errors.known():
            if errors > 0:
                title = (
                    f"session {clock.session + 1}, {at:g} s: {readable.count(int(errors), 'error')}"
                )
                canvas.segment((x(at), _BOTTOM - 7), (x(at), _BOTTOM), "error", title)
    return canvas


def latency(clocks: Sequence[Clock], hue: str, top: float, span_s: float, kind: str) -> Canvas:
    """The p99 of each second."""
    canvas, x = panel([(f"p99 of {kind}", "")], "s", f"p99 of {kind} over time", top, span_s)
    strands(canvas, [clock.latency_p99 for clock in clocks], x, vertical(top), hue)
    return canvas


def vertical(top: float, unit: str = "count") -> Scale:
    """From zero to a little above the highest value."""
    return Scale(0.0, top * 1.08 if top > 0 else 1.0, _BOTTOM, _TOP, unit=unit)


def panel(
    caption: Sequence[tuple[str, str]], unit: str, title: str, top: float, span_s: float
) -> tuple[Canvas, Scale]:
    """An empty panel with its caption and both axes, and its scale of time."""
    canvas = Canvas(HEIGHT, title, left=LEFT, right=RIGHT)
    canvas.words((0, 11), caption, "caption", dx=-LEFT)
    x = Scale(0.0, span_s)
    draw_y(canvas, vertical(top, unit), 2)
    ticks = x.ticks(5)
    labels = [f"{tick:g}" + (f"{readable.SPACE}s" if tick == ticks[-1] else "") for tick in ticks]
    draw_x(canvas, x, list(zip(ticks, labels, strict=True)), _BOTTOM, _BOTTOM + 3)
    return canvas, x


def strands(canvas: Canvas, lines: Sequence[Line], x: Scale, y: Scale, hue: str) -> None:
    """Each line faint, their median strong; dots where a line has few points."""
    drawn = [line.known() for line in lines]
    for points in drawn:
        if len(points) > 3:
            canvas.path([(x(at), y(v)) for at, v in points], f"faint s-{hue}")
        else:
            for at, value in points:
                canvas.dot((x(at), y(value)), 2.5, f"dot f-{hue}")
    middle = middle_of(lines)
    if len(middle) > 1:
        canvas.path([(x(at), y(v)) for at, v in middle], f"line s-{hue}")


def middle_of(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """The median over the lines at each moment that more than half of them share."""
    moments: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for line in lines:
        for at, value in line.known():
            moments[math.floor(at * 10 + 1e-6)].append((at, value))
    filled = sum(1 for line in lines if line.at_s)
    shared = [found for _, found in sorted(moments.items()) if 2 * len(found) > filled]
    return [(fmean(at for at, _ in found), median(v for _, v in found)) for found in shared]
