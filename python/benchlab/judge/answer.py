"""The answer of a run in plain words: the verdict, the effect and how sure it is.

It never says more than the verdicts do: without a comparison that counts it tells what was seen and
claims nothing. Absent: the choice of what is compared, and how an answer is set and coloured.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from benchlab.judge.cases import CaseJudgement
from benchlab.judge.restarts import ONE_START, most
from benchlab.model.evidence import CaseResult, Comparison
from benchlab.model.experiment import Compare, Experiment
from benchlab.model.metrics import CAPACITY, METRICS, OVER_PEAK, PER_TRANSACTION
from benchlab.model.metrics import metric as metric_of
from benchlab.model.quantities import format as readable
from benchlab.model.quantities import significant
from benchlab.model.records import RunRecord
from benchlab.stats.estimates import Scale
from benchlab.stats.family import explores
from benchlab.stats.paired import MOST_PAIRS

TIMES, SPACE = "\u00d7", "\u00a0"
"""The multiplication sign, and the blank that keeps a figure and its unit on one line."""
MOST_CLAUSES = 6
IN_TURN = "sequential: what order and drift do is in the differences"
"""Printed beside every answer of systems that did not take turns."""
LABELS = {
    "throughput": "throughput",
    CAPACITY: "capacity",
    OVER_PEAK: "capacity by the usual peak",
    "completion_time": "completion time",
    "errors": "share of errors",
    "bytes_per_transaction": "bytes per transaction",
    "system_cpu": "CPU use",
    "system_cpu_per_transaction": "CPU time per transaction",
    "system_memory": "memory",
    "system_memory_peak": "peak memory",
    "system_read_per_transaction": "bytes read from disk per transaction",
    "system_written_per_transaction": "bytes written to disk per transaction",
    "agent_cpu_per_transaction": "load generator CPU time per transaction",
}
_STATES = {
    "died": "died",
    "aborted": "was aborted",
    "failing": "is failing",
    "overloaded": "is overloaded",
}
_QUANTILES = {"p50": "median", "p95": "p95", "p99": "p99", "p999": "p99.9"}


def answer(
    experiment: Experiment,
    record: RunRecord,
    cases: Mapping[str, CaseJudgement],
    comparisons: Sequence[Comparison],
) -> str:
    """The sentence on top of the report, and what shades it."""
    counting = [comparison for comparison in comparisons if comparison.counts]
    if counting and experiment.compare is not None:
        said = _claims(counting, experiment.compare, record, _rate_unit(cases))
    else:
        said = _seen(record, cases, comparisons)
    shades = _shades(experiment, record, cases, most(record.restarts, comparisons))
    return " ".join([said, *(shade for shade in shades if shade.rstrip(".") not in said)])


def label(metric: str) -> str:
    """A metric's name in words."""
    if metric in LABELS:
        return LABELS[metric]
    if "." in metric:
        whole = metric.removesuffix(PER_TRANSACTION)
        return whole if whole == metric else f"{whole} per transaction"
    kind, _, which = metric.partition("_")
    words = {"latency": "latency", "response": "response time", "service": "service time"}
    return f"{_QUANTILES.get(which, which)} {words.get(kind, kind)}"


def unit_of(one: Comparison) -> str:
    """The unit of an effect that is told by difference."""
    return metric_of(one.metric, one.unit).unit


def percent(share: float) -> str:
    """A signed share in per cent, three significant digits."""
    return f"{'-' if share < 0 else '+'}{significant(abs(share) * 100)}"


def _rate_unit(cases: Mapping[str, CaseJudgement]) -> str:
    """What throughput counts: the transaction's own name where there is a single plain one."""
    names = {
        transaction["name"]
        for judged in cases.values()
        for trial in judged.trials[:1]
        if trial.is_whole
        for transaction in trial.trial.plan()["workload"]["transactions"]
    }
    name = names.pop() if len(names) == 1 else ""
    if not name.isalpha() or not name.islower():
        return "transactions/s"
    return f"{name[:-1]}ies/s" if name.endswith("y") else f"{name.removesuffix('s')}s/s"


