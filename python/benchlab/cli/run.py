"""`benchlab run`: a whole experiment, from its file to its answer."""

from pathlib import Path
from typing import Annotated

import typer

from benchlab import store
from benchlab.cli.options import (
    Advisory,
    Budget,
    Full,
    Json,
    JUnit,
    Markdown,
    Only,
    Sessions,
    Set,
    narrowing,
)
from benchlab.model.errors import InputError


def run(
    target: Annotated[
        str | None,
        typer.Argument(metavar="FILE|STUDY", help="An experiment file, or a study by name."),
    ] = None,
    assignments: Set = None,
    sessions: Sessions = None,
    only: Only = None,
    budget: Budget = None,
    full: Full = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder itself.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with an interrupted run.")
    ] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit 1 where a candidate is worse, 3 if none can tell.")
    ] = False,
    advisory: Advisory = False,
    markdown: Markdown = None,
    junit: JUnit = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment: real systems, repeated and interleaved, to an answer and a report."""
    from benchlab.cli.gating import Gate
    from benchlab.cli.running import run_opened
    from benchlab.lab.opening import open_experiment, reopen
    from benchlab.lab.run import check_same
    from benchlab.lab.studies import find, read

    given = narrowing(assignments, sessions, only, full, budget)
    resumed = None
    if resume is not None:
        if given.as_record() or out is not None:
            raise InputError(
                "goes on as the run was begun; it takes no other option", key="--resume"
            )
        resumed = store.find(resume)
        check_same(resumed, read(find(target)) if target else resumed.experiment_text())
        opened = reopen(resumed)
    elif target is None:
        raise InputError("name an experiment file or a study (see benchlab list studies)")
    else:
        opened = open_experiment(target, given)
    run_opened(
        opened,
        out=out,
        resumed=resumed,
        quiet=quiet,
        as_json=as_json,
        yes=yes,
        open_page=open_page,
        gate=Gate(gate, advisory, junit, markdown),
    )
