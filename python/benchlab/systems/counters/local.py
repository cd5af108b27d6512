"""Servers that tell their counters on a socket of the file system.

Absent: what they are asked and answer; each server's module knows that.
"""

import socket
from collections.abc import Callable, Mapping

from benchlab.systems.door import TIMEOUT_S, Door


class Local:
    """Asks on such a socket, which is closed behind each answer."""

    def __init__(self, door: Door, numbers: Callable[[socket.socket], Mapping[str, float]]) -> None:
        self._path, self._numbers = door.url.removeprefix("unix:"), numbers

    def read(self) -> Mapping[str, float]:
        """Every number of the catalogue."""
        with socket.socket(socket.AF_UNIX) as there:
            there.settimeout(TIMEOUT_S)
            there.connect(self._path)
            return self._numbers(there)

    def close(self) -> None:
        """Nothing is kept open."""
