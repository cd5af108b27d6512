"""`benchlab gate`: a run held against another one, or against the history."""

from typing import Annotated

import typer

from benchlab import store
from benchlab.cli.options import Advisory, Json, JUnit, Markdown, RunName


def gate(
    run: RunName,
    against: Annotated[
        str, typer.Option("--against", metavar="RUN|history", help="What it is held against.")
    ],
    advisory: Advisory = False,
    junit: JUnit = None,
    markdown: Markdown = None,
    as_json: Json = False,
) -> None:
    """Exit 1 where a declared metric is worse than before, 3 where it cannot be told."""
    from rich.console import Console

    from benchlab.cli.gating import Gate
    from benchlab.cli.telling import told, told_like
    from benchlab.judge.between import compare_runs
    from benchlab.judge.history import HISTORY, against_history, apart_from
    from benchlab.report import terminal
    from benchlab.report.bulletin import Bulletin

    asked = Gate(True, advisory, junit, markdown)
    asked.check()
    last = told(store.find(run))
    runs, notes = told_like(last)
    if against == HISTORY:
        found = against_history(runs)
    else:
        before = told(store.find(against))
        found = compare_runs(before, last, apart_from(before, last, runs))
    found = found.model_copy(update={"notes": (*found.notes, *notes)})
    doubt = asked.doubt(last.record)
    asked.tell(Bulletin.of_runs(found, advisory=doubt))
    if as_json:
        print(found.model_dump_json())
    else:
        terminal.render_between(found, Console(highlight=False, emoji=False))
    raise typer.Exit(asked.code(found.comparisons, doubt))
