"""What sysbench's scripts cost sysbench, and the agent by the same statements.

Here because two servers' benches compare with it: its rows, its scripts as workloads, and a run of
each generator. Absent: the servers. sysbench draws a range's beginning up to the last row, the
agent up to the last that has a whole range behind it, so that every answer's rows can be counted.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import interleave
from interleave import Cost, pinned, run

ROWS = 10_000
RANGE = 100
LOST = 0.01
"""The share of transactions that may be lost to deadlocks and to rows that others changed."""
COALESCE = {"coalesce": {"answers": 8, "window_ns": 200_000}}
WAITS: Mapping[str, Any] = {"agent": "auto", "agent, coalescing": COALESCE}

IDS = {"uniform": {"low": 1, "high": ROWS}}
BEGINNINGS = {"uniform": {"low": 1, "high": ROWS - RANGE + 1}}
TEXT = {"text": {"length": 119}}
VALUES: Mapping[str, Mapping[str, Any]] = {
    "id": IDS,
    "ids": {"list": {"low": 1, "high": ROWS, "length": 10}},
    **dict.fromkeys(("simple", "summed", "ordered", "distinct"), BEGINNINGS),
    **dict.fromkeys(("indexed", "changed", "replaced", "k"), IDS),
    **dict.fromkeys(("text", "other"), TEXT),
    "pad": {"text": {"length": 59}},
}
"""By name; a script draws those that it mentions."""


def _between(value: str) -> str:
    return f"FROM sbtest1 WHERE id BETWEEN ${{{value}}} AND ${{{value}}} + {RANGE - 1}"


SCRIPTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "point select": ("oltp_point_select", {"SELECT c FROM sbtest1 WHERE id = ${id}": "1"}),
    "update": ("oltp_update_non_index", {"UPDATE sbtest1 SET c = ${text} WHERE id = ${id}": "1"}),
    "read-write": (
        "oltp_read_write",
        {
            "BEGIN": "",
            "SELECT c FROM sbtest1 WHERE id = ${ids}": "1",
            f"SELECT c {_between('simple')}": f"{RANGE}",
            f"SELECT SUM(k) {_between('summed')}": "1",
            f"SELECT c {_between('ordered')} ORDER BY c": f"{RANGE}",
            f"SELECT DISTINCT c {_between('distinct')} ORDER BY c": f"{RANGE}",
            "UPDATE sbtest1 SET k = k + 1 WHERE id = ${indexed}": "1",
            "UPDATE sbtest1 SET c = ${text} WHERE id = ${changed}": "1",
            "DELETE FROM sbtest1 WHERE id = ${replaced}": "1",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (${replaced}, ${k}, ${other}, ${pad})": "1",
            "COMMIT": "",
        },
    ),
}
"""What sysbench calls a script, and its statements with the rows that each answers or changes."""


def _times(sql: str) -> int:
    """How often a transaction asks it: once for each of ten ids, or once."""
    return VALUES["ids"]["list"]["length"] if "${ids}" in sql else 1


def workload(statements: Mapping[str, str]) -> dict[str, Any]:
    """What the agent is told to ask: the statements, one after another, as one transaction."""
    operations = []
    for number, (sql, rows) in enumerate(statements.items(), 1):
        operation: dict[str, Any] = {"name": f"{number}", "request": {"sql": sql}}
        operation |= {"expect": {"rows": rows}} if rows else {}
        operation |= {"for_each": "ids"} if _times(sql) > 1 else {}
        operations.append(operation)
    used = {
        name: law for name, law in VALUES.items() if any(f"${{{name}}}" in s for s in statements)
    }
    return {"values": used, "transactions": [{"name": "script", "operations": operations}]}


@dataclass(frozen=True)
class Server:
    """A server that holds sysbench's rows."""

    name: str
    """As the table calls it."""
    flags: tuple[str, ...]
    """How sysbench finds it."""
    driver: Mapping[str, Any]
    """How the agent does."""

    def prepare(self) -> None:
        """Makes the rows."""
        run(self._command("oltp_read_write", 1, "prepare"))

    def compare(self, options: argparse.Namespace, scripts: Iterable[str]) -> None:
        """Prints the lines of these scripts."""
        for script in scripts:
            test, statements = SCRIPTS[script]
            ours = {
                name: partial(self._agent, statements, wait, options)
                for name, wait in WAITS.items()
            }
            asked = sum(map(_times, statements))
            peer = ("sysbench", partial(self._peer, test, asked, options))
            interleave.compare(f"{self.name}, {script}", options.rounds, peer, ours)

    def _command(self, test: str, connections: int, *more: str) -> list[str]:
        rows = ("--tables=1", f"--table-size={ROWS}", "--rand-type=uniform")
        return ["sysbench", test, *self.flags, *rows, f"--threads={connections}", *more]

    def _peer(self, test: str, asked: int, options: argparse.Namespace) -> Cost:
        seconds = f"--time={options.seconds:g}"
        command = self._command(test, options.connections, seconds, "run")
        ran = run(pinned(options.cpus[0], command))
        counts = re.findall(rb"(transactions|queries|ignored errors): +(\d+) ", ran.output)
        counted = {name.decode(): int(count) for name, count in counts}
        ended = counted["transactions"]
        if counted["ignored errors"] > LOST * ended or round(counted["queries"] / ended) != asked:
            sys.exit(f"sysbench did not ask {asked} statements each time:\n{ran.output.decode()}")
        return ran.cost(ended)

    def _agent(
        self,
        statements: Mapping[str, str],
        wait: object,
        options: argparse.Namespace,
        last: Cost,
    ) -> Cost:
        keys = {"driver": self.driver, "workload": workload(statements), "wait": wait}
        program, cpu = options.binaries / "agent", options.cpus[0]
        return interleave.agent(program, keys, options.connections, last.requests, cpu, LOST)


def needed() -> None:
    """Ends the bench where sysbench is not installed."""
    if shutil.which("sysbench") is None:
        sys.exit("sysbench is not installed: apt-get install sysbench")
