"""What the subcommands that look across runs share: runs with their answers."""

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


def told_like(last: "Told") -> "tuple[list[Told], list[str]]":
    """The store's runs of an experiment on one machine up to one of them, and what was left out.

    They are in the order in which they were begun, with `last` at the end, wherever it is kept.
    """
    from benchlab import store
    from benchlab.judge.alike import FINGERPRINT
    from benchlab.model.errors import InputError

    found, notes, elsewhere = [], [], 0
    for run in store.runs():
        record = run.record
        is_earlier = record.created_utc <= last.record.created_utc and record.id != last.id
        if record.experiment != last.record.experiment or not is_earlier:
            continue
        if record.host.get(FINGERPRINT) != last.machine:
            elsewhere += 1
            continue
        try:
            found.append(told(run))
        except InputError as error:
            notes.append(f"left out: {error}")
    if elsewhere:
        notes.append(f"left out: runs on other machines ({elsewhere})")
    return [*found, last], notes
