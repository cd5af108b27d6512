"""Servers that tell their counters in lines of text, over a connection that stays open.

Absent: which commands they take and what the lines say; each server's module knows that.
"""

from typing import IO

from benchlab.systems.door import Door


class Lines:
    """A connection to such a server."""

    def __init__(self, door: Door) -> None:
        self._socket = door.open()
        self._read: IO[bytes] = self._socket.makefile("rb")

    def say(self, command: str) -> None:
        """Sends one command."""
        self._socket.sendall(command.encode() + b"\r\n")

    def line(self) -> str:
        """The next line of its answer. Raises ConnectionError when there is none."""
        line = self._read.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("it closed the connection")
        return line.decode("utf-8", "replace").rstrip("\r\n")

    def text(self, length: int) -> str:
        """So many bytes of its answer."""
        return self._read.read(length).decode("utf-8", "replace")

    def close(self) -> None:
        """Gives the connection back."""
        self._read.close()
        self._socket.close()
