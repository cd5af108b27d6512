"""The history of a metric for a terminal: a table of runs, with their place on a line of dots."""

from collections.abc import Iterable, Sequence
from math import isclose

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchlab.judge.history import Point, Series
from benchlab.report import readable
from benchlab.report.plots.history import levels, step
from benchlab.report.terminal import Encodable, clean

DOTS, FEW_DOTS = 24, 12
WIDE = 100


def render(series: Sequence[Series], notes: Iterable[str], console: Console) -> None:
    """Prints each case's history and what was left out of it."""
    for one in series:
        console.print()
        console.print(Encodable(_caption(one)))
        dots = DOTS if console.width >= WIDE else FEW_DOTS
        console.print(Encodable(_table(one, dots)))
        for line in _changes(one):
            console.print(Encodable(line))
    console.print()
    for note in notes:
        console.print(Encodable(Text.assemble(("note", "yellow"), f"  {clean(note)}")))


def _caption(series: Series) -> Text:
    runs = readable.count(len(series.points), "run")
    metric = readable.metric_label(clean(series.metric))
    return Text.assemble((f"{metric}  {clean(series.case)}", "bold"), f"  {runs}")


def _table(series: Series, dots: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("begun", "run", "commit"):
        table.add_column(title, no_wrap=True)
    for title in ("median", "95% interval"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    values = [point.value for point in series.known if point.value is not None]
    for point in series.points:
        table.add_row(
            point.created_utc.partition("T")[0],
            point.run,
            clean(point.label) or readable.NOTHING,
            *_figures(point, series.unit, values, dots),
            style="bold" if point.is_change else "",
        )
    return table


def _figures(point: Point, unit: str, values: Sequence[float], dots: int) -> tuple[str, str, Text]:
    if point.value is None:
        return readable.NOTHING, "", Text(clean(point.why), style="yellow")
    scale = readable.scale_for(point.value, unit)
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f"[{scale.number(point.low)} … {scale.number(point.high)}]"
    low, high = min(values), max(values)
    share = 0.5 if isclose(low, high) else (point.value - low) / (high - low)
    place = round(share * (dots - 1))
    return scale.text(point.value), interval, Text(f"{'·' * place}o{'·' * (dots - 1 - place)}")


def _changes(series: Series) -> Iterable[Text]:
    known = series.known
    for level in levels(known)[1:]:
        point = known[level.start]
        at = f"{clean(point.label)} ({point.run})" if point.label else point.run
        runs = readable.count(len(level), "run")
        yield Text(f"changed by {step(known, level)} at {at}, {runs} ago", style="bold")
