"""Real servers that are made to stall at a known moment: found, measured and told with a reason."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from labs import new_run

from benchlab.host import programs
from benchlab.judge.run import judge_run
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.evidence import Stalls

pytestmark = pytest.mark.real

FROZEN_S = 0.5
WRITING = "{shared_buffers: 1GB, max_wal_size: 8GB, checkpoint_timeout: 1h}"
BALLAST = """CREATE TABLE ballast AS
SELECT g, repeat(md5(g::text), 30) FROM generate_series(1, 400000) g"""
"""Some 450 MB that a checkpoint has to write."""


def judged(
    systems: str, options: str, seconds: int, out: Path, happens: Callable[[], None]
) -> Stalls:
    """A trial in whose second second something happens, and the stalls that were found in it."""
    text = f"""
experiment: stalls
systems: {systems}
workload: {{name: records, data: {{records: 5000}}, options: {{{options}}}}}
load: {{clients: 4, duration: {seconds}s, warmup: 0.5s}}
allow: {{steal: 50%, steady: 100%}}
sessions: 1
blocks: 1
"""
    attempts: list[events.TrialStarted] = []

    def see(event: events.Event) -> None:
        if isinstance(event, events.TrialStarted):
            attempts.append(event)
        # A trial that is measured again has it happen again.
        if isinstance(event, events.Progress) and event.second == 0 and attempts:
            attempts.clear()
            happens()

    experiment, run = new_run(text, out, KNOWN)
    execute(experiment, cases(experiment), run, emit=see, stop=StopToken())
    found = judge_run(experiment, cases(experiment), run).summary.cases[0].stalls
    assert found is not None and found.watched_s == pytest.approx(seconds, abs=0.1)
    return found


def server(name: str) -> psutil.Process:
    """The first process of a server that was started here."""
    below = psutil.Process().children(recursive=True)
    return next(process for process in below if process.name() == name)


def freeze() -> None:
    frozen = server("redis-server")
    os.kill(frozen.pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    os.kill(frozen.pid, signal.SIGCONT)


def force_a_checkpoint() -> subprocess.Popen[bytes]:
    """Asks PostgreSQL to put at once on disk what it holds, which is much."""
    told = dict(word.split("=", 1) for word in server("postgres").cmdline() if "=" in word)
    asked = ["-qX", "-h", "127.0.0.1", "-p", told["port"], "-U", "bench", "postgres"]
    passwords = f"{told['unix_socket_directories']}/pgpass"
    statements = ("DROP TABLE IF EXISTS ballast", BALLAST, "CHECKPOINT")
    return subprocess.Popen(
        [programs.path("psql"), *asked, *(w for said in statements for w in ("-c", said))],
        env={**os.environ, "PGPASSFILE": passwords},
    )


def hold_the_rows() -> subprocess.Popen[bytes]:
    """Has a client of MariaDB keep every row from being changed for a while."""
    told = dict(word.split("=", 1) for word in server("mariadbd").cmdline() if "=" in word)
    said = Path(told["--init-file"]).read_text()
    password = said.partition("IDENTIFIED BY '")[2].partition("'")[0]
    held = "BEGIN; SELECT COUNT(*) FROM records FOR UPDATE; SELECT SLEEP(1.5); ROLLBACK"
    asked = ["--no-defaults", f"--socket={told['--socket']}", "-uroot", "-Ne", held, "bench"]
    return subprocess.Popen(
        [programs.path("mariadb"), *asked],
        env={**os.environ, "MYSQL_PWD": password},
        stdout=subprocess.DEVNULL,
    )


def test_a_server_frozen_for_half_a_second_is_seen_to_stall(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("redis-server")
    found = judged("{redis: {}}", "read: 100%", 4, tmp_path / "run", freeze)
    longest = max(found.found, key=lambda stall: stall.length_s)
    assert longest.stood_still and longest.waiting == 4
    assert longest.length_s == pytest.approx(FROZEN_S, abs=0.21)
    assert 0.8 <= longest.at_s <= 1.8, "after the second in whose end it was frozen"
    assert longest.slowest_s == pytest.approx(FROZEN_S, abs=0.1)
    assert "the system was stopped or waiting" in [one.cause for one in longest.candidates]
    assert found.low <= 3600 / found.watched_s <= found.high


def test_a_forced_checkpoint_is_a_candidate_of_the_stalls_it_makes(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    for need in ("postgres", "psql"):
        program(need)
    systems = f"{{postgresql: {{settings: {WRITING}}}}}"
    asked: list[subprocess.Popen[bytes]] = []

    def force() -> None:
        asked.append(force_a_checkpoint())

    found = judged(systems, "update: 100%", 15, tmp_path / "run", force)
    assert [one.wait(30) for one in asked][-1] == 0, "the checkpoint was over before the trial"
    causes = {one.cause for stall in found.found for one in stall.candidates}
    assert "checkpoint" in causes


def test_rows_held_by_another_client_are_a_candidate_of_the_stall(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("mariadbd")
    asked: list[subprocess.Popen[bytes]] = []

    def hold() -> None:
        asked.append(hold_the_rows())

    found = judged("{mariadb: {}}", "update: 100%", 5, tmp_path / "run", hold)
    assert [one.wait(10) for one in asked][-1] == 0
    longest = max(found.found, key=lambda stall: stall.length_s)
    assert longest.stood_still and longest.length_s == pytest.approx(1.5, abs=0.4)
    assert "locks" in {one.cause for one in longest.candidates}
