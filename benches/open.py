"""How late an open schedule's requests are issued, and what they cost, by how the worker waits.

Poisson arrivals over HTTP at the null server, on 64 connections.

Lateness is from when a request was due to when the agent was ready to send it. The ways take turns,
and each figure is the median of the rounds.
"""

import os
import statistics
from pathlib import Path
from typing import Any

import interleave

RATES = (10_000, 50_000)
WAYS: dict[str, Any] = {
    "auto": "auto",
    "sleep": "sleep",
    "sleep, epoll": "sleep",
    "coalesce": {"coalesce": {"answers": 8, "window_ns": 1_000_000}},
    "tick of 1 ms": {"tick": {"every_ns": 1_000_000}},
    "spin": "spin",
}
FIGURES = ("due", "issued", "late_p50", "late_p99", "late_max", "cpu", "peak")


def trial(
    agent: Path, address: str, connections: int, rate: int, way: str, seconds: float, cpu: int
) -> dict[str, float]:
    """The figures of one trial."""
    plan = interleave.open_plan(address, connections, rate, seconds, cpu) | {
        "net": "epoll" if "epoll" in way else "auto",
        "wait": WAYS[way],
    }
    measurement, ran = interleave.measure(agent, plan)
    totals, lag = measurement.totals(), measurement.histogram("lag")
    return {
        "due": totals["due"],
        "issued": totals["ok"],
        "late_p50": lag.quantile(0.5) / 1e3,
        "late_p99": lag.quantile(0.99) / 1e3,
        "late_max": lag.max / 1e3,
        "cpu": ran.cost(totals["ok"]).cpu_us_per_request,
        "peak": ran.peak_bytes / 2**20,
    }


def main() -> None:
    """Prints a Markdown table."""
    options = interleave.options(__doc__, connections=64)
    agent = options.binaries / "agent"
    print(
        f"{options.connections} connections, {options.rounds} rounds, Linux {os.uname().release}\n"
    )
    print("| rate | wait | answered of due | late p50 µs | p99 | max | CPU µs/request | peak MiB |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|")
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
        f"| {middle['late_max']:,.0f} | {middle['cpu']:.1f} "
        f"| {middle['peak']:.1f} |"
    )


if __name__ == "__main__":
    main()
