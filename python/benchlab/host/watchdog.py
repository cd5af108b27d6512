"""The watchdog: starts the lab's processes, and ends them all when the lab is gone.

It is a small process in a session of its own, so that a signal to the lab's group does not reach
it, and it holds one end of a socket whose closing tells that the lab has ended, SIGKILL included.
Every process is started through a *keeper*, a fork of the watchdog that adopts whatever its process
leaves behind: a server that turns itself into a daemon, or overwrites its environment, still
belongs to the tree of its keeper. Absent: any import beyond the standard library, since it is run
by path, and any judgement; `processes` decides what is started and stopped.
"""

# Reading /proc through plain paths halves its cost, and the probes read it ten times a second.
# ruff: noqa: PTH105, PTH123, PTH208

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

MESSAGE_BYTES = 1 << 20
TERM_GRACE_S = 2.0
KILL_GRACE_S = 10.0
POLL_S = 0.02
CLIENT_S = 20.0
"""How long the removal of a container may take."""
CONTAINER = "container.json"
"""The file of a lab's folder that tells of a container: the client that knows it, and its label."""

_HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python or the watchdog ignores and a started program must not."""

_IPC_RMID = 0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def children(pid: int) -> list[int]:
    """The direct children of a process, of all its threads; empty when it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                found.extend(int(child) for child in file.read().split())
    return found


def descendants(pid: int) -> Iterator[int]:
    """All processes below one, parents before children."""
    queue = children(pid)
    while queue:
        child = queue.pop(0)
        yield child
        queue.extend(children(child))


def is_zombie(pid: int) -> bool:
    """Whether a process has ended and only waits to be collected; true as well when it is gone."""
    return _state(pid) in (b"Z", b"X", b"")


def is_still(pid: int, is_told: bool) -> bool:
    """Whether a process is stopped or has ended; of one told to stop, whether it only sleeps on."""
    return _state(pid) in (b"T", b"t", b"Z", b"X", b"", *([b"D"] if is_told else []))


def _state(pid: int) -> bytes:
    """The letter the kernel tells; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except OSError:
        return b""


def send_signal(pid: int, number: int) -> None:
    """Signals one process; one that is already gone is what was wanted."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end_tree(root: int, spared: set[int], term_s: float = TERM_GRACE_S) -> bool:
    """Ends everything below `root` but the spared: asked first, killed after.

    True when all are gone. A stopped process is woken, since it could not heed the request.
    """
    asked: set[int] = set()
    seen: set[int] = set()
    start = time.monotonic()
    while True:
        alive = [pid for pid in descendants(root) if pid not in spared and not is_zombie(pid)]
        seen.update(alive)
        waited = time.monotonic() - start
        if not alive or waited > term_s + KILL_GRACE_S:
            _forget_segments(seen)
            return not alive
        for pid in alive:
            if waited >= term_s:
                send_signal(pid, signal.SIGKILL)
            elif pid not in asked:
                asked.add(pid)
                send_signal(pid, signal.SIGTERM)
                send_signal(pid, signal.SIGCONT)
        time.sleep(POLL_S)


