"""The checks: may this trial's figures be used? Each a named row with figure, limit and why.

Only faults of the generator and the host can make a row invalid, but for `answers`, `steady` and
`idle`, which speak of systems and withhold nothing. What cannot be known is `unknown` and never
disqualifies. Absent: which metrics an invalid row takes away (`validity`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from benchlab.judge.counted import NS, SLOT_S, Counted
from benchlab.judge.figures import cpu_s
from benchlab.judge.path import Cost, costs
from benchlab.judge.probed import Probed
from benchlab.judge.settling import LIMIT as STEADY
from benchlab.judge.settling import Settling, settling, untold
from benchlab.model.evidence import Check, CheckVerdict
from benchlab.model.quantities import format as readable
from benchlab.model.records import CpuSets
from benchlab.model.remedies import with_remedy
from benchlab.stats.distribution import Distribution
from benchlab.stats.little import little_gap

LAG_S, LAG_OF_SERVICE = 0.001, 0.1
BUSY = 0.9
"""Of a core: an agent that works more than this share of the time may be what limits."""
HEAD_ROOM = 2.0
"""How many times the rate the null server must have reached for the agent not to be the limit."""
FLOOR = 0.2
LITTLE = 0.05
ERRORS = 0.001
STEAL = 0.02
IDLE = 0.01
"""Of a core, or of what a slow disk writes: a third of the smallest effect that matters."""
SLOW_DISK = 100e6
"""Bytes a second."""
RUN_DELAY = 0.05
"""Of the time: an agent that waited longer for its core has slowed what it measured by as much."""
READINGS_S = 0.02
"""By how much CPU time may be misread: two ticks of the kernel's hundredths of a second."""
CLOCK_STEP_S = 0.01
"""A wall clock that moves this much between two samples was set; slewing stays a hundred below."""
ARRIVALS_SIGMA = 5.0
"""A Poisson count lies within five standard deviations of its mean but once in two million."""


@dataclass(frozen=True)
class Evidence:
    """What the checks look at: one trial, and the null server under its Plan where it was run."""

    seen: Counted
    resources: Probed
    cpus: CpuSets
    placement: str
    allow: Mapping[str, float]
    ceiling: float | None
    """Transactions per second of the null server at full speed."""
    path: Distribution | None
    """Its times of service at the rate the system reached, over the same connections."""

    @cached_property
    def costs(self) -> Mapping[str, Cost]:
        """What the path costs each statistic of times."""
        return costs(self.path, self.seen.merged["service"])

    @property
    def dear(self) -> Mapping[str, str]:
        """The same in words, of those that it costs too much."""
        limit = self.allow.get("floor", FLOOR)
        return {name: cost.words for name, cost in self.costs.items() if cost.share > limit}


def check_all(evidence: Evidence) -> tuple[Check, ...]:
    """Every row, in the order of the method's table."""
    own = (lag, run_delay, head_room, floor, little)
    rows = (*own, answers, steal, swap, clock, cores, idle, steady)
    return tuple(row(evidence) for row in rows)


def lag(evidence: Evidence) -> Check:
    """The generator took due transactions up in time, and all the schedule had."""
    seen = evidence.seen
    figure, median = seen.merged["lag"].quantile(0.99), seen.merged["service"].quantile(0.5)
    if figure is None:
        return Check(name="lag", verdict="unknown", unit="s", why="no transaction was taken up")
    limit = max(LAG_S, LAG_OF_SERVICE * (median or 0.0) / NS, evidence.allow.get("lag", 0.0))
    missing = _missing(seen)
    late = figure / NS > limit
    why = f"p99 of ready - intended is {readable(figure / NS, 's')}" if late else ""
    if missing is not None:
        why = f"{seen.total('due'):.0f} transactions came due, the schedule has {missing:.0f}"
    verdict = _within(not late and missing is None)
    return Check(name="lag", verdict=verdict, figure=figure / NS, limit=limit, unit="s", why=why)


def _missing(seen: Counted) -> float | None:
    """How many transactions the schedule has, where fewer came due than chance allows."""
    if not seen.is_open or seen.ends_by_count:
        return None
    schedule, left, planned = seen.plan["schedule"]["open"], seen.length_s, 0.0
    for index, segment in enumerate(schedule["shape"]):
        begin, end = float(segment["from_per_second"]), float(segment["to_per_second"])
        whole = float(segment["length_ns"]) / NS
        last = index == len(schedule["shape"]) - 1
        length = min(whole, left)
        reached = begin + (end - begin) * (length / whole if whole else 0.0)
        planned += (begin + reached) / 2 * length
        left -= length
        planned += end * left if last else 0.0
    poisson = schedule.get("arrivals", "poisson") == "poisson"
    slack = ARRIVALS_SIGMA * sqrt(planned) + 1 if poisson else 0.001 * planned + 1
    return planned if seen.total("due") < planned - slack else None


