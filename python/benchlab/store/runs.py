"""Runs and trials as folders: made, found, read and removed.

Absent: the rows of a Measurement (`measurement`), and any judgement of what is read.
"""

import json
import os
import re
import secrets
import shutil
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars
from pydantic import ValidationError

from benchlab.model.errors import HostError, InputError
from benchlab.model.evidence import Summary
from benchlab.model.records import PROBE_COLUMNS, RunRecord, TrialRecord
from benchlab.store import files, frames
from benchlab.store.measurement import Measurement

STORE = "BENCHLAB_STORE"
EXPERIMENT, RUN, SUMMARY, LOCK = "experiment.yaml", "run.json", "summary.json", "run.lock"
PLAN, MEASUREMENT, PROBES, TRIAL, LOG = (
    "plan.json",
    "measurement.arrow",
    "probes.arrow",
    "trial.json",
    "system.log",
)


class Trial:
    """One attempt at a trial: a folder of a run."""

    def __init__(self, run: "Run", path: Path) -> None:
        self.run, self.path = run, path

    @property
    def record(self) -> TrialRecord:
        """What was written down about it; read anew each time."""
        return TrialRecord.model_validate_json((self.path / TRIAL).read_bytes())

    def update(self, record: TrialRecord) -> None:
        """Replaces what is written down about it."""
        files.replace(self.path / TRIAL, record.model_dump_json(indent=2))

    def plan(self) -> dict[str, Any]:
        """The Plan it ran by."""
        plan: dict[str, Any] = json.loads((self.path / PLAN).read_bytes())
        return plan

    def measurement(self) -> Measurement:
        """What the agent measured. Raises HostError when there is none."""
        return _measurement(self.path)

    def has_measurement(self) -> bool:
        """Whether the agent wrote anything at all."""
        path = self.path / MEASUREMENT
        return path.exists() and path.stat().st_size > 0

    def probes(self) -> polars.DataFrame:
        """What the probes saw, long and tidy; without rows when nothing was sampled."""
        path = self.path / PROBES
        if not path.exists():
            return polars.DataFrame(schema=PROBE_COLUMNS)
        return frames.read(path)

    def append_probes(self, frame: polars.DataFrame) -> None:
        """Keeps what the probes have seen lately, should the lab not live to keep all of it."""
        frames.append(self.path / PROBES, frame)

    def write_probes(self, frame: polars.DataFrame) -> None:
        """Keeps what the probes saw, in place of what was appended."""
        frames.write(self.path / PROBES, frame)

    def log_tail(self) -> str:
        """The end of the system's log, as it was after the trial; empty when it wrote nothing."""
        path = self.path / LOG
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def write_log_tail(self, text: str) -> None:
        """Keeps the end of the system's log."""
        files.replace(self.path / LOG, text)

    def ceiling(self) -> Measurement | None:
        """The null server under this Plan's shape at full speed, if it was measured."""
        return self._null("ceiling")

    def floor(self) -> Measurement | None:
        """The null server at the rate the system reached, if it was measured."""
        return self._null("floor")

    def _null(self, which: str) -> Measurement | None:
        folder = self.record.ceiling
        if folder is None or not (self.run.path / folder / which / MEASUREMENT).exists():
            return None
        return _measurement(self.run.path / folder / which)


