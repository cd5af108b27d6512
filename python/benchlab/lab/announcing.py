"""What is told before a run: what it does to systems that somebody else runs, what it can show.

Absent: asking whether it may.
"""

from collections.abc import Sequence
from math import log1p
from pathlib import Path

from benchlab.host import fingerprint
from benchlab.judge.calibration import showable
from benchlab.lab.seeking import as_begun
from benchlab.load.effects import changing
from benchlab.load.plan import held, make_plan
from benchlab.model.experiment import Case, Experiment
from benchlab.model.quantities import significant
from benchlab.model.secrets import mask
from benchlab.stats.family import ALPHA, FEWEST_COUNTING
from benchlab.stats.power import sessions_needed
from benchlab.store import machines
from benchlab.systems import kind_of


def visits(cases: Sequence[Case]) -> tuple[str, ...]:
    """What is made at running systems and taken away again, a line each."""
    said = []
    for case in cases:
        into, system = case.workload.into, case.system
        if into is None or not system.at or (holder := held(case, _urls(case))) is None:
            continue
        said.append(
            f"{case.system_name} ({mask(system.at[0])}): {holder.name.rstrip(':')} are made in "
            f"{into} for each session, and taken away again"
        )
    return tuple(dict.fromkeys(said))


def writes(experiment: Experiment, cases: Sequence[Case], here: Path) -> tuple[str, ...]:
    """What is written to data that are there already, a line for each system."""
    found: dict[str, dict[str, None]] = {}
    for case in cases:
        if not case.system.at or case.workload.into is not None:
            continue
        plan = make_plan(
            as_begun(case), urls=_urls(case), seed=experiment.seed, session=0, block=0, folder=here
        )
        if names := changing(plan):
            whose = f"{case.system_name} ({mask(case.system.at[0])})"
            found.setdefault(whose, {}).update(dict.fromkeys(names))
    return tuple(
        f"{whose}: what is there is written to, by {', '.join(names)}; it is not put back"
        for whose, names in found.items()
    )


def showing(experiment: Experiment, comparisons: int) -> str | None:
    """What so many sessions can find on this machine; None where no calibration could tell.

    By the machine's calibration, for the metric that is compared first. An effect that is too small
    to be found is a finding only to one who was told beforehand.
    """
    compare = experiment.compare
    if compare is None or experiment.sessions < FEWEST_COUNTING:
        return None
    known = machines.calibration(fingerprint.take()["fingerprint"])
    metric, comparisons = compare.metrics[0], max(1, comparisons)
    could = showable(known, metric, experiment.sessions, comparisons)
    if known is not None and metric not in known.spread:
        return None
    if known is None or could is None:
        return (
            f"what {experiment.sessions} sessions can show in {metric} is not known for this "
            "machine: `benchlab doctor --calibrate` finds out"
        )
    told = (
        f"{experiment.sessions} sessions show a difference of {_percent(could)} in {metric} "
        "in four runs of five, by this machine's calibration"
    )
    if could <= compare.smallest_effect:
        return told
    needed = sessions_needed(
        log1p(compare.smallest_effect), known.spread[metric], ALPHA / comparisons, FEWEST_COUNTING
    )
    if needed is None:
        return f"{told}; smaller ones may read inconclusive"
    return f"{told}; {_percent(compare.smallest_effect)} needs about {needed}: --sessions {needed}"


def _percent(share: float) -> str:
    """A share of one as a text."""
    return f"{significant(100 * share)} %"


def _urls(case: Case) -> tuple[str, ...]:
    return kind_of(case.system_name, case.system).expected_urls(case.system)
