"""A case over its trials: which row holds for it, and which figures it keeps."""

import pytest
from runs import Course, cases_of, experiment_of, run_of

from benchlab.judge.run import judge_run
from benchlab.model.evidence import CaseResult
from benchlab.model.experiment import Case

ONE = cases_of("fetch", ["each"])


def judged(*courses: Course, sessions: int = 4, **given: object) -> CaseResult:
    """Four sessions of two blocks; the first trials went as given, the others well."""

    def script(case: Case, session: int, block: int) -> Course:
        place = session * 2 + block
        return courses[place] if place < len(courses) else Course()

    run = run_of(ONE, script, sessions=sessions)
    experiment = experiment_of(ONE, **given)
    return judge_run(experiment, ONE, run).summary.cases[0]  # type: ignore[arg-type]


def row(case: CaseResult, name: str) -> tuple[str, str]:
    found = {check.name: check for check in case.checks}[name]
    return found.verdict, found.why


STOLEN = Course(steal=0.5)


def test_fewer_than_half_are_left_out_and_more_break_the_row() -> None:
    assert row(judged(), "steal") == ("valid", "")
    verdict, why = row(judged(*[STOLEN] * 4), "steal")
    assert verdict == "valid" and why.startswith("left out: 4 of 8 trials")
    verdict, why = row(judged(*[STOLEN] * 5), "steal")
    assert verdict == "invalid" and why.startswith("5 of 8 trials")


AT_ITS_LIMIT = Course(rate=500, busy=0.95, ceiling=600.0)


def test_a_few_agent_bound_trials_are_left_out_and_most_make_a_lower_bound() -> None:
    case = judged(*[AT_ITS_LIMIT] * 4)
    verdict, why = row(case, "head-room")
    assert verdict == "valid" and why.startswith("left out: 4 of 8 trials: agent-bound")
    found = case.metrics["throughput"]
    assert (found.validity, found.sessions) == ("valid", 2)
    assert found.estimate == pytest.approx(1000)
    case = judged(*[AT_ITS_LIMIT] * 5)
    verdict, why = row(case, "head-room")
    assert verdict == "invalid" and why.startswith("5 of 8 trials: agent-bound")
    found = case.metrics["throughput"]
    assert (found.validity, found.sessions) == ("at-least", 4) and "agent-bound" in found.why
    assert found.estimate is not None and found.estimate < 800
    assert case.metrics["latency_p99"].validity == "valid"
    assert case.metrics["latency_p99"].sessions == 2


def test_rows_that_bound_a_rate_only_together_hold_for_the_case() -> None:
    late = Course(open_at=1000.0, lag_ns=5_000_000)
    case = judged(*[AT_ITS_LIMIT] * 3, *[late] * 3)
    assert case.metrics["throughput"].validity == "at-least"
    verdict, why = row(case, "head-room")
    assert verdict == "invalid" and why.startswith("3 of 8 trials: agent-bound")
    verdict, why = row(case, "lag")
    assert verdict == "invalid" and why.startswith("3 of 8 trials")


def test_a_row_that_is_not_known_says_so() -> None:
    case = judged(*[Course(floor_ns=None)] * 8)
    assert row(case, "floor")[0] == "unknown"
    assert case.metrics["latency_p99"].resolved


def test_a_dear_path_leaves_the_figure_with_its_reason() -> None:
    case = judged(*[Course(floor_ns=2_000_000)] * 5)
    found = case.metrics["latency_p99"]
    assert not found.resolved and found.why == "not resolved (the path itself costs 2ms)"
    assert found.estimate == pytest.approx(0.004, rel=0.002)


def test_a_quantile_without_evidence_is_not_printed() -> None:
    case = judged(*[Course(rate=40, seconds=1)] * 8)
    found = case.metrics["latency_p99"]
    assert not found.resolved and found.estimate is None
    assert found.why == "not resolved (needs 368, has 320)"
    assert case.metrics["latency_p95"].estimate is not None


def test_a_quantile_that_would_be_its_session_s_maximum_is_not_printed() -> None:
    case = judged(*[Course(rate=40, seconds=1)] * 16, sessions=8)
    assert case.metrics["latency_p99"].why == (
        "not resolved (needs 100 in each session, one has 80)"
    )
    enough = judged(*[Course(rate=60, seconds=1)] * 16, sessions=8)
    assert enough.metrics["latency_p99"].estimate == pytest.approx(0.004, rel=0.002)


def test_withheld_everywhere_gives_the_reason() -> None:
    case = judged(*[STOLEN] * 8)
    found = case.metrics["throughput"]
    assert (found.validity, found.estimate, found.sessions) == ("withheld", None, 0)
    assert found.why == "steal: another guest had the processor"


def test_an_infinite_figure_is_null_with_its_reason() -> None:
    found = judged(*[Course(failed=0.05)] * 8).metrics["latency_p99"]
    assert found.estimate is None and "infinite in 4 of 4 sessions" in found.why
    assert found.resolved and found.validity == "valid"


def test_a_share_of_errors_is_averaged_as_it_is() -> None:
    few, many = Course(failed=0.01), Course(failed=0.08)
    found = judged(*[few] * 6, many, many).metrics["errors"]
    assert found.estimate == pytest.approx((3 * 0.01 + 0.08) / 4)
    found = judged(*[few, Course(failed=0.03)] * 4).metrics["errors"]
    assert found.estimate == pytest.approx(0.02)


def test_states_are_of_all_trials_together() -> None:
    assert judged(Course(failed=0.004)).state == "ok"
    failing = judged(Course(failed=0.02))
    assert failing.state == "failing" and failing.why.startswith("0.25%")
    assert judged(Course(failed=0.02), allow={"errors": 0.01}).state == "ok"
    died = judged(Course(state="died", why="exit 1: out of memory"))
    assert died.state == "died" and died.why == "in 1 of 8 trials: exit 1: out of memory"
    assert judged(Course(state="aborted", why="errors > 5%")).state == "aborted"


def test_a_trial_the_lab_could_not_run_is_no_figure() -> None:
    case = judged(Course(state="failed", why="the agent did not start"))
    assert case.state == "ok"
    assert case.metrics["throughput"].sessions == 4


def test_a_case_without_a_usable_figure_says_why() -> None:
    case = judged(*[Course(stuck=True)] * 8)
    assert case.state == "failing" and case.sessions == 0
    assert case.why.startswith("nothing came due in the measured part")
    assert case.metrics["throughput"].validity == "withheld"
    stolen = judged(*[STOLEN] * 8)
    assert (stolen.state, stolen.why) == ("ok", "steal: another guest had the processor")


def test_a_case_rests_on_the_sessions_that_have_a_figure() -> None:
    assert judged().sessions == 4
    assert judged(*[Course(state="died", why="exit 1")] * 4).sessions == 2


def test_a_share_s_interval_ends_where_shares_do() -> None:
    few = judged(*[Course(failed=0.05)] * 2).metrics["errors"]
    assert few.low == 0.0 and few.high is not None and few.high > 0.0125
    most = judged(*[Course(failed=0.4)] * 2, *[Course(failed=1.0)] * 6).metrics["errors"]
    assert most.high == 1.0 and most.low is not None and most.low > 0
