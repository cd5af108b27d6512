"""A metric run by run: every run a dot with its interval, each level of the history a line.

Runs stand at equal steps, for what lies between two of them is a commit and not a time; the commit
is the label. Where a new level begins, the plot says by how much.
"""

from collections.abc import Sequence
from statistics import median

from benchlab.judge.history import Point, Series
from benchlab.report import readable
from benchlab.report.plots.axes import Scale, draw_x, draw_y, shortened, value_scale
from benchlab.report.plots.canvas import Canvas

HEIGHT = 250
_TOP, _BOTTOM = 40, 206
MOST_LABELS = 8


def history(series: Series) -> Canvas:
    """The plot of one case's metric; it must have a known point."""
    known = series.known
    name = f"{readable.metric_label(series.metric)} of {series.case}"
    canvas = Canvas(HEIGHT, f"{name} over {readable.count(len(known), 'run')}", left=66, right=30)
    canvas.name = f"history-{series.metric}-{series.case}"
    canvas.text((0, 11), name, "caption", dx=-canvas.left)
    ends = [v for p in known for v in (p.value, p.low, p.high) if v is not None]
    y = value_scale(ends, _BOTTOM, _TOP, series.unit, from_zero=False)
    x = Scale(0, max(1, len(known) - 1), 0.03, 0.97)
    draw_y(canvas, y, 4)
    draw_x(canvas, x, _labels(known), _BOTTOM, _BOTTOM + 4)
    for level in levels(known):
        middle = y(median(_values(known, level)))
        canvas.segment((x(level.start), middle), (x(level.stop - 1), middle), "median s-c1")
        if level.start:
            _change(canvas, known, level, x)
    for place, point in enumerate(known):
        _dot(canvas, (x(place), y(point.value or 0.0)), point, series.unit, y)
    return canvas


def levels(known: Sequence[Point]) -> list[range]:
    """The places of each level's points, oldest first."""
    begins = [0, *(place for place, point in enumerate(known) if point.is_change and place)]
    return [range(a, b) for a, b in zip(begins, [*begins[1:], len(known)], strict=True)]


def step(known: Sequence[Point], level: range) -> str:
    """By how much a level lies above the one before it."""
    before = next(one for one in levels(known) if one.stop == level.start)
    was, now = (median(_values(known, one)) for one in (before, level))
    if was <= 0:
        return f"{readable.amount(now, '')} from 0"
    return f"{(now / was - 1) * 100:+.3g}{readable.SPACE}%".replace("-", readable.MINUS)


def _values(known: Sequence[Point], level: range) -> list[float]:
    return [value for place in level if (value := known[place].value) is not None]


def _labels(known: Sequence[Point]) -> list[tuple[float, str]]:
    every = -(-len(known) // MOST_LABELS)
    return [
        (float(place), shortened(point.label or point.run) if place % every == 0 else "")
        for place, point in enumerate(known)
    ]


def _change(canvas: Canvas, known: Sequence[Point], level: range, x: Scale) -> None:
    at = x(level.start - 0.5)
    canvas.segment((at, _TOP - 6), (at, _BOTTOM), "error")
    canvas.text((at, _TOP - 12), step(known, level), "label", anchor="middle")


def _dot(canvas: Canvas, at: tuple[float, float], point: Point, unit: str, y: Scale) -> None:
    title = f"{point.label or point.run}: {readable.amount(point.value, unit)}"
    if point.low is not None and point.high is not None:
        canvas.segment((at[0], y(point.low)), (at[0], y(point.high)), "interval s-c1")
    canvas.dot(at, 4, "mark f-c1", f"{title} ({point.created_utc}, {point.run})")
