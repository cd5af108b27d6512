"""CPU time of the agent per read of a file beside fio's, and how many reads a second each gets.

4 KiB at random places, past the cache, through io_uring, with 1, 16 and 64 under way; both on one
core. The agent reads exactly as often as fio just did. fio draws its places without remembering
them, as the agent does; a second fio has its file and buffers registered with the kernel. Reads a
second are of the stretch that each measured itself, since fio takes its time to begin. Needs fio.
"""

import argparse
import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import interleave
from interleave import Cost, pinned, run

BLOCK = 4096
DEPTHS = (1, 16, 64)
REGISTERED = ("--fixedbufs=1", "--registerfiles=1")
LAID_BYTES = 2**20


def fio(options: argparse.Namespace, path: str, depth: int, *more: str) -> Cost:
    """A run of fio."""
    command = [
        "fio",
        "--name=reads",
        f"--filename={path}",
        f"--size={options.mebibytes}m",
        "--rw=randread",
        f"--bs={BLOCK}",
        "--direct=1",
        "--ioengine=io_uring",
        f"--iodepth={depth}",
        "--norandommap=1",
        "--randrepeat=0",
        "--time_based",
        f"--runtime={options.seconds:g}s",
        "--output-format=json",
        *more,
    ]
    ran = run(pinned(options.cpu, command))
    job = json.loads(ran.output)["jobs"][0]
    if job["error"] or job["read"]["short_ios"]:
        sys.exit(f"fio did not go well:\n{ran.output.decode()}")
    return ran.cost(job["read"]["total_ios"], job["read"]["runtime"] / 1000)


def again(
    options: argparse.Namespace, path: str, depth: int, more: tuple[str, ...], _peer: Cost
) -> Cost:
    """Another run of fio, with more options."""
    return fio(options, path, depth, *more)


def plan(options: argparse.Namespace, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """A Plan of one operation on the file, from one client."""
    size = options.mebibytes * 2**20
    return {
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "file", "path": path, "size_bytes": size, "direct": True},
        "workload": {
            "values": {"place": {"uniform": {"low": 0, "high": size // BLOCK - 1}}},
            "transactions": [{"name": "page", "operations": [operation]}],
        },
        "schedule": {"closed": {"clients": 1}},
        "cpus": [options.cpu],
    }


def agent(options: argparse.Namespace, path: str, depth: int, intact: bool, peer: Cost) -> Cost:
    """A run of the agent, which reads as often as fio did."""
    read = {
        "name": "read",
        "request": {"file": {"read": {"at": "${place}", "bytes": BLOCK}}},
        "expect": {"intact": intact},
    }
    asked = plan(options, path, read) | {
        "schedule": {"closed": {"clients": depth}},
        "stop": {"transactions": peer.requests},
        "net": "uring",
    }
    found, ran = interleave.measure(options.binaries / "agent", asked)
    interleave.all_right(found, peer.requests)
    return ran.cost(peer.requests, found.events("end")[0]["elapsed_ns"] / 1e9)


def lay_out(options: argparse.Namespace, path: str) -> None:
    """Writes the file."""
    write = {"name": "write", "request": {"file": {"write": {"bytes": LAID_BYTES}}}}
    count = options.mebibytes * 2**20 // LAID_BYTES
    asked = plan(options, path, write) | {"stop": {"transactions": count}}
    interleave.all_right(interleave.measure(options.binaries / "agent", asked)[0], count)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    parser = interleave.parser_of(__doc__)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the file is put: on the disk meant")
    parser.add_argument("--mebibytes", type=int, default=1024)
    options = parser.parse_args()
    if shutil.which("fio") is None:
        sys.exit("fio is not installed: apt-get install fio")
    interleave.heading(f"{BLOCK} bytes, {options.rounds} rounds", "read", "under way")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = f"{folder}/file"
        lay_out(options, path)
        for depth in DEPTHS:
            ours = {
                "fio, registered": partial(again, options, path, depth, REGISTERED),
                "agent": partial(agent, options, path, depth, False),
                "agent, each sector checked": partial(agent, options, path, depth, True),
            }
            peer = partial(fio, options, path, depth)
            interleave.compare(str(depth), options.rounds, ("fio", peer), ours)


if __name__ == "__main__":
    main()
