"""What a statement costs the agent, beside sysbench, on MariaDB.

Both ask for one row by its key, or change one, by prepared statements over kept connections; rows
are sysbench's own. Needs sysbench and mariadbd.
"""

import argparse
import contextlib
import getpass
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import interleave
from interleave import Cost, pinned, run

ROWS = 10_000
ONE_ROW = {"rows": "1"}
KINDS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "point select": (
        "oltp_point_select",
        {"sql": "SELECT c FROM sbtest1 WHERE id = ${id}"},
    ),
    "update": (
        "oltp_update_non_index",
        {"sql": "UPDATE sbtest1 SET c = ${text} WHERE id = ${id}"},
    ),
}
"""What sysbench calls it, and what the agent asks."""
WAITS: Mapping[str, Any] = {
    "agent": "auto",
    "agent, coalescing": {"coalesce": {"answers": 8, "window_ns": 200_000}},
}


def sysbench(test: str, address: str, connections: int, *more: str) -> list[str]:
    """A command of sysbench's."""
    host, _, port = address.partition(":")
    return [
        *("sysbench", test, "--db-driver=mysql", f"--mysql-host={host}", f"--mysql-port={port}"),
        *("--mysql-user=root", "--mysql-db=bench", "--tables=1", f"--table-size={ROWS}"),
        *("--rand-type=uniform", f"--threads={connections}", *more),
    ]


def peer(test: str, address: str, options: argparse.Namespace) -> Cost:
    """A run of sysbench."""
    seconds = f"--time={options.seconds:g}"
    command = sysbench(test, address, options.connections, seconds, "run")
    ran = run(pinned(options.cpus[0], command))
    counted = re.search(rb"transactions: +(\d+) ", ran.output)
    if counted is None or not re.search(rb"ignored errors: +0 ", ran.output):
        sys.exit(f"sysbench did not go well:\n{ran.output.decode()}")
    return ran.cost(int(counted[1]))


def agent(
    request: Mapping[str, Any],
    wait: object,
    address: str,
    options: argparse.Namespace,
    last: Cost,
) -> Cost:
    """A run of the agent, which asks as often as sysbench did."""
    target = f"mysql://{address}"
    operation = {"name": "ask", "request": request, "expect": ONE_ROW}
    values = {
        "id": {"uniform": {"low": 1, "high": ROWS}},
        "text": {"text": {"length": 119}},
    }
    used = {name: law for name, law in values.items() if f"${{{name}}}" in request["sql"]}
    transactions = [{"name": "row", "operations": [operation]}]
    keys = {
        "driver": {"kind": "mysql", "targets": [target], "user": "root", "database": "bench"},
        "workload": {"values": used, "transactions": transactions},
        "wait": wait,
    }
    program, cpu = options.binaries / "agent", options.cpus[0]
    return interleave.agent(program, keys, options.connections, last.requests, cpu)


@contextlib.contextmanager
def mariadb(cpu: int) -> Iterator[str]:
    """The address of a MariaDB that holds sysbench's rows, while it runs."""
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        common = ["--no-defaults", f"--datadir={folder}/data", f"--tmpdir={folder}"]
        common.append(f"--user={getpass.getuser()}")
        install = ["mariadb-install-db", *common, "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        Path(folder, "init.sql").write_text("CREATE DATABASE bench;\n")
        # Writes wait for no disk, which is not what is compared.
        command = [
            *("mariadbd", *common, f"--port={port}", "--bind-address=127.0.0.1"),
            *(f"--socket={folder}/socket", f"--pid-file={folder}/pid"),
            f"--log-error={folder}/log",
            *(f"--init-file={folder}/init.sql", "--innodb-flush-log-at-trx-commit=0"),
        ]
        with interleave.server(command, port, cpu) as address:
            run(sysbench("oltp_point_select", address, 1, "prepare"))
            yield address


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=16)
    os.environ["PATH"] += ":/usr/sbin"
    for program, package in (("sysbench", "sysbench"), ("mariadbd", "mariadb-server")):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: apt-get install {package}")
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds", "statement")
    with mariadb(options.cpus[1]) as address:
        for kind, (test, request) in KINDS.items():
            ours = {
                name: partial(agent, request, wait, address, options)
                for name, wait in WAITS.items()
            }
            theirs = partial(peer, test, address, options)
            interleave.compare(f"MariaDB, {kind}", options.rounds, ("sysbench", theirs), ours)


if __name__ == "__main__":
    main()
