"""What the report is made from: the summary, the recipe, and the few series that are drawn.

One frozen value, so that the terminal, the page and the exports show the same thing, and so that
each can be tested without a run. What is drawn is already condensed here: a curve is some forty
quantiles, a line at most `POINTS` points, whatever the number of requests. Nothing is judged here.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal

from benchlab.judge.calibration import showable
from benchlab.model.evidence import CaseResult, Check, Comparison, Stall, Summary
from benchlab.model.experiment import SMALLEST_EFFECT, Experiment
from benchlab.model.metrics import HEADLINES, PER_TRANSACTION
from benchlab.model.records import RunRecord
from benchlab.report.readable import count

POINTS = 120
"""Points of one line at most; longer trials are drawn in wider steps."""


@dataclass(frozen=True)
class Line:
    """Values on a trial's clock, seconds since its origin; None where there was nothing."""

    at_s: tuple[float, ...] = ()
    values: tuple[float | None, ...] = ()

    def known(self) -> list[tuple[float, float]]:
        """The points that have a value."""
        pairs = zip(self.at_s, self.values, strict=True)
        return [(at, value) for at, value in pairs if value is not None]

    def thinned(self, points: int, join: Callable[[Sequence[float]], float] = fmean) -> "Line":
        """The line in so many steps at most, each the mean of its points unless told.

        Quantiles are joined by `max`: a mean of quantiles would be the quantile of nothing.
        """
        width = math.ceil(len(self.at_s) / points)
        if width <= 1:
            return self
        at_s, values = [], []
        for start in range(0, len(self.at_s), width):
            known = [v for v in self.values[start : start + width] if v is not None]
            at_s.append(round(fmean(self.at_s[start : start + width]), 3))
            values.append(join(known) if known else None)
        return Line(tuple(at_s), tuple(values))


@dataclass(frozen=True)
class Clock:
    """One trial on its own clock: all that is drawn over time."""

    case: str
    session: int
    block: int
    rate: Line = Line()
    """Completed transactions a second."""
    latency_p99: Line = Line()
    """Seconds, for each second; response under an open load, service under a closed one."""
    errors: Line = Line()
    """Failed, timed out and unknown in each step."""
    cpu_user: Line = Line()
    """Cores' worth of user time of the system."""
    cpu_system: Line = Line()
    memory: Line = Line()
    """What the system held, in bytes."""
    agent_cpu: Line = Line()
    """Cores' worth of time the load generator used."""
    own: Mapping[str, Line] = field(default_factory=dict)
    """What its system counted of itself: the rate of a counter and the value of a gauge."""
    stalls: tuple[Stall, ...] = ()
    joint: bool = False
    """Whether the system runs inside the load generator, so that its CPU holds both."""


CurveKind = Literal["response", "service", "user-seen"]
"""Times of successes, and latency with what did not end well as infinitely slow."""


@dataclass(frozen=True)
class Curve:
    """A case's merged distribution of one kind of time."""

    case: str
    kind: CurveKind
    points: tuple[tuple[float, float], ...]
    """(quantile, seconds), ascending."""
    resolved: float
    """The highest quantile that enough independent samples stand behind."""
    endless: float | None = None
    """The share that is not infinitely slow: above it, what a user sees never comes."""


@dataclass(frozen=True)
class Ceiling:
    """What the ruler itself can do under a case's Plan: the null server's rate and p99."""

    case: str
    rate: float | None
    floor_p99_s: float | None = None


