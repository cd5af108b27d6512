"""What earlier runs of an experiment know that a new one needs as it begins.

It is written down with the new run, whose answer rests on its own folder. Absent: what is made of
it (`judge.restarts`).
"""

from collections.abc import Sequence

from benchlab.judge.alike import FINGERPRINT
from benchlab.judge.restarts import are_left_running, learnt
from benchlab.lab.opening import reopen
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import Restarts
from benchlab.store import Run, runs


def restarts(experiment: Experiment, cases: Sequence[Case], machine: str) -> Restarts | None:
    """By how much a restart moves what is compared; None where no earlier run can tell.

    Of the newest run of the experiment on this machine that asked the same of the same systems and
    restarted them for each session.
    """
    if experiment.compare is None or not are_left_running(cases):
        return None
    for run in reversed(runs()):
        record = run.record
        if record.experiment != experiment.name or record.host.get(FINGERPRINT) != machine:
            continue
        if record.state == "complete" and (found := _of(run, cases)) is not None:
            return found
    return None


def _of(run: Run, cases: Sequence[Case]) -> Restarts | None:
    try:
        earlier = {case.name: case for case in reopen(run).cases}
        summary = run.summary()
    except InputError:
        # A run of another version, whose file or answer is read differently today.
        return None
    asked = [(case, earlier.get(case.name)) for case in cases]
    if summary is None or not all(was and _is_restarted(was, case) for case, was in asked):
        return None
    return learnt(summary, run.id)


def _is_restarted(was: Case, case: Case) -> bool:
    """Whether an earlier case asked the same of the same system, and began with a restart."""
    same = (was.workload, was.load, was.system.at) == (case.workload, case.load, case.system.at)
    return same and not are_left_running([was])
