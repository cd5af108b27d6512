"""Ctrl-C at any moment of the command's start is one line and a code, whatever is coming in."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchlab.cli import interrupting
from benchlab.model.errors import Exit

COMMAND = [sys.executable, "-c", "from benchlab.cli.main import main; main()"]
SIGINT_BIT = 1 << 1


def deaf() -> None:
    """Has a program to come not be reached by Ctrl-C until it takes it up itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def takes_ctrl_c(pid: int) -> bool:
    """Whether a process has a handler of its own for SIGINT."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & SIGINT_BIT)


def interrupted(arguments: list[str], delay_s: float) -> tuple[int, str, str]:
    """Code, output and errors of a command sent SIGINT that long after it listens to it."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=deaf,
    )
    deadline = time.monotonic() + 30
    while not takes_ctrl_c(process.pid):
        assert time.monotonic() < deadline, "never listens to Ctrl-C"
        assert process.poll() is None, "ended without ever listening to Ctrl-C"
    time.sleep(delay_s)
    process.send_signal(2)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


@pytest.mark.parametrize("delay_ms", [0, 5, 20, 50, 100, 150, 200, 300, 400])
def test_ctrl_c_while_libraries_come_in_is_one_line(delay_ms: int) -> None:
    code, _, err = interrupted(["plan", "rest"], delay_ms / 1e3)
    # A quick machine may be done before the later ones.
    allowed = [(Exit.INTERRUPTED, "benchlab: interrupted\n")]
    allowed += [(Exit.DONE, "")] if delay_ms else []
    assert (code, err) in allowed


def test_ctrl_c_is_json_where_json_is_asked_for() -> None:
    code, out, err = interrupted(["plan", "rest", "--json"], 0.0)
    assert (code, err) == (Exit.INTERRUPTED, "")
    assert json.loads(out) == {"error": "interrupted", "exit": 130}


def test_the_entry_point_stands_on_the_standard_library_alone() -> None:
    """So that Ctrl-C is taken within milliseconds of the interpreter's own start."""
    shown = "import sys; from benchlab.cli.main import main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    brought = {name.partition(".")[0] for name in done.stdout.split()}
    plain = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    before = {name.partition(".")[0] for name in plain.stdout.split()}
    assert brought - before - {"benchlab"} <= sys.stdlib_module_names


def test_what_to_do_is_told_where_something_is_interrupted() -> None:
    with interrupting.Advising('its "answer": benchlab report 1f'):
        assert interrupting.line(False) == (
            2,
            'benchlab: interrupted: its "answer": benchlab report 1f\n',
        )
        stream, text = interrupting.line(True)
        assert stream == 1
        assert json.loads(text)["error"] == 'interrupted: its "answer": benchlab report 1f'
    assert interrupting.line(False)[1] == "benchlab: interrupted\n"
