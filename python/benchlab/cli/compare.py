"""`benchlab compare`: two runs of the same experiment, which were not interleaved."""

from typing import Annotated

import typer

from benchlab import store
from benchlab.cli.options import Json

Named = Annotated[str, typer.Argument(metavar="RUN", help="A path, an id or its beginning.")]


def compare(baseline: Named, candidate: Named, as_json: Json = False) -> None:
    """Lay a run beside an earlier one of the same experiment, metric by metric."""
    from rich.console import Console

    from benchlab.cli.telling import told, told_like
    from benchlab.judge.between import compare_runs
    from benchlab.judge.history import apart_from
    from benchlab.model.errors import Exit
    from benchlab.report import terminal

    before, after = told(store.find(baseline)), told(store.find(candidate))
    runs, _ = told_like(after)
    found = compare_runs(before, after, apart_from(before, after, runs))
    if as_json:
        print(found.model_dump_json())
    else:
        terminal.render_between(found, Console(highlight=False, emoji=False))
    invalid = any(one.verdict == "invalid" for one in found.comparisons)
    raise typer.Exit(Exit.CANNOT_TELL if invalid else Exit.DONE)
