"""One trial: load, probes and watch put together, judged, and repeated once where that may help.

Absent: which trial comes when (`run`), and bringing systems up (`fleet`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchlab import store
from benchlab.host.probes import Probes, Root
from benchlab.host.processes import Process
from benchlab.judge.trial import (
    TrialJudgement,
    disturbed,
    is_limited,
    judge_trial,
    needs_repeat,
)
from benchlab.lab import beside, events, redirects
from benchlab.lab.fleet import Fleet, placed
from benchlab.lab.floors import Floors
from benchlab.lab.setting import Setting
from benchlab.lab.watch import Watch
from benchlab.load import agent
from benchlab.load.plan import make_plan
from benchlab.model import secrets
from benchlab.model.errors import BenchlabError, EngineBug, HostError
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import Step, TrialRecord
from benchlab.store import Run, Trial
from benchlab.systems import Instance, StoppedError

State = Literal["ok", "died", "failed", "aborted", "interrupted"]
Repeat = Callable[[TrialJudgement], str | None]
"""Why a trial is to be measured again, if it is."""
LOG_LINES = 40
SHOWN = ("throughput", "latency_p50", "latency_p99", "errors")


@dataclass(frozen=True)
class Turn:
    """Whose turn it is."""

    case: Case
    session: int
    block: int
    number: int
    of: int
    """Of the session; 0 where it is not known how many there will be."""
    step: Step | None = None
    """Where the case's rate is sought: at which one it is asked."""


@dataclass
class _Ended:
    """How the load came to its end."""

    state: State = "ok"
    why: str = ""
    error: BenchlabError | None = field(default=None)


