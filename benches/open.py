"""How late an open schedule's requests are issued, and what they cost, by how the worker waits.

Poisson arrivals over HTTP at the null server, on 64 connections.

Lateness is from when a request was due to when the agent was ready to send it. The ways take turns,
and each figure is the median of the rounds.
"""

import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import interleave
from interleave import run

from benchlab.store.measurement import Measurement

RATES = (10_000, 50_000)
WAYS: dict[str, Any] = {
    "auto": "auto",
    "sleep": "sleep",
    "sleep, epoll": "sleep",
    "coalesce": {"coalesce": {"answers": 8, "window_ns": 1_000_000}},
    "tick of 1 ms": {"tick": {"every_ns": 1_000_000}},
    "spin": "spin",
}
FIGURES = ("due", "issued", "late_p50", "late_p99", "late_max", "cpu")


def trial(
    agent: Path, address: str, connections: int, rate: int, way: str, seconds: float, cpu: int
) -> dict[str, float]:
    """The figures of one trial."""
    length_ns = round(seconds * 1e9)
    shape = [{"from_per_second": rate, "to_per_second": rate, "length_ns": length_ns}]
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    plan = {
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "http", "targets": [f"http://{address}"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "schedule": {"open": {"connections": connections, "shape": shape}},
        "stop": {"duration_ns": length_ns},
        "net": "epoll" if "epoll" in way else "auto",
        "wait": WAYS[way],
        "cpus": [cpu],
    }
    measured, cpu_s, _ = run([str(agent)], json.dumps(plan).encode())
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(measured)
        measurement = Measurement.read(Path(file.name))
    totals, lag = measurement.totals(), measurement.histogram("lag")
    return {
        "due": totals["due"],
        "issued": totals["ok"],
        "late_p50": lag.quantile(0.5) / 1e3,
        "late_p99": lag.quantile(0.99) / 1e3,
        "late_max": lag.max / 1e3,
        "cpu": cpu_s / totals["ok"] * 1e6,
    }


def main() -> None:
    """Prints a Markdown table."""
    options = interleave.options(__doc__, connections=64)
    agent = options.binaries / "agent"
    print(
        f"{options.connections} connections, {options.rounds} rounds, Linux {os.uname().release}\n"
    )
    print("| rate | wait | answered of due | late p50 µs | p99 | max | CPU µs/request |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    plain = ["http", "--body", "hello world"]
    null = interleave.nullserver(options.binaries / "nullserver", plain, options.cpus[1])
    with null as address:
        for rate in RATES:
            seen: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                for way in WAYS:
                    place = (address, options.connections, rate, way)
                    seen[way].append(trial(agent, *place, options.seconds, options.cpus[0]))
            for way, trials in seen.items():
                print(row(rate, way, trials), flush=True)


def row(rate: int, way: str, trials: list[dict[str, float]]) -> str:
    """A line of the table."""
    middle = {name: statistics.median(trial[name] for trial in trials) for name in FIGURES}
    share = sum(trial["issued"] for trial in trials) / sum(trial["due"] for trial in trials)
    return (
        f"| {rate:,}/s | {way} | {share:.2%} | {middle['late_p50']:.2f} | {middle['late_p99']:.1f} "
        f"| {middle['late_max']:,.0f} | {middle['cpu']:.1f} |"
    )


if __name__ == "__main__":
    main()
