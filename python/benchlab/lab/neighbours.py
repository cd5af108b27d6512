"""Other runs on this machine: each lab shows that it is at work, and sees who else is.

Two loads at once share cores, caches and memory, so that neither's figures are its own. A run is
shown by a bound socket in Linux's abstract namespace: it has no file, the runs of every user see
it, and the kernel takes it away however its lab ends. Absent: runs in another network namespace, as
a container has, and load that is no Benchlab's; both are only seen in what they cost.
"""

import contextlib
import secrets
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

PREFIX = "benchlab-run"
SOCKETS = Path("/proc/net/unix")


class Presence:
    """Shows a run to others for as long as it is entered."""

    def __init__(self, run: str) -> None:
        self._name = f"{PREFIX}:{run}:{secrets.token_hex(4)}"
        self._shown = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        # Where it may not be shown, others do not hear of this run, which can be made all the same.
        with contextlib.suppress(OSError):
            self._shown.bind(f"\0{self._name}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._shown.close()

    def others(self) -> frozenset[str]:
        """The ids of the other runs that are under way; none where the kernel does not tell."""
        try:
            listed = SOCKETS.read_bytes().decode("utf-8", "replace").split()
        except OSError:
            return frozenset()
        shown = (word[1:] for word in listed if word.startswith(f"@{PREFIX}:"))
        return frozenset(name.split(":")[1] for name in shown if name != self._name)