class Trials:
    """Runs trials into a run's folder."""

    def __init__(self, setting: Setting, experiment: Experiment, run: Run) -> None:
        self._setting, self._experiment, self._run = setting, experiment, run
        taken = [trial.record for trial in run.trials()]
        self._attempts = {(r.session, r.block, r.case, r.step): r.attempt + 1 for r in taken}
        self._asked: set[str] = set()
        self._met: dict[str, Instance] = {}
        self._untold: set[tuple[str, str]] = set()
        self._limited: set[str] = set()
        """Cases in whose last trial the agent was at its limit."""
        self._floors = Floors(setting, run)
        self.first_error: BenchlabError | None = None
        """The first reason why a trial could not be measured."""

    def run(self, turn: Turn, instance: Instance, fleet: Fleet) -> Trial:
        """Measures a case once, and once more where host or agent spoilt it or it warmed up.

        Where idle systems spoil that one too, they are ended, and the case is measured alone.
        """
        is_first = self._met.get(turn.case.name) is not instance
        self._met[turn.case.name] = instance
        rules: tuple[Repeat, ...] = (
            lambda judged: self._again(turn, judged, is_first),
            disturbed,
            lambda judged: None,
        )
        for attempt, rule in enumerate(rules):
            trial, why = self._attempt(turn, instance, fleet, rule)
            if why is None or self._setting.stop.is_set or instance.died() is not None:
                break
            self._setting.emit(events.Note(f"{turn.case.name} is measured again: {why}"))
            if attempt:
                fleet.stand_alone(turn.case, why)
        return trial

    def _attempt(
        self, turn: Turn, instance: Instance, fleet: Fleet, rule: Repeat
    ) -> tuple[Trial, str | None]:
        place = (turn.session, turn.block, turn.case.name)
        attempt = self._attempts.get((*place, turn.step), 0)
        self._attempts[*place, turn.step] = attempt + 1
        self._setting.emit(events.TrialStarted(*place, attempt, turn.number, turn.of, turn.step))
        cpus = placed(turn.case)
        record = TrialRecord(
            session=turn.session,
            block=turn.block,
            case=turn.case.name,
            attempt=attempt,
            state="interrupted",
            used=False,
            started_utc=store.now_utc(),
            step=turn.step,
            cpus=cpus,
        )
        trial = self._run.new_trial(record)
        ended = self._load(turn, instance, fleet, trial)
        record = record.model_copy(update={"state": ended.state, "why": ended.why})
        judgement: TrialJudgement | None = None
        again: str | None = None
        if ended.state == "ok":
            record, judgement = self._judge(record, trial, turn, instance)
            again = rule(judgement)
            if is_limited(judgement):
                self._limited.add(turn.case.name)
            else:
                self._limited.discard(turn.case.name)
        elif ended.state in ("died", "aborted", "failed"):
            record = record.model_copy(update={"used": True})
        if again is not None:
            record = record.model_copy(update={"used": False, "why": again})
        trial.update(record)
        if ended.error is not None:
            self.first_error = self.first_error or ended.error
        self._tell(record, judgement)
        return trial, again

    def _again(self, turn: Turn, judged: TrialJudgement, is_first: bool) -> str | None:
        """Why a trial is measured again, if it is."""
        was_limited = turn.case.name in self._limited
        return needs_repeat(judged, is_first=is_first, was_limited=was_limited)

    def _judge(
        self, record: TrialRecord, trial: Trial, turn: Turn, instance: Instance
    ) -> tuple[TrialRecord, TrialJudgement]:
        """Judges a trial beside the null server's runs, again beside new ones where need be.

        A search passes through many rates that no figure is told of, so that it goes without.
        """
        searches = turn.step is not None and turn.step.share is None
        without = instance.in_process or searches
        while True:
            floor = None if without else self._floors.measure(trial, turn.case)
            record = record.model_copy(update={"used": True, "ceiling": floor})
            trial.update(record)
            judgement = judge_trial(trial, self._experiment, turn.case)
            if not self._floors.give_up(judgement):
                return record, judgement

    def _load(self, turn: Turn, instance: Instance, fleet: Fleet, trial: Trial) -> _Ended:
        """Runs the load beside the probes; says how it ended."""
        setting, case = self._setting, turn.case
        watch = Watch(self._experiment.abort_when, is_even=not case.load.shape)

        def should_stop() -> bool:
            return setting.stop.is_set or watch.broken is not None or instance.died() is not None

        def on_progress(told: agent.Progress) -> None:
            watch.see(told)
            rate = float(told.completed)
            setting.emit(events.Progress(case.name, told.second, rate, told.errors, told.p99_s))

        sources = {"system": lambda: instance.roots}
        seldom = {"idle": lambda: fleet.idle_roots(case)}
        probes = Probes(sources, lambda: instance.counters, trial.append_probes, seldom)

        def on_started(process: Process) -> None:
            probes.watch("agent", Root(process.keeper, is_keeper=True))

        ended = _Ended()
        for command in case.system.before_trial:
            try:
                beside.run(case, instance, command, setting)
            except StoppedError:
                return _Ended("interrupted", "the run was stopped")
            except HostError as error:
                told = f"{case.system_name}: before_trial: {error}"
                return _Ended("failed", told, error=HostError(told))
        plan = make_plan(
            case,
            urls=instance.urls,
            seed=self._experiment.seed,
            session=turn.session,
            block=turn.block,
            cpus=placed(case).agent,
            folder=setting.here,
        )
        if case.name not in self._asked:
            self._asked.add(case.name)
            if said := redirects.told(plan):
                setting.emit(events.Note(f"{case.name}: {said}"))
        probes.start()
        try:
            agent.run(
                plan,
                trial.path,
                leash=setting.leash,
                secrets=instance.secrets,
                on_started=on_started,
                on_progress=on_progress,
                should_stop=should_stop,
            )
        except (HostError, EngineBug) as error:
            ended = _Ended("failed", str(error), error=error)
        finally:
            seen = probes.stop()
        trial.write_probes(seen)
        if instance.died() is None:
            self._tell_untold(case, probes)
        if said := instance.log_tail():
            trial.write_log_tail("\n".join(said.splitlines()[-LOG_LINES:]) + "\n")
        if setting.stop.is_set:
            return _Ended("interrupted", "the run was stopped")
        if why := instance.died():
            self._setting.emit(events.SystemDied(case.system_name, why, instance.log_tail()))
            return _Ended("died", f"{case.system_name} {why}")
        if watch.broken is not None:
            return _Ended("aborted", watch.broken)
        return ended

    def _tell_untold(self, case: Case, probes: Probes) -> None:
        """Says, once a run, which system did not tell its counters."""
        for each in probes.counters:
            who = " ".join(part for part in (each.source.kind, each.source.member) if part)
            if each.trouble is not None and (case.system_name, who) not in self._untold:
                self._untold.add((case.system_name, who))
                said = f"{case.system_name}: the counters of {who} could not be read"
                self._setting.emit(events.Note(f"{said} ({secrets.mask(each.trouble)})"))

    def _tell(self, record: TrialRecord, judgement: TrialJudgement | None) -> None:
        figures: Mapping[str, float | None] = {}
        if judgement is not None:
            figures = {n: x for n, x in judgement.metrics.items() if judgement.usable(n)}
        self._setting.emit(
            events.TrialEnded(
                record.session,
                record.block,
                record.case,
                record.attempt,
                record.state,
                record.why,
                record.used,
                {name: figures.get(name) for name in SHOWN if name in figures},
            )
        )
