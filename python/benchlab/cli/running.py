"""What `run` and `try` share: confirm, run with progress, answer."""

import sys
from pathlib import Path

import typer

from benchlab.cli import interrupting
from benchlab.cli.answering import answer
from benchlab.cli.gating import NO_GATE, Gate
from benchlab.cli.progress import Display
from benchlab.judge.comparisons import counting
from benchlab.lab.announcing import showing, visits, writes
from benchlab.lab.budget import estimate_time
from benchlab.lab.opening import Opened, begin
from benchlab.lab.preflight import check as preflight
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model import quantities
from benchlab.model.errors import Exit, InputError
from benchlab.stats.family import refusal
from benchlab.stats.precision import fewest
from benchlab.store import Run

ASK_ABOVE_S = 600.0


def check(opened: Opened) -> None:
    """Raise `InputError` for a design that could never answer."""
    experiment = opened.experiment
    counts, sessions = counting(experiment.compare, opened.cases), experiment.sessions
    if experiment.precision is not None:
        sessions = fewest(sessions, counts)
    why = refusal(sessions, counts)
    if why:
        raise InputError(why, key="sessions")


def confirm(opened: Opened, *, yes: bool, quiet: bool) -> None:
    """Tell what can be found and what is written to others' data, and ask, where one can.

    A run of more than ten minutes is asked about, too.
    """
    written = writes(opened.experiment, opened.cases, opened.folder)
    counts = counting(opened.experiment.compare, opened.cases)
    can_show = showing(opened.experiment, opened.cases, counts)
    if not quiet:
        for line in (*([can_show] if can_show else []), *visits(opened.cases), *written):
            print(line, file=sys.stderr)
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    if written and not typer.confirm("Write there?", default=False, err=True):
        raise typer.Exit(Exit.DONE)
    takes_s = estimate_time(opened.experiment, opened.cases).most_s
    if takes_s <= ASK_ABOVE_S:
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
    gate: Gate = NO_GATE,
) -> None:
    """Run an experiment, or go on with one, and give the answer."""
    gate.check(opened.experiment)
    run = measure(opened, out=out, resumed=resumed, quiet=quiet or as_json, yes=yes)
    kept = f"what was measured is kept; its answer: benchlab report {run.id}"
    with interrupting.Advising(kept):
        answer(run, as_json=as_json, open_page=open_page, gate=gate)


def measure(
    opened: Opened,
    *,
    out: Path | None = None,
    resumed: Run | None = None,
    quiet: bool = False,
    yes: bool = False,
) -> Run:
    """Run an experiment, or go on with one."""
    check(opened)
    preflight(opened.experiment, opened.cases, opened.folder)
    confirm(opened, yes=yes, quiet=quiet)
    run = resumed or begin(opened, sys.argv, out)
    stop = StopToken()
    with stop.on_signals(), Display(quiet=quiet) as display:
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
    return run
