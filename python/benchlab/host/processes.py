"""Processes of a lab: started on chosen cores, kept on a leash, ended with all they brought along.

A `Leash` owns a watchdog process through which everything is started, so that nothing outlives
the lab however it ends. Each `Process` stands for a whole tree: what its program starts, daemons
included, is found below its keeper. Absent: what the programs are for, and how one tells that they
are ready.
"""

import contextlib
import ctypes
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchlab.host import leftovers, programs, watchdog
from benchlab.host.leftovers import MARK
from benchlab.model.errors import HostError

REPLY_S = 10.0
LEFT_BEHIND_S = 0.5
LOG_KEPT_BYTES = 64 * 1024
LOG_LIMIT_BYTES = 16 * 1024 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


class Process:
    """A started program and everything below it."""

    def __init__(
        self, leash: "Leash", argv: Sequence[str], reply: Mapping[str, Any], log: Path | None
    ) -> None:
        self.argv, self.log = tuple(argv), log
        self.number: int = reply["reply"]
        """Of this process on its leash; process ids come again."""
        self.pid: int = reply["pid"]
        self.keeper: int = reply["keeper"]
        self._leash = leash

    def poll(self) -> int | None:
        """The program's exit status, negative for a signal; None while it runs."""
        return self._leash.status(self)

    def wait(self, timeout_s: float) -> int | None:
        """Waits for the program itself to end; None when it has not after the time."""
        deadline = time.monotonic() + timeout_s
        while (status := self.poll()) is None and (left := deadline - time.monotonic()) > 0:
            self._leash.listen(min(left, 0.5))
        return status

    def tree(self) -> list[int]:
        """Process ids of everything alive that this program brought along, itself first."""
        if self._leash.is_gone(self):
            return []
        return [pid for pid in watchdog.descendants(self.keeper) if not watchdog.is_zombie(pid)]

    def is_running(self) -> bool:
        """Whether anything of the tree is alive: a daemon whose starter has ended still is."""
        return self.poll() is None or bool(self.tree())

    def send_signal(self, number: int) -> None:
        """Signals the program alone, or the tree's first process when the program has ended."""
        target = [self.pid] if self.poll() is None else self.tree()[:1]
        for pid in target:
            watchdog.send_signal(pid, number)

    def signal_tree(self, number: int) -> None:
        """Signals everything of the tree."""
        for pid in self.tree():
            watchdog.send_signal(pid, number)

    def hold(self, timeout_s: float = 2.0) -> None:
        """Has everything of the tree stand still, what it starts meanwhile too, until SIGCONT.

        One that is told to while it sleeps past signals, as a shell that has forked does until its
        child goes on, runs nothing more and is still. Raises HostError where others move on.
        """
        deadline = time.monotonic() + timeout_s
        told: set[int] = set()
        while moving := [pid for pid in self.tree() if not watchdog.is_still(pid, pid in told)]:
            if time.monotonic() >= deadline:
                left = ", ".join(map(str, moving))
                raise HostError(f"cannot hold process {left} of `{self.argv[0]}` still")
            for pid in moving:
                watchdog.send_signal(pid, signal.SIGSTOP)
            told.update(moving)
            self._leash.listen(watchdog.POLL_S)

    def stop(self, grace_s: float = 10.0, number: int = signal.SIGTERM) -> None:
        """Ends the tree: the program is asked, then what it left, then all of it is killed.

        What is left when the program has ended is asked a little later, as with a shell that dies
        before the server it started. Raises HostError when a process cannot be ended, as one that
        belongs to another user.
        """
        self.send_signal(number)
        self.send_signal(signal.SIGCONT)
        began = time.monotonic()
        asked = {self.pid}
        while self.is_running() and (waited := time.monotonic() - began) < grace_s:
            if waited > LEFT_BEHIND_S and self.poll() is not None:
                for pid in set(self.tree()) - asked:
                    asked.add(pid)
                    watchdog.send_signal(pid, number)
            self._leash.listen(watchdog.POLL_S)
        self.kill()

    def kill(self) -> None:
        """Kills what is left of the tree. Raises HostError when a process cannot be killed."""
        if self._leash.is_gone(self):
            return
        if not watchdog.end_tree(self.keeper, set(), term_s=0.0):
            left = ", ".join(str(pid) for pid in self.tree())
            raise HostError(f"cannot end process {left} of `{self.argv[0]}`: end it by hand")
        self.wait(1.0)

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of what it wrote; empty when nothing was kept."""
        return tail(self.log, lines) if self.log else ""

    def trim_log(self) -> None:
        """Cuts a log that has grown past its limit down to its end."""
        if self.log is None or not self.log.exists():
            return
        if self.log.stat().st_size > LOG_LIMIT_BYTES:
            kept = _last_bytes(self.log)
            os.truncate(self.log, 0)
            with self.log.open("ab") as file:
                file.write(kept)


class Leash:
    """Everything one lab has started; leaving it ends it all and removes its folders."""

    def __init__(self) -> None:
        self.id = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = threading.RLock()
        self._next = 0
        self._replies: dict[int, dict[str, Any]] = {}
        self._statuses: dict[int, int] = {}
        self._gone: set[int] = set()
        self._folders: list[Path] = []
        self._started: list[Process] = []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", watchdog.__file__, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={MARK: self.id},
            )
        self._socket = ours

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(
        self,
        argv: Sequence[str],
        *,
        log: Path | None = None,
        cpus: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        stdin: IO[bytes] | int | None = None,
        stdout: IO[bytes] | int | None = None,
        stderr: IO[bytes] | int | None = None,
    ) -> Process:
        """Starts a program; streams that are not given go to the log, or nowhere.

        `environment` is added to the lab's own. Raises HostError when it cannot be started.
        """
        request = {
            "do": "start",
            "argv": list(argv),
            "environment": {
                **os.environ,
                "PATH": programs.search_path(),
                **(environment or {}),
                MARK: self.id,
            },
            "folder": str(folder or Path.cwd()),
            "cpus": list(cpus),
        }
        with contextlib.ExitStack() as stack:
            nowhere = stack.enter_context(open(os.devnull, "r+b", buffering=0))  # noqa: PTH123
            out: IO[bytes] | int = nowhere
            if log is not None:
                out = stack.enter_context(log.open("ab"))
            streams = [nowhere if stdin is None else stdin]
            streams += [out if given is None else given for given in (stdout, stderr)]
            numbers = [item if isinstance(item, int) else item.fileno() for item in streams]
            reply = self._ask(request, numbers)
        if "error" in reply:
            raise HostError(_why_not_started(argv, reply["errno"], reply["error"], cpus))
        process = Process(self, argv, reply, log)
        self._started.append(process)
        return process

    def folder(self, name: str = "benchlab") -> Path:
        """A new temporary folder, open to other users' servers, removed when the leash ends."""
        path = Path(tempfile.gettempdir(), f"{name}-{secrets.token_hex(6)}").absolute()
        self._folders.append(path)
        # The watchdog first: what it does not know of would outlive a lab that is killed just now.
        self._ask({"do": "folder", "path": str(path)})
        try:
            path.mkdir(mode=0o700)
            leftovers.sign(path, self.id, self._watchdog.pid)
            path.chmod(0o755)
        except OSError as error:
            raise HostError(f"cannot make {path}: {error.strerror}: set TMPDIR") from error
        return path

    def guard_record(self, path: Path) -> None:
        """Has a run's record say `interrupted` should the lab end without saying goodbye."""
        self._ask({"do": "record", "path": str(path.absolute())})

    def listen(self, timeout_s: float) -> None:
        """Takes in what the watchdog has to say, waiting for it at most this long."""
        readable, _, _ = select.select([self._socket], [], [], timeout_s)
        if not readable:
            return
        with self._lock:
            self._take_in()

    def status(self, process: Process) -> int | None:
        """Exit status of a process of this leash; None while it runs."""
        with self._lock:
            self._take_in()
            return self._statuses.get(process.number)

    def is_gone(self, process: Process) -> bool:
        """Whether its keeper has told that nothing is left below it.

        The keeper's process id may be another's from then on, whose children are not ours to end.
        """
        return process.number in self._gone

    def kill(self) -> None:
        """Kills every process at once."""
        for process in self._started:
            if not self.is_gone(process):
                watchdog.end_tree(process.keeper, set(), term_s=0.0)

    def close(self) -> None:
        """Ends every process, asking first, and removes the folders."""
        with contextlib.suppress(OSError):
            self._socket.send(json.dumps({"do": "goodbye"}).encode())
        self._watchdog.wait()
        self._socket.close()
        for folder in self._folders:
            watchdog.remove_folder(str(folder))

    def _ask(self, request: dict[str, Any], streams: Sequence[int] = ()) -> dict[str, Any]:
        with self._lock:
            self._next += 1
            number = self._next
            data = json.dumps({**request, "id": number}).encode()
            try:
                socket.send_fds(self._socket, [data], list(streams))
            except OSError as error:
                raise HostError(f"the watchdog cannot be reached: {error.strerror}") from error
            deadline = time.monotonic() + REPLY_S
            while number not in self._replies:
                if (left := deadline - time.monotonic()) <= 0:
                    raise HostError(f"the watchdog did not answer within {REPLY_S:.0f} s")
                select.select([self._socket], [], [], left)
                self._take_in()
            return self._replies.pop(number)

    def _take_in(self) -> None:
        while True:
            try:
                data = self._socket.recv(watchdog.MESSAGE_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                raise HostError("the watchdog is gone, and with it every process of this run")
            message = json.loads(data)
            if "reply" in message:
                self._replies[message["reply"]] = message
            elif "exited" in message:
                self._statuses[message["exited"]] = message["status"]
            elif "gone" in message:
                self._gone.add(message["gone"])


def tail(path: Path, lines: int = 20, since: int = 0) -> str:
    """The last lines of a text file, however long it is; empty when there is none.

    Of one that has not shrunk below it, what was written beyond `since` bytes."""
    if not path.exists():
        return ""
    size = path.stat().st_size
    kept = _last_bytes(path)
    if since <= size:
        kept = kept[max(0, since - (size - len(kept))) :]
    text = kept.decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


def _last_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LOG_KEPT_BYTES))
        return file.read()


def _why_not_started(argv: Sequence[str], number: int, error: str, cpus: Sequence[int]) -> str:
    name = argv[0]
    match number:
        case 2 if "/" in name and not Path(name).exists():
            return f"`{name}` does not exist"
        case 2 if "/" in name:
            return f"`{name}` cannot be started: what its first line `#!` names does not exist"
        case 8:
            return f"`{name}` is not a program: let it begin with `#!` and what is to run it"
        case 13 if Path(name).is_dir():
            return f"`{name}` is a folder, not a program"
        case 2 if shutil.which(name) is None:
            return f"`{name}` is not installed, or not on the PATH"
        case 13:
            return f"`{name}` may not be executed: chmod +x {name}"
        case 22 if cpus:
            return f"`{name}` cannot be pinned to cores {', '.join(map(str, cpus))}: {error}"
    return f"`{name}` cannot be started: {error}"
