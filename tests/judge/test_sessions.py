"""One session's values: merged quantiles, averaged rates, and when it counts."""

from collections.abc import Sequence
from math import inf, sqrt

import pytest
from runs import Course, cases_of, experiment_of, run_of
from synthetic import MS

from benchlab.judge.sessions import Session, session_of
from benchlab.judge.trial import judge_trial

CASE = cases_of("fetch", ["each"])[0]


def session(courses: Sequence[Course]) -> Session:
    blocks = len(courses)
    run = run_of([CASE], lambda case, s, block: courses[block], sessions=1, blocks=blocks)
    experiment = experiment_of([CASE])
    trials = [judge_trial(trial, experiment, CASE) for trial in run.kept]  # type: ignore[arg-type]
    return session_of(0, trials, blocks)


def test_quantiles_are_merged_and_rates_averaged() -> None:
    found = session([Course(rate=1000, service_ns=2 * MS), Course(rate=4000, service_ns=8 * MS)])
    assert found.values[None, "throughput"] == pytest.approx(sqrt(1000 * 4000))
    # Four of five transactions took 8 ms, so the merged median is 8 ms; an average would be 5.
    assert found.values[None, "service_p50"] == pytest.approx(0.008, rel=0.002)
    assert found.values[None, "service_max"] == pytest.approx(0.008)
    assert found.values["read", "service_p50"] == pytest.approx(0.008, rel=0.002)
    assert found.counts[None, "service_p50"] == 10_000


def test_half_of_the_blocks_are_enough() -> None:
    good, bad = Course(rate=1000), Course(rate=1, steal=0.5)
    found = session([good, bad])
    assert found.values[None, "throughput"] == pytest.approx(1000)
    assert found.usable[None, "throughput"] == 1
    found = session([good, bad, bad])
    assert (None, "throughput") not in found.values
    assert found.usable[None, "throughput"] == 1


def test_validity_is_kept_for_each_metric() -> None:
    found = session([Course(busy=0.99, ceiling=1900.0)])
    assert (None, "latency_p99") not in found.values
    assert found.values[None, "throughput"] == pytest.approx(1000)
    assert ("read", "service_p99") not in found.values


def test_an_infinite_block_makes_its_mean_infinite() -> None:
    found = session([Course(), Course(failed=0.05)])
    assert found.values[None, "latency_mean"] == inf
    assert found.values[None, "latency_max"] == inf
    assert found.values[None, "latency_p99"] == inf
    assert found.values[None, "latency_p95"] < 0.01
    assert found.values[None, "errors"] == pytest.approx(0.025)


def test_exceedances_count_failures_in_their_second() -> None:
    found = session([Course(rate=1000, failed=0.02, slow_ns=20 * MS)])
    seen = found.exceedances[None, "latency_p50"]
    assert seen.seen.tolist() == [1000, 1000]
    # 4.9 % of transactions are slow and 2 % fail: both lie above the median.
    assert seen.above.tolist() == [49 + 20, 49 + 20]
