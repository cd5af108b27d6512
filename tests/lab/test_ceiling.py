"""The third truth on a real server: one that is the limit itself is not taken for a slow ruler."""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

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
allow: {steal: 50%}
sessions: 2
blocks: 1
"""


def test_nginx_with_its_core_full_is_the_limit_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("nginx")
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(NGINX, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["head-room"].verdict == "valid", rows["head-room"]
    assert case.metrics["throughput"].validity == "valid"
    assert rows["answers"].verdict == "valid"
    assert rows["floor"].figure is not None
    assert "null server" in rows["head-room"].why or "core" in rows["head-room"].why