def remove_containers(folder: str) -> bool:
    """Ends and removes the containers of which a folder's record tells; whether none is left."""
    try:
        with open(f"{folder}/{CONTAINER}", encoding="utf-8") as file:
            told = json.load(file)
    except (OSError, ValueError):
        # It is written before there is a container.
        return True

    def ask(*words: str) -> str:
        argv = [*told["client"], *words]
        done = subprocess.run(
            argv,
            env=told["environment"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=CLIENT_S,
            check=words[0] == "ps",
        )
        return done.stdout.decode()

    deadline = time.monotonic() + CLIENT_S
    label = f"label={told['label']}"
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        while there := ask("ps", "--all", "--quiet", "--no-trunc", "--filter", label).split():
            if time.monotonic() >= deadline:
                return False
            # One that is held still heeds no signal, and some clients ask before they kill.
            ask("unpause", *there)
            ask("kill", *there)
            ask("rm", "--force", "--volumes", *there)
        return True
    return False


def remove_folder(folder: str) -> bool:
    """Removes a lab's folder, its containers first; it stays where one of these does."""
    if not remove_containers(folder):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _forget_segments(creators: set[int]) -> None:
    """Removes System V's shared memory that these processes made and nobody uses any more.

    It outlives a process that is killed, as PostgreSQL's initdb is even when it is asked to end.
    """
    with contextlib.suppress(OSError), open("/proc/sysvipc/shm") as file:
        for line in file.readlines()[1:]:
            _, number, _, _, creator, _, users = line.split()[:7]
            if int(creator) in creators and int(users) == 0:
                _libc.shmctl(int(number), _IPC_RMID, None)


def _say(lab: socket.socket, message: dict[str, Any]) -> None:
    # The lab may be gone at any moment; the watchdog's loop notices by itself.
    with contextlib.suppress(OSError):
        lab.send(json.dumps(message).encode())


def _execute(request: dict[str, Any], streams: list[int], failed: int) -> NoReturn:
    """Becomes the requested program; tells why through the pipe when it cannot."""
    try:
        os.setsid()
        for number in _HEEDED:
            signal.signal(number, signal.SIG_DFL)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        os.chdir(request["folder"])
        if request["cpus"]:
            os.sched_setaffinity(0, request["cpus"])
        os.execvpe(request["argv"][0], request["argv"], request["environment"])
    except OSError as error:
        os.write(failed, json.dumps([error.errno, error.strerror]).encode())
    except BaseException as error:
        os.write(failed, json.dumps([0, repr(error)]).encode())
    os._exit(127)


def _keep(
    lab: socket.socket, request: dict[str, Any], streams: list[int], watchdog: int
) -> NoReturn:
    """A keeper: starts one program, adopts what it leaves behind, tells when it and they end."""
    os.setsid()
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def ended(*_: object) -> None:
        end_tree(os.getpid(), set(), term_s=0.0)
        os._exit(1)

    # The parent has one thread alone, so the death signal tells of the parent, not of a thread.
    signal.signal(signal.SIGTERM, ended)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != watchdog:
        ended()
    told, failed = os.pipe()
    main = os.fork()
    if main == 0:
        _execute(request, streams, failed)
    for number in (failed, *streams):
        os.close(number)
    error = os.read(told, MESSAGE_BYTES)
    if error:
        code, why = json.loads(error)
        _say(lab, {"reply": request["id"], "errno": code, "error": why})
        os._exit(0)
    _say(lab, {"reply": request["id"], "keeper": os.getpid(), "pid": main})
    collected: set[int] = set()
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            break
        # Of a server that dies by itself, too, and again as each that used it ends.
        collected.add(pid)
        _forget_segments(collected)
        if pid == main:
            _say(lab, {"exited": request["id"], "status": os.waitstatus_to_exitcode(status)})
    _say(lab, {"gone": request["id"]})
    os._exit(0)


def _mark_interrupted(record: str) -> None:
    """Says in a run's record that it did not come to its end."""
    try:
        with open(record, encoding="utf-8") as file:
            found = json.load(file)
        if found.get("state") != "running":
            return
        found["state"] = "interrupted"
        with open(record + ".new", "w", encoding="utf-8") as file:
            json.dump(found, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        os.replace(record + ".new", record)
    except (OSError, ValueError):
        # A reader tells the same from the run's lock, which nobody holds any more.
        return


class _Watch:
    """What the watchdog knows: its keepers, and what is to be tidied away at the end."""

    def __init__(self, lab: socket.socket) -> None:
        self.lab = lab
        self.keepers: set[int] = set()
        self.folders: list[str] = []
        self.records: list[str] = []

    def serve(self) -> bool:
        """Answers the lab until it says goodbye (true) or is gone (false)."""
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([self.lab.fileno(), wake], [], [])
            if wake in ready:
                os.read(wake, 4096)
                self._collect()
            if self.lab.fileno() in ready:
                try:
                    data, streams, _, _ = socket.recv_fds(self.lab, MESSAGE_BYTES, 3)
                except OSError:
                    return False
                if not data:
                    return False
                request = json.loads(data)
                if request["do"] == "goodbye":
                    return True
                self._heed(request, streams)

    def _heed(self, request: dict[str, Any], streams: list[int]) -> None:
        match request["do"]:
            case "start":
                watchdog = os.getpid()
                keeper = os.fork()
                if keeper == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _keep(self.lab, request, streams, watchdog)
                self.keepers.add(keeper)
                for stream in streams:
                    os.close(stream)
            case "folder":
                self.folders.append(request["path"])
                _say(self.lab, {"reply": request["id"]})
            case "record":
                self.records.append(request["path"])
                _say(self.lab, {"reply": request["id"]})

    def _collect(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) > 0:
                self.keepers.discard(pid)

    def tidy(self) -> None:
        """Ends what is left, then removes the temporary folders."""
        # Processes of a container that is held still cannot be ended from without.
        for folder in self.folders:
            remove_containers(folder)
        end_tree(os.getpid(), self.keepers)
        # A client that was starting one when the lab ended may have come to it since.
        for folder in self.folders:
            remove_folder(folder)


def main() -> None:
    """Serves the lab on the socket whose number is the only argument."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    watch = _Watch(socket.socket(fileno=int(sys.argv[1])))
    in_order = watch.serve()
    watch.tidy()
    if not in_order:
        for record in watch.records:
            _mark_interrupted(record)


if __name__ == "__main__":
    main()
