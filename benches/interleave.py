"""Two generators against the same server, in turns, and what each costs.

Generator and server have a core each. The two take turns, the agent asking exactly as often as the
peer just did, so that a noisy neighbour hits both. CPU time is that of the whole process from start
to end; its memory is the most that was resident, looked at every 20 ms, since what the kernel tells
at the end counts the memory of this process, which it was split from, too. Absent: which peer,
which server and what is asked; each protocol's file says that.
"""

import argparse
import contextlib
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchlab.store.measurement import Measurement

ROOT = Path(__file__).resolve().parent.parent
NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
worker_rlimit_nofile 16384; events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ return 200 "hello world"; }} }}
}}
"""
"""nginx that answers everything with a page of its own; `folder` and `port` are filled in."""
SEEDS = {"keys": 1, "values": 2, "arrivals": 3, "faults": 4}


@dataclass(frozen=True)
class Ran:
    """A command that has ended well: its CPU time, how long it took, and its memory at most."""

    output: bytes
    cpu_s: float
    elapsed_s: float
    peak_bytes: int

    def cost(self, requests: int, elapsed_s: float | None = None) -> "Cost":
        """What so many requests cost; `elapsed_s` is what the command itself says it took."""
        elapsed_s = self.elapsed_s if elapsed_s is None else elapsed_s
        return Cost(requests, self.cpu_s, elapsed_s, self.peak_bytes)


@dataclass(frozen=True)
class Cost:
    """What one run of a generator cost."""

    requests: int
    cpu_s: float
    elapsed_s: float
    peak_bytes: int

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time, user and system, per request."""
        return self.cpu_s / self.requests * 1e6

    @property
    def rate(self) -> float:
        """Requests a second, start and end of the process included."""
        return self.requests / self.elapsed_s


def options(
    description: str | None, connections: int, flags: Mapping[str, str] = MappingProxyType({})
) -> argparse.Namespace:
    """What the command line says; `connections` is what it says by default.

    `flags` are the options of one bench alone, by name, and what each means.
    """
    parser = parser_of(description)
    parser.add_argument("--connections", type=int, default=connections)
    parser.add_argument("--cpus", type=int, nargs=2, default=[0, 1], metavar=("OWN", "SERVER"))
    for name, meaning in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    return parser.parse_args()


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Reads what every comparison can be told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binaries", type=Path, default=ROOT / "python/benchlab/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    return parser


def pinned(cpu: int, command: list[str]) -> list[str]:
    """The command, on one core."""
    return ["taskset", "-c", str(cpu), *command]


def run(command: list[str], text: bytes = b"") -> Ran:
    """Runs a command, which must end well."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as taken:
        given.write(text)
        given.seek(0)
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=given, stdout=taken)
        peak_bytes = _peak(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed_s = time.monotonic() - begun
        # The status was taken here, so the process object must not ask for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command[-1]} ended with {process.returncode}")
        taken.seek(0)
        return Ran(taken.read(), usage.ru_utime + usage.ru_stime, elapsed_s, peak_bytes)


def _peak(pid: int) -> int:
    """Waits for the end of the process; the most that was resident."""
    peak, descriptor = 0, os.pidfd_open(pid)
    try:
        while not select.select([descriptor], [], [], 0.02)[0]:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1]) * 1024
    finally:
        os.close(descriptor)
    return peak


def agent(
    program: Path,
    keys: Mapping[str, Any],
    connections: int,
    requests: int,
    cpu: int,
    lost: float = 0.0,
) -> Cost:
    """A run of the agent by a Plan with these keys, driver and workload, and so many requests.

    Each of them must be answered, and answered rightly, but for a share that may be `lost`; the
    cost is of those that were.
    """
    plan = {
        "version": 1,
        "seeds": SEEDS,
        "schedule": {"closed": {"clients": connections}},
        "stop": {"transactions": requests},
        "cpus": [cpu],
        **keys,
    }
    measurement, ran = measure(program, plan)
    return ran.cost(all_right(measurement, requests, lost))


def open_plan(
    address: str, connections: int, rate: int, seconds: float, cpu: int
) -> dict[str, Any]:
    """A Plan that gets a page over HTTP so many times a second, at random moments."""
    length_ns = round(seconds * 1e9)
    shape = [{"from_per_second": rate, "to_per_second": rate, "length_ns": length_ns}]
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    return {
        "version": 1,
        "seeds": SEEDS,
        "driver": {"kind": "http", "targets": [f"http://{address}"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "schedule": {"open": {"connections": connections, "shape": shape}},
        "stop": {"duration_ns": length_ns},
        "cpus": [cpu],
    }


def measure(program: Path, plan: Mapping[str, Any]) -> tuple[Measurement, Ran]:
    """What the agent measured, and what that cost."""
    ran = run([str(program)], json.dumps(plan).encode())
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(ran.output)
        return Measurement.read(Path(file.name)), ran


def all_right(measurement: Measurement, requests: int, lost: float = 0.0) -> int:
    """How many answers were right; ends the bench where more than the share `lost` were not."""
    right = measurement.totals()["ok"]
    if right > requests or right < requests * (1 - lost):
        sys.exit(f"{right} of {requests} answers are right: {measurement.events('error')}")
    return right


@contextlib.contextmanager
def nullserver(program: Path, arguments: list[str], cpu: int) -> Iterator[str]:
    """The null server's address, while it runs."""
    with null_process(program, arguments, cpu) as (address, _):
        yield address