def run_delay(evidence: Evidence) -> Check:
    """The generator had its cores when it needed them, or the system was full all the same.

    The figure is the time that its threads were ready to run and waited for a core, for each
    worker, as a share of the measured part: what is due or has been answered lies there meanwhile.
    Under a closed load nothing comes due then, so that no lag tells of it.
    """
    seen, name = evidence.seen, "run-delay"
    if seen.is_embedded:
        return _not_applicable(name, "the system runs in the agent")
    if set(evidence.cpus.system) & set(evidence.cpus.agent):
        return _not_applicable(name, "agent and system share cores, where each waits for the other")
    limit = evidence.allow.get(name, RUN_DELAY)
    waited_s = evidence.resources.increase("agent", "waited_s")
    if waited_s is None or seen.length_s <= 0:
        return Check(name=name, verdict="unknown", limit=limit, why="the kernel does not tell")
    figure = waited_s / seen.length_s / seen.plan.get("workers", 1)
    row = Check(name=name, verdict="valid", figure=figure, limit=limit)
    if figure <= limit:
        return row
    # What others did on the system's cores does not make it the limit.
    used_s = cpu_s(evidence.resources, "system")
    if used_s is not None and used_s / seen.length_s >= BUSY * max(1, len(evidence.cpus.system)):
        why = "the system itself had its own cores busy: it was the limit"
        return row.model_copy(update={"why": why})
    why = f"starved: others had the agent's cores for {readable(figure, '')} of the time"
    return row.model_copy(update={"verdict": "invalid", "why": why})


def head_room(evidence: Evidence) -> Check:
    """The generator had something left or could do twice as much, or the system was full."""
    seen, name = evidence.seen, "head-room"
    if seen.is_embedded:
        return _not_applicable(name, "the system runs in the agent")
    if not seen.busy_ns or seen.counted_s <= 0:
        return Check(name=name, verdict="unknown", why="the agent's work time is not known")
    if not seen.during("completed"):
        why = "nothing was completed in the measured part: there is no rate to be limited"
        return Check(name=name, verdict="unknown", why=why)
    figure = max(seen.busy_ns.values()) / NS / seen.counted_s
    limit = evidence.allow.get(name, BUSY)
    row = Check(name=name, verdict="valid", figure=figure, limit=limit, why=_ceiling_why(evidence))
    ratio = _ceiling_ratio(evidence)
    full = system_busy(evidence)
    if figure <= limit or (ratio is not None and ratio >= HEAD_ROOM):
        return row
    if full is not None and full >= BUSY:
        why = f"the system's own cores were {readable(full, '')} busy: it was the limit"
        return row.model_copy(update={"why": why})
    half = (evidence.ceiling or seen.throughput) / 2
    whose = "the ceiling" if evidence.ceiling else "what it reached"
    why = (
        f"agent-bound: the agent was {readable(figure, '')} at work"
        f"{'; ' + row.why if row.why else ''}; "
        f"measure below its limit with `rate: {half:.0f}/s`, half of {whose}"
    )
    return row.model_copy(update={"verdict": "invalid", "why": why})


def _ceiling_ratio(evidence: Evidence) -> float | None:
    if evidence.ceiling is None or evidence.seen.throughput <= 0:
        return None
    return evidence.ceiling / evidence.seen.throughput


def _ceiling_why(evidence: Evidence) -> str:
    ratio = _ceiling_ratio(evidence)
    if ratio is None or evidence.ceiling is None:
        return ""
    return (
        f"the null server reaches {readable(evidence.ceiling, '1/s')}, {ratio:.2g} times the rate"
    )


def system_busy(evidence: Evidence) -> float | None:
    """How busy the system's cores were, all together; its own CPU time where it shares them."""
    numbers, length_s = evidence.cpus.system, evidence.seen.length_s
    if not numbers or length_s <= 0:
        return None
    if set(numbers) & set(evidence.cpus.agent):
        used = cpu_s(evidence.resources, "system")
        return None if used is None else used / length_s / len(numbers)
    parts = [evidence.resources.increase("host", "busy_s", str(core)) for core in numbers]
    known = [part for part in parts if part is not None]
    return sum(known) / length_s / len(parts) if len(known) == len(parts) else None


def floor(evidence: Evidence) -> Check:
    """The path itself (agent, network, null server) costs little beside the system.

    The figure is the greatest share, of all statistics of times.
    """
    seen, name = evidence.seen, "floor"
    if seen.is_embedded:
        return _not_applicable(name, "there is no path to a system in the agent")
    found = evidence.costs
    if not found:
        return Check(name=name, verdict="unknown", why="the null server's times are not known")
    worst, limit = max(found, key=lambda each: found[each].share), evidence.allow.get(name, FLOOR)
    why = f"{found[worst].words} of {worst}"
    if others := [each for each in evidence.dear if each not in (worst, "max")]:
        why += f", and too much of {', '.join(others)}"
    verdict = _within(not evidence.dear)
    return Check(name=name, verdict=verdict, figure=found[worst].share, limit=limit, why=why)


