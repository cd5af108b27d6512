"""What a run will do to systems that somebody else runs, told before it does.

Absent: asking whether it may.
"""

from collections.abc import Sequence
from pathlib import Path

from benchlab.load.effects import changing
from benchlab.load.plan import held, make_plan
from benchlab.model.experiment import Case, Experiment
from benchlab.model.secrets import mask
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
            case, urls=_urls(case), seed=experiment.seed, session=0, block=0, folder=here
        )
        if names := changing(plan):
            whose = f"{case.system_name} ({mask(case.system.at[0])})"
            found.setdefault(whose, {}).update(dict.fromkeys(names))
    return tuple(
        f"{whose}: what is there is written to, by {', '.join(names)}; it is not put back"
        for whose, names in found.items()
    )


def _urls(case: Case) -> tuple[str, ...]:
    return kind_of(case.system_name, case.system).expected_urls(case.system)
