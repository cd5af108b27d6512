"""`benchlab report`: makes the report of a run again."""

from pathlib import Path
from typing import Annotated

import typer

from benchlab import store
from benchlab.cli.options import Json, RunName


def report(
    run: RunName,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Also the plots, as SVG.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Also the tables, as CSV.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the report again from the raw data; plots and tables for a post."""
    from benchlab.cli.answering import answer

    answer(store.find(run), as_json=as_json, plots=plots, csv=csv)
