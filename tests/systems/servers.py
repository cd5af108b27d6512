"""Small real servers that behave as no server should, and how one that was made is driven."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchlab.host.processes import Leash
from benchlab.load import agent
from benchlab.load.plan import loading_plan, make_plan
from benchlab.model.experiment import Case
from benchlab.model.secrets import PASSWORD
from benchlab.store.measurement import Measurement
from benchlab.systems.members import Members

HELD = {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DISK_SLEEP}
"""Of a tree that is held still: one that has ended waits for its parent, one that forks for its
child."""

GARBAGE = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.recv(65536)
    connection.sendall(b"\\x00\\x01 what is this \\r\\n\\r\\n")
    connection.close()
"""

SLOW = """
import sys, time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
print("loading", flush=True)
time.sleep(0.7)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler)
print("open for business", flush=True)
server.serve_forever()
"""

SILENT = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
held = []
while True:
    held.append(server.accept())
"""

LOUD_DEATH = """
import sys
print("cannot read my configuration", file=sys.stderr)
sys.exit(3)
"""

NGINX = """
pid ${dir}/nginx.pid;
worker_processes 2;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  server {
    listen 127.0.0.1:${port};
    location = /hello { default_type text/plain; return 200 'hello ${uri}'; }
  }
}
"""
"""A configuration that makes nginx a daemon."""
MIXES: dict[str, dict[str, Any]] = {
    "nginx": {"page": {"get": "/", "expect": {"status": 204}}},
    "sphinx": {"find": {"sql": "SELECT id FROM docs WHERE MATCH('none')", "expect": {"rows": "0"}}},
}
"""What is asked of those that keep no records."""


def driven(case: Case, server: Members, leash: Leash, folder: Path, loading: bool = False) -> int:
    """Asks the server, or loads its data; the number of transactions, all of which went well."""
    folder.mkdir()
    plan = (
        loading_plan(case, urls=server.urls, seed=1)
        if loading
        else make_plan(case, urls=server.urls, seed=1, session=0, block=0)
    )
    assert plan is not None
    agent.run(plan, folder, leash=leash, secrets=server.secrets)
    measurement = Measurement.read(folder / agent.MEASUREMENT)
    totals = measurement.totals()
    bad = {name: totals[name] for name in ("failed", "timed_out", "unknown") if totals[name]}
    assert not bad, measurement.events("error")
    assert b"${env:" in (folder / agent.PLAN).read_bytes() or "@" not in server.urls[0]
    for file in folder.iterdir():
        assert server.secrets[PASSWORD].encode() not in file.read_bytes()
    return totals["ok"]


def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Asks again until it is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "never came to be"
