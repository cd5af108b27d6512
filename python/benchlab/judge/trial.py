"""One trial judged: its checks, its figures, and how far each may be used.

Absent: figures over several trials (`cases`), and repeating a trial, which is the lab's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isinf

import numpy as np
from numpy.typing import NDArray

from benchlab.judge.checks import ERRORS, Evidence, check_all
from benchlab.judge.counted import NS, SLOT_S, Counted, counted, per_second
from benchlab.judge.figures import figures
from benchlab.judge.own import courses, slope, units
from benchlab.judge.probed import Line, Probed, memory, probed
from benchlab.judge.settling import settling
from benchlab.judge.stalls import stalls
from benchlab.judge.validity import ACCIDENTS, GENERATOR, LIMITED, Use, uses
from benchlab.model.errors import HostError
from benchlab.model.evidence import CaseState, Check, Stall
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import TrialRecord
from benchlab.stats.distribution import Distribution, of
from benchlab.store import Trial

OFFERED = 0.99
"""An open load is overloaded below this share of what was offered."""
LATELY = 10
"""Slots at the end of a trial in which a system that is behind was so all the while."""


@dataclass(frozen=True, eq=False)
class Series:
    """A trial second by second, on its own clock."""

    at_s: NDArray[np.float64]
    throughput: NDArray[np.float64]
    """Completed ok per second."""
    latency_p99_s: NDArray[np.float64]
    """Of successes; not a number where there was none."""
    errors: NDArray[np.float64]
    """Failed, timed out and unknown, by intended time."""


@dataclass(frozen=True, eq=False)
class Resources:
    """What was spent and held, on the trial's clock; None where it was not sampled."""

    cpu_user: Line | None
    cpu_system: Line | None
    memory: Line | None
    agent_cpu: Line | None
    own: Mapping[str, Line]
    """What its system counted of itself, by name: a counter's rate, a gauge's value."""


@dataclass(frozen=True)
class Totals:
    """What a state is decided by; added up over trials for a case."""

    due: float = 0.0
    failures: float = 0.0
    missing: float = 0.0
    """What an open load offered and the system did not complete, where the agent could have."""
    begun: float = 0.0
    """Transactions of the whole trial, those of the warm-up included."""
    lost: float = 0.0
    """Those of them that did not end ok."""

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(
            self.due + other.due,
            self.failures + other.failures,
            self.missing + other.missing,
            self.begun + other.begun,
            self.lost + other.lost,
        )

    def state(self, allowed: float) -> tuple[CaseState, str]:
        """Whether the system kept up and kept answering: a result, not an invalidity.

        Where nothing came due in the measured part, what the warm-up began decides, and why is
        `nothing_due`'s to say.
        """
        if self.due <= 0 and self.begun > 0 and self.lost > allowed * self.begun:
            return "failing", ""
        if self.due > 0 and self.failures > allowed * self.due:
            share = self.failures / self.due
            return "failing", f"{share:.2%} of transactions failed, timed out or were lost"
        if self.missing > (1 - OFFERED) * self.due:
            done = 1 - self.missing / self.due
            return "overloaded", f"completed {done:.1%} of what was offered"
        return "ok", ""


@dataclass(frozen=True)
class TrialJudgement:
    """What is known of one trial."""

    trial: Trial
    record: TrialRecord
    state: CaseState
    why: str
    is_whole: bool
    """Whether it ran to its end, so that its figures are those of its Plan."""
    totals: Totals
    checks: tuple[Check, ...]
    figures: Mapping[str, float]
    """By metric; infinite where what it asks for never came."""
    uses: Mapping[str, Use]
    units: Mapping[str, str]
    """Of the metrics made of systems' own counters."""
    ceiling: float | None
    """Transactions per second of the null server under this Plan; None where it was not run."""
    floor_p99_s: float | None
    stalls: tuple[Stall, ...] = ()
    length_s: float = 0.0
    """Of the measured part."""

    @cached_property
    def seen(self) -> Counted:
        """The Measurement counted together; read when it is asked for, then kept."""
        return counted(self.trial.measurement())

    @cached_property
    def resources(self) -> Probed:
        """What the probes saw on the trial's clock."""
        return probed(self.trial.probes(), self.seen.origin_ns, self.seen.length_s)

    @property
    def metrics(self) -> Mapping[str, float | None]:
        """The figures as files have them: None where one is infinite."""
        return {name: None if isinf(x) else x for name, x in self.figures.items()}

    @property
    def is_read(self) -> bool:
        """Whether there is a Measurement that could be read, whole or cut off."""
        return bool(self.checks)

    def usable(self, metric: str) -> bool:
        """Whether this trial has a figure of the metric that may be used."""
        if not self.is_whole or metric not in self.figures:
            return False
        return self.uses[metric].validity != "withheld"

    def without(self, metric: str) -> "TrialJudgement":
        """The same with this figure left out, for the reason that it has."""
        use = replace(self.uses[metric], validity="withheld")
        made = replace(self, uses={**self.uses, metric: use})
        made.__dict__.update({name: self.__dict__[name] for name in _RAW if name in self.__dict__})
        return made

    def forget(self) -> None:
        """Lets go of the raw data, so that a judgement's size does not grow with the trials'."""
        for name in _RAW:
            self.__dict__.pop(name, None)


