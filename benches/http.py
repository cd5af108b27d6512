"""CPU time of the agent per HTTP request beside wrk's.

Generator and server have a core each. The two generators take turns, the agent asking exactly as
often as wrk just did, so that a noisy neighbour hits both. CPU time is that of the whole process
from start to end. Needs wrk; nginx is used where it is installed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 "hello world"; }} }}
}}
"""


@dataclass(frozen=True)
class Cost:
    """What one run of a generator cost."""

    requests: int
    cpu_s: float
    elapsed_s: float

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time, user and system, per request."""
        return self.cpu_s / self.requests * 1e6

    @property
    def rate(self) -> float:
        """Requests a second, start and end of the process included."""
        return self.requests / self.elapsed_s


def pinned(cpu: int, command: list[str]) -> list[str]:
    """The command, on one core."""
    return ["taskset", "-c", str(cpu), *command]


def run(command: list[str], text: bytes = b"") -> tuple[bytes, float, float]:
    """Runs a command: its output, its CPU time and how long it took, in seconds."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as taken:
        given.write(text)
        given.seek(0)
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=taken)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.monotonic() - begun
        # The status was taken here, so the process object must not ask for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command[-1]} ended with {process.returncode}")
        taken.seek(0)
        return taken.read(), usage.ru_utime + usage.ru_stime, elapsed


def wrk(address: str, connections: int, seconds: float, cpu: int) -> Cost:
    """A run of wrk."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", f"http://{address}/"]
    output, cpu_s, elapsed_s = run(pinned(cpu, command))
    counted = re.search(rb"(\d+) requests in", output)
    if counted is None or b"Socket errors" in output or b"Non-2xx" in output:
        sys.exit(f"wrk did not go well:\n{output.decode()}")
    return Cost(int(counted[1]), cpu_s, elapsed_s)


def agent(program: Path, address: str, connections: int, requests: int, cpu: int) -> Cost:
    """A run of the agent, which must get this many right answers."""
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    plan = {
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "http", "targets": [f"http://{address}"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "schedule": {"closed": {"clients": connections}},
        "stop": {"transactions": requests},
        "net": "epoll",
        "cpus": [cpu],
    }
    _, cpu_s, elapsed_s = run([str(program)], json.dumps(plan).encode())
    return Cost(requests, cpu_s, elapsed_s)


@contextlib.contextmanager
def nullserver(program: Path, cpu: int) -> Iterator[str]:
    """The null server's address, while it runs."""
    command = [str(program), "http", "--body", "hello world", "--cpu", str(cpu)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            sys.exit("the null server has no output")
        yield json.loads(process.stdout.readline())["listening"]
        process.kill()


@contextlib.contextmanager
def nginx(program: str, cpu: int) -> Iterator[str]:
    """nginx's address, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder, "nginx.conf")
        configuration.write_text(NGINX.format(folder=folder, port=port))
        command = [program, "-e", f"{folder}/error.log", "-c", str(configuration)]
        with subprocess.Popen(pinned(cpu, command)) as process:
            try:
                wait_for(port)
                yield f"127.0.0.1:{port}"
            finally:
                process.terminate()


def wait_for(port: int) -> None:
    """Waits until something listens."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
    sys.exit(f"nothing listens on {port}")


def row(server: str, name: str, costs: list[Cost]) -> str:
    """A line of the table."""
    cpu = [cost.cpu_us_per_request for cost in costs]
    rate = statistics.median(cost.rate for cost in costs)
    spread = f"{min(cpu):.2f}–{max(cpu):.2f}"
    return f"| {server} | {name} | {statistics.median(cpu):.2f} | {spread} | {rate:,.0f} |"


def compare(server: str, address: str, options: argparse.Namespace) -> None:
    """Runs both generators in turns and prints their lines and the ratio."""
    peers: list[Cost] = []
    ours: list[Cost] = []
    program = options.binaries / "agent"
    for _ in range(options.rounds):
        peer = wrk(address, options.connections, options.seconds, options.cpus[0])
        own = agent(program, address, options.connections, peer.requests, options.cpus[0])
        peers.append(peer)
        ours.append(own)
    print(row(server, "wrk", peers))
    print(row(server, "agent, epoll", ours))
    medians = [statistics.median(c.cpu_us_per_request for c in costs) for costs in (ours, peers)]
    print(f"| {server} | **agent / wrk** | **{medians[0] / medians[1]:.2f}** | | |", flush=True)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binaries", type=Path, default=ROOT / "python/benchlab/bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--cpus", type=int, nargs=2, default=[0, 1], metavar=("OWN", "SERVER"))
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    print(f"{options.connections} connections, {options.rounds} rounds in turns\n")
    print("| server | generator | CPU µs/request, median | range | requests/s |")
    print("|---|---|---:|---:|---:|")
    with nullserver(options.binaries / "nullserver", options.cpus[1]) as address:
        compare("null server", address, options)
    installed = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if installed is None:
        print("nginx is not installed: apt-get install nginx", file=sys.stderr)
        return
    with nginx(installed, options.cpus[1]) as address:
        compare("nginx", address, options)


if __name__ == "__main__":
    main()
