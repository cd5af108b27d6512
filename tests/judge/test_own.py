"""What a system counted of itself, made metrics: with counters whose growth is known."""

import numpy as np
import polars
import pytest
from runs import Course, cases_of, experiment_of, run_of, wobble
from synthetic import counted

from benchlab.judge.own import own, steps, units
from benchlab.judge.probed import Probed, probed
from benchlab.judge.run import judge_run
from benchlab.model.experiment import Case, Compare
from benchlab.model.metrics import metric
from benchlab.model.records import PROBE_COLUMNS

ORIGIN_NS = 10**12


def seen_by_probes(*lines: tuple[str, str, str, str, list[tuple[float, float]]]) -> Probed:
    """Probes of a trial of five seconds: source, member, counter, kind and (second, value)s."""
    rows = [
        (at_ns - 5, at_ns + 5, source, member, counter, kind, unit, value)
        for source, member, counter, kind, samples in lines
        for at, value in samples
        for at_ns in [ORIGIN_NS + round(at * 1e9)]
        for unit in ["B" if counter.endswith("bytes") else ""]
    ]
    return probed(polars.DataFrame(rows, schema=PROBE_COLUMNS, orient="row"), ORIGIN_NS, 5.0)


def every_second(rate: float, start: float = 0.0) -> list[tuple[float, float]]:
    """A counter that grows evenly, sampled beyond both ends; it stands still after the trial."""
    return [(at, start + rate * min(at, 5.0)) for at in np.arange(-1.3, 7.0)]


def test_a_counter_becomes_a_rate_and_a_share_of_each_transaction() -> None:
    resources = seen_by_probes(
        ("postgresql", "", "wal_bytes", "counter", every_second(250_000.0, 1e12)),
        ("postgresql", "", "xact_commit", "counter", every_second(1000.0, 5.0)),
        ("system", "", "written_bytes", "counter", every_second(7.0)),
    )
    found = own(counted(rate=1000.0), resources)
    assert found == pytest.approx(
        {
            "postgresql.wal_bytes": 250_000.0,
            "postgresql.wal_bytes_per_transaction": 250.0,
            "postgresql.xact_commit": 1000.0,
            "postgresql.xact_commit_per_transaction": 1.0,
        },
        rel=1e-6,
    )
    assert units(resources) == {
        "postgresql.wal_bytes": "B/s",
        "postgresql.wal_bytes_per_transaction": "B",
        "postgresql.xact_commit": "1/s",
        "postgresql.xact_commit_per_transaction": "count",
    }


def test_counters_of_members_add_up_and_their_gauges_are_averaged() -> None:
    resources = seen_by_probes(
        ("galera", "1", "Questions", "counter", every_second(600.0)),
        ("galera", "2", "Questions", "counter", every_second(400.0)),
        ("galera", "1", "wsrep_cluster_size", "gauge", [(0.5, 3), (1.5, 3), (6.0, 99)]),
        ("galera", "2", "wsrep_cluster_size", "gauge", [(0.5, 3), (1.5, 1)]),
    )
    found = own(counted(rate=1000.0), resources)
    assert found["galera.Questions"] == pytest.approx(1000.0)
    assert found["galera.Questions_per_transaction"] == pytest.approx(1.0)
    assert found["galera.wsrep_cluster_size"] == 2.5


def test_a_counter_that_begins_anew_has_grown_by_what_it_says_since() -> None:
    restarted = [(0.5, 700.0), (1.5, 800.0), (2.5, 30.0), (3.5, 130.0), (4.5, 230.0)]
    resources = seen_by_probes(("redis", "", "total_forks", "counter", restarted))
    assert own(counted(), resources)["redis.total_forks"] == pytest.approx(330 / 4)
    assert steps(np.array([5.0, 7.0, 7.0, 1.0])).tolist() == [2.0, 0.0, 1.0]


def test_samples_that_do_not_span_the_trial_give_no_figure() -> None:
    resources = seen_by_probes(
        ("redis", "", "evicted_keys", "counter", [(-1.0, 0.0), (2.0, 5.0), (3.5, 6.0), (6.0, 9.0)]),
        ("redis", "", "connected_clients", "gauge", [(-1.0, 4.0), (6.0, 5.0)]),
        ("memcached", "1", "cmd_get", "counter", every_second(9.0)),
        ("memcached", "2", "cmd_get", "counter", [(1.0, 5.0)]),
    )
    assert own(counted(), resources) == {}


def test_what_a_transaction_takes_is_better_less_and_other_figures_are_good_neither_way() -> None:
    assert metric("postgresql.wal_bytes_per_transaction").better == "down"
    assert metric("postgresql.blks_hit_per_transaction").better == "up"
    assert metric("postgresql.xact_commit").better == "none"
    assert metric("throughput").better == "up"


def test_a_comparison_may_be_about_what_a_transaction_takes() -> None:
    fetch = cases_of("fetch", ["each", "together"])

    def script(case: Case, session: int, block: int) -> Course:
        is_candidate = case.levels["fetch"] == "together"
        asked = wobble(session, block, int(is_candidate)) * (2.0 if is_candidate else 10.0)
        return Course(counted=asked)

    compare = Compare(factor="fetch", baseline="each", metrics=("shop.asked_per_transaction",))
    experiment = experiment_of(fetch, compare=compare)
    judged = judge_run(experiment, fetch, run_of(fetch, script))  # type: ignore[arg-type]
    (found,) = [one for one in judged.summary.comparisons if one.counts]
    assert (found.verdict, found.unit) == ("better", "count")
    assert found.effect == pytest.approx(-0.8, abs=0.02)
    assert "shop.asked per transaction" in judged.summary.answer
    each = judged.summary.cases[0].metrics
    assert each["shop.asked"].unit == "1/s"
    assert each["shop.asked"].estimate == pytest.approx(10 * 1000.0, rel=0.05)
    assert list(each)[-2:] == ["shop.asked", "shop.asked_per_transaction"]
