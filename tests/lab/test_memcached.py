"""A real memcached through the whole lab: loaded with records, read, and every answer checked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

pytestmark = pytest.mark.real

MEMCACHED = """
experiment: memcached
systems:
  memcached:
    kind: command
    start: memcached -l 127.0.0.1 -p ${port} -U 0 -u nobody -t 1
    url: memcached://127.0.0.1:${port}
workload:
  name: records
  options: {read: 70%, read_many: 20%, update: 5%, insert: 5%}
  data: {records: 10000}
load: {clients: 32, duration: 1s, warmup: 0.5s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""


def test_records_of_memcached_are_measured_and_every_answer_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("memcached")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(MEMCACHED, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert rows["floor"].figure is not None
    assert case.metrics["throughput"].validity == "valid", rows
