"""A real Redis through the whole lab: started, asked by pipelines, held against the null server."""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

pytestmark = pytest.mark.real

REDIS = """
experiment: redis
systems:
  redis:
    kind: command
    start: redis-server ${dir}/redis.conf --port ${port}
    files:
      redis.conf: |
        bind 127.0.0.1
        dir ${dir}
        save ""
        requirepass ${env:PW}
    url: redis://:${env:PW}@127.0.0.1:${port}/1?resp=3
WORKLOAD
load: {clients: 32, pipeline: 8, duration: 1s, warmup: 0.5s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""
MIX = """
workload:
  mix:
    write: {command: [SET, "k:${id}", "${text}"], expect: {reply: OK}}
    both:
      transaction:
        - {command: [SET, "k:${id}", "${text}"]}
        - {command: [GET, "k:${id}"], expect: {reply: "${text}"}}
  values:
    id: {uniform: [1, 1000]}
    text: {text: {length: 100, key: id}}
"""
RECORDS = """
workload:
  name: records
  options: {ycsb: F, read_many: 10%, update: 10%, insert: 10%, read_modify_write: 70%}
  data: {records: 10000}
"""


@pytest.mark.parametrize("workload", [MIX, RECORDS], ids=["mix", "records"])
def test_a_pipelined_redis_is_measured_and_its_answers_checked(
    workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("redis-server")
    monkeypatch.setenv("PW", "hush-hush")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(REDIS.replace("WORKLOAD", workload), tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert rows["floor"].figure is not None
    assert case.metrics["throughput"].validity == "valid", rows
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hush-hush" in path.read_bytes()]
