"""Real servers through the whole lab: what each counts of itself stands beside the probes."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import polars
import pytest
from labs import Seen, new_run
from prometheus_client import start_http_server

from benchlab.host import ports, programs
from benchlab.host.processes import Leash
from benchlab.judge.run import Judgement, judge_run
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.evidence import Estimate
from benchlab.model.metrics import METRICS
from benchlab.model.reading import read_experiment
from benchlab.report import page
from benchlab.report.gathering import gather
from benchlab.store import Trial
from benchlab.systems import KINDS
from benchlab.systems.members import ServerKind

pytestmark = pytest.mark.real

RECORDS = "{name: records, data: {records: 2000}}"
ASKED = {
    "haproxy": "{mix: {page: {get: /, expect: {status: 200, body: yes}}}}",
    "nginx": "{mix: {page: {get: /, expect: {status: 204}}}}",
    "sphinx": """{mix: {find: {sql: "SELECT id FROM docs WHERE MATCH('none')"}}}""",
}
"""What is asked of those that keep no records."""
FARM = """{before: {web: {kind: nginx, instances: 2,
  before: {php: {kind: php-fpm, files: {index.php: "<?php echo 'yes';"}}}}}}"""
COUNTED = {
    "mariadb": "Com_stmt_execute",
    "memcached": "cmd_get",
    "nginx": "requests",
    "openldap": "search_completed",
    "postgresql": "xact_commit",
    "redis": "total_commands_processed",
    "sphinx": "queries",
}
"""A counter that moves with what is asked."""
OF_OTHERS = {
    "postgresql": {"parallel_workers_launched", "num_timed", "num_requested", "buffers_written"}
    | {"fsyncs", "write_time", "sync_time", "replay_lag_bytes"},
    "redis": {"aof_delayed_fsync", "aof_current_size", "slave_repl_offset"},
}
"""Names that other versions have, or a replica, or a server that writes."""


@pytest.fixture
def leash() -> Iterator[Leash]:
    """What the test starts itself."""
    with Leash() as leash:
        yield leash


def measured(
    kind: str, program: Callable[[str], str], out: Path, keys: str = "{}", more: str = ""
) -> tuple[Trial, Seen, Judgement]:
    """A trial of three seconds on a server of a kind, and what was found."""
    for part in [kind, *(name for name in KINDS if f"kind: {name}" in keys)]:
        found = KINDS[part]
        assert isinstance(found, ServerKind)
        for need in found.needs:
            if not programs.look(need).is_there:
                program(need)
    text = f"""
