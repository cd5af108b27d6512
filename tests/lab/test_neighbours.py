"""Runs at the same time on one machine know of each other, and of none that has ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from labs import Seen, new_run, text

from benchlab.lab import events, neighbours
from benchlab.lab.neighbours import Presence
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

OTHER = """
import sys
from benchlab.lab import neighbours
neighbours.PREFIX = sys.argv[1]
with neighbours.Presence("killed"):
    print("here", flush=True)
    sys.stdin.read()
"""


def test_each_sees_the_other_and_not_itself() -> None:
    with Presence("a") as one:
        assert one.others() == set()
        with Presence("b") as other:
            assert (one.others(), other.others()) == ({"b"}, {"a"})
        assert one.others() == set()


def test_one_that_was_killed_is_seen_no_more() -> None:
    command = [sys.executable, "-c", OTHER, neighbours.PREFIX]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with Presence("a") as one:
        assert other.stdout is not None and other.stdout.readline() == b"here\n"
        assert one.others() == {"killed"}
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()
        assert one.others() == set()


@pytest.mark.real
def test_a_run_beside_another_notes_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", f"{tmp_path}/store")
    experiment, run = new_run(text().replace("sessions: 2", "sessions: 1"))
    seen = Seen()
    with Presence("cafe"):
        record = execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    said = "another run (cafe) was under way on this machine: its load and this one's mix"
    assert record.notes.count(said) == 1
    assert [note.text for note in seen.of(events.Note)].count(said) == 1
