"""Processes on a leash, with real ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from benchlab.host import watchdog
from benchlab.host.leftovers import marked
from benchlab.host.processes import Leash
from benchlab.model.errors import HostError

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1] + ".new", "w") as note:
            note.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        # A daemon that closes what it inherited and forgets its environment, as nginx does.
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    os._exit(0)
os.wait()
"""


def until(condition: Callable[[], object], timeout_s: float = 10.0) -> None:
    """Polls until something holds; fails after the time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs, a zombie counting as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as made:
        yield made


def test_a_process_runs_where_it_was_put_and_its_output_is_kept(
    leash: Leash, tmp_path: Path
) -> None:
    core = max(os.sched_getaffinity(0))
    code = "import os; print(os.sched_getaffinity(0), os.getcwd(), os.environ['COLOUR'])"
    process = leash.start(
        [sys.executable, "-c", code],
        log=tmp_path / "log",
        cpus=[core],
        environment={"COLOUR": "green"},
        folder=tmp_path,
    )
    assert process.wait(10) == 0
    assert process.log_tail() == f"{{{core}}} {tmp_path} green"


def test_exit_status_and_signal_are_told(leash: Leash) -> None:
    assert leash.start(["sh", "-c", "exit 7"]).wait(10) == 7
    sleeper = leash.start(["sleep", "600"])
    assert sleeper.poll() is None
    os.kill(sleeper.pid, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("argv", "cpus", "word"),
    [
        (["no-such-program-here"], [], "not installed"),
        (["/etc"], [], "is a folder, not a program"),
        (["/no/such/program"], [], "`/no/such/program` does not exist"),
        ([__file__], [], "may not be executed: chmod"),
        (["sleep", "1"], [4095], "cannot be pinned to cores 4095"),
    ],
)
def test_what_cannot_be_started_says_why(
    leash: Leash, argv: list[str], cpus: list[int], word: str
) -> None:
    with pytest.raises(HostError, match=word):
        leash.start(argv, cpus=cpus)


@pytest.mark.parametrize(
    ("content", "word"),
    [("#!/no/such/interpreter\n", "first line `#!` names does not exist"), ("x\n", "begin with")],
)
def test_a_script_that_nothing_can_run_says_why(
    leash: Leash, tmp_path: Path, content: str, word: str
) -> None:
    script = tmp_path / "serve"
    script.write_text(content)
    script.chmod(0o755)
    with pytest.raises(HostError, match=word):
        leash.start([str(script)])


def test_stopping_ends_a_daemon_that_left_its_session_and_environment(
    leash: Leash, tmp_path: Path
) -> None:
    process = leash.start([sys.executable, "-c", DAEMON, str(tmp_path / "pid")])
    assert process.wait(10) == 0
    until((tmp_path / "pid").exists)
    daemon = int((tmp_path / "pid").read_text())
    assert process.is_running()
    assert process.tree() == [daemon]
    process.stop()
    assert not alive(daemon)
    assert not process.is_running()


def test_one_that_will_not_listen_is_killed_with_its_children(leash: Leash) -> None:
    process = leash.start(["sh", "-c", "trap '' TERM; sleep 600 & sleep 600; sleep 600"])
    until(lambda: len(process.tree()) == 3)
    tree = process.tree()
    process.stop(grace_s=0.1)
    assert not any(alive(pid) for pid in tree)


def test_what_a_shell_leaves_behind_is_asked_too(leash: Leash, tmp_path: Path) -> None:
    server = (
        f"trap 'echo closed in order > {tmp_path}/said; exit' TERM; while :; do sleep 0.1; done"
    )
    process = leash.start(["sh", "-c", 'echo started; sh -c "$0"; true', server])
    until(lambda: len(process.tree()) == 3)
    process.stop(grace_s=10)
    assert (tmp_path / "said").read_text() == "closed in order\n"
    assert process.tree() == []


def test_a_stopped_process_is_ended(leash: Leash) -> None:
    process = leash.start(["sleep", "600"])
    os.kill(process.pid, signal.SIGSTOP)
    process.stop(grace_s=5)
    assert process.poll() == -signal.SIGTERM


LAB = """
import sys, time
from pathlib import Path
from benchlab.host.processes import Leash
leash = Leash()
folder = leash.folder("benchlab-test")
leash.guard_record(Path(sys.argv[1]))
first = leash.start([sys.executable, "-c", sys.argv[2], str(folder / "daemon")])
second = leash.start(["sh", "-c", "trap '' TERM; sleep 600; sleep 600"])
first.wait(10)
daemon = folder / "daemon"
ends = time.monotonic() + 10
while not daemon.exists() and time.monotonic() < ends:
    pass
