"""Runs of the real engine in its simulator, judged from their folders.

The simulated server's speed is known, so what the judge must say is known too. A run is written as
the lab writes it, with the null server's Measurements beside it; time is simulated, so that nothing
waits.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from runs import cases_of, experiment_of

from benchlab import store
from benchlab.judge.run import Judgement, judge_run
from benchlab.load.agent import binary
from benchlab.model.errors import HostError
from benchlab.model.evidence import Summary
from benchlab.model.experiment import Case, Compare
from benchlab.model.records import CpuSets, RunRecord, TrialRecord

CASES = cases_of("server", ["old", "new"])
COMPARE = Compare(factor="server", baseline="old", metrics=("throughput",))
SECOND = 1_000_000_000
Sim = Mapping[str, Any]


@pytest.fixture(scope="module")
def agent() -> Path:
    try:
        return binary("agent")
    except HostError as error:
        pytest.skip(str(error))


def plan_of(seed: int, sim: Sim, *, rate: float | None = None, seconds: int = 1) -> dict[str, Any]:
    """A page is asked for by eight clients, or at a rate over 32 connections."""
    page = {"http": {"method": "GET", "path": "/"}}
    operation = {"name": "get", "request": page, "expect": {"status": [200]}}
    shape = [{"from_per_second": rate, "to_per_second": rate, "length_ns": SECOND}]
    return {
        "version": 1,
        "seeds": {"keys": seed, "values": 1, "arrivals": seed, "faults": seed},
        "driver": {"kind": "http", "targets": ["http://127.0.0.1:80"]},
        "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
        "schedule": {"closed": {"clients": 8}}
        if rate is None
        else {"open": {"connections": 32, "shape": shape}},
        "warmup_ns": SECOND // 5,
        "stop": {"duration_ns": seconds * SECOND},
        "net": "sim",
        "sim": {"latency_ns": 10_000} | dict(sim),
    }


def ask(agent: Path, plan: Mapping[str, Any], folder: Path) -> None:
    """Leaves the Plan and its Measurement in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plan)
    (folder / "plan.json").write_text(text)
    command = [str(agent), "--allow-debug"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    (folder / "measurement.arrow").write_bytes(done.stdout)


Script = Callable[[Case, int, int], dict[str, Any]]
"""The Plan of a case in a session and block."""


def run_of(agent: Path, path: Path, script: Script, sessions: int, blocks: int = 2) -> store.Run:
    """A finished run whose null server answers at once."""
    record = RunRecord(
        id="sim",
        experiment="buddies",
        state="complete",
        created_utc="2026-01-01T00:00:00Z",
        command=("benchlab", "run", "buddies.yaml"),
        seed=1,
        sessions=sessions,
        blocks=blocks,
        sessions_done=sessions,
    )
    run = store.create("experiment: buddies\n", record, path)
    for session in range(sessions):
        for block in range(blocks):
            for case in CASES:
                plan = script(case, session, block)
                kept = run.new_trial(
                    TrialRecord(
                        session=session,
                        block=block,
                        case=case.name,
                        attempt=0,
                        state="ok",
                        started_utc="2026-01-01T00:00:00Z",
                        cpus=CpuSets(agent=(0,), system=(1,)),
                        ceiling=f"null/{case.name}",
                    )
                )
                ask(agent, plan, kept.path)
                _null(agent, plan, run.path / "null" / case.name)
    return run


def _null(agent: Path, plan: Mapping[str, Any], folder: Path) -> None:
    """The ruler under this Plan: the same agent and network, and a server that only answers."""
    if folder.exists():
        return
    nothing = dict(plan["sim"]) | {"service": {"constant_ns": 1}, "freezes": [], "servers": 1000}
    ask(
        agent,
        dict(plan) | {"sim": nothing, "schedule": {"closed": {"clients": 8}}},
        folder / "ceiling",
    )
    slow = plan_of(1, nothing, rate=1000.0)
    ask(agent, slow, folder / "floor")


def seed_of(case: Case, session: int, block: int) -> int:
    """A seed of its own for each trial: real systems do not draw the same times twice."""
    return 1 + CASES.index(case) + 2 * (block + 2 * session)


def served(mean_of_new_ns: int) -> Script:
    """Exponential service, 100 µs in the mean for the old server."""

    def script(case: Case, session: int, block: int) -> dict[str, Any]:
        mean = 100_000 if case.levels["server"] == "old" else mean_of_new_ns
        seed = seed_of(case, session, block)
        return plan_of(seed, {"service": {"exponential_ns": mean}})

    return script


def judge(run: store.Run, compare: Compare | None = COMPARE) -> Judgement:
    return judge_run(experiment_of(CASES, compare=compare), CASES, run)


def test_a_server_five_per_cent_slower_is_found(agent: Path, tmp_path: Path) -> None:
    summary = judge(run_of(agent, tmp_path / "run", served(105_000), sessions=8)).summary
    (found,) = summary.comparisons
    assert found.verdict == "worse"
    assert found.effect == pytest.approx(1 / 1.05 - 1, abs=0.01)
    assert found.low is not None and found.high is not None
    assert found.low < 1 / 1.05 - 1 < found.high
    assert "new is only 0.95" in summary.answer and "pages/s" in summary.answer
    (old, _) = summary.cases
    assert old.state == "ok"
    assert old.metrics["throughput"].estimate == pytest.approx(10_000, rel=0.02)
    rows = {row.name: row.verdict for row in old.checks}
    assert [rows[name] for name in ("lag", "head-room", "floor", "little", "answers")] == (
        ["valid"] * 5
    )


def test_two_equal_servers_are_not_called_different(agent: Path, tmp_path: Path) -> None:
    run = run_of(agent, tmp_path / "run", served(100_000), sessions=8)
    first = judge(run).summary
    assert first.comparisons[0].verdict == "equivalent"
    run.write_summary(first)
    again = judge(store.find(str(run.path))).summary
    assert again == first == run.summary()
    assert Summary.model_validate_json(again.model_dump_json()) == first


def test_a_starved_agent_reads_at_least(agent: Path, tmp_path: Path) -> None:
    def script(case: Case, session: int, block: int) -> dict[str, Any]:
        sim = {"service": {"constant_ns": 2_000}, "servers": 1000, "agent_step_ns": 500_000}
        return plan_of(seed_of(case, session, block), sim)

    summary = judge(run_of(agent, tmp_path / "run", script, sessions=1), None).summary
    case = summary.cases[0]
    rows = {row.name: row for row in case.checks}
    assert rows["head-room"].verdict == "invalid" and "agent-bound" in rows["head-room"].why
    assert case.metrics["throughput"].validity == "at-least"
    assert case.metrics["latency_p99"].validity == "withheld"


def test_a_stall_shows_in_response_and_not_in_service(agent: Path, tmp_path: Path) -> None:
    def script(case: Case, session: int, block: int) -> dict[str, Any]:
        freeze = {"at_ns": 5 * SECOND, "for_ns": SECOND // 2}
        sim = {"service": {"constant_ns": 20_000}, "freezes": [freeze]}
        return plan_of(seed_of(case, session, block), sim, rate=5000.0, seconds=10)

    judged = judge(run_of(agent, tmp_path / "run", script, sessions=1), None)
    metrics = judged.summary.cases[0].metrics
    # Half a second in ten: the slowest hundredth of all waited 0.4 s and more.
    assert judged.cases["server=old"].values("response_p99")[0] == pytest.approx(0.4, abs=0.03)
    # What had queued on 32 connections is served at once: 32 times 20 µs.
    assert metrics["service_p99"].estimate == pytest.approx(0.00064, rel=0.1)
    assert metrics["response_max"].estimate == pytest.approx(0.5, abs=0.02)
    # One stall is one event, however many requests it caught: two trials do not show a p99.
    assert not metrics["response_p99"].resolved and "not resolved" in metrics["response_p99"].why


def test_a_server_that_cannot_keep_up_is_overloaded(agent: Path, tmp_path: Path) -> None:
    def script(case: Case, session: int, block: int) -> dict[str, Any]:
        sim = {"service": {"constant_ns": 300_000}}
        return plan_of(seed_of(case, session, block), sim, rate=5000.0)

    case = judge(run_of(agent, tmp_path / "run", script, sessions=1), None).summary.cases[0]
    assert case.state == "overloaded"
    assert case.metrics["throughput"].estimate == pytest.approx(1 / 0.0003, rel=0.01)


def test_wrong_answers_are_failing(agent: Path, tmp_path: Path) -> None:
    def script(case: Case, session: int, block: int) -> dict[str, Any]:
        wrong = {str(ordinal): "error" for ordinal in range(0, 20_000, 50)}
        sim = {"service": {"constant_ns": 100_000}, "misdeeds": wrong}
        return plan_of(seed_of(case, session, block), sim)

    case = judge(run_of(agent, tmp_path / "run", script, sessions=1), None).summary.cases[0]
    assert case.state == "failing"
    assert case.metrics["errors"].estimate == pytest.approx(0.02, rel=0.05)
    assert case.metrics["latency_p99"].estimate is None
    assert case.metrics["service_p99"].estimate == pytest.approx(0.0008, rel=0.1)
    row = {check.name: check for check in case.checks}["answers"]
    assert row.verdict == "invalid" and "such as" in row.why


@pytest.mark.parametrize("kept", [-2000, 3000, 100, 0])
def test_a_torn_measurement_is_not_used(agent: Path, tmp_path: Path, kept: int) -> None:
    run = run_of(agent, tmp_path / "run", served(100_000), sessions=1)
    path = run.trials()[0].path / "measurement.arrow"
    path.write_bytes(path.read_bytes()[:kept])
    case = judge(run, None).cases[run.trials()[0].record.case]
    assert not case.trials[0].is_whole and not case.trials[0].usable("throughput")
    assert case.unusable("throughput") == 1
