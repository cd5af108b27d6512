"""What `run` and `try` share: confirm, run with progress, answer."""

import sys
from pathlib import Path

import typer

from benchlab.cli import interrupting
from benchlab.cli.answering import answer
from benchlab.cli.progress import Display
from benchlab.lab.budget import estimate_time
from benchlab.lab.opening import Opened, begin
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model import quantities
from benchlab.model.errors import Exit, InputError
from benchlab.stats.family import refusal
from benchlab.store import Run

ASK_ABOVE_S = 600.0


def check(opened: Opened) -> None:
    """Raise `InputError` for a design that could never answer."""
    from benchlab.judge.comparisons import counting

    experiment = opened.experiment
    why = refusal(experiment.sessions, counting(experiment.compare, opened.cases))
    if why:
        raise InputError(why, key="sessions")


def confirm(opened: Opened, *, yes: bool) -> None:
    """Ask before a run of more than ten minutes, where there is somebody to ask."""
    takes_s = estimate_time(opened.experiment, opened.cases).total_s
    if yes or takes_s <= ASK_ABOVE_S or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    length = quantities.format(takes_s, "s")
    if not typer.confirm(f"This takes about {length}. Go on?", default=True, err=True):
        raise typer.Exit(Exit.DONE)


def run_opened(
    opened: Opened,
    *,
    out: Path | None = None,
    resumed: Run | None = None,
    quiet: bool = False,
    as_json: bool = False,
    yes: bool = False,
    open_page: bool = False,
) -> None:
    """Run an experiment, or go on with one, and give the answer."""
    check(opened)
    confirm(opened, yes=yes)
    run = resumed or begin(opened, sys.argv, out)
    stop = StopToken()
    with stop.on_signals(), Display(quiet=quiet or as_json) as display:
        record = execute(
            opened.experiment,
            opened.cases,
            run,
            emit=display.show,
            stop=stop,
            here=opened.folder,
        )
    if record.state == "interrupted" and record.sessions_done == 0:
        raise typer.Exit(Exit.INTERRUPTED)
    kept = f"what was measured is kept; its answer: benchlab report {run.id}"
    with interrupting.Advising(kept):
        answer(run, as_json=as_json, open_page=open_page)
