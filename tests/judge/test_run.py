"""Whole runs judged: what is used, the verdicts, promises, the sentence."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from runs import Course, FakeRun, Script, cases_of, experiment_of, run_of, wobble

from benchlab.judge.restarts import learnt, shaded
from benchlab.judge.run import Judgement, judge_run
from benchlab.judge.trial import judge_trial, needs_repeat
from benchlab.model.evidence import Comparison, Summary
from benchlab.model.experiment import Case, Compare, Experiment
from benchlab.model.expressions import parse
from benchlab.model.records import Restart, Restarts

FETCH = cases_of("fetch", ["each", "together"])


def compare(*metrics: str, at: dict[str, str] | None = None) -> Compare:
    return Compare(factor="fetch", baseline="each", metrics=metrics or ("throughput",), at=at or {})


def steady(effect: float = 0.0, **given: object) -> Script:
    """Both sides alike but for this effect on the candidate's rate."""

    def script(case: Case, session: int, block: int) -> Course:
        is_candidate = case.levels.get("fetch") == "together"
        rate = 20_000.0 * wobble(session, block, int(is_candidate))
        return Course(rate=rate * (1 + effect * is_candidate), **given)  # type: ignore[arg-type]

    return script


def judge(experiment: Experiment, cases: Sequence[Case], run: FakeRun) -> Judgement:
    return judge_run(experiment, cases, run)  # type: ignore[arg-type]


def judged(script: Script, the_compare: Compare | None = None, **given: object) -> Judgement:
    experiment = experiment_of(FETCH, compare=the_compare or compare())
    return judge(experiment, FETCH, run_of(FETCH, script, **given))  # type: ignore[arg-type]


def test_a_faster_candidate_is_better_and_the_sentence_says_so() -> None:
    summary = judged(steady(1.31)).summary
    (found,) = summary.comparisons
    assert found.counts and found.verdict == "better" and found.by == "ratio"
    assert found.effect == pytest.approx(1.31, abs=0.02)
    assert found.low is not None and found.high is not None and found.low < 1.31 < found.high
    assert found.p == 2 / 2**8 and found.sessions == 8 and len(found.pairs) == 8
    assert "together is 2.3" in summary.answer and "as fast as each in logins/s" in summary.answer
    assert "95\u00a0% interval +1" in summary.answer


def test_equal_sides_are_equivalent() -> None:
    summary = judged(steady()).summary
    assert summary.comparisons[0].verdict == "equivalent"
    assert "together and each are equal in logins/s to within 3\u00a0%" in summary.answer


def test_the_cases_carry_their_figures() -> None:
    each, together = judged(steady(0.5)).summary.cases
    assert each.state == together.state == "ok"
    found = each.metrics["throughput"]
    assert found.estimate == pytest.approx(20_000, rel=0.01) and found.sessions == 8
    assert found.low is not None and found.low < 20_000 < (found.high or 0)
    assert len(found.values) == 8
    assert each.metrics["latency_p99"].estimate == pytest.approx(0.004, rel=0.002)
    assert each.metrics["system_memory"].estimate == pytest.approx(5e7)
    assert {row.name: row.verdict for row in each.checks}["head-room"] == "valid"
    operation = each.operations["read"]
    assert operation.errors == 0 and operation.count == pytest.approx(16 * 2 * 20_000, rel=0.01)
    assert operation.metrics["service_p50"].estimate == pytest.approx(0.004, rel=0.002)


def test_judging_again_gives_the_same_summary_and_it_survives_its_file() -> None:
    run = run_of(FETCH, steady(0.05))
    experiment = experiment_of(FETCH, compare=compare("throughput", "latency_p99"))
    first = judge(experiment, FETCH, run).summary
    assert judge(experiment, FETCH, run).summary == first
    assert Summary.model_validate_json(first.model_dump_json()) == first


