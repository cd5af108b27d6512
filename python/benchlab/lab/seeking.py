"""The search for one case's capacity over the sessions of a run: which step it asks for next.

The first session searches by one trial a step; every session then measures steps about what was
found, in its blocks, and closes in on its own capacity at its end. All that is known follows from
the trials in the run's folder, so that a run that goes on knows it again. Absent: measuring a step
(`trial`), and the rule of the next rate (`stats.capacity`).
"""

from collections.abc import Sequence
from math import ceil

from benchlab.judge.capacity import Weighed, decide_steps, found_by, weigh
from benchlab.judge.run import used_trials
from benchlab.judge.trial import judge_trial
from benchlab.model.experiment import Case, Experiment, Load
from benchlab.model.metrics import metric as metric_of
from benchlab.model.records import Step
from benchlab.stats.capacity import DOUBLE, Outcome, following, rungs
from benchlab.store import Run, Trial

FIRST_PER_SECOND = 100.0
"""The search begins here, or where a trial of the file's duration can tell."""
ENOUGH = 2.0
"""So many times the transactions that a quantile needs at least are asked for."""
LONGEST_S = 60.0
"""A trial is not made longer than this for want of transactions."""


def first_rate(load: Load) -> float:
    """Where a search begins."""
    return max(FIRST_PER_SECOND, _wanted(load) / (load.duration or 1.0))


def length_s(load: Load, rate: float) -> float:
    """How long a trial lasts at a rate: longer than the file says where that is too few to tell."""
    duration = load.duration or 1.0
    return max(duration, min(LONGEST_S, _wanted(load) / rate))


def at_step(case: Case, rate: float) -> Case:
    """The case as it is asked at one rate of its search."""
    load = case.load.at(rate, length_s(case.load, rate))
    return case.model_copy(update={"load": load})


def as_begun(case: Case) -> Case:
    """The case as its first trial will ask it."""
    return at_step(case, first_rate(case.load)) if case.load.find else case


def _wanted(load: Load) -> float:
    quantiles = [metric_of(one.metric).quantile for one in load.keep]
    needs = [ceil(1 / (1 - quantile) - 1e-9) for quantile in quantiles if quantile is not None]
    return ENOUGH * max(needs, default=0)


class Seeker:
    """One case's search."""

    def __init__(self, experiment: Experiment, case: Case, run: Run) -> None:
        self._experiment, self.case = experiment, case
        former = used_trials(run, run.record).get(case.name, [])
        self._searched = decide_steps(former, experiment, case).searched()
        self._own: dict[float, Outcome] = {}
        self._pending: dict[Step, list[Trial]] = {}

    @property
    def found(self) -> float | None:
        """What the search found; None before it is over, and where it found nothing."""
        return found_by(self._searched)

    @property
    def is_in_vain(self) -> bool:
        """Whether the search is over and found nothing."""
        return bool(self._searched) and self.searching() is None and self.found is None

    def begin_session(self) -> None:
        """Forgets the last session's own steps, and what could not tell in a search in vain.

        What disturbed the search then may be over, so that it goes on in this session.
        """
        self._own, self._pending = {}, {}
        if self.found is None:
            told: dict[float, Outcome] = {
                rate: word for rate, word in self._searched.items() if word != "unknown"
            }
            self._searched = told

    def searching(self) -> Step | None:
        """The next step of the search; None once it is over."""
        if not self._searched:
            return Step(rate=first_rate(self.case.load))
        rate = following(self._searched, DOUBLE)
        return None if rate is None else Step(rate=rate)

    def rungs(self, session: int) -> tuple[Step, ...]:
        """The steps that every block of a session has; none where nothing was found."""
        if self.found is None:
            return ()
        seed = f"{self._experiment.seed}/{session}/{self.case.name}/capacity"
        return tuple(Step(rate=rate, share=share) for share, rate in rungs(self.found, seed))

    def closing(self) -> Step | None:
        """The next step that closes in on the session's own capacity; None once that is done."""
        rate = following(self._own)
        if rate is None or self.found is None:
            return None
        return Step(rate=rate, share=rate / self.found)

    def saw(self, step: Step, trial: Trial) -> Weighed | None:
        """Takes in a trial of a step; what it says once the step's blocks are there."""
        own = self._pending.setdefault(step, [])
        own.append(trial)
        blocks = 1 if step.share is None else self._experiment.blocks
        if len(own) < blocks:
            return None
        judged = [judge_trial(one, self._experiment, self.case) for one in own]
        found = weigh(judged, self.case.load.keep, self._experiment.allow, blocks)
        steps = self._searched if step.share is None else self._own
        steps[step.rate] = found.outcome
        return found


def seekers(experiment: Experiment, cases: Sequence[Case], run: Run) -> dict[str, Seeker]:
    """A search for each case whose rate is sought, by name."""
    return {case.name: Seeker(experiment, case, run) for case in cases if case.load.find}
