"""A whole run judged from its folder: the summary, and what a report draws.

The same folder gives the same summary each time, which is what `verify` rests on. Absent: how an
answer looks (`report`), and when trials are repeated (`lab`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.judge.answer import IN_TURN, answer
from benchlab.judge.capacity import judge_capacity
from benchlab.judge.cases import CaseJudgement, judge_case, skipped
from benchlab.judge.comparisons import compare_all
from benchlab.judge.restarts import shaded
from benchlab.judge.scaling import scalings
from benchlab.judge.trial import TrialJudgement, judge_trial, needs_repeat
from benchlab.model.evidence import PromiseResult, Summary
from benchlab.model.experiment import Case, Experiment, Expression
from benchlab.model.expressions import holds
from benchlab.model.records import RunRecord
from benchlab.stats.family import explores
from benchlab.store import Run, Trial

__all__ = ["Judgement", "judge_run", "needs_repeat", "used_trials"]


@dataclass(frozen=True)
class Judgement:
    """The summary of a run and the judged cases it was made of."""

    experiment: Experiment
    run: Run
    record: RunRecord
    summary: Summary
    cases: Mapping[str, CaseJudgement]
    """By name, in file order."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What is printed beside every answer: rows that were widened, cores that are shared."""
        widened = [f"allow {name}: {limit:g}" for name, limit in self.experiment.allow.items()]
        rows = [check for judged in self.cases.values() for check in judged.result.checks]
        shared = [c.why for c in rows if c.name == "cores" and c.why.startswith("shared")]
        in_turn = [IN_TURN] if self.record.order == "sequential" else []
        return tuple(dict.fromkeys([*widened, *in_turn, *shared]))


def judge_run(experiment: Experiment, cases: Sequence[Case], run: Run) -> Judgement:
    """Judges a run from its folder alone.

    Args:
        experiment: As it was run: with what the command line changed.
        cases: Those that were to be measured, in file order.
        run: The folder.
    """
    record = run.record
    trials = used_trials(run, record)
    missing = {one.case: one.why for one in record.skipped}
    judged: dict[str, CaseJudgement] = {}
    for case in cases:
        own = trials.get(case.name, [])
        if case.name in missing or not own:
            judged[case.name] = skipped(case, missing.get(case.name, "no session was finished"))
        else:
            judged[case.name] = _judge(experiment, case, own, record)
    comparisons = (
        compare_all(
            experiment.compare,
            judged,
            explores=explores(record.sessions) or not record.is_done,
            calibration=record.calibration,
            first_stage=record.two_stage.first if record.two_stage else None,
        )
        if experiment.compare is not None
        else ()
    )
    if experiment.compare is not None:
        comparisons = shaded(comparisons, record.restarts, experiment.compare, cases)
    summary = Summary(
        experiment=experiment.name,
        question=experiment.question,
        state="complete" if record.is_done else "interrupted",
        sessions=record.sessions_done,
        answer=answer(experiment, record, judged, comparisons),
        cases=tuple(one.result for one in judged.values()),
        promises=tuple(
            _promise(promise, one)
            for promise in experiment.promises
            for one in judged.values()
            if one.result.state != "skipped"
        ),
        comparisons=comparisons,
        scalings=scalings(experiment, judged),
    )
    return Judgement(experiment, run, record, summary, judged)


def used_trials(run: Run, record: RunRecord) -> dict[str, list[Trial]]:
    """The trials that are used, by case: of each step the last attempt, in finished sessions alone.

    One that was cut off by a signal is not used, nor is any of a session that was not finished: its
    other cases would be missing beside it.
    """
    latest: dict[tuple[str, int, int, float], tuple[int, Trial]] = {}
    for trial in run.trials():
        found = trial.record
        if not found.used or found.state == "interrupted" or found.session >= record.sessions_done:
            continue
        rate = 0.0 if found.step is None else found.step.rate
        place = (found.case, found.session, found.block, rate)
        if place not in latest or latest[place][0] < found.attempt:
            latest[place] = (found.attempt, trial)
    by_case: dict[str, list[Trial]] = {}
    for place in sorted(latest):
        by_case.setdefault(place[0], []).append(latest[place][1])
    return by_case


def _judge(
    experiment: Experiment, case: Case, trials: Sequence[Trial], record: RunRecord
) -> CaseJudgement:
    if case.load.find:
        return judge_capacity(experiment, case, trials, record.sessions_done)
    judged: list[TrialJudgement] = []
    for trial in trials:
        judged.append(judge_trial(trial, experiment, case))
    numbers = range(record.sessions_done)
    return judge_case(case, judged, numbers, record.blocks, experiment.allow)


def _promise(promise: Expression, judged: CaseJudgement) -> PromiseResult:
    """Whether a case keeps a promise; None where its figure cannot tell."""
    found = judged.result.metrics.get(promise.metric)
    figure = None if found is None else found.estimate
    kept: bool | None = None
    if found is not None and figure is not None:
        kept = holds(promise, figure)
        # A figure that is a bound tells only on its own side: a rate was at least this, a time
        # that holds the path's cost too at most.
        if found.validity == "at-least" or not found.resolved:
            sound = (">", ">=") if found.validity == "at-least" else ("<", "<=")
            kept = kept if kept == (promise.operator in sound) else None
    elif any(value == float("inf") for value in judged.values(promise.metric)):
        kept = holds(promise, float("inf"))
    elif judged.result.state in ("died", "aborted"):
        kept = False
    return PromiseResult(
        expression=promise.text,
        case=judged.case.name,
        figure=figure,
        unit="" if found is None else found.unit,
        holds=kept,
    )
