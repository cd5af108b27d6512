"""`benchlab history`: a metric over the runs of an experiment, and where it changed."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchlab import store
from benchlab.cli.options import Json
from benchlab.model.errors import InputError

if TYPE_CHECKING:
    from benchlab.judge.alike import Told
    from benchlab.judge.history import Series

PLOTS = (".svg", ".png")


def history(
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="E.g. throughput.")],
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Of the newest run if not given.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Also a plot: .svg or .png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a metric run by run, case by case, with commits and where it changed its level."""
    from rich.console import Console

    from benchlab.cli.telling import told, told_like
    from benchlab.judge.history import series_of
    from benchlab.report import chronicle, exports
    from benchlab.report.plots.history import history as draw

    if plot is not None and (plot.suffix not in PLOTS or not plot.absolute().parent.is_dir()):
        raise InputError(f"{plot} must end with .svg or .png, in a folder", key="--plot")
    runs, notes = told_like(told(_newest(experiment)))
    found = [series_of(runs, case, metric) for case in runs[-1].cases]
    found = [series for series in found if series.known]
    if not found:
        raise _unknown(metric, runs[-1])
    if plot is not None:
        exports.write_drawing([draw(series) for series in found], plot)
    if as_json:
        print(_document(runs[-1], found, notes))
    else:
        chronicle.render(found, notes, Console(highlight=False, emoji=False))


def _newest(experiment: str | None) -> store.Run:
    """The newest run that has something to say of an experiment, or of any."""
    runs = [run for run in reversed(store.runs()) if run.record.sessions_done]
    if not runs:
        raise InputError(f"no run in {store.root()} yet", key="history")
    named = [run for run in runs if experiment in (None, run.record.experiment)]
    if named:
        return named[0]
    names = list(dict.fromkeys(run.record.experiment for run in runs))
    near = get_close_matches(experiment or "", names, n=1)
    what = f"no run of it; there are runs of {', '.join(names)}"
    raise InputError(what, key=experiment, nearest=near[0] if near else None)


def _unknown(metric: str, last: "Told") -> InputError:
    names = sorted({name for case in last.summary.cases for name in case.metrics})
    near = get_close_matches(metric, names, n=1)
    what = f"no run of {last.experiment.name} has a usable figure of it"
    return InputError(what, key=metric, nearest=near[0] if near and near[0] != metric else None)


def _document(last: "Told", found: "list[Series]", notes: list[str]) -> str:
    import json
    from dataclasses import asdict

    document: dict[str, Any] = {
        "experiment": last.experiment.name,
        "series": [asdict(series) for series in found],
        "notes": notes,
    }
    return json.dumps(document)