experiment: counters
systems: {{{kind}: {keys}}}
workload: {ASKED.get(kind, RECORDS)}
load: {{clients: 4, duration: 3s, warmup: 0.5s}}
allow: {{steal: 50%}}
sessions: 1
blocks: 1
{more}
"""
    seen = Seen()
    experiment, run = new_run(text, out, KNOWN)
    execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    return run.trials()[-1], seen, judge_run(experiment, cases(experiment), run)


def own_names(metrics: Mapping[str, Estimate]) -> list[str]:
    """Those made of counters, in order."""
    return sorted(name for name in metrics if "." in name)


@pytest.mark.parametrize("kind", sorted(COUNTED))
def test_what_a_server_counts_of_itself_stands_beside_the_probes(
    kind: str, tmp_path: Path, program: Callable[[str], str]
) -> None:
    trial, seen, judged = measured(kind, program, tmp_path / "run")
    assert not [note for note in seen.of(events.Note) if "could not be read" in note.text]
    own = trial.probes().filter(polars.col("source") == kind)
    moved = own.filter(polars.col("counter") == COUNTED[kind]).sort("before_ns")
    assert set(moved["kind"]) == {"counter"}
    assert moved.height >= 4
    done = trial.measurement().totals()["ok"]
    # Three seconds are counted in the Measurement, and somewhat more by the server.
    assert 0.3 * done < moved["value"][-1] - moved["value"][0] < 3 * done
    source = KINDS[kind]
    assert isinstance(source, ServerKind)
    assert source.counters is not None
    lacking = set(source.counters.meanings) - set(own["counter"])
    if kind == "mariadb":
        lacking = {name for name in lacking if not name.startswith(("wsrep_", "Innodb_"))}
    assert lacking <= OF_OTHERS.get(kind, set())
    metrics = judged.summary.cases[0].metrics
    name = f"{kind}.{COUNTED[kind]}"
    share = metrics[f"{name}_per_transaction"].estimate
    assert share is not None
    assert 0.2 < share < 2.5
    assert metrics[name].unit == "1/s"
    assert metrics[name].estimate == pytest.approx(
        share * (metrics["throughput"].estimate or 0.0), rel=0.3
    )
    assert list(metrics) == [*(n for n in METRICS if n in metrics), *own_names(metrics)]
    units = own.select("counter", "kind", "unit").unique().rows()
    assert {name: (what, unit) for name, what, unit in units} == {
        name: (meaning.kind, meaning.unit)
        for name, meaning in source.counters.meanings.items()
        if name in set(own["counter"])
    }


def test_each_member_is_asked_and_what_they_counted_is_added_up(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    trial, _, judged = measured("memcached", program, tmp_path / "run", "{instances: 2}")
    own = trial.probes().filter(polars.col("source") == "memcached")
    assert set(own["member"]) == {"1", "2"}
    metrics = judged.summary.cases[0].metrics
    gets = metrics["memcached.cmd_get_per_transaction"].estimate
    sets = metrics["memcached.cmd_set_per_transaction"].estimate
    assert gets is not None and sets is not None
    assert gets + sets == pytest.approx(1.0, rel=0.3)
    assert metrics["memcached.threads"].estimate == 4.0


def test_each_part_of_a_topology_is_asked_and_what_it_counted_is_in_the_report(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    promise = "promises: [php-fpm.max_children_reached_per_transaction < 1]"
    trial, seen, judged = measured("haproxy", program, tmp_path / "run", FARM, promise)
    assert not [note for note in seen.of(events.Note) if "could not be read" in note.text]
    own = trial.probes().filter(~polars.col("source").is_in(["host", "system", "agent"]))
    members = own.group_by("source").agg(polars.col("member").unique().sort())
    assert dict(members.iter_rows()) == {
        "haproxy": ["haproxy"],
        "nginx": ["web.1", "web.2"],
        "php-fpm": ["php"],
    }
    for counter in ("haproxy.front_req_tot", "nginx.requests", "php-fpm.accepted_conn"):
        share = judged.summary.cases[0].metrics[f"{counter}_per_transaction"]
        assert share.estimate == pytest.approx(1.0, abs=0.3), counter
    assert judged.summary.cases[0].metrics["php-fpm.total_processes"].estimate == 8.0
    for kind in ("haproxy", "nginx", "php-fpm"):
        source = KINDS[kind]
        assert isinstance(source, ServerKind) and source.counters is not None
        told = set(own.filter(polars.col("source") == kind)["counter"])
        assert told == set(source.counters.meanings)
    shown = page.html(gather(judged))
    for name in ("haproxy.back_reuse", "nginx.requests", "php-fpm.accepted_conn"):
        assert f"<code>{name} per transaction</code>" in shown
    assert [promise.holds for promise in judged.summary.promises] == [True]


def test_a_server_that_does_not_tell_is_measured_all_the_same(
    tmp_path: Path, program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(url: str) -> None:
        raise PermissionError("not for you")

    kind = KINDS["redis"]
    assert isinstance(kind, ServerKind)
    assert kind.counters is not None
    monkeypatch.setitem(kind.counters.__dict__, "connect", refused)
    trial, seen, judged = measured("redis", program, tmp_path / "run")
    assert trial.record.state == "ok"
    assert not [name for name in judged.summary.cases[0].metrics if "." in name]
    assert "redis" not in set(trial.probes()["source"])
    told = [note.text for note in seen.of(events.Note) if "could not be read" in note.text]
    assert told == ["redis: the counters of redis could not be read (PermissionError: not for you)"]


RUNNING = """
experiment: counters
systems: {{there: {{at: "redis://127.0.0.1:{port}", metrics_at: "http://127.0.0.1:{page}"}}}}
workload: {{mix: {{get: {{command: [GET, "k"]}}}}}}
load: {{clients: 2, duration: 3s, warmup: 0.3s}}
allow: {{steal: 50%}}
sessions: 1
blocks: 1
promises: [exporter.process_cpu_seconds_total < 5]
"""


def test_what_runs_already_is_asked_too_and_so_is_an_exporter(
    tmp_path: Path,
    program: Callable[[str], str],
    leash: Leash,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port, page = ports.free(), ports.free()
    monkeypatch.setenv("REDISCLI_AUTH", "hush")
    redis = [program("redis-server"), "--port", str(port), "--save", "", "--requirepass", "hush"]
    leash.start(redis, folder=tmp_path)
    server, thread = start_http_server(page, "127.0.0.1")
    given = RUNNING.format(port=port, page=page)
    deadline = time.monotonic() + 20
    while not ports.accepts("127.0.0.1", port, 1.0):
        assert time.monotonic() < deadline
        leash.listen(0.02)
    experiment, run = new_run(given, tmp_path / "run", KNOWN)
    seen = Seen()
    execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    server.shutdown()
    thread.join()
    assert not [note for note in seen.of(events.Note) if "could not be read" in note.text]
    summary = judge_run(experiment, cases(experiment), run).summary
    metrics = summary.cases[0].metrics
    assert metrics["redis.total_commands_processed_per_transaction"].estimate == pytest.approx(
        1.0, abs=0.3
    )
    # The exporter is of this very process, which does little but wait.
    assert metrics["exporter.process_cpu_seconds_total"].unit == "cores"
    assert (metrics["exporter.process_resident_memory_bytes"].estimate or 0.0) > 1 << 20
    assert [promise.holds for promise in summary.promises] == [True]


TWO = """
experiment: counters
systems: {postgresql: {}}
workload: {name: records, data: {records: 1000}}
load: {clients: 1}
factors: {load.clients: [1, 2]}
sessions: 8
"""


def test_promises_and_comparisons_may_name_a_systems_own_counters() -> None:
    more = """
