"""What the null server showed under a trial's Plan: of this run, or kept on this machine.

A ceiling and a floor hang on the machine, the engine and the Plan's shape, not on the system, so
that the next run of the same shape takes over what an earlier one measured, up to a day long. One
that takes a figure away is measured anew: the machine may have been busy then. Absent: measuring
them (`load.null`), and what is concluded (`judge.checks`).
"""

import contextlib
import os
import shutil
import time
from pathlib import Path

import polars

from benchlab.host import cores
from benchlab.judge.counted import counted
from benchlab.judge.trial import TrialJudgement
from benchlab.lab import events
from benchlab.lab.fleet import placed
from benchlab.lab.setting import Setting
from benchlab.load import agent, null
from benchlab.model.errors import HostError
from benchlab.model.experiment import Case
from benchlab.store import Run, Trial, files, machines
from benchlab.store.measurement import Measurement

FOLDER = "null"
KEPT_S = 86_400.0
"""A machine is not the same for ever."""
RESTING_ON = ("head-room", "floor")
"""The checks that are made of them."""


class Floors:
    """The null server's runs that one run's figures rest on."""

    def __init__(self, setting: Setting, run: Run) -> None:
        self._setting, self._run = setting, run
        self._taken: set[str] = set()

    def measure(self, trial: Trial, case: Case) -> str | None:
        """The folder within the run's own for this trial; measured where there is none yet.

        None where the Plan's protocol has no null server, or the lab was asked to stop.
        """
        plan = trial.plan()
        if not null.has_null(plan):
            return None
        measured = trial.measurement()
        reply = null.answer(plan, _bytes_per_operation(measured))
        rate = counted(measured).throughput
        name = f"{FOLDER}/{null.key(plan, reply, rate)}"
        folder = self._run.path / name
        kept = self._kept()
        if folder.exists() or self._take_over(kept, folder):
            return name
        ceilings = folder.parent.glob(f"{null.shape_key(plan, reply)}-*/ceiling")
        own = (path for path in sorted(ceilings) if path.parent.name not in self._taken)
        whole = null.measure(
            plan,
            folder,
            reply=reply,
            rate=rate,
            ceiling=next(own, None),
            cpus=placed(case).system or cores.divide(case.system.placement).system,
            leash=self._setting.leash,
            should_stop=lambda: self._setting.stop.is_set,
        )
        if not whole:
            return None
        # A store that takes nothing is no reason to lose the run.
        if kept is not None:
            with contextlib.suppress(HostError):
                _copy(folder, kept / folder.name)
            _forget_stale(kept.parent)
        return name

    def give_up(self, judgement: TrialJudgement) -> bool:
        """Throws away what was taken over and takes a figure from this trial; whether it did."""
        folder = self._run.path / (judgement.record.ceiling or FOLDER)
        spoilt = {row.name for row in judgement.checks if row.verdict == "invalid"}
        if folder.name not in self._taken or not spoilt.intersection(RESTING_ON):
            return False
        self._taken.remove(folder.name)
        shutil.rmtree(folder)
        kept = self._kept()
        if kept is not None:
            shutil.rmtree(kept / folder.name, ignore_errors=True)
        return True

    def _take_over(self, kept: Path | None, folder: Path) -> bool:
        """Copies what an earlier run measured, and says so once.

        Another run may be about to replace it, and then it is measured.
        """
        source = kept / folder.name if kept is not None else None
        if source is None or not _is_fresh(source):
            return False
        try:
            _copy(source, folder)
        except HostError:
            return False
        if not self._taken:
            self._setting.emit(
                events.Note(
                    "what the path costs was measured by an earlier run on this machine with the "
                    "same engine, within a day; where that takes a figure away, anew by this run"
                )
            )
        self._taken.add(folder.name)
        return True

    def _kept(self) -> Path | None:
        """Where this machine's are kept; None where there is no store to keep them in."""
        return machines.floors(self._run.record.host["fingerprint"], agent.digest())


def _is_fresh(folder: Path) -> bool:
    return folder.exists() and time.time() - folder.stat().st_mtime < KEPT_S


def _forget_stale(machines_folder: Path) -> None:
    """Takes away what no run would take over any more, of engines that are gone too."""
    for folder in machines_folder.glob("*/*"):
        if not _is_fresh(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Puts a copy in place at once, in place of what is there."""
    draft = target.with_name(f".{target.name}-{os.getpid()}")
    with files.writing(target):
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(source, draft, copy_function=shutil.copyfile)
        shutil.rmtree(target, ignore_errors=True)
        draft.replace(target)


def _bytes_per_operation(measured: Measurement) -> float:
    """What an answered operation of the measured part brought; zero where none was answered."""
    answered = measured.rows.filter(
        (polars.col("kind") == "operation")
        & (polars.col("interval") >= 0)
        & (polars.col("name") != "connect")
    )
    count = float(answered["ok"].sum()) + float(answered["failed"].sum())
    return float(answered["bytes_in"].sum()) / count if count else 0.0