def _claims(
    counting: Sequence[Comparison], compare: Compare, record: RunRecord, rate_unit: str
) -> str:
    reasons = {comparison.why for comparison in counting if comparison.verdict == "invalid"}
    if len(reasons) == 1 and all(comparison.verdict == "invalid" for comparison in counting):
        return f"No valid answer: {reasons.pop().rstrip('.')}."
    at = {tuple(comparison.at.items()) for comparison in counting}
    shared = counting[0].at if len(at) == 1 and len(counting[0].at) else {}
    where = f"at {levels(shared)}, " if shared else ""
    listed = list(counting)
    if len(listed) > MOST_CLAUSES:
        words = Counter(comparison.verdict for comparison in listed)
        tally = ", ".join(f"{count} {word}" for word, count in words.most_common())
        listed.sort(key=lambda one: -abs(one.effect or 0.0))
        said = "; ".join(_claim(one, compare, rate_unit, not shared) for one in listed[:3])
        return f"Of {len(counting)} comparisons {where}{tally}; the largest: {said}."
    said = "; ".join(_claim(one, compare, rate_unit, not shared) for one in listed)
    return f"{_capital(f'{where}{said}')}.{_settle(listed, record)}"


def levels(named: Mapping[str, str]) -> str:
    """`clients=8, system=db`."""
    return ", ".join(f"{name}={level}" for name, level in named.items())


def _capital(text: str) -> str:
    """A sentence begins with a capital, but a name stays as it is written."""
    return text[0].upper() + text[1:] if text.startswith(("at ", "it ", "no ")) else text


def _claim(one: Comparison, compare: Compare, rate_unit: str, with_levels: bool) -> str:
    where = f" (at {levels(one.at)})" if with_levels and one.at else ""
    what = rate_unit if one.metric == "throughput" else label(one.metric)
    a, b, shown = one.baseline, one.candidate, figures(one)
    delta = f"{significant(compare.smallest_effect * 100)}{SPACE}%"
    match one.verdict:
        case "better" | "worse":
            bound = ", at least" if one.why.startswith("at least") else ""
            return f"{b} {_ratio(one, what)}{where} ({shown}{bound})"
        case "different-but-small":
            return f"{b} differs from {a} in {what}{where}, {small(one, delta)} ({shown})"
        case "equivalent":
            return f"{b} and {a} are equal in {what}{where} to within {delta} ({shown})"
        case "inconclusive":
            could = "" if one.detectable is None else f"; {_could(one)}"
            differs = f"whether {b} differs from {a} in {what}{where}"
            return f"it cannot be told {differs} ({shown}{could})"
        case _:
            why = one.why.rstrip(".")
            return f"no valid answer on {b} against {a} in {what}{where}: {why}"


def _ratio(one: Comparison, what: str) -> str:
    """How the candidate stands to the baseline, and whether that is good."""
    assert one.effect is not None
    if one.by == "difference":
        size = "larger" if one.effect > 0 else "smaller"
        return f"has a {size} {what} than {one.baseline}, which is {one.verdict}"
    times = f"{significant(1 + one.effect)}{TIMES}"
    if one.metric == "throughput":
        only = "" if one.effect > 0 else "only "
        return f"is {only}{times} as fast as {one.baseline} in {what}"
    return f"has {times} the {what} of {one.baseline}, which is {one.verdict}"


def figures(one: Comparison) -> str:
    """A comparison's effect with its interval, in words."""
    if one.effect is None:
        return "no figure"
    effect = _effect(one.effect, one.by, unit_of(one))
    if one.low is None or one.high is None:
        return effect
    if one.by == "difference":
        low, high = (_effect(bound, one.by, unit_of(one)) for bound in (one.low, one.high))
        return f"{effect}, 95{SPACE}% interval {low} … {high}"
    low, high = percent(one.low), percent(one.high)
    return f"{effect}, 95{SPACE}% interval {low} … {high}{SPACE}%"


