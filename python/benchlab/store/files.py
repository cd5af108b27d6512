"""Writing files so that a crash, a full disk or a reader in between never sees half of one.

Absent: what is in the files.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO

from benchlab.model.errors import HostError

NAME_BYTES = 120
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns a failure to write below `path` into one line that says what to do."""
    try:
        yield
    except OSError as error:
        raise HostError(_cannot_write(path, error)) from error


def replace(path: Path, data: str | bytes) -> None:
    """Puts a whole new content in place at once, on disk before it is seen.

    Raises HostError when it cannot be written; the former content then stands.
    """
    raw = data.encode() if isinstance(data, str) else data
    fresh = path.with_name(path.name + ".new")
    with writing(path):
        try:
            with fresh.open("wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


def lock(path: Path) -> IO[bytes] | None:
    """Holds a file's lock until the returned file is closed; None when somebody else holds it.

    The kernel gives the lock back when its holder ends, however it ends.
    """
    with writing(path):
        file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def path_name(text: str) -> str:
    """A file name that any file system takes and a reader recognises; different for different text.

    Letters, digits and `._=,+@-` stay; everything else becomes `~` and two hexadecimal digits.
    """
    name = re.sub(
        rb"[^A-Za-z0-9._=,+@-]", lambda found: b"~%02x" % found[0][0], text.encode()
    ).decode()
    if name.startswith("."):
        name = "~2e" + name[1:]
    if len(name) > NAME_BYTES:
        mark = blake2b(text.encode(), digest_size=6).hexdigest()
        name = f"{name[: NAME_BYTES - len(mark) - 1]}~{mark}"
    return name


def _cannot_write(path: Path, error: OSError) -> str:
    place = next((parent for parent in (path, *path.parents) if parent.exists()), path)
    if error.errno not in _FULL:
        return f"cannot write {path}: {error.strerror}"
    free_mib = shutil.disk_usage(place).free >> 20
    return (
        f"no room to write {path} ({error.strerror}; {free_mib} MiB free): "
        "finished trials are kept; make room and resume the run"
    )
