"""Runs that look like real ones, made from a seed: the report's subjects where none was measured.

Figures are drawn from plausible distributions and intervals computed from them, so that the pages
can be looked at; nothing asserts their values against reality.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Literal, TypeVar

from benchlab.model.evidence import (
    Capacity,
    CapacityStep,
    CaseResult,
    Check,
    Comparison,
    Estimate,
    OperationResult,
    Pair,
    PromiseResult,
    Summary,
    Verdict,
)
from benchlab.model.experiment import Compare, Experiment, Load, System, Workload
from benchlab.model.records import RunRecord
from benchlab.report.material import Ceiling, Clock, Curve, Line, Material

T = TypeVar("T")
Kind = Literal["response", "service"]
QUANTILES = [1 - 10 ** (-step / 8) for step in range(1, 37)]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Geometric mean with its 95 % t interval."""
    logs = [math.log(value) for value in values]
    centre = fmean(logs)
    half = 2.36 * stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)


def estimate(unit: str, values: Sequence[float]) -> Estimate:
    """An ordinary estimate of these sessions."""
    middle, low, high = interval(values)
    return Estimate(
        unit=unit, estimate=middle, low=low, high=high, sessions=len(values), values=tuple(values)
    )


def checks(shared: bool = False) -> tuple[Check, ...]:
    """The rows of METHOD, in order."""
    return (
        Check(name="lag", verdict="valid", figure=3.1e-5, limit=1e-3, unit="s"),
        Check(name="head-room", verdict="valid", figure=4.2, limit=2.0, unit="×",
              why="the null server reaches 4.2 times this rate"),
        Check(name="floor", verdict="valid", figure=0.08, limit=0.2, unit=""),
        Check(name="little", verdict="valid", figure=0.004, limit=0.05, unit=""),
        Check(name="answers", verdict="valid", figure=0.0, limit=0.0, unit=""),
        Check(name="steal", verdict="valid", figure=0.0007, limit=0.02, unit=""),
        Check(name="swap", verdict="valid", figure=0.0, limit=0.0, unit=""),
        Check(name="clock", verdict="valid"),
        Check(name="cores", verdict="valid",
              why="shared: agent and system on one core" if shared else "apart"),
        Check(name="steady", verdict="unknown", why="trials under 5 s are not examined"),
    )  # fmt: skip


def curve(case: str, kind: Kind, median_s: float, tail: float, resolved: float) -> Curve:
    """A log-normal body with a heavier tail."""
    points = []
    for q in QUANTILES:
        z = math.sqrt(2) * _inverse_erf(2 * q - 1)
        points.append((q, median_s * math.exp(0.28 * z + tail * max(0.0, z - 1.8) ** 2)))
    return Curve(case=case, kind=kind, points=tuple(points), resolved=resolved)


def _inverse_erf(x: float) -> float:
    a = 0.147
    log = math.log(max(1e-12, 1 - x * x))
    first = 2 / (math.pi * a) + log / 2
    return math.copysign(math.sqrt(math.sqrt(first * first - log / a) - first), x)


def clock(
    rng: random.Random, case: str, session: int, *, rate: float, p99_s: float, length_s: float = 5.0
) -> Clock:
    """A steady trial with a little noise, a stall now and then and resources to match."""
    fine = [round(0.1 * (n + 1), 1) for n in range(int(length_s * 10))]
    seconds = [n + 0.5 for n in range(int(length_s))]
    stall = rng.randrange(len(fine)) if rng.random() < 0.15 else -9
    rates = [rate * rng.gauss(1, 0.03) * (0.15 if 0 <= n - stall < 2 else 1)
             for n in range(len(fine))]  # fmt: skip
    memory = 48e6 + 2e6 * rng.random()
    return Clock(
        case=case,
        session=session,
        block=1,
        rate=Line(tuple(fine), tuple(rates)),
        latency_p99=Line(tuple(seconds), tuple(p99_s * rng.gauss(1, 0.08) for _ in seconds)),
        errors=Line(tuple(fine), tuple(3.0 if n == stall else 0.0 for n in range(len(fine)))),
        cpu_user=Line(tuple(fine), tuple(0.62 + 0.05 * rng.random() for _ in fine)),
        cpu_system=Line(tuple(fine), tuple(0.22 + 0.03 * rng.random() for _ in fine)),
        memory=Line(tuple(fine), tuple(memory + 1e5 * n for n in range(len(fine)))),
        own={"postgresql.blks_hit": Line(tuple(seconds), tuple(4 * rate for _ in seconds))},
        agent_cpu=Line(tuple(fine), tuple(0.31 + 0.04 * rng.random() for _ in fine)),
    )


