"""A run: sessions of freshly started systems, blocks of trials in random order, to the end or on.

Everything that is found out goes into the run's folder as it is found out, so that a run can end at
any moment and be resumed: the session that was under way is then run again, its trials kept and not
used. Absent: what the figures say (`judge`), and any output; events are emitted.
"""

import contextlib
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import benchlab
from benchlab.host import fingerprint, leftovers
from benchlab.host.processes import Leash
from benchlab.judge import precision
from benchlab.judge.comparisons import counting
from benchlab.lab import budget, building, events, history, preflight
from benchlab.lab.announcing import showing
from benchlab.lab.fleet import Fleet
from benchlab.lab.neighbours import Presence
from benchlab.lab.seeking import seekers
from benchlab.lab.setting import Setting
from benchlab.lab.stopping import StopToken
from benchlab.lab.trial import Trials, Turn
from benchlab.lab.turns import session_turns
from benchlab.load import agent
from benchlab.model.errors import BenchlabError, HostError, InputError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import RunRecord, SkippedCase, Step
from benchlab.stats.family import explores
from benchlab.store import Run, Trial, machines
from benchlab.store.runs import RUN
from benchlab.systems import StoppedError, instance_key, kind_of

PACKAGES = ("numpy", "polars", "scipy")
"""Whose versions a figure may hang on."""


def execute(
    experiment: Experiment,
    cases: Sequence[Case],
    run: Run,
    *,
    emit: Callable[[events.Event], None],
    stop: StopToken,
    here: Path = Path(),
) -> RunRecord:
    """Runs, or goes on with, an experiment.

    Args:
        experiment: What is asked, with what the command line changed already in it.
        cases: Those of its cases that are wanted.
        run: The folder; one that has done sessions already is resumed.
        emit: Is told what happens.
        stop: Asked once, load and systems are stopped in order; twice, at once.
        here: The experiment file's folder.

    Returns:
        The run's record as it stands at the end: complete, interrupted, or failed.

    Raises:
        InputError: before anything is started, where the experiment cannot be run as it is written.
        HostError: where nothing could be measured, or the disk is full.
    """
    preflight.check(experiment, cases, here)
    with (
        run.acquire(),
        Leash() as leash,
        stop.on_urgent(leash.kill),
        Presence(run.id) as presence,
    ):
        leash.guard_record(run.path / RUN)
        folder = leash.folder()
        builder = building.Builder(leash, folder, here, stop, emit)
        setting = Setting(leash, folder, here, experiment.seed, stop, emit, builder)
        return _Lab(setting, experiment, cases, run, presence).work()


def check_same(run: Run, experiment_text: str) -> None:
    """Raises InputError unless a run can be resumed with this experiment file."""
    if run.record.state == "complete":
        raise InputError("is complete: there is nothing to resume", key=run.path.name)
    if run.experiment_text() != experiment_text:
        raise InputError(
            f"was begun with another experiment file; it is kept as {run.path / 'experiment.yaml'}",
            key=run.path.name,
        )


