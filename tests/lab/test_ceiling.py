"""The ruler on a real server: who is the limit itself is not taken for it, nor it for a system."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.host import cores
from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.evidence import CaseResult

pytestmark = pytest.mark.real

NGINX = """
experiment: ceiling
systems:
  nginx:
    kind: command
    start: nginx -p ${dir} -e ${dir}/error.log -c ${dir}/nginx.conf
    url: http://127.0.0.1:${port}/
    files:
      nginx.conf: |
        daemon off;
        worker_processes 1;
        pid ${dir}/nginx.pid;
        events { worker_connections 1024; }
        http {
          access_log off;
          keepalive_requests 1000000000;
          client_body_temp_path ${dir}/body;
          proxy_temp_path ${dir}/proxy;
          fastcgi_temp_path ${dir}/fastcgi;
          uwsgi_temp_path ${dir}/uwsgi;
          scgi_temp_path ${dir}/scgi;
          server { listen 127.0.0.1:${port}; location / { return 200 'hello'; } }
        }
workload: {mix: {page: {get: /, expect: {status: 200, body: hello}}}}
load: {clients: 64, duration: 1s, warmup: 0.5s}
allow: {steal: 50%, run-delay: 100%}
sessions: 2
blocks: 1
"""


@pytest.fixture
def crowd() -> Iterator[None]:
    """Busy processes on the core that is the agent's."""
    (core, *_) = cores.divide("own").agent
    spin = ["-c", "while True: pass"]
    begun = [subprocess.Popen([sys.executable, *spin]) for _ in range(4)]
    for one in begun:
        os.sched_setaffinity(one.pid, {core})
    yield
    for one in begun:
        one.kill()
        one.wait()


def summary_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> CaseResult:
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(text, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    return judge_run(experiment, cases(experiment), run).summary.cases[0]


@pytest.mark.usefixtures("crowd")
def test_an_agent_whose_core_others_have_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("nginx")
    case = summary_of(tmp_path, monkeypatch, NGINX.replace(", run-delay: 100%", ""))
    (row,) = [check for check in case.checks if check.name == "run-delay"]
    assert row.verdict == "invalid" and row.figure is not None and row.figure > 0.2, row
    assert case.metrics["throughput"].validity == "at-least"
    assert "starved" in case.metrics["throughput"].why
    assert case.metrics["latency_p50"].validity == "withheld"


def test_nginx_with_its_core_full_is_the_limit_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("nginx")
    case = summary_of(tmp_path, monkeypatch, NGINX)
    rows = {check.name: check for check in case.checks}
    assert rows["head-room"].verdict == "valid", rows["head-room"]
    assert case.metrics["throughput"].validity == "valid"
    assert rows["answers"].verdict == "valid"
    assert rows["floor"].figure is not None
    assert "null server" in rows["head-room"].why or "core" in rows["head-room"].why


def test_an_agent_at_its_limit_is_measured_once_more_and_then_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("nginx")
    shorten_null_runs(monkeypatch.setattr)
    # One client keeps neither core full, and the null server is hardly faster.
    given = NGINX.replace("clients: 64, duration: 1s", "clients: 1, duration: 0.3s")
    given = given.replace("sessions: 2", "sessions: 3").replace(
        "allow: {", "allow: {head-room: 0.0001%, "
    )
    experiment, run = new_run(given, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    attempts = [(t.record.session, t.record.attempt, t.record.used) for t in run.trials()]
    assert attempts == [(0, 0, False), (0, 1, True), (1, 0, True), (2, 0, True)]
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    assert case.metrics["throughput"].validity == "at-least"