def small(one: Comparison, matters: str) -> str:
    """How what is different-but-small stands to what matters: the truth may be larger than seen."""
    if not one.may_matter:
        return f"but by less than the {matters} that matter"
    return f"seen at less than the {matters} that matter, though it may be more"


def may_be_worse(one: Comparison) -> bool:
    """Whether a difference that was seen to be small may be one for the worse that matters."""
    is_better = (one.effect or 0.0) > 0
    return one.may_matter and is_better != (metric_of(one.metric, one.unit).better == "up")


def _effect(effect: float, by: Scale, unit: str) -> str:
    if by == "ratio":
        return f"{percent(effect)}{SPACE}%"
    return f"{'+' if effect >= 0 else ''}{readable(effect, unit)}"


def _could(one: Comparison) -> str:
    assert one.detectable is not None
    if one.by == "difference":
        size = readable(one.detectable, unit_of(one))
    else:
        size = f"{significant(one.detectable * 100)}{SPACE}%"
    return f"{one.sessions} sessions would have shown {size}"


def _settle(counting: Sequence[Comparison], record: RunRecord) -> str:
    """The command that would settle what is inconclusive."""
    # What one start cannot tell, more sessions of the same start cannot either.
    open_ones = [
        one
        for one in counting
        if one.verdict == "inconclusive" and not one.why.startswith(ONE_START)
    ]
    if not open_ones:
        return ""
    needed = [one.sessions_needed for one in open_ones]
    if any(one is None or one > MOST_PAIRS for one in needed):
        return (
            f" Not even {MOST_PAIRS} sessions would settle it here: longer trials, a quieter "
            "machine or a larger smallest_effect may."
        )
    most = max(one for one in needed if one is not None)
    # Enough for δ already and still open: the effect lies near δ, so only more can tell.
    sessions = most if most > record.sessions else min(MOST_PAIRS, 2 * record.sessions)
    return f" This would settle it: {command(record, sessions)}"


def command(record: RunRecord, sessions: int) -> str:
    """The run's own command with another number of sessions."""
    kept: list[str] = []
    is_value = False
    for part in record.command:
        option, _, value = part.partition("=")
        is_dropped = is_value or option in ("--sessions", "--resume")
        is_value = is_dropped and not is_value and not value
        if not is_dropped:
            kept.append(part)
    base = kept or ["benchlab", "run", record.experiment]
    return shlex.join([*base, "--sessions", str(sessions)])


def _seen(
    record: RunRecord, cases: Mapping[str, CaseJudgement], comparisons: Sequence[Comparison]
) -> str:
    measured = [judged for judged in cases.values() if judged.result.sessions]
    sought = [judged.result for judged in cases.values() if judged.result.capacity]
    if any(case.metrics[CAPACITY].is_usable for case in sought):
        done = max(case.metrics[CAPACITY].sessions for case in sought)
        said = "; ".join(_carries(case) for case in sought[:MOST_CLAUSES])
        return f"Seen in {done} session{'' if done == 1 else 's'}, without a claim: {said}."
    if not measured:
        whys = [_trouble(c.result).rstrip(".") for c in cases.values() if c.result.why]
        return f"Nothing could be measured ({'; '.join(whys) or 'no session was finished'})."
    done = max(judged.result.sessions for judged in measured)
    head = f"Seen in {done} session{'' if done == 1 else 's'}, without a claim:"
    leads = [one for one in comparisons if one.effect is not None][:MOST_CLAUSES]
    if leads:
        unit = _rate_unit(cases)
        return f"{head} {'; '.join(_lead(one, unit) for one in leads)}."
    metric = next((m for m in _HEADLINES if any(m in c.result.metrics for c in measured)), None)
    known = [
        (found.estimate, judged.result.name)
        for judged in measured
        if metric is not None
        and (found := judged.result.metrics.get(metric)) is not None
        and found.estimate is not None
    ]
    if metric is None or not known:
        return f"{head} no figure could be resolved; see the checks."
    low, high = min(known), max(known)
    unit = METRICS[metric].unit
    if len(known) == 1:
        return f"{head} {high[1]} has a {label(metric)} of {readable(high[0], unit)}."
    return (
        f"{head} {label(metric)} goes from {readable(low[0], unit)} ({low[1]}) "
        f"to {readable(high[0], unit)} ({high[1]}) over {len(known)} cases."
    )