def test_what_is_not_used() -> None:
    bad = Course(rate=1.0)

    def script(case: Case, session: int, block: int) -> list[Course]:
        good = Course(rate=20_000.0 * wobble(session, block))
        superseded = Course(rate=1.0, used=False)
        cut = Course(rate=1.0, attempt=2, state="interrupted")
        if session == 7:
            return [bad]
        return [
            superseded,
            Course(rate=1.0, attempt=0),
            Course(**{**vars(good), "attempt": 1}),
            cut,
        ]

    summary = judged(script, done=7).summary
    assert summary.state == "interrupted" and summary.sessions == 7
    assert summary.comparisons[0].sessions == 7
    assert summary.cases[0].metrics["throughput"].low == pytest.approx(20_000, rel=0.02)
    assert "cut off after 7 of 8 sessions: no verdict before all are done." in summary.answer
    (found,) = summary.comparisons
    assert found.effect is not None and found.verdict is None and found.p is None
    assert summary.answer.startswith("Seen in 7 sessions, without a claim:")


def test_a_torn_trial_is_no_figure() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        torn = session < 3 and case.levels["fetch"] == "each"
        return Course(rate=20_000 * wobble(session, block), reason=None if torn else "complete")

    found = judged(script).summary
    assert found.cases[0].metrics["throughput"].sessions == 5
    assert found.comparisons[0].verdict == "invalid"
    assert "5 of 6 sessions needed" in found.comparisons[0].why


@pytest.mark.parametrize("sessions", [1, 3])
def test_few_sessions_explore(sessions: int) -> None:
    summary = judged(steady(1.31), sessions=sessions).summary
    (found,) = summary.comparisons
    assert not found.counts and found.verdict is None and found.p is None
    assert found.effect == pytest.approx(1.31, abs=0.05)
    assert summary.answer.startswith(f"Seen in {sessions} session")
    assert "without a claim" in summary.answer and "2.3" in summary.answer


def test_without_a_comparison_it_tells_what_was_seen() -> None:
    cases = cases_of("clients", ["1", "8"])

    def script(case: Case, session: int, block: int) -> Course:
        return Course(rate=1000.0 * int(case.levels["clients"]))

    found = judge(experiment_of(cases), cases, run_of(cases, script, sessions=3)).summary
    assert found.comparisons == ()
    assert "throughput goes from 1,000/s (clients=1) to 8,000/s (clients=8)" in found.answer


def test_what_counts_is_at_the_named_cell_and_the_rest_are_leads() -> None:
    cases = cases_of("fetch", ["each", "together", "lazy"], clients=["1", "8"])
    experiment = experiment_of(
        cases, compare=compare("throughput", "latency_p50", at={"clients": "8"})
    )

    def script(case: Case, session: int, block: int) -> Course:
        factor = {"each": 1.0, "together": 2.0, "lazy": 1.5}[case.levels["fetch"]]
        return Course(rate=10_000 * factor * wobble(session, block))

    summary = judge(experiment, cases, run_of(cases, script)).summary
    counting = [one for one in summary.comparisons if one.counts]
    assert len(summary.comparisons) == 8 and len(counting) == 4
    assert all(one.at == {"clients": "8"} for one in counting)
    assert all(
        one.verdict is None and one.p is None for one in summary.comparisons if not one.counts
    )
    assert {one.p for one in counting if one.metric == "throughput"} == {4 * 2 / 2**8}
    assert summary.answer.startswith("At clients=8, together is 2× as fast as each")
    assert "lazy is 1.5× as fast as each" in summary.answer


def test_an_inconclusive_answer_ends_with_the_command_that_settles_it() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        spread = (wobble(session, block, len(case.name)) - 1) * 6
        return Course(rate=20_000 * (1 + spread))

    summary = judged(script, command=("benchlab", "run", "b.yaml", "--sessions", "8")).summary
    (found,) = summary.comparisons
    assert found.verdict == "inconclusive"
    assert found.sessions_needed is not None and found.sessions_needed > 8
    assert f"benchlab run b.yaml --sessions {found.sessions_needed}" in summary.answer
    assert "8 sessions would have shown" in summary.answer


