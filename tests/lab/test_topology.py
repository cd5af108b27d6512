"""A topology through the whole lab: asked at its front, each member seen, its password kept."""

from collections.abc import Callable
from pathlib import Path

import polars
import pytest
from labs import Seen, new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.systems.topology import Topology

pytestmark = pytest.mark.real

FARM = """
experiment: farm
systems:
  site:
    kind: haproxy
    before:
      web:
        kind: nginx
        instances: 2
        before:
          php:
            kind: php-fpm
            files: {index.php: "<?php echo 'hello ', strlen(getenv('CACHE_PASSWORD'));"}
            before: {cache: {kind: redis}}
workload: {mix: {page: {get: /, expect: {status: 200, body: "hello 9"}}}}
load: {clients: 4, duration: 1s, warmup: 0.2s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""

BALANCED = """
experiment: balanced
systems:
  site: {kind: haproxy, settings: {balance: leastconn}, before: {db: {kind: mariadb}}}
workload: {name: records, data: {records: 2000}, options: {read: 80%, update: 20%}}
load: {clients: 4, duration: 1s, warmup: 0.2s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""


def keeps_secret(folder: Path) -> bool:
    """Whether no file of a run has the password that the lab made."""
    return not [p for p in folder.rglob("*") if p.is_file() and b"hush-hush" in p.read_bytes()]


def test_a_farm_is_measured_at_its_front_and_all_its_members_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("haproxy")
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: "hush-hush")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(FARM, tmp_path / "run", known=KNOWN)
    seen = Seen()
    execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert case.metrics["throughput"].estimate
    for trial in run.trials():
        probes = trial.probes().filter(polars.col("source") == "system")
        busy = probes.filter(polars.col("counter") == "cpu_user_s").group_by("member").len()
        assert set(busy["member"]) == {"", "cache", "php", "web.1", "web.2", "site"}
    assert [e.text for e in seen.of(events.Note) if "members share cores" in e.text]
    assert keeps_secret(tmp_path / "run")


def test_data_go_through_the_balancer_and_are_put_back_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("haproxy")
    program("mariadbd")
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: "hush-hush")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(BALANCED, tmp_path / "run", known=KNOWN)
    put_back: list[Path] = []
    restore = Topology.restore

    def noted(topology: Topology, snapshot: Path) -> None:
        put_back.append(snapshot)
        restore(topology, snapshot)

    monkeypatch.setattr(Topology, "restore", noted)
    execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert [trial.record.state for trial in run.trials()] == ["ok", "ok"]
    assert len(put_back) == 1, "the second session has the first one's data"
    assert keeps_secret(tmp_path / "run")