def _carries(case: CaseResult) -> str:
    """The highest rate that keeps a case's target, in words."""
    found, sought = case.metrics[CAPACITY], case.capacity
    assert sought is not None
    keep = ", ".join(sought.keep)
    if not found.is_usable or found.estimate is None:
        return f"what {case.name} carries with {keep} cannot be told ({found.why.rstrip('.')})"
    rate, bound = readable(found.estimate, found.unit), found.validity == "at-least"
    if bound:
        return f"{case.name} keeps {keep} up to {rate} at least ({found.why.rstrip('.')})"
    between = ""
    if found.low is not None and found.high is not None:
        ends = " … ".join(readable(end, found.unit) for end in (found.low, found.high))
        between = f" (95{SPACE}% interval {ends})"
    return f"{case.name} keeps {keep} up to {rate}{between}"


_HEADLINES = ("completion_time", "throughput", "latency_p99", "latency_p50", "service_p50")


def _lead(one: Comparison, rate_unit: str) -> str:
    what = rate_unit if one.metric == "throughput" else label(one.metric)
    where = f" at {levels(one.at)}" if one.at else ""
    assert one.effect is not None
    if one.by == "difference":
        return f"{one.candidate} {figures(one)} against {one.baseline} in {what}{where}"
    times = f"{significant(1 + one.effect)}{TIMES}"
    return f"{one.candidate} has {times} the {what} of {one.baseline}{where}"


def _trouble(case: CaseResult) -> str:
    """What ails a case, in words."""
    state = _STATES.get(case.state)
    return f"{case.name} {state}: {case.why}" if state else f"{case.name}: {case.why}"


def _shades(
    experiment: Experiment,
    record: RunRecord,
    cases: Mapping[str, CaseJudgement],
    restart: float | None,
) -> list[str]:
    """What a reader must know beside the answer, a sentence each."""
    said = []
    if not record.is_done:
        more = " or more" if record.is_staged else ""
        done = f"{record.sessions_done} of {record.sessions}{more} sessions"
        cut = f"The run was cut off after {done}"
        is_judged = experiment.compare is not None and not explores(record.sessions)
        said.append(f"{cut}{': no verdict before all are done' if is_judged else ''}.")
    if record.order == "sequential":
        said.append(
            "The systems were measured one after the other in each session: "
            "what order and drift do is in the differences."
        )
    skipped = {j.result.why: j.result.system for j in cases.values() if j.result.state == "skipped"}
    said += [f"Skipped: {system} ({why.rstrip('.')})." for why, system in skipped.items()]
    ailing = [judged.result for judged in cases.values() if judged.result.state in _STATES]
    said += [f"{_trouble(case).rstrip('.')}." for case in ailing]
    said += [
        f"{judged.result.name} was not steady: {row.why}."
        for judged in cases.values()
        for row in judged.result.checks
        if row.name == "steady" and row.verdict == "invalid"
    ]
    running = [
        judged.case.system_name
        for judged in cases.values()
        if judged.case.system.at and judged.case.system.restart is None
    ]
    if running:
        names = ", ".join(dict.fromkeys(running))
        by = f" by {significant(100 * restart)}{SPACE}%" if restart is not None else ""
        said.append(f"This is of these running processes ({names}): a restart may differ{by}.")
    if experiment.allow:
        widened = ", ".join(f"{name} to {limit:g}" for name, limit in experiment.allow.items())
        said.append(f"Checks were widened: {widened}.")
    return said
