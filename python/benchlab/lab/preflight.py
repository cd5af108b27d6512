"""What is looked at before anything starts, so that a mistake costs no waiting.

The engine looks at every Plan, the environment must have the variables that are mentioned, and the
machine the programs. Bad input is told with its place in the file. Absent: ports and whatever else
can only be found out by starting a system.
"""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from benchlab.lab import beside, building, watch
from benchlab.lab.fleet import placed
from benchlab.lab.seeking import as_begun
from benchlab.load import agent
from benchlab.load.plan import loading_plan, make_plan
from benchlab.model.cases import placing
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.mentions import variables
from benchlab.model.tree import fail, format_path, get, join, scalars
from benchlab.systems import instance_key, kind_of

_OF_PLAN = re.compile(r"workload\.transactions\[(\d+)\](?:\.operations\[(\d+)\])?")
_OF_LOAD = re.compile(
    r"(schedule(?:\.(?:closed|open)\.(clients|connections|shape|think))?|stop|warmup_ns"
    r"|timeout_ns|connection|workers)\b"
)


def check(experiment: Experiment, cases: Sequence[Case], here: Path) -> None:
    """Raises InputError, naming file, line and key, where a case cannot be run as it is written.

    Args:
        experiment: The experiment.
        cases: Those of its cases that are wanted.
        here: The experiment file's folder.
    """
    watch.check(experiment.abort_when)
    building.find(cases, here)
    for case in cases:
        _check_variables(case)
        with placing(case):
            with _of_system(case):
                urls = kind_of(case.system_name, case.system).expected_urls(case.system)
            beside.check(case, urls)
            cpus = placed(case).agent
            plan = make_plan(
                as_begun(case),
                urls=urls,
                seed=experiment.seed,
                session=0,
                block=0,
                cpus=cpus,
                folder=here,
            )
            loading = loading_plan(case, urls=urls, seed=experiment.seed, cpus=cpus, folder=here)
            try:
                agent.check(plan, "")
            except InputError as error:
                raise error.at(None, None, _key_in_file(case, error.key or "")) from None
            if loading is not None:
                agent.check(loading, f"loading for {case.name}")
    _check_placed(cases)


def _check_placed(cases: Sequence[Case]) -> None:
    """Refuses two sorts of data in one place, and a place where no system is already running."""
    placed_at: dict[tuple[str, ...], str] = {}
    for case in cases:
        workload = case.workload
        with placing(case):
            if not any(other.system.at for other in cases) and (workload.into or workload.existing):
                what = "belongs to a system that is already running: the lab makes its own afresh"
                key = f"workload.data{'.into' if workload.into else ''}"
                raise InputError(what, key=key)
            for url in case.system.at if workload.into else ():
                key = instance_key(case)
                if placed_at.setdefault((url, workload.into or ""), key) != key:
                    what = (
                        f"two cases would put data of their own into {workload.into} of one "
                        "system: let a factor set workload.data.into, too"
                    )
                    raise InputError(what, key="workload.data.into")


def missing(cases: Iterable[Case]) -> dict[str, str]:
    """What this machine lacks, by case name; each says how to get it.

    Raises InputError as `check` does.
    """
    found: dict[str, str] = {}
    for case in cases:
        _check_variables(case)
        with placing(case), _of_system(case):
            why = kind_of(case.system_name, case.system).missing(case.system)
            if why:
                found[case.name] = why
    return found


@contextlib.contextmanager
def _of_system(case: Case) -> Iterator[None]:
    """Says whose key it is that a kind complains about: a kind knows its own keys alone."""
    try:
        yield
    except InputError as error:
        system = join("systems", case.system_name)
        if error.key is None or error.key.startswith(system):
            raise
        raise error.at(error.file, error.line, f"{system}.{error.key}") from None


def _check_variables(case: Case) -> None:
    """Refuses a mention of a variable that the environment does not have."""
    for path in (("systems", case.system_name), ("workload",)):
        section = get(case.source, path)
        if section is None:
            continue
        for node, key in scalars(section, format_path(path)):
            for name in variables(f"{key} {node.text}"):
                if name not in os.environ:
                    near = get_close_matches(name, os.environ, n=1, cutoff=0.8)
                    what = f"the environment variable {name} is not set"
                    fail(node, key, what, near[0] if near else None)


def _key_in_file(case: Case, field: str) -> str:
    """The key of the experiment file that a Plan's field was made from, as far as it can be told.

    Fields of a built-in workload are nowhere in the file, but for its name.
    """
    if found := _OF_PLAN.match(field):
        if not case.workload.mix:
            return "workload.name"
        transaction = case.workload.mix[int(found[1])]
        return join("workload.mix", transaction.name)
    if field.startswith("driver.pragmas."):
        setting = field.removeprefix("driver.pragmas.")
        return join(join("systems", case.system_name) + ".settings", setting)
    if field.startswith("driver"):
        where = "at" if case.system.at else "url"
        return join(join("systems", case.system_name), where)
    if found := _OF_LOAD.match(field):
        return join("load", found[2]) if found[2] else "load"
    return field
