"""What a transaction costs the agent, beside pgbench: the point select and the TPC-B-like script,
and beside sysbench: the point select and its reads and writes. All prepare their statements.

Needs PostgreSQL's server, pgbench and sysbench. As root the server runs as the user `postgres`.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import interleave
import sysbench
from interleave import Cost, pinned, run

SCALE = 10
ACCOUNTS, TELLERS, BRANCHES = 100_000 * SCALE, 10 * SCALE, SCALE

SELECT = {"SELECT abalance FROM pgbench_accounts WHERE aid = ${aid}": {"rows": "1"}}
TPC_B: dict[str, dict[str, str]] = {
    "BEGIN": {},
    "UPDATE pgbench_accounts SET abalance = abalance + ${delta} WHERE aid = ${aid}": {"rows": "1"},
    **SELECT,
    "UPDATE pgbench_tellers SET tbalance = tbalance + ${delta} WHERE tid = ${tid}": {"rows": "1"},
    "UPDATE pgbench_branches SET bbalance = bbalance + ${delta} WHERE bid = ${bid}": {"rows": "1"},
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
    " VALUES (${tid}, ${bid}, ${aid}, ${delta}, CURRENT_TIMESTAMP)": {"rows": "1"},
    "END": {},
}
SCRIPTS = {"select": (["-S"], SELECT), "TPC-B-like": ([], TPC_B)}


def programs() -> Path:
    """Where the newest installed server's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


def as_server(command: list[str]) -> list[str]:
    """The command, as a user that the server agrees to run as."""
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]


@contextlib.contextmanager
def postgresql(cpu: int) -> Iterator[int]:
    """The port of a server with pgbench's tables, while it runs."""
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        data = f"{folder}/data"
        quiet: Any = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        make = [str(programs() / "initdb"), "-D", data, "-A", "trust", "-U", "postgres"]
        subprocess.run(as_server([*make, "--no-sync"]), **quiet)
        settings = {
            "port": port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": data,
            "shared_buffers": "512MB",
            "log_min_messages": "panic",
        }
        flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        serve = as_server([str(programs() / "postgres"), "-D", data, *flags])
        with interleave.server(serve, port, cpu):
            # It listens before it lets anybody in.
            asked = [str(programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(asked, check=False).returncode == 1:
                time.sleep(0.05)
            fill = [str(programs() / "pgbench"), "-i", "-q", f"-s{SCALE}"]
            subprocess.run([*fill, *place(port)], **quiet)
            yield port


def place(port: int) -> list[str]:
    """Where pgbench finds the server."""
    return ["-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "postgres"]


def driver(port: int) -> dict[str, Any]:
    """How the agent finds it."""
    target = f"postgresql://127.0.0.1:{port}"
    return {"kind": "postgresql", "targets": [target], "user": "postgres"}


def pgbench(options: argparse.Namespace, port: int, script: list[str]) -> Cost:
    """A run of pgbench."""
    flags = ["-n", *script, "-M", "prepared", f"-c{options.connections}", "-j1"]
    command = [str(programs() / "pgbench"), *flags, f"-T{options.seconds:.0f}", *place(port)]
    ran = run(pinned(options.cpus[0], command))
    counted = re.search(rb"actually processed: (\d+)", ran.output)
    if counted is None:
        sys.exit(f"pgbench did not go well:\n{ran.output.decode()}")
    return ran.cost(int(counted[1]))


def agent(
    options: argparse.Namespace, port: int, script: dict[str, Any], wait: object, peer: Cost
) -> Cost:
    """A run of the agent by the same statements, each answer looked at."""
    operations = [
        {"name": f"{number}", "request": {"sql": sql}, "expect": expect}
        for number, (sql, expect) in enumerate(script.items(), 1)
    ]
    highest = {"aid": ACCOUNTS, "tid": TELLERS, "bid": BRANCHES}
    values = {name: {"uniform": {"low": 1, "high": high}} for name, high in highest.items()}
    values["delta"] = {"uniform": {"low": -5000, "high": 5000}}
    asked = {name: value for name, value in values.items() if f"${{{name}}}" in str(script)}
    keys = {
        "driver": driver(port),
        "workload": {
            "values": asked,
            "transactions": [{"name": "script", "operations": operations}],
        },
        "wait": wait,
    }
    program, cpu = options.binaries / "agent", options.cpus[0]
    return interleave.agent(program, keys, options.connections, peer.requests, cpu)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=16)
    sysbench.needed()
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds", "transaction")
    with postgresql(options.cpus[1]) as port:
        for name, (flags, script) in SCRIPTS.items():
            ours = {
                called: partial(agent, options, port, script, wait)
                for called, wait in sysbench.WAITS.items()
            }
            peer = partial(pgbench, options, port, flags)
            interleave.compare(f"PostgreSQL, {name}", options.rounds, ("pgbench", peer), ours)
        flags = ["db-driver=pgsql", "pgsql-host=127.0.0.1", f"pgsql-port={port}"]
        flags += ["pgsql-user=postgres", "pgsql-db=postgres"]
        found = tuple(f"--{flag}" for flag in flags)
        server = sysbench.Server("PostgreSQL", found, driver(port))
        server.prepare()
        server.compare(options, ("point select", "read-write"))


if __name__ == "__main__":
    main()