promises: [postgresql.wal_bytes_per_transaction < 8KiB, postgresql.deadlocks < 1/s]
compare: {factor: clients, metrics: [postgresql.xact_commit_per_transaction]}
"""
    read = read_experiment(TWO + more, file="x.yaml", known=KNOWN)
    assert [promise.limit for promise in read.promises] == [8192.0, 1.0]
    assert read.compare is not None
    assert read.compare.metrics == ("postgresql.xact_commit_per_transaction",)


@pytest.mark.parametrize(
    ("more", "said", "nearest"),
    [
        (
            "promises: [postgresql.wal_byte_per_transaction < 8KiB]",
            "unknown metric 'postgresql.wal_byte_per_transaction'",
            "postgresql.wal_bytes_per_transaction",
        ),
        (
            "compare: {factor: clients, metrics: [postgresql.xact_comit]}",
            "unknown metric 'postgresql.xact_comit'",
            "postgresql.xact_commit",
        ),
        (
            "compare: {factor: clients, metrics: [postgresql.wal_bytes]}",
            "good neither high nor low",
            "postgresql.wal_bytes_per_transaction",
        ),
        ("promises: [postgresql.numbackends < 5ms]", "5ms", None),
    ],
)
def test_a_name_or_unit_that_is_wrong_is_told_with_the_nearest(
    more: str, said: str, nearest: str | None
) -> None:
    with pytest.raises(InputError) as refused:
        read_experiment(TWO + more, file="x.yaml", known=KNOWN)
    assert said in str(refused.value)
    assert refused.value.nearest == nearest
    assert "\n" not in str(refused.value)
