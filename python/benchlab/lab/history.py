"""What earlier runs of an experiment know that a new one needs as it begins.

What a verdict rests on is written down with the new run, whose answer rests on its own folder.
Absent: what is made of it (`judge.restarts`, `lab.announcing`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log1p

from benchlab.judge.alike import FINGERPRINT
from benchlab.judge.restarts import are_left_running, learnt
from benchlab.lab.opening import reopen
from benchlab.model.errors import InputError
from benchlab.model.evidence import Summary
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import Restarts
from benchlab.stats.estimates import spread
from benchlab.stats.family import FEWEST_COUNTING
from benchlab.store import Run, runs


def restarts(experiment: Experiment, cases: Sequence[Case], machine: str) -> Restarts | None:
    """By how much a restart moves what is compared; None where no earlier run can tell.

    Of the newest run of the experiment on this machine that asked the same of the same systems and
    restarted them for each session.
    """
    if experiment.compare is None or not are_left_running(cases):
        return None
    for run, earlier, summary in _earlier(experiment, machine):
        same = all(_is_restarted(earlier.get(case.name), case) for case in cases)
        if same and (found := learnt(summary, run.id)) is not None:
            return found
    return None


@dataclass(frozen=True)
class Scatter:
    """What the pairs of an earlier run scattered by."""

    run: str
    sd: float
    """Standard deviation of the log ratios: of the comparisons that count, the largest."""


def scatter(experiment: Experiment, cases: Sequence[Case], machine: str) -> Scatter | None:
    """What the metric that is compared first scattered by; None where no earlier run can tell.

    Of the newest run of the experiment on this machine that asked the same as often in a session.
    """
    if experiment.compare is None:
        return None
    metric = experiment.compare.metrics[0]
    for run, earlier, summary in _earlier(experiment, machine):
        if run.record.blocks != experiment.blocks:
            continue
        if not all(_is_asked_alike(earlier.get(case.name), case) for case in cases):
            continue
        found = [
            spread([log1p(pair.effect) for pair in one.pairs]).sd
            for one in summary.comparisons
            if one.counts
            and one.metric == metric
            and one.by == "ratio"
            and one.verdict != "invalid"
            and len(one.pairs) >= FEWEST_COUNTING
        ]
        if found:
            return Scatter(run.id, max(found))
    return None


def _earlier(
    experiment: Experiment, machine: str
) -> Iterator[tuple[Run, Mapping[str, Case], Summary]]:
    """Whole runs of the experiment on this machine, with their cases and answers, newest first."""
    for run in reversed(runs()):
        record = run.record
        if record.experiment != experiment.name or record.host.get(FINGERPRINT) != machine:
            continue
        if record.state != "complete":
            continue
        try:
            earlier, summary = {case.name: case for case in reopen(run).cases}, run.summary()
        except InputError:
            # A run of another version, whose file or answer is read differently today.
            continue
        if summary is not None:
            yield run, earlier, summary


def _is_asked_alike(was: Case | None, case: Case) -> bool:
    return was is not None and (was.workload, was.load) == (case.workload, case.load)


def _is_restarted(was: Case | None, case: Case) -> bool:
    """Whether an earlier case asked the same of the same system, and began with a restart."""
    if was is None or not _is_asked_alike(was, case) or was.system.at != case.system.at:
        return False
    return not are_left_running([was])
