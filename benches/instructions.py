"""How many instructions a transaction takes, held against the figures that were settled on.

Callgrind counts the instructions of a run with N transactions and of one with 2N; the difference is
what N of them take, start and end left out. The worker is run in the simulator, so the same Plan
takes the same way each time, and counted from an event's arrival to when it is dealt with, so that
the simulator itself hardly counts; each codec writes a request and reads its answer. Time is not
measured: the counts are the same on a busy machine. They differ a little between machines whose
processors know other instructions, and between compilers.

Needs valgrind.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETTLED = Path(__file__).with_suffix(".json")
COMPILER = "compiler"
"""The key of what the settled figures were compiled by."""
TOLERANCE = 0.03
"""The share by which a count may grow before it is refused, or fall before it is worth a note."""
CODECS = ("http", "http-changing", "memcached", "mysql", "postgresql", "redis")
EXCHANGES = 20_000
TRANSACTIONS = 4_000
SIM = {"latency_ns": 20_000, "service": {"constant_ns": 1_000}}
HANDLER = "--toggle-collect=<engine::worker::Worker* as engine::net::Handler*>::on"
"""What makes callgrind count only while the worker handles an event."""


def http() -> dict[str, Any]:
    """A GET on each of 64 connections."""
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    return {
        "driver": {"kind": "http", "targets": ["http://127.0.0.1:1"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "schedule": {"closed": {"clients": 64}},
    }


def redis() -> dict[str, Any]:
    """Sixteen commands at a time on each of 50 connections, answered together; no values."""
    clients = 50 * 16
    get = {"name": "get", "request": {"command": ["GET", "bench"]}, "expect": {"reply": ""}}
    return {
        "driver": {"kind": "redis", "targets": ["redis://127.0.0.1:1"]},
        "workload": {"transactions": [{"name": "get", "operations": [get]}]},
        "schedule": {"closed": {"clients": clients}},
        "pipeline": 16,
        "sim": {"servers": clients, **SIM},
    }


WORKERS = {"worker, HTTP": http, "worker, Redis, pipeline 16": redis}


def counted(command: list[str], text: str = "", part: str | None = None) -> tuple[int, str]:
    """The instructions of a run of this command, which is given the text, or of a part of it; and
    what it said to people.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "callgrind")
        tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={report}"]
        tool += [part] if part else []
        run = subprocess.run(
            [*tool, *command], input=text.encode(), capture_output=True, check=False
        )
        if run.returncode != 0:
            sys.exit(f"{command[0]} ended with {run.returncode}: {run.stderr.decode()}")
        lines = report.read_text().splitlines()
    counts = (int(line.split()[1]) for line in lines if line.startswith("summary:"))
    return next(counts), run.stderr.decode()


def of_worker(agent: Path, keys: Mapping[str, Any]) -> float:
    """Instructions a transaction."""

    def run(transactions: int) -> int:
        plan = {
            "version": 1,
            "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
            "stop": {"transactions": transactions},
            "net": "sim",
            "sim": {"servers": 1, **SIM},
            **keys,
        }
        count, progress = counted([str(agent), "--progress"], json.dumps(plan), HANDLER)
        seconds = [json.loads(line) for line in progress.splitlines()]
        # What an answer that is wrong costs is another figure.
        if (right := sum(second["completed"] for second in seconds)) != transactions:
            sys.exit(f"{right} of {transactions} transactions ended well")
        return count

    return (run(2 * TRANSACTIONS) - run(TRANSACTIONS)) / TRANSACTIONS


def of_codec(codecs: Path, protocol: str) -> float:
    """Instructions a request and its answer."""

    def run(exchanges: int) -> int:
        return counted([str(codecs), protocol, str(exchanges)])[0]

    return (run(2 * EXCHANGES) - run(EXCHANGES)) / EXCHANGES


def wrong(found: Mapping[str, int], settled: Mapping[str, int]) -> list[str]:
    """What is wrong with the counts, a line each; nothing where they have not grown."""
    lines = [f"{name}: has no settled figure" for name in found.keys() - settled.keys()]
    lines += [f"{name}: is no longer counted" for name in settled.keys() - found.keys()]
    for name in found.keys() & settled.keys():
        if found[name] > settled[name] * (1 + TOLERANCE):
            lines.append(f"{name}: grew from {settled[name]} to {found[name]}")
    return sorted(lines)


def fallen(found: Mapping[str, int], settled: Mapping[str, int]) -> list[str]:
    """The counts that are to be settled on anew, since what they fell by could grow back."""
    both = found.keys() & settled.keys()
    return sorted(name for name in both if found[name] < settled[name] * (1 - TOLERANCE))


def unavailable() -> str | None:
    """Why nothing can be counted here."""
    if platform.machine() != "x86_64":
        return f"the settled figures are of x86_64, and this is {platform.machine()}"
    if shutil.which("valgrind") is None:
        return "valgrind is not installed: apt-get install valgrind"
    return None


def main() -> None:
    """Prints the counts as a Markdown table; fails where one is not as settled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binaries", type=Path, default=ROOT / "target/release")
    parser.add_argument("--settle", action="store_true", help="settle on what is counted")
    options = parser.parse_args()
    if why := unavailable():
        print(f"benchlab: instructions are not counted: {why}", file=sys.stderr)
        sys.exit(1 if os.environ.get("CI") else 0)
    settled: dict[str, Any] = json.loads(SETTLED.read_text()) if SETTLED.exists() else {}
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    by = settled.pop(COMPILER, compiler.stdout.strip())
    if by != compiler.stdout.strip() and not options.settle:
        # Another compiler's counts say nothing of what was changed here.
        print(f"benchlab: instructions are not counted: they were settled on by {by}")
        return
    agent, codecs = (options.binaries / name for name in ("agent", "codecs"))
    counts = {name: of_worker(agent, keys()) for name, keys in WORKERS.items()}
    counts |= {f"codec, {protocol}": of_codec(codecs, protocol) for protocol in CODECS}
    found = {name: round(count) for name, count in counts.items()}
    print(
        "| a transaction, or a request and its answer | instructions | settled |\n|---|---:|---:|"
    )
    for name, count in found.items():
        print(f"| {name} | {count} | {settled.get(name, '')} |")
    if options.settle:
        kept = {COMPILER: compiler.stdout.strip(), **found}
        SETTLED.write_text(json.dumps(kept, indent=2) + "\n")
        return
    for name in fallen(found, settled):
        print(f"{name}: fell; to keep it there: make instructions SETTLE=1", file=sys.stderr)
    if lines := wrong(found, settled):
        sys.exit("\n".join([*lines, "to settle on other figures: make instructions SETTLE=1"]))


if __name__ == "__main__":
    main()