class _Lab:
    """The state of one `execute`."""

    def __init__(
        self,
        setting: Setting,
        experiment: Experiment,
        cases: Sequence[Case],
        run: Run,
        presence: Presence,
    ) -> None:
        self._presence, self._met = presence, set[str]()
        self._setting, self._experiment, self._run = setting, experiment, run
        self._emit = self._noting(setting.emit)
        self._setting = replace(setting, emit=self._emit)
        lacks = preflight.missing(cases)
        self._all = tuple(cases)
        self._cases = [case for case in cases if case.name not in lacks]
        self._skipped = dict(lacks)
        self._sources = building.find(self._cases, setting.here, run.record.sources)
        self._record = self._begin()
        self._trials = Trials(self._setting, experiment, run)
        self._so_far = precision.SoFar(experiment, cases, run)
        self._is_blind = self._so_far.comparisons > 0 and not explores(experiment.sessions)
        self._seekers = seekers(experiment, self._cases, run)

    def work(self) -> RunRecord:
        """All sessions that are left."""
        record = self._record
        takes = budget.estimate_time(self._experiment, self._cases)
        self._emit(
            events.RunStarted(
                self._run.path,
                self._experiment.name,
                tuple(case.name for case in self._cases),
                record.sessions,
                takes.most_sessions if record.is_staged else record.sessions,
                record.sessions_done,
                record.blocks,
                takes,
                self._is_blind,
            )
        )
        for name, why in self._skipped.items():
            self._emit(events.Skipped(name, why))
        for said in (*_cleared(), *self._sources.notes()):
            self._emit(events.Note(said))
        try:
            self._build()
            for session in self._sessions():
                if not self._cases or self._setting.stop.is_set:
                    break
                self._session(session)
                if not self._setting.stop.is_set:
                    self._note(sessions_done=session + 1)
                    outlook = self._so_far.outlook() if self._is_blind else None
                    self._emit(events.SessionEnded(session, self._record.sessions, outlook))
        except BaseException:
            self._finish("interrupted")
            raise
        return self._conclude()

    def _build(self) -> None:
        if not self._cases or self._setting.stop.is_set:
            return
        with contextlib.suppress(StoppedError):
            self._setting.builder.build(self._sources)

    def _sessions(self) -> Iterator[int]:
        """Those that are left. Their number is fixed once, where it hangs on the first ones."""
        while True:
            if self._record.sessions_done < self._record.sessions:
                yield self._record.sessions_done
            elif self._record.is_staged and self._cases:
                self._fix()
            else:
                return

    def _fix(self) -> None:
        record = self._record
        fixed = self._so_far.fix(record.precision or 0.0, record.sessions)
        self._note(two_stage=fixed, sessions=fixed.sessions)
        self._emit(events.Note(precision.sentence(fixed)))

    def _session(self, session: int) -> None:
        cases = list(self._cases)
        keys = {instance_key(case): case.system_name for case in cases}
        self._emit(
            events.SessionStarted(session, self._record.sessions, tuple(sorted(keys.values())))
        )
        with self._fleet(session, cases) as fleet:
            self._note_fall_back(session, fleet)
            out: set[str] = set()
            order = fleet.order
            for turn in session_turns(self._experiment, session, cases, self._seekers, out, order):
                if self._setting.stop.is_set:
                    return
                if turn.case.name not in out and not self._turn(turn, fleet):
                    out.add(turn.case.name)
                self._note_fall_back(session, fleet)

    @contextlib.contextmanager
    def _fleet(self, session: int, cases: Sequence[Case]) -> Iterator[Fleet]:
        has_fallen_back = self._record.blocks_from is not None
        order = "blocks" if has_fallen_back else self._experiment.order
        fleet = Fleet(self._setting, session, cases, order)
        try:
            # Being asked to stop is a way to end, not an error, as a system starts in its turn too.
            with contextlib.suppress(StoppedError):
                fleet.open()
            with contextlib.suppress(StoppedError):
                yield fleet
        finally:
            fleet.close()

    def _note_fall_back(self, session: int, fleet: Fleet) -> None:
        """Keeps that systems could not be resident: neither can they in the sessions to come."""
        asked = self._experiment.order
        if asked == "resident" and fleet.order != asked and self._record.blocks_from is None:
            self._note(blocks_from=session)

    def _turn(self, turn: Turn, fleet: Fleet) -> bool:
        """One case's turn; false when it is not to have another one in this session."""
        case = turn.case
        try:
            instance = fleet.instance(case, turn.block)
        except HostError as error:
            self._trials.first_error = self._trials.first_error or error
            if self._has_run(case):
                self._emit(events.Skipped(case.name, str(error), turn.session))
            else:
                self._leave_out(case, str(error))
            return False
        trial = self._trials.run(turn, instance, fleet)
        record = trial.record
        if turn.step is not None:
            return self._stepped(turn, turn.step, trial)
        if record.state == "aborted":
            self._leave_out(case, "")
        return record.state in ("ok", "interrupted")

    def _stepped(self, turn: Turn, step: Step, trial: Trial) -> bool:
        """Has a search take a step in; a system that died or was aborted there broke there."""
        state, seeker = trial.record.state, self._seekers[turn.case.name]
        if state in ("failed", "interrupted"):
            return state == "interrupted"
        found = seeker.saw(step, trial)
        if found is not None:
            said = (found.outcome, found.why, found.figures)
            self._emit(events.StepEnded(turn.session, turn.case.name, step, *said))
        if seeker.is_in_vain:
            where = f"session {turn.session + 1}: {turn.case.name}"
            self._emit(events.Note(f"{where}: no rate was seen to keep its target"))
        return not seeker.is_in_vain

    def _leave_out(self, case: Case, why: str) -> None:
        """Has no more turns for a case; one that never ran is named as skipped."""
        self._cases = [other for other in self._cases if other.name != case.name]
        if why:
            self._skipped[case.name] = why
            self._emit(events.Skipped(case.name, why))
            self._note(skipped=self._skipped_cases())

    def _has_run(self, case: Case) -> bool:
        return any(trial.record.case == case.name for trial in self._run.trials())

    def _conclude(self) -> RunRecord:
        if self._setting.stop.is_set:
            return self._finish("interrupted")
        records = [trial.record for trial in self._run.trials()]
        if not any(record.used and record.state != "failed" for record in records):
            self._finish("failed")
            if self._trials.first_error is not None:
                raise self._trials.first_error
            lacks = "; ".join(f"{name}: {why}" for name, why in self._skipped.items())
            raise HostError(f"nothing could be measured: {lacks or 'no case was left'}")
        self._note(sessions_done=self._record.sessions)
        return self._finish("complete")

    def _finish(self, state: str) -> RunRecord:
        # A disk that is full must not hide why the run ends.
        with contextlib.suppress(BenchlabError):
            self._note(state=state)
        self._emit(events.RunEnded(self._run.path, state, self._record.sessions_done))
        return self._record

    def _begin(self) -> RunRecord:
        """Writes down what the run rests on, and sets aside what a former lab left unfinished."""
        former = self._run.record
        for trial in self._run.trials():
            left = trial.record
            if left.session >= former.sessions_done and left.used:
                trial.update(
                    left.model_copy(update={"used": False, "why": "its session is run again"})
                )
        systems: dict[str, Any] = {}
        for case in self._all:
            kind = kind_of(case.system_name, case.system)
            systems.setdefault(case.system_name, kind.describe(case.system))
        host = fingerprint.take()
        # A run that is gone on with keeps what was known as it began.
        known: dict[str, Any] = {}
        if not former.host:
            known["calibration"] = machines.calibration(host["fingerprint"])
            known["restarts"] = history.restarts(self._experiment, self._cases, host["fingerprint"])
            known["notes"] = (*former.notes, *self._foretold())
        record = former.model_copy(
            update={
                "state": "running",
                "host": host,
                **known,
                "versions": _versions(),
                "systems": systems,
                "order": self._experiment.order if self._are_several() else "",
                "sources": self._sources.records,
                "skipped": self._skipped_cases(),
            }
        )
        if former.host and former.host.get("fingerprint") != record.host["fingerprint"]:
            raise InputError("was begun on another machine; start anew", key=self._run.path.name)
        self._run.update(record)
        return record

    def _foretold(self) -> tuple[str, ...]:
        """What an earlier run lets so many sessions show, kept with what is then found."""
        counts = counting(self._experiment.compare, self._cases)
        told = showing(self._experiment, self._cases, counts, by_machine=False)
        return (f"said beforehand: {told}",) if told else ()

    def _are_several(self) -> bool:
        """Whether there is more than one system to take turns."""
        return len({instance_key(case) for case in self._all}) > 1

    def _skipped_cases(self) -> tuple[SkippedCase, ...]:
        return tuple(SkippedCase(case=name, why=why) for name, why in self._skipped.items())

    def _note(self, **changes: object) -> None:
        self._record = self._record.model_copy(update=changes)
        self._run.update(self._record)

    def _noting(self, emit: Callable[[events.Event], None]) -> Callable[[events.Event], None]:
        """Keeps notes in the run's record as well as handing them on; looks about at each event."""

        def said(event: events.Event) -> None:
            if isinstance(event, events.Note):
                self._note(notes=(*self._record.notes, event.text))
            emit(event)
            if isinstance(event, events.SessionStarted | events.Progress | events.TrialEnded):
                self._look_about()

        return said

    def _look_about(self) -> None:
        """Notes each other run that is seen on this machine, once."""
        for other in sorted(self._presence.others() - self._met):
            self._met.add(other)
            self._emit(
                events.Note(
                    f"another run ({other}) was under way on this machine: "
                    "its load and this one's mix"
                )
            )


def _cleared() -> Iterator[str]:
    """Takes away what other labs left in an outage, and says so."""
    for left in leftovers.find():
        if leftovers.take_away(left):
            yield f"a lab that ended in an outage had left {left}, which are taken away"
        else:
            yield f"a lab that ended in an outage has left {left}, which cannot be taken away"


def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"benchlab": benchlab.__version__, "engine": agent.build()}
    found["python"] = platform.python_version()
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
