"""What is found out: checks, estimates, comparisons and the summary made of them.

These are the types of `summary.json` (`format: 1`); field names and units are a promise.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Verdict = Literal["better", "worse", "different-but-small", "equivalent", "inconclusive", "invalid"]
CheckVerdict = Literal["valid", "invalid", "unknown", "not-applicable"]
Validity = Literal["valid", "at-least", "withheld"]
CaseState = Literal["ok", "overloaded", "failing", "died", "skipped", "aborted"]
FORMAT = 1


class Frozen(BaseModel):
    """Immutable, with unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(Frozen):
    """One validity row: may the figures it guards be used?"""

    name: str
    verdict: CheckVerdict
    figure: float | None = None
    limit: float | None = None
    unit: str = ""
    why: str = ""


class Estimate(Frozen):
    """A metric over sessions, in SI units."""

    unit: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    sessions: int = 0
    resolved: bool = True
    validity: Validity = "valid"
    why: str = ""
    values: tuple[float | None, ...] = ()
    """One value a session, in session order; what the interval rests on."""

    @property
    def is_usable(self) -> bool:
        """Whether some session has a figure that may be used."""
        return self.validity != "withheld" and self.sessions > 0


class OperationResult(Frozen):
    """What was seen of one operation name in one case."""

    count: int
    errors: int
    metrics: dict[str, Estimate]


class Candidate(Frozen):
    """What was out of the ordinary while a system stalled: perhaps the cause, perhaps not."""

    cause: str
    sign: str
    """The counter or gauge that says so."""
    figure: float
    """The most of it in the stall."""
    usual: float
    """What it is elsewhere in the trial."""
    unit: str = ""


class Stall(Frozen):
    """A moment in which a system stood still, or kept a request waiting for long."""

    session: int
    block: int
    at_s: float
    """On the trial's clock."""
    length_s: float
    stood_still: bool
    """Whether next to nothing was completed, rather than some request being slow."""
    waiting: int
    """The most transactions that were due and not done."""
    slowest_s: float | None = None
    """The longest of those that were due in it and ended ok."""
    candidates: tuple[Candidate, ...] = ()


class Stalls(Frozen):
    """The stalls of one case over all trials whose rate may be used."""

    count: int
    watched_s: float
    """The length of those trials together."""
    per_hour: float
    low: float
    high: float
    found: tuple[Stall, ...] = ()
    """In order of time; of very many, the longest."""


class CapacityStep(Frozen):
    """One rate in one session: whether the target was kept."""

    session: int
    rate: float
    """Transactions a second."""
    share: float | None
    """Of the rate that the search had found, about; None in the search itself."""
    outcome: Literal["kept", "broken", "unknown"]
    why: str = ""
    figures: dict[str, float | None] = {}
    """Of the metrics that are to be kept; None where one is infinite or not to be had."""


class Capacity(Frozen):
    """The highest rate of a case that keeps its target: the steps that the estimate rests on."""

    keep: tuple[str, ...]
    """The target, as the file has it."""
    limits: dict[str, float]
    """The target's limits by metric, in SI units."""
    peak: float | None = None
    """The usual peak that it is held against."""
    found: float | None = None
    """What the search in the first session found; the sessions' steps lie about it."""
    steps: tuple[CapacityStep, ...] = ()
    """In order of session and rate."""
    why: str = ""
    """Why there is no capacity, or only a bound."""


class CaseResult(Frozen):
    """One case over all its counting sessions."""

    name: str
    system: str
    levels: dict[str, str]
    state: CaseState
    why: str = ""
    checks: tuple[Check, ...] = ()
    metrics: dict[str, Estimate] = {}
    operations: dict[str, OperationResult] = {}
    stalls: Stalls | None = None
    """None where no trial could be watched."""
    capacity: Capacity | None = None
    """Of a case whose rate is sought; all its other figures are those at 0.9 of what was found."""

    @property
    def sessions(self) -> int:
        """Sessions that its figures rest on; 0 where nothing of it could be measured."""
        usable = (found.sessions for found in self.metrics.values() if found.is_usable)
        return max(usable, default=0)


class PromiseResult(Frozen):
    """A declared threshold and whether it held."""

    expression: str
    case: str
    figure: float | None
    unit: str = ""
    holds: bool | None


class Pair(Frozen):
    """One session's paired difference, on the scale of `Comparison.by`."""

    session: int
    effect: float


class Comparison(Frozen):
    """Candidate against baseline on one metric, all else equal."""

    metric: str
    baseline: str
    candidate: str
    at: dict[str, str]
    counts: bool
    effect: float | None
    unit: str = ""
    """The metric's, which an effect by difference is in."""
    by: Literal["ratio", "difference"] = "ratio"
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    sessions: int = 0
    sessions_needed: int | None = None
    verdict: Verdict | None = None
    may_matter: bool = False
    """Of what is different-but-small: whether its 95 % interval holds effects that are not."""
    why: str = ""
    pairs: tuple[Pair, ...] = ()


class Interval(Frozen):
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


class Scaling(Frozen):
    """How throughput grows with a factor of numbers, all else equal: the universal scalability law.

    λN / (1 + σ(N - 1) + κN(N - 1)), or why there is none.
    """

    factor: str
    at: dict[str, str]
    levels: tuple[float, ...]
    """N, ascending."""
    sessions: int
    """Those with a rate at every level."""
    alone_per_second: Interval | None = None
    """λ: the rate of one alone."""
    contention: Interval | None = None
    """σ: the share that waits for the others."""
    coherence: Interval | None = None
    """κ: what agreeing costs each pair."""
    peak: Interval | None = None
    """N of the greatest rate."""
    why: str = ""
    """Why there is no law, or no peak."""


class Summary(Frozen):
    """The answer of a run, for machines."""

    format: int = FORMAT
    experiment: str
    question: str
    state: Literal["complete", "interrupted"]
    sessions: int
    answer: str
    cases: tuple[CaseResult, ...]
    promises: tuple[PromiseResult, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    scalings: tuple[Scaling, ...] = ()

    @property
    def sessions_used(self) -> int:
        """Sessions that any figure rests on; of those done, some may have given none."""
        return max((case.sessions for case in self.cases), default=0)


class Between(Frozen):
    """What a run says beside an earlier one, or beside the history: never interleaved."""

    format: int = FORMAT
    experiment: str
    baseline: str
    """A run's id, or `history`."""
    candidate: str
    """A run's id."""
    interleaved: Literal[False] = False
    answer: str
    changed: tuple[str, ...] = ()
    """What is known to differ between the runs."""
    notes: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...]
