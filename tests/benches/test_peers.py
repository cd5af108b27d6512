"""Each comparison with another tool runs, and believes neither side unheard."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchlab.host import programs
from benchlab.store.measurement import Measurement

ROOT = Path(__file__).resolve().parents[2]
WAITS = ("agent", "agent, coalescing")
NETS = ("agent, epoll", "agent, uring")
TABLES = {
    "http": ("nginx", dict.fromkeys(("wrk", "ab"), ("null server", "nginx")), NETS),
    "redis": (
        "redis-server",
        {"redis-benchmark": ("Redis, pipeline 1", "Redis, pipeline 16")},
        WAITS,
    ),
    "memcached": ("memcached", {"memcaslap": ("null server", "memcached")}, NETS),
    "mysql": (
        "mariadbd",
        {"sysbench": ("MariaDB, point select", "MariaDB, update", "MariaDB, read-write")},
        WAITS,
    ),
    "postgresql": (
        "postgres",
        {
            "pgbench": ("PostgreSQL, select", "PostgreSQL, TPC-B-like"),
            "sysbench": ("PostgreSQL, point select", "PostgreSQL, read-write"),
        },
        WAITS,
    ),
}
"""By name of a bench: the server's program, what is asked beside each peer, and our turns."""


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_comparison_prints_what_each_side_took(name: str, program: Callable[[str], str]) -> None:
    server, peers, ours = TABLES[name]
    for need in (server, *peers):
        program(need)
    cpus = sorted(os.sched_getaffinity(0))
    own = [f"{cpu}" for cpu in (cpus[0], cpus[-1])]
    command = [sys.executable, f"benches/{name}.py", "--rounds=1", "--seconds=1", "--cpus", *own]
    found = os.environ | {"PATH": programs.search_path()}
    ran = subprocess.run(command, cwd=ROOT, env=found, capture_output=True, text=True, timeout=250)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    table = [line.strip("| ").split(" | ") for line in ran.stdout.splitlines() if "–" in line]
    # A peer that is not among Debian's packages has lines where it is installed.
    seen = Counter((row[0], row[1]) for row in table)
    turns = [(asked, who) for peer in peers for asked in peers[peer] for who in (peer, *ours)]
    assert not Counter(turns) - seen, ran.stdout
    for row in table:
        cost, _, of_peer = row[2:5]
        assert float(cost) > 0
        assert bool(re.fullmatch(r"\d+\.\d\d", of_peer)) == row[1].startswith("agent")


def test_a_run_counts_for_the_answers_that_were_right(bench: Callable[[str], ModuleType]) -> None:
    measurement = Measurement.read(ROOT / "tests" / "store" / "golden-1.arrow")
    right = measurement.totals()["ok"]
    all_right = bench("interleave").all_right
    assert all_right(measurement, right) == right
    assert all_right(measurement, right + 1, lost=0.5) == right
    for requests, lost in ((right + 1, 0.0), (3 * right, 0.5), (right - 1, 0.5)):
        with pytest.raises(SystemExit, match=f"{right} of {requests}"):
            all_right(measurement, requests, lost)
