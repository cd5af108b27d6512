"""What is told before a run: what it does to systems that somebody else runs, what it can show.

Absent: asking whether it may.
"""

from collections.abc import Sequence
from math import expm1, inf, log1p
from pathlib import Path

from benchlab.host import fingerprint
from benchlab.lab import history
from benchlab.lab.seeking import as_begun
from benchlab.load.effects import changing
from benchlab.load.plan import held, make_plan
from benchlab.model.experiment import Case, Compare, Experiment
from benchlab.model.quantities import significant
from benchlab.model.secrets import mask
from benchlab.stats.family import ALPHA, FEWEST_COUNTING
from benchlab.stats.power import detectable, sessions_needed
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


def showing(
    experiment: Experiment, cases: Sequence[Case], comparisons: int, *, by_machine: bool = True
) -> str | None:
    """What so many sessions can find on this machine; None where nothing could tell.

    Of the metric that is compared first: by what an earlier run of the experiment scattered by,
    else (`by_machine`) by the machine's calibration. An effect that is too small to be found is a
    finding only to one who was told beforehand.
    """
    compare = experiment.compare
    if compare is None or experiment.sessions < FEWEST_COUNTING:
        return None
    machine, metric = fingerprint.take()["fingerprint"], compare.metrics[0]
    known = machines.calibration(machine)
    seen = history.scatter(experiment, cases, machine)
    if seen is not None:
        sd, source = seen.sd, f"if pairs scatter as in {seen.run}"
    elif not by_machine:
        return None
    elif known is None:
        return (
            f"what {experiment.sessions} sessions can show in {metric} is not known for this "
            "machine: `benchlab doctor --calibrate` finds out"
        )
    elif metric in known.spread:
        sd, source = known.spread[metric], "by this machine's calibration"
    else:
        return None
    return _showing(experiment.sessions, compare, sd, ALPHA / max(1, comparisons), source)


def _showing(sessions: int, compare: Compare, sd: float, alpha: float, source: str) -> str:
    """What can be found where log ratios scatter so, and how many sessions δ needs."""
    could = expm1(detectable(sd, sessions, alpha) or inf)
    told = (
        f"{sessions} sessions show a difference of {_percent(could)} in {compare.metrics[0]} "
        f"in four runs of five, {source}"
    )
    if could <= compare.smallest_effect:
        return told
    needed = sessions_needed(log1p(compare.smallest_effect), sd, alpha, FEWEST_COUNTING)
    if needed is None:
        return f"{told}; smaller ones may read inconclusive"
    return f"{told}; {_percent(compare.smallest_effect)} needs about {needed}: --sessions {needed}"


def _percent(share: float) -> str:
    """A share of one as a text."""
    return f"{significant(100 * share)} %"


def _urls(case: Case) -> tuple[str, ...]:
    return kind_of(case.system_name, case.system).expected_urls(case.system)
