"""Searches for the highest rate that keeps a target, judged: of a queue that is known, by steps.

The simulated server serves one request at a time with exponential times, so that the rate at which
its p99 leaves the target follows from queueing theory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
from runs import Course, FakeTrial, experiment_of
from synthetic import MS
from test_simulated import agent, ask, plan_of

from benchlab import store
from benchlab.judge.between import declared
from benchlab.judge.capacity import judge_capacity, weigh
from benchlab.judge.run import judge_run
from benchlab.judge.trial import judge_trial
from benchlab.lab.seeking import Seeker
from benchlab.lab.turns import session_turns
from benchlab.model.experiment import Case, Compare, Experiment, Load, System, Workload
from benchlab.model.expressions import parse
from benchlab.model.records import CpuSets, RunRecord, Step, TrialRecord
from benchlab.report import readable
from benchlab.stats.capacity import SHARES

__all__ = ["agent"]
KEEP = parse("latency_p99 < 10ms")
SERVED_PER_SECOND = {"old": 1000.0, "new": 1300.0}


def sought(name: str, **load: Any) -> Case:
    """A case whose rate is sought."""
    return Case(
        name=f"server={name}",
        levels={"server": name},
        system_name="db",
        system=System(kind="command"),
        workload=Workload(name="buddies"),
        load=Load(find="highest rate", keep=(KEEP,), connections=32, **{"duration": 8.0, **load}),
    )


CASES = (sought("old", peak=300.0), sought("new"))
RECORD: dict[str, Any] = {
    "id": "sim",
    "experiment": "buddies",
    "state": "complete",
    "created_utc": "2026-01-01T00:00:00Z",
    "command": ("benchlab", "run", "buddies.yaml"),
    "seed": 1,
    "blocks": 1,
}
COMPARE = Compare(factor="server", baseline="old", metrics=("capacity",))


def searched(
    agent: Path, path: Path, experiment: Experiment, cases: Sequence[Case], sim: Mapping[str, Any]
) -> store.Run:
    """A whole run: the lab's turns, each asked of the simulator and written as the lab does."""
    sessions = experiment.sessions
    record = RunRecord(**RECORD, sessions=sessions, sessions_done=sessions)
    run = store.create("experiment: buddies\n", record, path)
    seekers = {case.name: Seeker(experiment, case, run) for case in cases}
    for session in range(experiment.sessions):
        for turn in session_turns(experiment, session, cases, seekers, set(), "resident"):
            assert turn.step is not None and turn.case.load.rate is not None
            trial = run.new_trial(
                TrialRecord(
                    session=session,
                    block=turn.block,
                    case=turn.case.name,
                    attempt=0,
                    state="ok",
                    started_utc="2026-01-01T00:00:00Z",
                    step=turn.step,
                    cpus=CpuSets(agent=(0,), system=(1,)),
                )
            )
            seed = 1000 * session + turn.number
            served = SERVED_PER_SECOND[turn.case.levels["server"]]
            service = {"service": {"exponential_ns": round(1e9 / served)}}
            seconds = round(turn.case.load.duration or 1)
            plan = plan_of(seed, service | dict(sim), rate=turn.case.load.rate, seconds=seconds)
            ask(agent, plan, trial.path)
            seekers[turn.case.name].saw(turn.step, trial)
    return run


def test_the_capacities_of_two_queues_are_found_and_told_apart(agent: Path, tmp_path: Path) -> None:
    experiment = experiment_of(CASES, compare=COMPARE, sessions=6, blocks=1)
    run = searched(agent, tmp_path / "run", experiment, CASES, {})
    summary = judge_run(experiment, CASES, run).summary
    for case in summary.cases:
        found = case.metrics["capacity"]
        # Responses of M/M/1 are exponential with μ - λ (Kleinrock 1975, § 3.2).
        truth = SERVED_PER_SECOND[case.levels["server"]] - log(100) / KEEP.limit
        print(f"\n{case.name}: {truth:.0f}/s, found {readable.estimate(found).text}")
        assert found.estimate == pytest.approx(truth, rel=0.08)
        assert found.validity == "valid" and found.sessions == 6 and found.resolved
        assert found.low is not None and found.high is not None
        assert found.low < truth * 1.01 and found.high > truth * 0.99
        assert case.state == "ok" and case.capacity is not None
        assert case.metrics["throughput"].estimate == pytest.approx(0.9 * truth, rel=0.25)
        shares = [{s.share for s in case.capacity.steps if s.session == n} for n in range(6)]
        assert all({0.9, 1.0, 1.1} <= own for own in shares) and None in shares[0]
        assert not any(None in own for own in shares[1:])
    (apart,) = summary.comparisons
    assert apart.metric == "capacity" and apart.verdict == "better" and apart.by == "ratio"
    assert apart.low is not None and apart.low < 839 / 539 - 1 < (apart.high or 0)
    old = summary.cases[0].metrics
    assert old["capacity_over_peak"].estimate == pytest.approx(
        (old["capacity"].estimate or 0) / 300
    )
    assert "of it is left" in readable.capacity(summary.cases[0])[1]
    assert judge_run(experiment, CASES, run).summary == summary
    assert declared(experiment_of(CASES)) == ("capacity",)


def test_a_step_that_closes_in_does_not_stand_for_the_case(tmp_path: Path) -> None:
    case, record = CASES[1], RunRecord(**RECORD, sessions=1)
    run = store.create("experiment: x\n", record, tmp_path / "run")
    seeker = Seeker(experiment_of([case], sessions=1), case, run)
    seeker._searched = {100.0: "kept", 105.0: "broken"}
    assert seeker.found is not None
    # The middle of this gap is 0.9002 of what was found.
    seeker._own = {0.87 * seeker.found: "kept", 0.9314 * seeker.found: "broken"}
    step = seeker.closing()
    assert step is not None and step.share == pytest.approx(0.9, abs=0.0005)
    assert step.share not in SHARES