def test_a_skipped_candidate_leaves_loudly_and_a_skipped_baseline_invalidates() -> None:
    experiment = experiment_of(FETCH, compare=compare())
    why = "needs java, which is not installed"
    run = run_of(FETCH, steady(), skipped={"fetch=together": why})
    summary = judge(experiment, FETCH, run).summary
    assert summary.comparisons == () and why in summary.answer
    assert summary.cases[1].state == "skipped"
    run = run_of(FETCH, steady(), skipped={"fetch=each": why})
    (found,) = judge(experiment, FETCH, run).summary.comparisons
    assert found.verdict == "invalid" and why in found.why


def test_a_dead_system_is_a_result() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        died = case.levels["fetch"] == "together" and session in (2, 3)
        return Course(rate=20_000, state="died" if died else "ok", why="killed" if died else "")

    summary = judged(script).summary
    assert summary.cases[1].state == "died"
    assert summary.cases[1].why == "in 4 of 16 trials: killed"
    (found,) = summary.comparisons
    assert found.verdict == "invalid" and "4 trials of fetch=together" in found.why
    assert "fetch=together died: in 4 of 16 trials: killed." in summary.answer


def promise(text: str, script: Script) -> bool | None:
    experiment = experiment_of(FETCH[:1], promises=(parse(text),))
    return judge(experiment, FETCH[:1], run_of(FETCH[:1], script)).summary.promises[0].holds


def test_promises() -> None:
    fine = steady()
    assert promise("latency_p99 < 50ms", fine) is True
    assert promise("latency_p99 < 1ms", fine) is False
    assert promise("throughput > 15000/s", fine) is True
    failing = steady(failed=0.05)
    assert promise("latency_p99 < 50ms", failing) is False
    assert promise("errors < 0.1%", failing) is False
    bound = steady(busy=0.99, ceiling=21_000.0)
    assert promise("throughput > 15000/s", bound) is True
    assert promise("throughput > 25000/s", bound) is None
    assert promise("throughput < 15000/s", bound) is False
    assert promise("latency_p99 < 50ms", bound) is None
    dear = steady(floor_ns=2_000_000)
    assert promise("latency_p99 < 50ms", dear) is True
    assert promise("latency_p99 < 1ms", dear) is None
    assert promise("latency_p999 < 50ms", steady(slow_ns=9_000_000, seconds=1)) is not None


def test_an_agent_bound_case_reads_at_least() -> None:
    (case, _) = judged(steady(busy=0.99, ceiling=21_000.0)).summary.cases
    found = case.metrics["throughput"]
    assert found.validity == "at-least" and "agent-bound" in found.why
    assert case.metrics["latency_p99"].validity == "withheld"
    assert case.metrics["latency_p99"].estimate is None
    assert case.metrics["system_cpu_per_transaction"].validity == "valid"
    row = {check.name: check for check in case.checks}["head-room"]
    assert (
        row.verdict == "invalid" and "16 of 16 trials" in row.why and "`rate: 10500/s`" in row.why
    )


def test_a_stolen_trial_is_repeated_and_then_left_out() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        stolen = session == 0 and block == 0
        return Course(rate=1.0 if stolen else 20_000, steal=0.2 if stolen else 0.0)

    run = run_of(FETCH, script)
    experiment = experiment_of(FETCH, compare=compare())
    first = judge_trial(run.kept[0], experiment, FETCH[0])  # type: ignore[arg-type]
    reason = needs_repeat(first)
    assert reason is not None and reason.startswith("steal")
    third = judge_trial(run.kept[3], experiment, FETCH[0])  # type: ignore[arg-type]
    assert needs_repeat(third) is None
    case = judge(experiment, FETCH, run).summary.cases[0]
    assert case.metrics["throughput"].low == pytest.approx(20_000)
    row = {check.name: check for check in case.checks}["steal"]
    assert (
        row.verdict == "valid"
        and row.why == "left out: 1 of 16 trials: another guest had the processor"
    )


