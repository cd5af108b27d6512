"""A real MariaDB through the whole lab: started, filled, asked, held against the null server."""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

pytestmark = pytest.mark.real

MARIADB = """
experiment: mariadb
systems:
  mariadb:
    kind: command
    start: sh start
    files:
      init.sql: |
        CREATE DATABASE bench;
        CREATE USER lab@'%' IDENTIFIED BY '${env:PW}';
        GRANT ALL ON bench.* TO lab@'%';
      start: |
        data="--no-defaults --datadir=${dir}/data --tmpdir=${dir} --user=$(id -un)"
        mariadb-install-db $data --auth-root-authentication-method=normal --skip-test-db &&
        exec mariadbd $data --port=${port} --bind-address=127.0.0.1 --socket=${dir}/socket \
          --pid-file=${dir}/pid --innodb-buffer-pool-size=64M --init-file=${dir}/init.sql
    url: mysql://lab:${env:PW}@127.0.0.1:${port}/bench
workload:
  name: records
  options:
    {read: 40%, read_many: 10%, update: 10%, insert: 10%, scan: 10%, read_modify_write: 20%}
  data: {records: 10000}
load: {clients: 8, duration: 1s, warmup: 0.5s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""


def test_mariadb_is_measured_and_its_answers_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("mariadbd")
    monkeypatch.setenv("PW", "hush-hush")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(MARIADB, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert rows["floor"].figure is not None
    assert case.metrics["throughput"].validity == "valid", rows
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hush-hush" in path.read_bytes()]
