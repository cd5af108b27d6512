"""One trial judged: its state, and its course for drawing."""

from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest
from runs import Course, cases_of, experiment_of, run_of
from synthetic import MS, counted, evidence

from benchlab.judge.checks import check_all
from benchlab.judge.trial import (
    Totals,
    TrialJudgement,
    _is_guilty,
    course,
    judge_trial,
    needs_repeat,
    series,
    shortfall,
)
from benchlab.model.experiment import Case

ONE = cases_of("fetch", ["each"])


def judged(went: Course, case: Case = ONE[0]) -> TrialJudgement:
    run = run_of([case], lambda *_: went, sessions=1, blocks=1)
    return judge_trial(run.kept[0], experiment_of([case]), case)  # type: ignore[arg-type]


def test_a_good_trial() -> None:
    found = judged(Course())
    assert found.state == "ok" and found.is_whole
    assert found.figures["throughput"] == pytest.approx(1000)
    assert found.ceiling == pytest.approx(10_000)
    assert found.floor_p99_s == pytest.approx(0.0002, rel=0.002)
    assert needs_repeat(found) is None


def test_an_infinite_figure_is_none_in_files() -> None:
    found = judged(Course(failed=0.05))
    assert found.figures["latency_p99"] == inf
    assert found.metrics["latency_p99"] is None
    assert found.metrics["service_p99"] == pytest.approx(0.004, rel=0.002)


def test_warm_up_is_not_counted() -> None:
    # The rows before the origin hold another second of transactions.
    assert judged(Course(rate=1000, seconds=2)).totals.due == 2000


@pytest.mark.parametrize(
    ("went", "reason"),
    [
        (Course(lag_ns=5 * MS), "lag"),
        (Course(steal=0.5), "steal"),
        (Course(busy=0.99, ceiling=1000.0), "head-room"),
        (Course(floor_ns=3 * MS), None),
        (Course(failed=0.5), None),
        (Course(steal=0.5, state="died"), None),
    ],
)
def test_accidents_are_repeated_and_results_are_not(went: Course, reason: str | None) -> None:
    found = needs_repeat(judged(went))
    assert found is None if reason is None else found is not None and found.startswith(reason)


def test_an_agent_that_was_at_its_limit_before_is_not_measured_again() -> None:
    limited = judged(Course(busy=0.99, ceiling=1000.0))
    assert needs_repeat(limited, was_limited=True) is None
    late = judged(Course(busy=0.99, ceiling=1000.0, lag_ns=5 * MS))
    assert (needs_repeat(late, was_limited=True) or "").startswith("lag")


def test_the_first_trial_at_an_instance_may_have_been_its_warm_up() -> None:
    warming = judged(Course(seconds=6, early=0.5))
    assert (needs_repeat(warming, is_first=True) or "").startswith("steady: from 1s on")
    assert needs_repeat(warming, is_first=False) is None
    assert warming.usable("throughput"), "it withholds nothing"
    rising, falling = (judged(Course(seconds=6, late=late)) for late in (1.5, 0.5))
    assert needs_repeat(rising, is_first=True) is not None
    assert needs_repeat(falling, is_first=True) is None
    assert [c.verdict for c in falling.checks if c.name == "steady"] == ["invalid"]


@pytest.mark.parametrize(("share", "state"), [(0.995, "ok"), (0.98, "overloaded")])
def test_overloaded(share: float, state: str) -> None:
    seen = counted(rate=20_000, service_ns=1 * MS, open_at=20_000.0, done_share=share)
    assert Totals(seen.total("due"), 0.0, shortfall(seen)).state(0.001)[0] == state


def test_only_an_open_load_is_overloaded() -> None:
    assert shortfall(counted(rate=20_000, done_share=0.5)) == 0.0


def test_what_comes_all_at_once_at_the_end_is_no_shortfall() -> None:
    seen = counted(rate=100, open_at=100.0)
    slots = dict(seen.slots)
    slots["completed"] = slots["completed"].copy()
    slots["completed"][-1] -= 8
    assert shortfall(replace(seen, slots=slots)) == 0.0
    slots["completed"][-15] -= 8
    assert shortfall(replace(seen, slots=slots)) == pytest.approx(16)