def test_an_agent_at_its_limit_is_no_system_that_breaks(agent: Path, tmp_path: Path) -> None:
    cases = (sought("new", duration=1.0),)
    experiment = experiment_of(cases, sessions=2, blocks=1)
    slow = {"service": {"constant_ns": 10_000}, "servers": 100, "agent_step_ns": 400_000}
    case = judge_run(
        experiment, cases, searched(agent, tmp_path / "run", experiment, cases, slow)
    ).summary.cases[0]
    found = case.metrics["capacity"]
    assert found.validity == "at-least" and found.estimate is not None and found.estimate > 300
    assert "not seen to break it" in found.why and "agent-bound" in found.why
    assert case.capacity is not None
    broken = [step for step in case.capacity.steps if step.outcome == "broken"]
    assert not broken, [(step.rate, step.why) for step in broken]
    assert "at least" in readable.capacity(case)[0]


def trial_of(course: Course, case: Case, session: int = 0, share: float | None = None) -> Any:
    """A trial of a step that went so."""
    state: Any = course.state
    return FakeTrial(
        TrialRecord(
            session=session,
            block=0,
            case=case.name,
            attempt=0,
            state=state,
            why=course.why,
            started_utc="2026-01-01T00:00:00Z",
            step=Step(rate=course.rate, share=share),
            cpus=CpuSets(agent=(0,), system=(1,)),
            ceiling="null/x",
        ),
        course,
    )


def step_of(course: Course, **given: Any) -> tuple[str, str]:
    """What one trial says of its rate."""
    case = sought("old")
    judged = judge_trial(trial_of(course, case), experiment_of([case]), case)
    found = weigh([judged], given.get("keep", (KEEP,)), {})
    return found.outcome, found.why


OPEN = Course(open_at=1000.0)


@pytest.mark.parametrize(
    ("course", "outcome", "why"),
    [
        (OPEN, "kept", ""),
        (replace(OPEN, slow_ns=40 * MS), "broken", "latency_p99 is 4"),
        (replace(OPEN, failed=0.02), "broken", "failing: 2.00%"),
        (replace(OPEN, open_at=1200.0, rate=1000.0), "unknown", "lag: "),
        (replace(OPEN, lag_ns=30 * MS), "unknown", "lag: "),
        (replace(OPEN, steal=0.3), "unknown", "steal: "),
        (replace(OPEN, floor_ns=3 * MS), "kept", ""),
        (replace(OPEN, floor_ns=30 * MS, slow_ns=40 * MS), "unknown", "the path itself"),
        (replace(OPEN, state="died", why="was killed"), "broken", "died: "),
        (replace(OPEN, rate=40.0, open_at=40.0), "unknown", "not resolved (needs 100 in each"),
        (replace(OPEN, rate=40.0, open_at=40.0, slow_ns=40 * MS), "broken", "latency_p99 is 4"),
    ],
)
def test_only_the_system_breaks_a_target(course: Course, outcome: str, why: str) -> None:
    found, said = step_of(course)
    assert found == outcome and why in said, said


def test_a_session_in_which_nothing_is_kept_is_not_left_out_of_the_mean() -> None:
    case = sought("old")

    def steps(session: int, high: Course) -> list[Any]:
        low = replace(high, rate=900.0, open_at=900.0)
        low = low if high.state == "died" else replace(low, slow_ns=None)
        return [trial_of(low, case, session, 0.9), trial_of(high, case, session, 1.0)]

    slow, dead = replace(OPEN, slow_ns=40 * MS), replace(OPEN, state="died", why="was killed")
    experiment = experiment_of([case], sessions=2, blocks=1)
    both = judge_capacity(experiment, case, [*steps(0, slow), *steps(1, slow)], 2)
    found = both.result.metrics["capacity"]
    assert found.is_usable and found.estimate == pytest.approx((900 * 1000) ** 0.5)
    one = judge_capacity(experiment, case, [*steps(0, slow), *steps(1, dead)], 2)
    found = one.result.metrics["capacity"]
    assert (found.estimate, found.validity) == (None, "withheld")
    assert found.why == "in 1 of 2 sessions no rate was seen to keep it: died: was killed"


def test_a_search_that_was_disturbed_goes_on_in_the_next_session(tmp_path: Path) -> None:
    (case,) = cases = (sought("old"),)
    experiment = experiment_of(cases, sessions=2, blocks=1)
    record = RunRecord(**RECORD, sessions=2)
    seeker = Seeker(experiment, case, store.create("experiment: x\n", record, tmp_path / "run"))
    asked = []
    while (step := seeker.searching()) is not None:
        asked.append(step.rate)
        seeker.saw(step, trial_of(replace(OPEN, lag_ns=30 * MS), case))
    assert asked == [100, 50, 25] and seeker.is_in_vain and seeker.rungs(0) == ()
    seeker.begin_session()
    again = seeker.searching()
    assert again is not None and again.rate == 100 and not seeker.is_in_vain
    seeker.saw(again, trial_of(OPEN, case))
    after = seeker.searching()
    assert after is not None and after.rate == 200


def test_errors_that_are_bounded_by_name_have_that_bound_alone() -> None:
    failing = replace(OPEN, failed=0.02)
    assert step_of(failing, keep=(parse("errors < 5%"),)) == ("kept", "")
    assert step_of(failing, keep=(parse("errors < 1%"),)) == ("broken", "errors is 2%")