_RAW = ("seen", "resources")


def judge_trial(trial: Trial, experiment: Experiment, case: Case) -> TrialJudgement:
    """Judges one trial from its folder alone; without a Measurement to read it has no figures."""
    record = trial.record
    try:
        if not trial.has_measurement():
            raise HostError("nothing was measured")
        seen = counted(trial.measurement())
    except HostError as error:
        state, why = _ended(record) or ("ok", str(error))
        return TrialJudgement(
            trial, record, state, why, False, Totals(), (), {}, {}, {}, None, None
        )
    resources = probed(trial.probes(), seen.origin_ns, seen.length_s)
    ceiling, path = _null_server(trial)
    evidence = Evidence(
        seen, resources, record.cpus, case.system.placement, experiment.allow, ceiling, path
    )
    checks = check_all(evidence)
    missing = shortfall(seen)
    is_short = missing > (1 - OFFERED) * seen.total("due")
    totals = Totals(
        due=seen.total("due"),
        failures=seen.failures,
        missing=0.0 if _is_guilty(checks) else missing,
        begun=seen.books.due,
        lost=seen.books.due - seen.books.ok,
    )
    idle = nothing_due(seen)
    state, why = _ended(record) or totals.state(experiment.allow.get("errors", ERRORS))
    found = figures(seen, resources)
    judged = TrialJudgement(
        trial=trial,
        record=record,
        state=state,
        why=why or idle,
        is_whole=record.state == "ok" and seen.reason == "complete",
        totals=totals,
        checks=checks,
        figures=found,
        uses=uses(
            checks,
            tuple(found),
            is_paced=seen.is_open and not is_short,
            dear=evidence.dear,
            nothing_due=idle,
        ),
        units=units(resources),
        ceiling=ceiling,
        floor_p99_s=None if path is None else (path.quantile(0.99) or 0.0) / NS,
        stalls=stalls(seen, resources, record.session, record.block),
        length_s=seen.length_s,
    )
    judged.__dict__.update(seen=seen, resources=resources)
    return judged


def nothing_due(seen: Counted) -> str:
    """Why no figure may be used: the load began nothing in the measured part; empty if it did.

    A rate of zero would look like a measured one, while all clients waited for answers to what
    they had asked in the warm-up.
    """
    if seen.total("due") > 0:
        return ""
    books, why = seen.books, "nothing came due in the measured part"
    if not books.due:
        return f"{why}: lengthen `duration`"
    words = (("timed_out", "timed out"), ("failed", "failed"), ("unknown", "were lost"))
    ends = [f"{count:.0f} {word}" for key, word in words if (count := getattr(books, key))]
    left = books.due - books.ok - books.failed - books.timed_out - books.unknown
    ends += [f"{left:.0f} were still open at the end"] if left else []
    told = f"of {books.due:.0f} transactions of the warm-up {', '.join(ends) or 'all ended ok'}"
    return f"{why} ({told}): lengthen `duration` or shorten `timeout`"


def needs_repeat(
    judged: TrialJudgement, *, is_first: bool = False, was_limited: bool = False
) -> str | None:
    """Why the trial is to be repeated once, if it is: an accident of the generator or the host.

    A path that costs too much and cores that are shared would be so again, and so would an agent at
    its limit that was there in the case's last trial (`was_limited`). The first trial at an
    instance (`is_first`) that was still warming up has been its warm-up. One whose rate fell is not
    repeated: trials would be sought in which nothing happens.
    """
    if not judged.is_whole:
        return None
    invalid = {check.name: check for check in judged.checks if check.verdict == "invalid"}
    failed = [invalid[name] for name in ACCIDENTS if name in invalid]
    if not failed and not was_limited and is_limited(judged):
        failed = [invalid[LIMITED]]
    if not failed and is_first and (row := invalid.get("steady")) is not None:
        failed = [row] if settling(judged.seen, row.limit or 0.0).is_warming else []
    return f"{failed[0].name}: {failed[0].why}" if failed else None