print(leash.id, folder, daemon.read_text(), second.pid, flush=True)
sys.stdin.read()
"""


def test_nothing_outlives_a_killed_lab(tmp_path: Path) -> None:
    record = tmp_path / "run.json"
    record.write_text('{"state": "running"}')
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, str(record), DAEMON],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert lab.stdout is not None
    mark, folder, *pids = lab.stdout.readline().split()
    assert len(marked(mark)) >= 3
    os.killpg(lab.pid, signal.SIGKILL)
    lab.communicate()
    until(lambda: not any(alive(int(pid)) for pid in pids))
    until(lambda: not marked(mark))
    until(lambda: not Path(folder).exists())
    until(lambda: '"interrupted"' in record.read_text())


def test_a_killed_watchdog_takes_its_processes_along_and_is_noticed(leash: Leash) -> None:
    process = leash.start(["sleep", "600"])
    leash._watchdog.kill()
    until(lambda: not alive(process.pid))
    with pytest.raises(HostError, match="watchdog"):
        until(lambda: process.poll() is not None)


def test_a_long_log_is_cut_down_to_its_end(leash: Leash, tmp_path: Path) -> None:
    process = leash.start(["sh", "-c", "yes | head -c 20000000; echo last"], log=tmp_path / "log")
    assert process.wait(10) == 0
    process.trim_log()
    assert (tmp_path / "log").stat().st_size < 100_000
    assert process.log_tail(1) == "last"


def test_a_tree_is_held_still_with_what_it_starts_meanwhile_and_goes_on(leash: Leash) -> None:
    process = leash.start(["sh", "-c", "while :; do sleep 0.001; done"])
    until(lambda: len(process.tree()) > 1)
    process.hold()
    held = process.tree()
    # A shell that has forked sleeps past signals until its child, held still itself, goes on.
    assert {psutil.Process(pid).status() for pid in held} <= {"stopped", "zombie", "disk-sleep"}
    process.signal_tree(signal.SIGCONT)
    until(lambda: process.tree()[1:] != held[1:])


def test_a_tree_that_will_not_be_held_still_is_told(
    leash: Leash, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = leash.start(["sleep", "600"])
    with monkeypatch.context() as deaf:
        deaf.setattr(watchdog, "send_signal", lambda pid, number: None)
        with pytest.raises(HostError, match=f"cannot hold process {process.pid} of `sleep` still"):
            process.hold(timeout_s=0.1)
    process.hold()
    assert psutil.Process(process.pid).status() == "stopped"


def test_who_has_a_keepers_process_id_after_it_is_left_alone(leash: Leash) -> None:
    process = leash.start(["true"])
    until(lambda: process.poll() == 0 and leash.is_gone(process))
    others = subprocess.Popen(["sh", "-c", "sleep 600 & wait"])
    try:
        until(lambda: psutil.Process(others.pid).children())
        # As when the machine's process ids have come round.
        process.keeper = others.pid
        assert process.tree() == []
        process.stop()
        leash.kill()
        (theirs,) = psutil.Process(others.pid).children()
        assert alive(theirs.pid)
    finally:
        for child in psutil.Process(others.pid).children():
            child.kill()
        others.wait()


SHARES = """
import ctypes, time
libc = ctypes.CDLL(None)
number = libc.shmget(0, 4096, 0o1600)
libc.shmat.restype = ctypes.c_void_p
assert libc.shmat(number, None, 0)
print(number, flush=True)
time.sleep(600)
"""


def test_shared_memory_goes_with_what_made_it(leash: Leash, tmp_path: Path) -> None:
    def segments() -> set[str]:
        return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()}

    log = tmp_path / "log"
    process = leash.start([sys.executable, "-c", SHARES], log=log)
    until(lambda: log.read_text().strip() in segments() - {""})
    number = log.read_text().strip()
    process.kill()
    assert number not in segments()
