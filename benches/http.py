"""What a request over HTTP costs the agent, beside wrk.

Needs wrk; nginx is used where it is installed.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import interleave
from interleave import Cost, pinned, run

NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
worker_rlimit_nofile 16384; events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 "hello world"; }} }}
}}
"""


def wrk(options: argparse.Namespace, address: str) -> Cost:
    """A run of wrk."""
    asked = ["-t1", f"-c{options.connections}", f"-d{options.seconds:g}s"]
    asked += ["-H", "Connection: close"] if options.new else []
    command = ["wrk", *asked, f"http://{address}/"]
    output, cpu_s, elapsed_s = run(pinned(options.cpus[0], command))
    counted = re.search(rb"(\d+) requests in", output)
    if counted is None or b"Socket errors" in output or b"Non-2xx" in output:
        sys.exit(f"wrk did not go well:\n{output.decode()}")
    return Cost(int(counted[1]), cpu_s, elapsed_s)


def agent(options: argparse.Namespace, address: str, net: str, peer: Cost) -> Cost:
    """A run of the agent, which asks as often as the peer did."""
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    keys = {
        "driver": {"kind": "http", "targets": [f"http://{address}"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "net": net,
        "connection": "new" if options.new else "kept",
    }
    program, cpu = options.binaries / "agent", options.cpus[0]
    return interleave.agent(program, keys, options.connections, peer.requests, cpu)


@contextlib.contextmanager
def nginx(program: str, cpu: int) -> Iterator[str]:
    """nginx's address, while it runs."""
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder, "nginx.conf")
        configuration.write_text(NGINX.format(folder=folder, port=port))
        command = [program, "-e", f"{folder}/error.log", "-c", str(configuration)]
        with interleave.server(command, port, cpu) as address:
            yield address


def compare(server: str, address: str, options: argparse.Namespace) -> None:
    """Runs the generators in turns and prints their lines."""
    ours = {f"agent, {net}": partial(agent, options, address, net) for net in ("epoll", "uring")}
    peer = partial(wrk, options, address)
    interleave.compare(server, options.rounds, ("wrk", peer), ours)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=64, flags={"new": "a connection a request"})
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    interleave.heading(options)
    plain = ["http", "--body", "hello world"]
    null = interleave.nullserver(options.binaries / "nullserver", plain, options.cpus[1])
    with null as address:
        compare("null server", address, options)
    installed = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if installed is None:
        print("nginx is not installed: apt-get install nginx", file=sys.stderr)
        return
    with nginx(installed, options.cpus[1]) as address:
        compare("nginx", address, options)


if __name__ == "__main__":
    main()