def case(
    rng: random.Random,
    levels: dict[str, str],
    *,
    system: str,
    rate: float,
    sessions: int,
    p50_s: float,
) -> CaseResult:
    """A case that went well."""
    drift = [rng.gauss(0, 0.012) for _ in range(sessions)]

    def around(unit: str, centre: float, spread: float = 1.0) -> Estimate:
        return estimate(unit, [centre * math.exp(spread * d + rng.gauss(0, 0.004)) for d in drift])

    metrics = {
        "throughput": around("1/s", rate),
        "latency_p50": around("s", p50_s),
        "latency_p95": around("s", p50_s * 1.6, 2),
        "latency_p99": around("s", p50_s * 2.1, 3),
        "latency_p999": Estimate(unit="s", estimate=None, sessions=sessions, resolved=False,
                                 why="not resolved (needs 3,688, has 900 a session)"),
        "errors": Estimate(unit="", estimate=0.0, low=0.0, high=0.0, sessions=sessions,
                           values=(0.0,) * sessions),
        "system_cpu_per_transaction": around("s", 0.86 / rate),
        "system_memory": around("B", 52e6, 0.3),
        "postgresql.blks_hit": estimate("1/s", [4 * rate * math.exp(d) for d in drift]),
        "postgresql.blks_hit_per_transaction": estimate("count", [4.0 + d for d in drift]),
        "postgresql.deadlocks_per_transaction": Estimate(
            unit="count", estimate=0.0, sessions=sessions, values=(0.0,) * sessions),
        "postgresql.numbackends": estimate("count", [17.0 + d for d in drift]),
    }  # fmt: skip
    name = ",".join(f"{key}={value}" for key, value in levels.items()) or "all"
    operation = OperationResult(
        count=int(rate * 5 * sessions), errors=0, metrics={"service_p50": around("s", p50_s)}
    )
    return CaseResult(
        name=name,
        system=system,
        levels=levels,
        state="ok",
        checks=checks(),
        metrics=metrics,
        operations={"get": operation},
    )


def compared(
    base: CaseResult,
    other: CaseResult,
    factor: str,
    metric: str,
    *,
    counts: bool,
    verdict: Verdict | None,
) -> Comparison:
    """The paired effect between two cases."""
    pairs = [
        b / a
        for a, b in zip(base.metrics[metric].values, other.metrics[metric].values, strict=True)
        if a is not None and b is not None
    ]
    middle, low, high = interval(pairs)
    return Comparison(
        metric=metric,
        baseline=base.levels[factor],
        candidate=other.levels[factor],
        at={key: value for key, value in base.levels.items() if key != factor},
        counts=counts,
        effect=middle - 1,
        low=low - 1,
        high=high - 1,
        p=0.0078125 if counts else None,
        detectable=0.021,
        sessions=len(pairs),
        verdict=verdict,
        pairs=tuple(Pair(session=k, effect=v - 1) for k, v in enumerate(pairs)),
    )


def record(name: str, sessions: int) -> RunRecord:
    """A recipe."""
    return RunRecord(
        id=f"{name}-20250301T101500Z-a1b2c3",
        experiment=name,
        state="complete",
        created_utc="2025-03-01T10:15:00Z",
        command=("benchlab", "run", f"{name}.yaml"),
        seed=1,
        sessions=sessions,
        blocks=1,
        sessions_done=sessions,
        versions={"benchlab": "0.1.0", "python": "3.11.9", "engine": "0.1.0 release"},
        host={"cpu": "AMD EPYC 7763", "cores": 2, "memory_bytes": 25_769_803_776,
              "kernel": "6.1.0", "fingerprint": "9f2c11"},
        systems={"sqlite": {"version": "3.46.1"}},
    )  # fmt: skip


def experiment(name: str, compare: Compare | None, *, rate: float | None = None) -> Experiment:
    """The design."""
    return Experiment(
        experiment=name,
        question="Is one multiget faster than fetching each buddy on its own?",
        systems={"sqlite": System(kind="sqlite")},
        workload=Workload(name="buddies"),
        load=Load(clients=16, rate=rate, duration=5.0),
        compare=compare,
    )