def little(evidence: Evidence) -> Check:
    """The integral of those in flight agrees with their times: the agent's books add up."""
    books, name = evidence.seen.books, "little"
    limit = evidence.allow.get(name, LITTLE)
    figure = little_gap(books.in_flight_ns, books.service_ns)
    if figure is None:
        return Check(name=name, verdict="unknown", limit=limit, why="nothing was in flight")
    if books.due - books.ok > ERRORS * books.due:
        why = "the times of transactions that did not end well are not kept"
        return Check(name=name, verdict="unknown", figure=figure, limit=limit, why=why)
    verdict = _within(figure <= limit)
    why = "" if verdict == "valid" else "in flight and rate x mean service differ"
    return Check(name=name, verdict=verdict, figure=figure, limit=limit, why=why)


def answers(evidence: Evidence) -> Check:
    """Answers came, and those that were looked at were right; a wrong one is a failed operation."""
    seen = evidence.seen
    ended = sum(operation.ended for operation in seen.operations.values())
    limit = evidence.allow.get("errors", ERRORS)
    if not ended:
        told = _reasons(seen, dict.fromkeys(_BAD_ENDS, 0.0))
        why = "nothing was answered" + (f"; in the warm-up: {told}" if told else "")
        return Check(name="answers", verdict="unknown", limit=limit, why=why)
    figure = seen.failures / max(1.0, seen.total("due"))
    if figure > limit:
        why = _reasons(seen, {outcome: seen.total(outcome) for outcome in _BAD_ENDS})
        return Check(name="answers", verdict="invalid", figure=figure, limit=limit, why=why)
    if not _expects(seen):
        why = "no answer's content was looked at: the workload expects nothing of it"
        return Check(name="answers", verdict="unknown", figure=figure, limit=limit, why=why)
    return Check(name="answers", verdict="valid", figure=figure, limit=limit)


_BAD_ENDS = {"failed": "refused or wrong", "timed_out": "timed out", "unknown": "lost"}
"""Outcomes but ok, and what they are called."""


def _reasons(seen: Counted, counts: Mapping[str, float]) -> str:
    """How many ended badly in each way, with the engine's most frequent word on it.

    Its words are counted over the whole trial and are told of any outcome that has some.
    """
    told = []
    for outcome, word in _BAD_ENDS.items():
        messages = [e for e in seen.errors if e.get("outcome") == outcome]
        first = max(messages, key=lambda e: e.get("count", 0), default=None)
        if not counts[outcome] and (first is None or any(counts.values())):
            continue
        number = f"{counts[outcome]:.0f} " if counts[outcome] else ""
        such = f", such as: {with_remedy(first['message'])}" if first is not None else ""
        told.append(f"{number}{word}{such}")
    return "; ".join(told)


def _expects(seen: Counted) -> bool:
    """Whether answers are looked at; over HTTP the status is, always."""
    if seen.plan["driver"]["kind"] == "http":
        return True
    operations = [o for t in seen.plan["workload"]["transactions"] for o in t["operations"]]
    return any(value for o in operations for value in (o.get("expect") or {}).values())


def steal(evidence: Evidence) -> Check:
    """Another machine on the same hardware took little of the cores that were used."""
    resources, limit = evidence.resources, evidence.allow.get("steal", STEAL)
    used = {str(core) for core in (*evidence.cpus.agent, *evidence.cpus.system)}
    shares = [
        stolen / resources.length_s
        for core in resources.members("host", "steal_s")
        if (not used or core in used)
        and (stolen := resources.increase("host", "steal_s", core)) is not None
    ]
    if not shares:
        return Check(name="steal", verdict="unknown", limit=limit, why="steal was not sampled")
    verdict = _within(max(shares) <= limit)
    why = "" if verdict == "valid" else "another guest had the processor"
    return Check(name="steal", verdict=verdict, figure=max(shares), limit=limit, why=why)


def swap(evidence: Evidence) -> Check:
    """The machine did not swap."""
    limit = evidence.allow.get("swap", 0.0)
    counters = ("swap_in_pages", "swap_out_pages")
    parts = [evidence.resources.increase("host", counter) for counter in counters]
    known = [part for part in parts if part is not None]
    row = Check(name="swap", verdict="unknown", limit=limit, unit="pages")
    if not known:
        return row.model_copy(update={"why": "swapping was not sampled"})
    verdict = _within(sum(known) <= limit)
    why = "" if verdict == "valid" else "the machine swapped pages"
    return row.model_copy(update={"verdict": verdict, "figure": sum(known), "why": why})


