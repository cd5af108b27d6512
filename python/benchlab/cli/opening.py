"""What the subcommands that take an experiment share: finding it and reading it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlab.lab import studies
from benchlab.model.cases import cases, select
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.reading import read_experiment
from benchlab.systems import kinds


@dataclass(frozen=True)
class Opened:
    """An experiment as it was found, read and narrowed."""

    file: Path
    text: str
    experiment: Experiment
    cases: tuple[Case, ...]
    overrides: dict[str, str]


def split_overrides(assignments: Sequence[str]) -> dict[str, str]:
    """`PATH=VALUE` arguments as a mapping; `InputError` where there is no `=`."""
    found: dict[str, str] = {}
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals or not path:
            raise InputError(f"--set takes PATH=VALUE, e.g. --set load.duration=2s: {assignment}")
        found[path] = value
    return found


def open_experiment(
    name: str,
    *,
    assignments: Sequence[str] = (),
    sessions: int | None = None,
    only: Sequence[str] = (),
    full: bool = False,
) -> Opened:
    """Find and read the experiment called `name`, with what the command line changes in it."""
    file = studies.find(name)
    overrides = split_overrides(assignments)
    if sessions is not None:
        overrides["sessions"] = str(sessions)
    text = file.read_text(encoding="utf-8")
    experiment = read_experiment(
        text, file=str(file), overrides=overrides, full=full, kinds=kinds()
    )
    return Opened(file, text, experiment, select(cases(experiment), only), overrides)