def quickstart(seed: int = 1, sessions: int = 8, verdict: Verdict = "better") -> Material:
    """Two ways of fetching, one and four clients, eight sessions."""
    rng = random.Random(seed)
    rates = {("each", "1"): 2140.0, ("together", "1"): 4890.0,
             ("each", "4"): 2610.0, ("together", "4"): 6020.0}  # fmt: skip
    cases = [
        case(rng, {"fetch": fetch, "clients": clients}, system="sqlite", rate=rate,
             sessions=sessions, p50_s=int(clients) / rate * 0.9)
        for (fetch, clients), rate in rates.items()
    ]  # fmt: skip
    comparisons = (
        compared(cases[2], cases[3], "fetch", "throughput", counts=True, verdict=verdict),
        compared(cases[0], cases[1], "fetch", "throughput", counts=False, verdict=None),
        compared(cases[2], cases[3], "fetch", "latency_p99", counts=False, verdict=None),
        compared(cases[0], cases[1], "fetch", "latency_p99", counts=False, verdict=None),
    )
    first = comparisons[0]
    assert first.effect and first.low and first.high
    summary = Summary(
        experiment="quickstart",
        question="Is one multiget faster than fetching each buddy on its own?",
        state="complete",
        sessions=sessions,
        answer=f"At clients=4, together is {1 + first.effect:.3g}× as fast as each in logins/s "
        f"(+{100 * first.effect:.0f}\u00a0%, 95\u00a0% interval +{100 * first.low:.0f} … "
        f"+{100 * first.high:.0f}\u00a0%).",
        cases=tuple(cases),
        comparisons=comparisons,
        promises=(
            PromiseResult(expression="latency_p99 < 50ms", case=cases[0].name, figure=0.0009,
                          unit="s", holds=True),
        ),
    )  # fmt: skip
    compare = Compare(factor="fetch", baseline="each", metrics=("throughput",), at={"clients": "4"})
    return drawn(rng, summary, experiment("quickstart", compare), sessions)


def drawn(
    rng: random.Random, summary: Summary, design: Experiment, sessions: int, length_s: float = 5.0
) -> Material:
    """The summary with series and curves to match."""
    clocks, curves = [], []
    for found in summary.cases:
        if "throughput" not in found.metrics or "latency_p50" not in found.metrics:
            continue
        rate = found.metrics["throughput"].estimate or 1000.0
        p50 = found.metrics["latency_p50"].estimate or 1e-3
        for session in range(sessions):
            clocks.append(
                clock(rng, found.name, session, rate=rate * rng.gauss(1, 0.015), p99_s=p50 * 2.1,
                      length_s=length_s)
            )  # fmt: skip
        factor = 1.0 if not design.load.is_open else 1.35
        curves.append(curve(found.name, "service", p50, 0.15, 0.995))
        curves.append(curve(found.name, "response", p50 * factor, 0.15 * factor**3, 0.995))
    return Material(
        summary=summary,
        experiment=design,
        record=record(summary.experiment, sessions),
        experiment_text=f"experiment: {summary.experiment}\n# as given\nload: {{clients: 16}}\n",
        clocks=tuple(clocks),
        curves=tuple(curves),
        ceilings=tuple(
            Ceiling(found.name, 4.2 * (found.metrics["throughput"].estimate or 0), 3.1e-5)
            for found in summary.cases
            if "throughput" in found.metrics
        ),
    )


def sweep() -> Material:
    """Six numbers of clients on two systems."""
    rng = random.Random(7)
    cases = []
    for clients in (1, 2, 4, 8, 16, 32):
        for system, top in (("nginx", 21000.0), ("node", 9000.0)):
            rate = top * clients / (clients + 2.5)
            cases.append(
                case(rng, {"clients": str(clients), "system": system}, system=system, rate=rate,
                     sessions=8, p50_s=clients / rate * 0.9)
            )  # fmt: skip
    comparisons = [
        compared(cases[n], cases[n + 1], "system", "throughput", counts=n == 10,
                 verdict="worse" if n == 10 else None)
        for n in range(0, 12, 2)
    ]  # fmt: skip
    summary = Summary(
        experiment="rest",
        question="Which HTTP server answers a small GET /api fastest?",
        state="complete",
        sessions=8,
        answer="At clients=32, node is only 0.428× as fast as nginx in transactions/s "
        "(-57.2\u00a0%, 95\u00a0% interval -57.9 … -56.5\u00a0%).",
        cases=tuple(cases),
        comparisons=tuple(comparisons),
    )
    compare = Compare(
        factor="system", baseline="nginx", metrics=("throughput",), at={"clients": "32"}
    )
    return drawn(rng, summary, experiment("rest", compare), 8)