def test_what_is_under_way_at_the_end_is_no_shortfall() -> None:
    # Twenty per second of half a second each: ten are under way, and eight of a hundred missing.
    seen = counted(rate=20, service_ns=500 * MS, open_at=20.0, done_share=0.92)
    assert shortfall(seen) == 0.0
    assert shortfall(counted(rate=20, service_ns=50 * MS, open_at=20.0, done_share=0.92)) > 7


def test_refused_is_failing_rather_than_overloaded() -> None:
    seen = counted(rate=20_000, open_at=20_000.0, failed=0.1)
    state, why = Totals(seen.total("due"), seen.failures, shortfall(seen)).state(0.001)
    assert state == "failing" and why.startswith("10.00%")


def test_an_agent_at_its_limit_cannot_say_so_either_and_withholds_the_times() -> None:
    seen = counted(rate=20_000, open_at=20_000.0, done_share=0.9, busy=0.99)
    checks = check_all(evidence(seen, ceiling=20_000.0))
    assert _is_guilty(checks)
    assert not _is_guilty(check_all(evidence(seen, ceiling=50_000.0)))


def test_a_late_agent_cannot_say_that_the_system_fell_behind() -> None:
    found = judged(Course(rate=900, open_at=1000.0, lag_ns=50 * MS))
    assert found.state == "ok" and found.totals.missing == 0.0


def test_without_a_measurement_there_are_no_figures() -> None:
    found = judged(Course(state="failed", why="the agent did not start"))
    assert not found.is_whole and not found.usable("throughput") and found.checks == ()


def test_series_second_by_second() -> None:
    found = series(judged(Course(rate=1000, seconds=3, failed=0.02)))
    assert found.at_s.tolist() == [0, 1, 2]
    assert found.throughput.tolist() == [980, 980, 980]
    assert found.errors.tolist() == [20, 20, 20]
    assert found.latency_p99_s == pytest.approx([0.004] * 3, rel=0.002)


def test_a_second_without_a_success_has_no_p99() -> None:
    found = judged(Course())
    silent = counted()
    quiet = replace(silent, seconds=dict.fromkeys(silent.seconds, ()))
    found.__dict__["seen"] = quiet
    assert all(isnan(value) for value in series(found).latency_p99_s)


def test_resources_on_the_trial_s_clock() -> None:
    found = course(judged(Course(seconds=2)))
    assert found.cpu_user is not None and found.cpu_system is not None
    assert found.cpu_user.values == pytest.approx(np.full(found.cpu_user.values.size, 0.6))
    assert found.cpu_user.at_s[0] == pytest.approx(-0.45, abs=1e-5)
    assert found.memory is not None and set(found.memory.values) == {5e7}
    assert found.agent_cpu is None


def test_raw_data_are_read_again_when_they_are_asked_for() -> None:
    found = judged(Course())
    reads = found.trial.reads  # type: ignore[attr-defined]
    found.forget()
    assert found.seen.throughput == pytest.approx(1000)
    assert found.trial.reads == reads + 1  # type: ignore[attr-defined]


def test_a_load_that_began_nothing_in_the_measured_part_has_no_figures() -> None:
    found = judged(Course(stuck=True))
    assert found.state == "failing"
    assert found.why == (
        "nothing came due in the measured part (of 8 transactions of the warm-up 8 timed out): "
        "lengthen `duration` or shorten `timeout`"
    )
    assert found.figures and not any(found.usable(name) for name in found.figures)
    assert found.uses["throughput"].why == found.why


def test_what_the_tail_costs_is_no_work_of_the_measured_part() -> None:
    rows = {row.name: row for row in judged(Course(busy=0.5, seconds=2, tail_s=4)).checks}
    assert rows["head-room"].figure == pytest.approx(0.5)


@pytest.mark.parametrize(("wait", "work"), [("sleep", 0.97), ("coalesce", 0.97), ("spin", 0.05)])
def test_what_the_kernel_does_for_a_worker_that_waits_is_its_work(wait: str, work: float) -> None:
    found = judged(Course(busy=0.05, cpu=0.97, wait=wait, ceiling=1100.0))
    row = next(check for check in found.checks if check.name == "head-room")
    assert row.figure == pytest.approx(work)
    assert row.verdict == ("invalid" if work > 0.9 else "valid")
