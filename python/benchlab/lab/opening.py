"""Opens an experiment: found, read, narrowed by what the command line says; and opened again later.

What narrows it is kept in the run's record, so that a report made from the run's folder alone
is about the same cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchlab.host import programs
from benchlab.host.git import Repository
from benchlab.lab import budget, studies
from benchlab.load.workloads import known as known_workloads
from benchlab.model import secrets
from benchlab.model.cases import cases, select
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.reading import read_experiment, read_mapping
from benchlab.model.records import SHORT, RunRecord
from benchlab.model.sections import Known
from benchlab.model.writing import experiment_text
from benchlab.store import Run, create
from benchlab.store.runs import EXPERIMENT, new_id, now_utc
from benchlab.systems import KINDS, own_metrics

HERE = "here"
"""The key of `RunRecord.overrides` that keeps the experiment file's folder."""
KNOWN = Known(
    workloads=known_workloads(),
    kinds={name: kind.keys for name, kind in KINDS.items()},
    counters=own_metrics(),
)


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
    text = experiment_text(experiment)
    opened = _open(text, "the experiment", Path.cwd(), Narrowing({}))
    return replace(opened, cases=select(opened.cases, only))


def begin(opened: Opened, command: Sequence[str], out: Path | None = None) -> Run:
    """A run's folder for an experiment, with what is known before anything starts."""
    record = RunRecord(
        id=new_id(),
        experiment=opened.experiment.name,
        state="interrupted",
        created_utc=now_utc(),
        command=tuple(secrets.mask(word) for word in command),
        seed=opened.experiment.seed,
        sessions=opened.experiment.sessions,
        blocks=opened.experiment.blocks,
        precision=opened.experiment.precision,
        overrides={**opened.narrowing.as_record(), HERE: str(opened.folder)},
        commit=_commit(opened.folder),
        notes=opened.notes,
    )
    return create(opened.text, record, out)


def _commit(folder: Path) -> str:
    """The commit of the repository that a folder is in, shortened; empty where there is none."""
    if not programs.look("git").is_there:
        return ""
    try:
        repository = Repository(folder)
        commit = repository.commit("HEAD")
    except InputError:
        return ""
    return commit[:SHORT] + ("+" if repository.uncommitted() else "")


def reopen(run: Run) -> Opened:
    """The experiment of a run, as it was when the run began."""
    record = run.record
    narrowing = Narrowing.from_record(record.overrides)
    folder = Path(record.overrides.get(HERE, run.path))
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
        fitted = budget.fit(experiment, chosen, narrowing.budget_s)
        experiment, chosen, notes = fitted.experiment, fitted.cases, fitted.notes
    return Opened(text, folder, experiment, chosen, narrowing, notes)
