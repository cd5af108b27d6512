"""What the subcommands that look across runs share: a run with its answer."""

from typing import TYPE_CHECKING

from benchlab.store import Run

if TYPE_CHECKING:
    from benchlab.judge.alike import Told


def told(run: Run) -> "Told":
    """A run with its answer: as it was kept, or made from the raw data where there is none yet.

    Raises InputError for one of which nothing was measured.
    """
    from benchlab.judge.alike import Told
    from benchlab.judge.run import judge_run
    from benchlab.lab.opening import reopen
    from benchlab.model.errors import InputError

    record = run.record
    if record.sessions_done == 0:
        raise InputError("no session was finished", key=run.path.name)
    opened = reopen(run)
    summary = run.summary() or judge_run(opened.experiment, opened.cases, run).summary
    cases = {case.name: case for case in opened.cases}
    return Told(record, opened.experiment, cases, summary)