def test_what_was_not_steady_is_told_and_used() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        falls = case is FETCH[0] or session == 0
        return Course(rate=2000 * wobble(session, block), seconds=6, late=0.5 if falls else 1.0)

    found = judged(script)
    each, together = found.summary.cases
    rows = [{check.name: check for check in case.checks}["steady"] for case in (each, together)]
    assert [row.verdict for row in rows] == ["invalid", "valid"]
    assert rows[1].why.startswith("not in 2 of 16 trials: no steady state")
    said = "fetch=each was not steady: 16 of 16 trials: no steady state: from 4s on the rate was"
    assert said in found.summary.answer
    assert each.metrics["throughput"].sessions == 8


def test_the_cost_is_a_reading_a_trial() -> None:
    run = run_of(FETCH, steady())
    found = judge(experiment_of(FETCH, compare=compare()), FETCH, run)
    assert {trial.reads for trial in run.kept} == {1}
    assert found.cases["fetch=each"].distribution("service").total == pytest.approx(
        16 * 2 * 20_000, rel=0.01
    )
    assert found.cases["fetch=each"].resolved_to == 0.999


def left_running() -> list[Case]:
    """The cases of a system that is already running and is not restarted."""
    at = FETCH[0].system.model_copy(update={"at": ("http://x",)})
    return [case.model_copy(update={"system": at}) for case in FETCH]


@pytest.mark.parametrize(
    ("effect", "share", "verdict"),
    [
        (0.5, None, "better"),
        (0.5, 0.1, "better"),
        (0.05, 0.1, "inconclusive"),
        (-0.05, 0.1, "inconclusive"),
        (0.0, 0.01, "equivalent"),
        (0.0, 0.1, "inconclusive"),
    ],
)
def test_an_effect_below_what_a_restart_does_is_inconclusive(
    effect: float, share: float | None, verdict: str
) -> None:
    cases = left_running()
    run = run_of(cases, steady(effect))
    if share is not None:
        restart = Restart(
            metric="throughput", baseline="each", candidate="together", at={}, share=share
        )
        known = Restarts(run="r", found=(restart,))
        run.record = run.record.model_copy(update={"restarts": known})
    summary = judge(experiment_of(cases, compare=compare()), cases, run).summary
    (found,) = summary.comparisons
    assert found.verdict == verdict
    by = "" if share is None else f" by {100 * share:g}\u00a0%"
    assert f"running processes (db): a restart may differ{by}." in summary.answer
    assert "This would settle it" not in summary.answer
    if verdict == "inconclusive":
        assert "a restart may differ by 10 %" in found.why


@pytest.mark.parametrize(
    ("effect", "share", "verdict"),
    [
        (0.02, 0.005, "equivalent"),
        (0.02, 0.015, "inconclusive"),
        (-0.02, 0.015, "inconclusive"),
    ],
)
def test_what_is_seen_and_what_a_restart_does_may_matter_together(
    effect: float, share: float, verdict: str
) -> None:
    cases = left_running()
    places = {"metric": "throughput", "baseline": "each", "candidate": "together", "at": {}}
    known = Restarts(run="r", found=(Restart(**places, share=share),))
    one = Comparison(**places, counts=True, effect=effect, verdict="equivalent")
    (found,) = shaded([one], known, compare(), cases)
    assert found.verdict == verdict


def test_what_a_restart_does_is_learnt_from_sessions_that_began_with_one() -> None:
    summary = judged(steady(0.05)).summary
    known = learnt(summary, "r")
    assert known is not None and known.run == "r"
    (found,) = known.found
    logs = np.log1p([pair.effect for pair in summary.comparisons[0].pairs])
    # t of 7 degrees of freedom leaves 2.5 % above 2.3646.
    reach = 2.364624 * float(np.std(logs, ddof=1)) * math.sqrt(1 + 1 / 8)
    assert found.share == pytest.approx(math.expm1(reach))
    assert learnt(judged(steady(), sessions=3).summary, "r") is None


def test_running_systems_and_widened_checks_are_said() -> None:
    cases = left_running()
    experiment = experiment_of(cases, compare=compare(), allow={"steal": 0.1})
    found = judge(experiment, cases, run_of(cases, steady(0.5)))
    assert "running processes (db): a restart may differ" in found.summary.answer
    assert "widened: steal to 0.1" in found.summary.answer
    assert found.labels == ("allow steal: 0.1",)
