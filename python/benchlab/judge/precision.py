"""How precise the comparisons that count are so far, and how many sessions a precision takes.

What is told while a run goes on is the width of its intervals alone, never where they lie: whoever
sees an effect before the end is tempted to end there. Absent: verdicts (`comparisons`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1, isfinite, log1p

from benchlab.judge.capacity import judge_capacity
from benchlab.judge.comparisons import Cell, cells
from benchlab.judge.run import used_trials
from benchlab.judge.sessions import session_of
from benchlab.judge.trial import judge_trial
from benchlab.model.experiment import Case, Experiment
from benchlab.model.quantities import significant
from benchlab.model.records import TwoStage
from benchlab.stats.estimates import Spread
from benchlab.stats.family import FEWEST_COUNTING
from benchlab.stats.paired import Paired, pair
from benchlab.stats.precision import MOST_STAGED, fewest, half_width, level, sessions_for
from benchlab.store import Run

FEWEST_FREEDOM = 2
Values = Mapping[str, Mapping[str, float]]
"""Of one session, by case and metric: what could be used."""


@dataclass(frozen=True)
class Outlook:
    """Half the width, as a share, of the widest interval: the plain 95 % one that is printed."""

    now: float
    at_end: float
    """After all sessions there are to be, with the spread seen so far."""


class SoFar:
    """The comparisons that count as their sessions come in.

    Args:
        experiment: As it is run.
        cases: Those that are measured, in file order.
        run: Its folder, whose finished sessions are counted as they are asked about.
    """

    def __init__(self, experiment: Experiment, cases: Sequence[Case], run: Run) -> None:
        self._experiment, self._run = experiment, run
        compare = experiment.compare
        found = cells(compare, cases) if compare else ()
        self._cells = tuple(cell for cell in found if cell.counts)
        names = {name for cell in self._cells for name in (cell.baseline_case, cell.candidate_case)}
        self._cases = {case.name: case for case in cases if case.name in names}
        self._sessions: list[Values] = []

    @property
    def comparisons(self) -> int:
        """How many count."""
        return len(self._cells)

    def outlook(self) -> Outlook | None:
        """How wide intervals are; None for fewer than three pairs, whose spread says little."""
        record = self._run.record
        spreads = [paired.spread for _, paired in self._pairs() if paired.by == "ratio"]
        # Sessions that are alike to the last digit say nothing of how sure their mean is.
        known = [spread for spread in spreads if spread.freedom >= FEWEST_FREEDOM and spread.sd > 0]
        if not known:
            return None
        all_sessions = record.sessions

        def at_end(spread: Spread) -> float:
            freedom = spread.freedom if record.two_stage else all_sessions - 1
            return half_width(spread.sd, all_sessions, freedom, level(1))

        now = max(half_width(s.sd, s.count, s.freedom, level(1)) for s in known)
        return Outlook(expm1(now), expm1(max(map(at_end, known))))

    def fix(self, precision: float, first: int) -> TwoStage:
        """The number of sessions, from the spread of the first stage and nothing else.

        A comparison that has too few pairs, or a value of zero, has no ratio to go by.
        """
        alpha, half = level(self.comparisons), log1p(precision)
        needed, name, seen = fewest(first, self.comparisons), "", None
        for cell, paired in self._pairs(first):
            spread = paired.spread
            if paired.by != "ratio" or spread.count < FEWEST_COUNTING:
                continue
            takes = sessions_for(half, spread.sd, spread.freedom, alpha)
            if seen is None or takes > needed or (takes == needed and spread.sd > seen.sd):
                needed, name, seen = max(needed, takes), told(cell), spread
        sessions = min(needed, max(MOST_STAGED, fewest(first, self.comparisons)))
        reached = 0.0
        if seen is not None:
            reached = expm1(half_width(seen.sd, sessions, seen.freedom, alpha))
        return TwoStage(
            precision=precision,
            first=first,
            sessions=sessions,
            needed=needed,
            half_width=reached,
            comparison=name,
            spread=0.0 if seen is None else seen.sd,
            freedom=0 if seen is None else seen.freedom,
            level=alpha,
        )

    def _pairs(self, first: int | None = None) -> Iterator[tuple[Cell, Paired]]:
        """The cells that have pairs, of the first sessions or of all."""
        self._read()
        stage = self._run.record.two_stage
        for cell in self._cells:
            both = [
                (number, a, b)
                for number, session in enumerate(self._sessions[:first])
                if (a := _value(session, cell.baseline_case, cell.metric)) is not None
                and (b := _value(session, cell.candidate_case, cell.metric)) is not None
            ]
            if both:
                staged = sum(number < stage.first for number, _, _ in both) if stage else None
                paired = pair([a for _, a, _ in both], [b for _, _, b in both])
                yield cell, replace(paired, first=staged)

    def _read(self) -> None:
        """Counts the sessions that were finished meanwhile, each once."""
        record = self._run.record
        if len(self._sessions) >= record.sessions_done:
            return
        trials = used_trials(self._run, record)
        for number in range(len(self._sessions), record.sessions_done):
            values = {}
            for name, case in self._cases.items():
                own = [trial for trial in trials.get(name, ()) if trial.record.session == number]
                if case.load.find:
                    sought = judge_capacity(self._experiment, case, own, number + 1)
                    found = sought.sessions[number].values
                else:
                    judged = [judge_trial(trial, self._experiment, case) for trial in own]
                    found = session_of(number, judged, record.blocks).values
                values[name] = {metric: x for (who, metric), x in found.items() if who is None}
            self._sessions.append(values)


def fixed_again(experiment: Experiment, cases: Sequence[Case], run: Run) -> TwoStage | None:
    """The number of sessions as the raw data of the first stage give it; None for one stage."""
    kept = run.record.two_stage
    return kept and SoFar(experiment, cases, run).fix(kept.precision, kept.first)


def told(cell: Cell) -> str:
    """`throughput of right against left, clients=8`."""
    at = "".join(f", {factor}={name}" for factor, name in cell.at.items())
    return f"{cell.metric} of {cell.candidate} against {cell.baseline}{at}"


def sentence(stage: TwoStage) -> str:
    """What the number of sessions was fixed at, and what from."""
    wanted = f"±{significant(100 * stage.precision)} %"
    head = f"after {stage.first} sessions their number was fixed at {stage.sessions}"
    if not stage.comparison:
        return f"{head}: no comparison that counts had a spread to go by"
    seen = f"log ratios of {stage.comparison} scatter by {significant(100 * stage.spread)} %"
    by = f"(t with {stage.freedom} degrees of freedom at level {stage.level:.3g})"
    reached = f"±{significant(100 * stage.half_width)} %"
    if stage.needed <= stage.first:
        return f"{head}: {seen}, and these give {reached} {by} where {wanted} was asked for"
    takes = f"{seen}, so that {wanted} {by} takes {stage.needed}"
    if stage.needed <= stage.sessions:
        return f"{head}: {takes}"
    return f"{head}, the most there are: {takes}, and {stage.sessions} give {reached}"


def _value(session: Values, case: str, metric: str) -> float | None:
    value = session.get(case, {}).get(metric)
    return value if value is not None and isfinite(value) else None
