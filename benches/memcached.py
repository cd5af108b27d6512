"""CPU time of the agent per operation of memcached beside memcaslap's (libmemcached-tools).

memcaslap gets and sets values of 100 bytes, nine to one; the agent then asks for as many of each,
over as many keys, and holds every answer against what it must be: where memcaslap counts misses, a
miss is a failure here, and so is a value that does not belong to its key.
"""

import argparse
import re
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import interleave
from interleave import Cost

KEYS = 50_000
CONFIGURATION = """key
16 16 1
value
100 100 1
cmd
0 0.1
1 0.9
"""


def workload(gets: int, sets: int, checks: dict[str, str]) -> dict[str, Any]:
    """So many gets to so many sets, and what each get must give."""
    key = "benchmark:${id}"
    get = {"name": "get", "request": {"command": ["get", key]}, "expect": checks}
    stored = {"reply": "STORED"}
    store = ["set", key, "0", "0", "${value}"]
    put = {"name": "set", "request": {"command": store}, "expect": stored}
    return {
        "values": {
            "id": {"uniform": {"low": 100_000, "high": 100_000 + KEYS - 1}},
            "value": {"text": {"length": 100, "key": "id", "versioned": True}},
        },
        "transactions": [
            {"name": "get", "weight": gets, "operations": [get]},
            {"name": "set", "weight": sets, "operations": [put]},
        ],
    }


def load(program: Path, driver: dict[str, Any]) -> None:
    """Stores a value under every key."""
    filling = workload(0, 1, {})
    filling["values"]["id"] = {"sequence": {"start": 100_000}}
    interleave.agent(program, {"driver": driver, "workload": filling}, 10, KEYS, 0)


class Caslap:
    """memcaslap, and what it asked in its last run."""

    def __init__(self, address: str, options: argparse.Namespace, folder: str) -> None:
        configuration = Path(folder, "memcaslap.cnf")
        configuration.write_text(CONFIGURATION)
        connections, seconds = options.connections, f"{max(1, round(options.seconds))}s"
        command = ["memcaslap", "-s", address, "-T", "1", "-c", str(connections), "-t", seconds]
        command += ["-w", f"{KEYS // connections // 1000}k", "-F", str(configuration)]
        self._command = interleave.pinned(options.cpus[0], command)
        self.gets = self.sets = 0

    def run(self) -> Cost:
        """A run of it."""
        ran = interleave.run(self._command)
        found = dict(re.findall(rb"(cmd_get|cmd_set|TPS): (-?\d+)", ran.output))
        if not {b"cmd_get", b"cmd_set"} <= set(found):
            sys.exit(f"memcaslap did not go well:\n{ran.output.decode()}")
        self.gets, self.sets = int(found[b"cmd_get"]), int(found[b"cmd_set"])
        asked = self.gets + self.sets
        # It ends up to a second after its last answer, so its rate is the one that it tells.
        told = int(found.get(b"TPS", 0))
        return ran.cost(asked, asked / told if told > 0 else None)


def compare(server: str, address: str, options: argparse.Namespace, folder: str) -> None:
    """Runs the generators in turns and prints their lines."""
    driver = {"kind": "memcached", "targets": [f"memcached://{address}"]}
    program, cpu = options.binaries / "agent", options.cpus[0]
    load(program, driver)
    peer = Caslap(address, options, folder)
    # The null server has one value for all keys.
    checks = {"keyed": "value"} if server == "memcached" else {"rows": "1"}

    def own(net: str, cost: Cost) -> Cost:
        asked = workload(peer.gets, peer.sets, checks)
        keys = {"driver": driver, "workload": asked, "net": net}
        return interleave.agent(program, keys, options.connections, cost.requests, cpu)

    ours = {f"agent, {net}": partial(own, net) for net in ("epoll", "uring")}
    interleave.compare(server, options.rounds, ("memcaslap", peer.run), ours)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=50)
    for program, package in (("memcaslap", "libmemcached-tools"), ("memcached", "memcached")):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: apt-get install {package}")
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds", "operation")
    cpu = options.cpus[1]
    with tempfile.TemporaryDirectory() as folder:
        null, arguments = options.binaries / "nullserver", ["memcached", "--value-bytes", "100"]
        with interleave.nullserver(null, arguments, cpu) as address:
            compare("null server", address, options, folder)
        port = interleave.free_port()
        command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-u", "nobody", "-t", "1"]
        with interleave.server(command, port, cpu) as address:
            compare("memcached", address, options, folder)


if __name__ == "__main__":
    main()
