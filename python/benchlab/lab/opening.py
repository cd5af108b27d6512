"""Opens an experiment: found, read, narrowed by what the command line says; and opened again later.

What narrows it is kept in the run's record, so that a report made from the run's folder alone
is about the same cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchlab.lab import budget, studies
from benchlab.load.plan import SCHEMES
from benchlab.load.workloads import known as known_workloads
from benchlab.model.cases import cases, select
from benchlab.model.experiment import Case, Experiment
from benchlab.model.reading import read_experiment, read_mapping
from benchlab.model.sections import Known
from benchlab.model.writing import write_experiment
from benchlab.store import Run
from benchlab.store.runs import EXPERIMENT

KNOWN = Known(workloads=known_workloads(), schemes=SCHEMES)


@dataclass(frozen=True)
class Narrowing:
    """What the command line changes in the file."""

    assignments: Mapping[str, str]
    """`--set`: paths and values as written."""
    sessions: int | None = None
    only: tuple[str, ...] = ()
    full: bool = False
    budget_s: float | None = None

    def as_record(self) -> dict[str, Any]:
        """For `RunRecord.overrides`; only what was given."""
        given = {
            "set": dict(self.assignments),
            "sessions": self.sessions,
            "only": list(self.only),
            "full": self.full,
            "budget_s": self.budget_s,
        }
        return {key: value for key, value in given.items() if value}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Narrowing":
        """The narrowing that `as_record` kept."""
        return cls(
            record.get("set", {}),
            record.get("sessions"),
            tuple(record.get("only", ())),
            bool(record.get("full", False)),
            record.get("budget_s"),
        )


@dataclass(frozen=True)
class Opened:
    """An experiment and the cases of it that are meant."""

    text: str
    folder: Path
    """Where the file lies: what `${here}` and the names of body files stand for."""
    experiment: Experiment
    cases: tuple[Case, ...]
    narrowing: Narrowing
    notes: tuple[str, ...] = ()


def open_experiment(name: str, narrowing: Narrowing) -> Opened:
    """The experiment in a file or study.

    Raises `InputError` naming file, line, key and the nearest valid choice.
    """
    file = studies.find(name)
    text = studies.read(file)
    return _open(text, str(file), file.parent.absolute(), narrowing)


def open_mapping(data: Mapping[str, Any], *, only: Sequence[str] = ()) -> Opened:
    """An experiment that was put together rather than written in a file."""
    experiment = read_mapping(data, known=KNOWN)
    text = write_experiment(experiment)
    opened = _open(text, "the experiment", Path.cwd(), Narrowing({}))
    return replace(opened, cases=select(opened.cases, only))


def reopen(run: Run) -> Opened:
    """The experiment of a run, as it was when the run began."""
    record = run.record
    narrowing = Narrowing.from_record(record.overrides)
    folder = Path(record.overrides.get("here", run.path))
    return _open(run.experiment_text(), str(run.path / EXPERIMENT), folder, narrowing)


def _open(text: str, file: str, folder: Path, narrowing: Narrowing) -> Opened:
    experiment = read_experiment(
        text,
        file=file,
        overrides=narrowing.assignments,
        sessions=narrowing.sessions,
        full=narrowing.full,
        known=KNOWN,
    )
    chosen = select(cases(experiment), narrowing.only)
    notes: tuple[str, ...] = ()
    if narrowing.budget_s is not None:
        experiment, chosen, notes = budget.fit(experiment, chosen, narrowing.budget_s)
    return Opened(text, folder, experiment, chosen, narrowing, notes)