def explored() -> Material:
    """Three sessions of one case under an open load: numbers, no claims."""
    rng = random.Random(3)
    only = case(rng, {}, system="page", rate=5000.0, sessions=3, p50_s=8e-4)
    summary = Summary(
        experiment="try",
        question="",
        state="complete",
        sessions=3,
        answer="Seen in 3 sessions, without a claim: page has a p99 latency of 1.7ms.",
        cases=(only.model_copy(update={"checks": checks(shared=True)}),),
    )
    material = drawn(rng, summary, experiment("try", None, rate=5000.0), 3, length_s=12.0)
    return _with(material, labels=("shared",))


def sought() -> Material:
    """A case whose highest rate was sought: the steps of a search and of three sessions."""
    material = explored()
    (only,) = material.summary.cases
    steps = [
        CapacityStep(
            session=session,
            rate=rate,
            share=share,
            outcome="kept" if p99_s and p99_s < 0.05 else "broken" if share != 1.1 else "unknown",
            why="" if p99_s and p99_s < 0.05 else "latency_p99 is too much",
            figures={"latency_p99": p99_s},
        )
        for session, rate, share, p99_s in (
            (0, 400.0, None, 0.004),
            (0, 800.0, None, None),
            (0, 540.0, 0.9, 0.011),
            (0, 600.0, 1.0, 0.034),
            (0, 660.0, 1.1, 0.27),
            (1, 550.0, 0.9, 0.012),
            (1, 611.0, 1.0, 0.061),
            (2, 530.0, 0.9, 0.009),
        )
    ]
    capacity = Capacity(
        keep=("latency_p99 < 50ms",),
        limits={"latency_p99": 0.05},
        peak=240.0,
        found=600.0,
        steps=tuple(steps),
    )
    found = estimate("1/s", [629.0, 580.0, 596.0])
    over = estimate("", [value / 240 for value in found.values if value])
    metrics = {"capacity": found, "capacity_over_peak": over, **only.metrics}
    changed = only.model_copy(update={"capacity": capacity, "metrics": metrics})
    return _with(material, summary=material.summary.model_copy(update={"cases": (changed,)}))


def inconclusive() -> Material:
    """An effect lost in the noise, with the sessions that would settle it."""
    material = quickstart(seed=5, verdict="inconclusive")
    first = material.summary.comparisons[0].model_copy(
        update={
            "effect": 0.018, "low": -0.021, "high": 0.058, "p": 0.3125, "detectable": 0.052,
            "sessions_needed": 19, "why": "could have found 5.2 %; 19 sessions would find 3 %",
            "pairs": tuple(Pair(session=k, effect=e) for k, e in enumerate(
                (0.061, -0.034, 0.012, 0.071, -0.028, 0.044, -0.019, 0.037))),
        }
    )  # fmt: skip
    comparisons = (first, *material.summary.comparisons[1:])
    settle = "benchlab run quickstart.yaml --sessions 19"
    answer = (
        "At clients=4, it cannot be told whether together differs from each in throughput (+1.8 %, "
        "95 % interval -2.1 … +5.8 %; 8 sessions would have shown 5.2 %). This would settle it: "
        f"{settle}"
    )
    summary = material.summary.model_copy(update={"comparisons": comparisons, "answer": answer})
    return _with(material, summary=summary)


