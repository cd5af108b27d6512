"""What a lab left behind whose watchdog ended with it, as in an outage: found, and taken away.

Every temporary folder of a lab says whose it is. It is taken for left behind when it is this user's
and of this machine, and the machine was started anew since, or neither the lab nor its watchdog is
there any more, each known by its process id and when it began. What stands in doubt, such as a
folder of another container, is left alone. Absent: the ordinary end, which is the watchdog's.
"""

import contextlib
import json
import os
import platform
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.host import watchdog

OWNER = ".benchlab-owner"
"""The file of a folder that says whose it is."""
MARK = "BENCHLAB_LEASH"
"""Environment variable that every process of a lab inherits."""
GONE_S = 10.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Left:
    """A folder that nobody owns any more, and the processes that ran for it."""

    folder: Path
    leash: str
    size: int
    """Bytes in the folder."""
    processes: tuple[int, ...]
    is_of_container: bool = False
    """Whether a container may have been left, too."""

    def __str__(self) -> str:
        count = len(self.processes)
        running = f" and {count} processes" if count > 1 else " and a process" if count else ""
        container = " of a container" if self.is_of_container else ""
        return f"{self.folder}{container} ({self.size / (1 << 20):.3g} MiB){running}"


def sign(folder: Path, leash: str, watching: int) -> None:
    """Says in a folder whose it is: this process's, and its watchdog's."""
    owner = {
        "leash": leash,
        "node": platform.node(),
        "boot": _boot(),
        "namespace": _namespace(),
        "processes": [[pid, began(pid)] for pid in (os.getpid(), watching)],
    }
    (folder / OWNER).write_text(json.dumps(owner))


def find(parent: Path | None = None) -> list[Left]:
    """What labs of this user have left behind, in the folder for temporary files."""
    found = []
    for file in sorted(Path(parent or tempfile.gettempdir()).glob(f"*/{OWNER}")):
        folder = file.parent
        try:
            owner = json.loads(file.read_text())
            is_ours = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
            if not is_ours or not _is_gone(owner):
                continue
            leash = str(owner["leash"])
        except (OSError, ValueError, KeyError, TypeError):
            # A folder that is just being made or taken away, or that says nothing one can trust.
            continue
        processes = marked(f"{leash}\0") if owner["boot"] == _boot() else []
        is_of_container = (folder / watchdog.CONTAINER).exists()
        found.append(Left(folder, leash, _size(folder), tuple(processes), is_of_container))
    return found


def take_away(left: Left) -> bool:
    """Ends the processes and containers and removes the folder; whether nothing is left of them."""
    if not watchdog.remove_containers(str(left.folder)):
        return False
    for pid in left.processes:
        watchdog.send_signal(pid, signal.SIGKILL)
    deadline = time.monotonic() + GONE_S
    while any(not watchdog.is_zombie(pid) for pid in left.processes):
        if time.monotonic() >= deadline:
            return False
        time.sleep(watchdog.POLL_S)
    # The file that says whose it is goes last, so that what cannot be removed is found again.
    # Another run may be at it too; what is left in the end is what counts.
    with contextlib.suppress(OSError):
        for entry in left.folder.iterdir():
            if entry.name != OWNER:
                with contextlib.suppress(OSError):
                    shutil.rmtree(entry) if _is_folder(entry) else entry.unlink()
        if [entry.name for entry in left.folder.iterdir()] == [OWNER]:
            shutil.rmtree(left.folder)
    return not left.folder.exists()


def began(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine did; None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat.rpartition(b")")[2].split()
    # One that has ended and waits to be collected keeps its entry, for as long as nobody does.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def marked(leash: str = "") -> list[int]:
    """Processes whose environment carries the mark of a leash that begins like this.

    A leash is called by its lab's process id, a dash and a random part; a zero byte stands behind
    the whole of it.

    A program that overwrites its environment is not found this way.
    """
    wanted = f"{MARK}={leash}".encode()
    return [pid for pid, variables in _environments() if _begins(variables, wanted)]


def _environments() -> Iterator[tuple[int, bytes]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "environ").read_bytes()


def _begins(variables: bytes, wanted: bytes) -> bool:
    return variables.startswith(wanted) or b"\0" + wanted in variables


def _is_gone(owner: dict[str, Any]) -> bool:
    if owner["node"] != platform.node() or not owner["boot"]:
        return False
    if owner["boot"] != _boot():
        return True
    if owner["namespace"] != _namespace():
        return False
    return all(began(pid) != since for pid, since in owner["processes"])


def _boot() -> str:
    return _BOOT.read_text().strip() if _BOOT.exists() else ""


def _namespace() -> str:
    with contextlib.suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size
    return total


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