def clock(evidence: Evidence) -> Check:
    """The wall clock was not set during the trial."""
    offsets = evidence.resources.during("host", "wall_minus_monotonic_ns")
    if offsets.size < 2:
        return Check(name="clock", verdict="unknown", unit="s", why="the clock was not sampled")
    figure = float(np.abs(np.diff(offsets)).max()) / NS
    verdict = _within(figure <= CLOCK_STEP_S)
    why = "" if verdict == "valid" else "the wall clock was set"
    return Check(
        name="clock", verdict=verdict, figure=figure, limit=CLOCK_STEP_S, unit="s", why=why
    )


def cores(evidence: Evidence) -> Check:
    """Agent and system ran on cores of their own."""
    agent, system = set(evidence.cpus.agent), set(evidence.cpus.system)
    if evidence.seen.is_embedded:
        return _not_applicable("cores", "the system runs in the agent")
    if evidence.cpus.shared or evidence.placement == "shared":
        return Check(name="cores", verdict="valid", why="shared: agent and system are not apart")
    if not agent and not system:
        return Check(name="cores", verdict="unknown", why="nothing was pinned")
    both = agent & system
    if both:
        why = f"agent and system were both on core {', '.join(map(str, sorted(both)))}"
        row = Check(name="cores", verdict="invalid", limit=0.0, unit="cores", why=why)
        return row.model_copy(update={"figure": float(len(both))})
    if not system:
        return Check(name="cores", verdict="valid", why="shared: the system is not pinned")
    return Check(name="cores", verdict="valid", figure=0.0, limit=0.0, unit="cores")


def idle(evidence: Evidence) -> Check:
    """Systems that were up and not asked left processors and disks alone.

    The figure is their processor time that is beyond doubt as a share of one core, or what they
    wrote as a share of a slow disk's speed, whichever is greater. It withholds nothing: who is told
    of it may end them.
    """
    seen, name = evidence.resources, "idle"
    limit = evidence.allow.get(name, IDLE)
    members = seen.members(name, "cpu_user_s")
    if not members:
        return _not_applicable(name, "no other system was up")
    did = {who: told for who in members if (told := _unasked(seen, who)) is not None}
    if "" not in did:
        return Check(name=name, verdict="unknown", limit=limit, why="they were not sampled")
    used_s, written = did.pop("")
    of_disk = written / SLOW_DISK
    of_core = max(0.0, used_s - READINGS_S) / seen.length_s
    figure = max(of_core, of_disk)
    row = Check(name=name, verdict="valid", figure=figure, limit=limit)
    if figure <= limit:
        return row
    of_cpu = of_core >= of_disk
    most = max(did, key=lambda who: did[who][not of_cpu], default="")
    why = (
        f"systems that nobody asked used {readable(used_s / seen.length_s, '')} of a core "
        f"and wrote {readable(written, 'B/s')}, most of it {most}"
    )
    return row.model_copy(update={"verdict": "invalid", "why": why})


def _unasked(seen: Probed, who: str) -> tuple[float, float] | None:
    """Seconds of processor time and bytes a second that an idle system used and wrote."""
    user, system = (seen.increase("idle", f"cpu_{kind}_s", who) for kind in ("user", "system"))
    if user is None or system is None:
        return None
    return user + system, (seen.increase("idle", "written_bytes", who) or 0.0) / seen.length_s


def steady(evidence: Evidence) -> Check:
    """The rate kept its level: its figure is the change of which there is no doubt."""
    seen, name = evidence.seen, "steady"
    limit = evidence.allow.get(name, STEADY)
    by_nature, why = untold(seen)
    if why:
        word: CheckVerdict = "not-applicable" if by_nature else "unknown"
        return Check(name=name, verdict=word, why=why)
    found = settling(seen, limit)
    verdict = _within(found.is_steady)
    figure = found.change.certain
    return Check(name=name, verdict=verdict, figure=figure, limit=limit, why=_course(found))


def _course(found: Settling) -> str:
    if found.is_steady:
        return ""
    change = found.change
    way = "higher" if change.share > 0 else "lower"
    size = f"{way} by {abs(change.share):.0%} of its mean"
    at = readable(change.at * SLOT_S, "s")
    when = f"from {at} on the rate was" if found.is_step else "at the end the rate was"
    if found.settled_s is None:
        return f"no steady state: {when} {size}"
    settled = readable(found.settled_s, "s")
    return f"{when} {size}; it is steady after {settled}: lengthen `warmup` by as much"


def _within(holds: bool) -> CheckVerdict:
    return "valid" if holds else "invalid"


def _not_applicable(name: str, why: str) -> Check:
    return Check(name=name, verdict="not-applicable", why=why)