@dataclass(frozen=True)
class Material:
    """All that a report shows."""

    summary: Summary
    experiment: Experiment | None = None
    record: RunRecord | None = None
    experiment_text: str = ""
    run: Path | None = None
    clocks: tuple[Clock, ...] = ()
    curves: tuple[Curve, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    labels: tuple[str, ...] = ()
    """What widens or shades the answer, such as `shared`."""
    logs: dict[str, str] = field(default_factory=dict)
    """The last lines of a case's system, where it died."""

    @property
    def drawn_points(self) -> int:
        """Points of a trial's line: fewer where there are many trials, so that pages stay small."""
        return max(24, min(POINTS, 40_000 // max(1, len(self.clocks))))

    def clocks_of(self, case: str) -> list[Clock]:
        """A case's trials in session order."""
        found = [clock for clock in self.clocks if clock.case == case]
        return sorted(found, key=lambda clock: (clock.session, clock.block))

    @property
    def claim(self) -> str:
        """The first sentence of the answer."""
        return self._sentences[0]

    @property
    def settle(self) -> str:
        """The command that would settle an inconclusive answer; empty where none would."""
        found = re.search(r"This would settle it: (.*? --sessions \d+)", self.summary.answer)
        return found[1] if found else ""

    @property
    def shades(self) -> str:
        """The other sentences, without what is said louder in a place of its own."""
        rest = self._sentences[1]
        said = [f"This would settle it: {self.settle}"]
        for case in self.troubled:
            why = case.why.rstrip(".")
            for verb in ("is ", "was ", ""):
                said.append(f"{case.name} {verb}{case.state}: {why}.")
            said.append(f"Skipped: {case.system} ({why}).")
        for sentence in said:
            rest = rest.replace(sentence, "")
        return re.sub(" +", " ", rest).strip()

    @property
    def _sentences(self) -> tuple[str, str]:
        first, *rest = re.split(r"(?<=\.)\s+(?=[A-Z])", self.summary.answer, maxsplit=1)
        return first, rest[0] if rest else ""

    @property
    def smallest_effect(self) -> float:
        """δ: the smallest effect that matters, as a share."""
        compare = self.experiment.compare if self.experiment else None
        return compare.smallest_effect if compare else SMALLEST_EFFECT

    @property
    def noise(self) -> float | None:
        """The smallest effect that so many sessions show on this machine, by its calibration.

        Of the metric that is compared first; None where that is not known.
        """
        known = self.record.calibration if self.record else None
        if not self.summary.comparisons:
            return None
        metric = self.summary.comparisons[0].metric
        return showable(known, metric, self.summary.sessions, len(self.counting) or 1)

    @property
    def is_of_running(self) -> bool:
        """Whether a system ran all the while, so that a fresh start may differ."""
        systems = self.experiment.systems.values() if self.experiment else ()
        return any(system.at and system.restart is None for system in systems)

    @property
    def is_open(self) -> bool:
        """Whether latency means response."""
        return bool(self.experiment and self.experiment.load.is_open)

    @property
    def counting(self) -> tuple[Comparison, ...]:
        """The comparisons whose rule was fixed beforehand."""
        return tuple(c for c in self.summary.comparisons if c.counts)

    @property
    def leads(self) -> tuple[Comparison, ...]:
        """Figures without a verdict."""
        return tuple(c for c in self.summary.comparisons if not c.counts)

    @property
    def measured(self) -> tuple[CaseResult, ...]:
        """The cases that have at least one figure."""
        return tuple(case for case in self.summary.cases if case.metrics)

    @property
    def evidence(self) -> str:
        """How many sessions stand behind the figures: `8 sessions`, `2 of 3 sessions`."""
        used, done = self.summary.sessions_used, count(self.summary.sessions, "session")
        if used == self.summary.sessions:
            return done
        return f"{used or 'none'} of {done}"

    @property
    def taking_turns(self) -> str:
        """How systems took turns; empty where there was one alone, or they did not."""
        if self.record is None or self.record.order in ("", "sequential"):
            return ""
        since = 0 if self.record.order == "blocks" else self.record.blocks_from
        if since is None:
            return "all systems up at once"
        afresh = "each system started afresh for each block"
        return f"{afresh} from session {since + 1} on" if since else afresh

    @property
    def notes(self) -> tuple[str, ...]:
        """What the lab noted beside the figures, each once."""
        return tuple(dict.fromkeys(self.record.notes)) if self.record else ()

    @property
    def has_errors(self) -> bool:
        """Whether what users saw differs from the successes in any case."""
        return any(curve.endless is not None for curve in self.curves)

    @property
    def watched(self) -> tuple[CaseResult, ...]:
        """The cases that were watched for stalls, where any had one."""
        found = tuple(case for case in self.measured if case.stalls is not None)
        return found if any(case.stalls and case.stalls.count for case in found) else ()

    @property
    def troubled(self) -> tuple[CaseResult, ...]:
        """The cases that are not simply ok."""
        return tuple(case for case in self.summary.cases if case.state != "ok")


def not_valid(case: CaseResult) -> list[Check]:
    """The checks that shade this case's figures."""
    return [check for check in case.checks if check.verdict in ("invalid", "unknown")]


def own_metrics(summary: Summary) -> list[str]:
    """Of the metrics made of systems' own counters, those that are shown.

    A counter is told by what one transaction took of it, its rate only where nothing else is known
    or it was compared or promised; what never moved in any case is left out.
    """
    asked = asked_of(summary)
    found = {n: e for case in summary.cases for n, e in case.metrics.items() if "." in n}
    moved = {
        name
        for case in summary.cases
        for name, estimate in case.metrics.items()
        if estimate.estimate and "." in name
    }
    return [
        name
        for name in sorted(found)
        if name in asked or (name in moved and name + PER_TRANSACTION not in found)
    ]


def asked_of(summary: Summary) -> set[str]:
    """Metrics that the file compares or promises."""
    promised = (re.split(r"[\s<>]", one.expression, maxsplit=1)[0] for one in summary.promises)
    return {*promised, *(comparison.metric for comparison in summary.comparisons)}


def headline_metrics(summary: Summary) -> list[str]:
    """The compact table's columns: what was compared first, then the usual ones that exist."""
    present = {name for case in summary.cases for name in case.metrics}
    compared = list(dict.fromkeys(c.metric for c in summary.comparisons if c.counts))
    wanted = [name for name in HEADLINES if name in present]
    return wanted + [name for name in compared if name in present and name not in wanted]