def troubled() -> Material:
    """A case that died, one skipped, one overloaded and one bound by its own agent."""
    material = quickstart(seed=9)
    first, second, third, fourth = material.summary.cases
    bound = {
        **third.metrics,
        "throughput": third.metrics["throughput"].model_copy(
            update={"validity": "at-least", "why": "agent-bound"}
        ),
        "latency_p99": third.metrics["latency_p99"].model_copy(
            update={"validity": "withheld", "why": "agent-bound: set rate: 1300/s"}
        ),
    }
    agent = Check(name="head-room", verdict="invalid", figure=1.1, limit=2.0, unit="×",
                  why="agent-bound: the null server reaches only 1.1 times this rate; "
                  "set rate: 1300/s")  # fmt: skip
    cases = (
        first.model_copy(update={"state": "died", "metrics": {}, "operations": {},
                                 "why": "exit status 139 after 2.1 s in sessions 1, 2, 3"}),
        second.model_copy(update={"state": "overloaded",
                                  "why": "0.93 of the offered rate was completed"}),
        third.model_copy(update={"metrics": bound, "checks": (agent, *checks()[2:])}),
        fourth.model_copy(update={"state": "skipped", "metrics": {}, "checks": (),
                                  "operations": {},
                                  "why": "nginx is not installed (apt install nginx)"}),
    )  # fmt: skip
    comparisons = tuple(
        c.model_copy(update={"effect": None, "low": None, "high": None, "p": None, "pairs": (),
                             "verdict": "invalid" if c.counts else None,
                             "why": "fewer than 6 counting sessions"})
        for c in material.summary.comparisons
    )  # fmt: skip
    summary = material.summary.model_copy(
        update={"cases": cases, "comparisons": comparisons, "state": "interrupted",
                "answer": "At clients=4, no valid answer on together against each in throughput: "
                "fewer than 6 counting sessions. The run was cut off after 5 of 8 sessions.",
                "promises": (
                    PromiseResult(expression="latency_p99 < 50ms", case=third.name, figure=0.071,
                                  unit="s", holds=False),
                    PromiseResult(expression="errors < 0.1%", case=first.name, figure=None,
                                  holds=None))}
    )  # fmt: skip
    design = experiment("quickstart", material.experiment.compare if material.experiment else None)
    design = design.model_copy(update={"allow": {"steal": 0.05}})
    log = "sqlite: disk I/O error\nsegmentation fault"
    return _with(material, summary=summary, experiment=design, logs={first.name: log})


def nothing() -> Material:
    """A run of which nothing could be measured."""
    material = quickstart()
    cases = tuple(
        found.model_copy(update={"state": "skipped", "metrics": {}, "operations": {}, "checks": (),
                                 "why": "sqlite is not installed"})
        for found in material.summary.cases
    )  # fmt: skip
    summary = Summary(
        experiment="quickstart",
        question=material.summary.question,
        state="interrupted",
        sessions=0,
        answer="Nothing could be measured (sqlite is not installed).",
        cases=cases,
    )
    return Material(summary=summary, experiment=material.experiment, record=material.record)


def hostile() -> Material:
    """Markup and terminal escapes in every text that comes from outside."""
    attack = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m"
    material = troubled()

    def spoil(text: str) -> str:
        return f"{attack}{text}"

    cases = tuple(
        found.model_copy(update={
            "name": spoil(found.name), "system": spoil(found.system), "why": spoil(found.why),
            "levels": {spoil(k): spoil(v) for k, v in found.levels.items()},
            "checks": tuple(c.model_copy(update={"name": spoil(c.name), "why": spoil(c.why)})
                            for c in found.checks),
            "operations": {spoil(k): v for k, v in found.operations.items()},
            "metrics": found.metrics | {spoil("counter"): Estimate(
                unit=attack, estimate=3.0, low=2.0, high=4.0, sessions=8, values=(3.0,) * 8)},
        })
        for found in material.summary.cases
    )  # fmt: skip
    comparisons = tuple(
        c.model_copy(update={"baseline": spoil(c.baseline), "candidate": spoil(c.candidate),
                             "at": {spoil(k): spoil(v) for k, v in c.at.items()},
                             "why": spoil(c.why)})
        for c in quickstart().summary.comparisons
    )  # fmt: skip
    summary = material.summary.model_copy(
        update={"experiment": attack, "question": attack, "answer": attack, "cases": cases,
                "comparisons": comparisons,
                "promises": (PromiseResult(expression=attack, case=attack, figure=1.0,
                                           holds=False),)}
    )  # fmt: skip
    known = material.record
    assert known is not None
    return _with(
        material,
        summary=summary,
        record=known.model_copy(update={
            "id": attack, "command": ("benchlab", attack), "versions": {attack: attack},
            "host": {attack: attack}, "systems": {attack: {attack: attack}}, "notes": (attack,)}),
        experiment_text=f"{attack}\n</script></textarea></pre>",
        logs={spoil(name): attack for name in material.logs},
        labels=(attack,),
        clocks=tuple(_renamed(c, spoil) for c in material.clocks),
        curves=tuple(_renamed(c, spoil) for c in material.curves),
        ceilings=tuple(_renamed(c, spoil) for c in material.ceilings),
    )  # fmt: skip


def _renamed(item: T, change: Callable[[str], str]) -> T:
    return _with(item, case=change(item.case))


def _with(item: T, **changes: object) -> T:
    return replace(item, **changes)  # type: ignore[type-var]


ALL = {
    "quickstart": quickstart,
    "sweep": sweep,
    "explored": explored,
    "sought": sought,
    "inconclusive": inconclusive,
    "troubled": troubled,
    "nothing": nothing,
    "hostile": hostile,
}