def is_limited(judged: TrialJudgement) -> bool:
    """Whether the agent was at its limit."""
    return any(check.name == LIMITED and check.verdict == "invalid" for check in judged.checks)


def disturbed(judged: TrialJudgement) -> str | None:
    """What systems that were idle meanwhile did, where it was too much."""
    rows = [check for check in judged.checks if check.name == "idle"]
    return next((f"idle: {row.why}" for row in rows if row.verdict == "invalid"), None)


def _is_guilty(checks: tuple[Check, ...]) -> bool:
    """Whether the generator was late or at its limit, so that a shortfall is not the system's."""
    return any(c.verdict == "invalid" and c.name in GENERATOR for c in checks)


def _null_server(trial: Trial) -> tuple[float | None, Distribution | None]:
    """The rate of the null server at full speed, and its times at the system's rate."""
    ceiling, floor = trial.ceiling(), trial.floor()
    rate = path = None
    if ceiling is not None and ceiling.events("end"):
        elapsed_s = ceiling.events("end")[-1]["elapsed_ns"] / NS
        rate = ceiling.totals()["completed"] / elapsed_s if elapsed_s else None
    if floor is not None and (times := floor.histogram("service")).count:
        path = of(times)
    return rate or None, path


def _ended(record: TrialRecord) -> tuple[CaseState, str] | None:
    match record.state:
        case "died":
            return "died", record.why
        case "aborted":
            return "aborted", record.why
        case _:
            return None


def shortfall(seen: Counted) -> float:
    """Transactions an open load offered and the system did not complete in the measured part.

    Those it refused are errors, not a shortfall, and as many as were in flight on average may be
    under way at the end without the system being behind. More than that may be at one moment; a
    system that is behind was so for all of the last second.
    """
    if not seen.is_open or seen.length_s <= 0:
        return 0.0
    offered = seen.total("due") - seen.total("failed") - seen.total("unknown")
    missing = offered - seen.during("completed")
    under_way = seen.during("in_flight_ns") / NS / seen.length_s
    slots = seen.slots
    behind = np.cumsum(slots["due"] - slots["failed"] - slots["unknown"] - slots["completed"])
    whole = behind[: max(1, round(seen.length_s / SLOT_S))]
    lately = whole[-min(LATELY, max(1, whole.size // 2)) :]
    return missing if min(missing, float(lately.min())) > under_way else 0.0


def series(judged: TrialJudgement) -> Series:
    """The trial second by second, for drawing; what was done in its tail is not shown."""
    seen = judged.seen
    whole = int(np.ceil(seen.length_s - 1e-6))
    widths = np.ones(whole)
    if whole:
        widths[-1] = max(SLOT_S, seen.length_s - (whole - 1))
    times = seen.seconds["response" if seen.is_open else "service"]
    quantiles = [times[s].quantile(0.99) if s < len(times) else None for s in range(whole)]
    failed = seen.slots["failed"] + seen.slots["timed_out"] + seen.slots["unknown"]
    return Series(
        at_s=np.arange(whole, dtype=np.float64),
        throughput=_cut(per_second(seen.slots["completed"]), whole) / widths,
        latency_p99_s=np.array([np.nan if q is None else q / NS for q in quantiles]),
        errors=_cut(per_second(failed), whole),
    )


def _cut(values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    kept = np.zeros(length)
    kept[: min(length, values.size)] = values[:length]
    return kept


def course(judged: TrialJudgement) -> Resources:
    """CPU in cores' worth and bytes of memory over time, for drawing."""
    lines = judged.resources
    source = "agent" if judged.seen.is_embedded else "system"
    user, system = (slope(lines.line(source, name)) for name in ("cpu_user_s", "cpu_system_s"))
    agent = [slope(lines.line("agent", name)) for name in ("cpu_user_s", "cpu_system_s")]
    total = None
    if agent[0] is not None and agent[1] is not None:
        total = Line(agent[0].at_s, agent[0].values + agent[1].values)
    return Resources(user, system, memory(lines, source), total, courses(lines))