@contextlib.contextmanager
def null_process(program: Path, arguments: list[str], cpu: int) -> Iterator[tuple[str, int]]:
    """The null server's address and process, while it runs."""
    command = [str(program), *arguments, "--cpu", str(cpu)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout is None:
            sys.exit("the null server has no output")
        yield json.loads(process.stdout.readline())["listening"], process.pid
        process.kill()


@contextlib.contextmanager
def server(command: list[str], port: int, cpu: int) -> Iterator[str]:
    """The address of a server that listens on this port, while it runs."""
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(pinned(cpu, command), stderr=said) as process,
    ):
        try:
            if not wait_for(port):
                said.seek(0)
                sys.exit(f"nothing listens on {port}\n{said.read().decode(errors='replace')}")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int) -> bool:
    """Waits until something listens, but not for ever."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
    return False


def heading(what: str, asked: str = "request", told: str = "server") -> None:
    """Prints what the table is of, and its head."""
    print(f"{what}, in turns\n")
    columns = f"CPU µs/{asked}, median | range | × | {asked}s/s | × | peak MiB"
    print(f"| {told} | generator | {columns} |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")


def compare(
    server: str,
    rounds: int,
    peer: tuple[str, Callable[[], Cost]],
    ours: Mapping[str, Callable[[Cost], Cost]],
) -> None:
    """Runs the peer and then each of ours in turns; prints their lines and ratios to the peer's.

    Args:
        server: What is asked, as the table calls it.
        rounds: How many turns each has.
        peer: Its name, and a run of it.
        ours: Runs by their names; each is given what the peer's last run did.
    """
    name, run_peer = peer
    costs: dict[str, list[Cost]] = {each: [] for each in (name, *ours)}
    for _ in range(rounds):
        costs[name].append(run_peer())
        for each, run_ours in ours.items():
            costs[each].append(run_ours(costs[name][-1]))
    for each, runs in costs.items():
        print(_row(server, each, runs, costs[name]), flush=True)


def _row(server: str, name: str, runs: list[Cost], peers: list[Cost]) -> str:
    def median(costs: list[Cost], figure: Callable[[Cost], float]) -> float:
        return statistics.median(map(figure, costs))

    def cpu(cost: Cost) -> float:
        return cost.cpu_us_per_request

    def rate(cost: Cost) -> float:
        return cost.rate

    def peak(cost: Cost) -> float:
        return cost.peak_bytes / 2**20

    of_peer = f"{median(runs, cpu) / median(peers, cpu):.2f}"
    faster = f"{median(runs, rate) / median(peers, rate):.2f}"
    if runs is peers:
        of_peer = faster = ""
    spread = f"{min(map(cpu, runs)):.2f}–{max(map(cpu, runs)):.2f}"
    return (
        f"| {server} | {name} | {median(runs, cpu):.2f} | {spread} | {of_peer} "
        f"| {median(runs, rate):,.0f} | {faster} | {median(runs, peak):.1f} |"
    )