class Run:
    """One execution of an experiment: a folder of the store."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def record(self) -> RunRecord:
        """What the run says of itself; read anew each time.

        One that says it is running while nobody holds its lock was interrupted.
        """
        record = RunRecord.model_validate_json((self.path / RUN).read_bytes())
        if record.state == "running" and not self.is_running():
            return record.model_copy(update={"state": "interrupted"})
        return record

    @cached_property
    def id(self) -> str:
        """Its short name."""
        return self.record.id

    def update(self, record: RunRecord) -> None:
        """Replaces what the run says of itself."""
        files.replace(self.path / RUN, record.model_dump_json(indent=2))

    def experiment_text(self) -> str:
        """The experiment file as it was given."""
        return (self.path / EXPERIMENT).read_text("utf-8")

    def acquire(self) -> IO[bytes]:
        """Holds the run for this lab alone until the file is closed.

        Raises InputError when another lab holds it.
        """
        held = files.lock(self.path / LOCK)
        if held is None:
            raise InputError(f"run {self.path.name} is being worked on by another benchlab")
        return held

    def is_running(self) -> bool:
        """Whether a lab holds it."""
        if not (self.path / LOCK).exists():
            return False
        try:
            held = files.lock(self.path / LOCK)
        except HostError:
            # A reader who may not write here cannot ask for the lock; the record's word stands.
            return True
        if held is not None:
            held.close()
        return held is None

    def trials(self) -> tuple[Trial, ...]:
        """Every attempt in the order of session, block and name, the unused ones included."""
        folders = (path.parent for path in self.path.glob(f"trials/*/{TRIAL}"))
        return tuple(Trial(self, path) for path in sorted(folders, key=_in_order))

    def new_trial(self, record: TrialRecord) -> Trial:
        """A folder for an attempt that is about to begin.

        A folder without a record, left by a lab that was killed as it made it, is taken over.
        Raises InputError for an attempt that is there already.
        """
        case = record.case if record.step is None else f"{record.case}@{record.step.rate:.6g}"
        name = f"{record.session}-{record.block}-{files.path_name(case)}-{record.attempt}"
        trial = Trial(self, self.path / "trials" / name)
        if (trial.path / TRIAL).exists():
            raise InputError("this attempt has been made already", file=str(trial.path))
        with files.writing(trial.path):
            trial.path.mkdir(parents=True, exist_ok=True)
        trial.update(record)
        return trial

    def write_summary(self, summary: Summary) -> None:
        """Keeps the answer, for machines."""
        files.replace(self.path / SUMMARY, summary.model_dump_json(indent=2) + "\n")

    def summary(self) -> Summary | None:
        """The answer, if one was given yet. Raises InputError for one that cannot be read."""
        path = self.path / SUMMARY
        if not path.exists():
            return None
        try:
            return Summary.model_validate_json(path.read_bytes())
        except ValidationError as error:
            what = f"cannot be read; make it again: benchlab report {self.id}"
            raise InputError(what, file=str(path)) from error


def root() -> Path:
    """The store's folder: `$BENCHLAB_STORE`, or `benchlab-runs` where one stands."""
    return Path(os.environ.get(STORE) or "benchlab-runs").absolute()


def create(experiment_text: str, record: RunRecord, out: Path | None = None) -> Run:
    """Makes a run's folder; `out` is the folder itself, otherwise it is made in the store.

    Raises InputError when `out` holds something already, HostError when it cannot be written.
    """
    if out is None:
        store = root()
        with files.writing(store):
            store.mkdir(parents=True, exist_ok=True)
        if not (store / ".gitignore").exists():
            files.replace(store / ".gitignore", "*\n")
        when = re.sub(r"[-:]|\.\d+|\+.*$|Z$", "", record.created_utc)
        path = store / f"{files.path_name(record.experiment)}-{when}-{record.id}"
    else:
        path = out.absolute()
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError("is not an empty folder; give a new one", key=f"--out {out}")
    with files.writing(path):
        path.mkdir(parents=True, exist_ok=True)
    run = Run(path)
    files.replace(path / EXPERIMENT, experiment_text)
    run.update(record)
    return run


def new_id() -> str:
    """A short name for a run, unlikely to come twice in one store."""
    return secrets.token_hex(4)


def now_utc() -> str:
    """The time as runs write it: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def runs() -> list[Run]:
    """The store's runs, oldest first; folders that are no run are passed over."""
    found = [Run(path.parent) for path in root().glob(f"*/{RUN}")]
    dated = []
    for run in found:
        try:
            dated.append((run.record.created_utc, run.path.name, run))
        except (OSError, ValidationError):
            continue
    return [run for *_, run in sorted(dated, key=lambda item: item[:2])]


def find(name: str) -> Run:
    """The run meant by a path, a folder's name, an id, a unique beginning of either, or `last`.

    Raises InputError that names the nearest when there is none, or all when there are several.
    """
    path = Path(name)
    if (path / RUN).is_file():
        return _checked(Run(path.absolute()))
    stored = runs()
    if name == "last":
        if not stored:
            raise InputError(f"no run in {root()} yet", key="last")
        return stored[-1]
    named = {run: (run.path.name, run.id) for run in stored}
    exact = [run for run, names in named.items() if name in names]
    begun = [run for run, names in named.items() if any(n.startswith(name) for n in names)]
    match exact or begun:
        case [run]:
            return run
        case []:
            every = [n for names in named.values() for n in names]
            near = get_close_matches(name, every, n=1, cutoff=0.3)
            raise InputError(
                f"no such run in {root()}", key=name, nearest=near[0] if near else None
            )
        case several:
            listed = ", ".join(run.path.name for run in several)
            raise InputError(f"stands for several runs: {listed}", key=name)


def remove(run: Run) -> None:
    """Deletes a run's folder. Raises InputError when a lab is working on it."""
    with run.acquire(), files.writing(run.path):
        shutil.rmtree(run.path)


def _checked(run: Run) -> Run:
    try:
        _ = run.record
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(first["msg"], file=str(run.path / RUN), key=key) from error
    return run


def _measurement(folder: Path) -> Measurement:
    path = folder / MEASUREMENT
    if not path.exists():
        raise HostError(f"there is no measurement in {folder}")
    return Measurement.read(path)


def _in_order(path: Path) -> tuple[int, int, str]:
    session, block, rest = path.name.split("-", 2)
    return int(session), int(block), rest
