"""Keys in a Redis that somebody else runs: all begin alike, beside a mark, and go again.

They are looked for by SCAN, a thousand at a time, so that nobody waits for it, and in a cluster on
each master that the URLs name. Absent: the data themselves, which the agent writes.
"""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from benchlab.load.asking import MARK, Asker
from benchlab.load.drivers import driver, tls
from benchlab.load.workloads.asked import Held, begin_of
from benchlab.model.errors import HostError
from benchlab.model.mentions import ENVIRONMENT
from benchlab.model.remedies import with_remedy

ANSWER_S = 10.0
AT_ONCE = 1000


class RefusedError(Exception):
    """Redis says no; the message is its own."""


class Line:
    """A connection, and what is said on it by RESP 2."""

    def __init__(self, asker: Asker, target: str, stack: ExitStack) -> None:
        parts = urlsplit(target)
        address = (parts.hostname or "", parts.port or 6379)
        raw = stack.enter_context(socket.create_connection(address, ANSWER_S))
        if parts.scheme == "rediss":
            raw = stack.enter_context(_encrypted(asker, raw, address[0]))
        self._socket, self._answers = raw, stack.enter_context(raw.makefile("rb"))

    def call(self, *words: str | bytes) -> Any:
        """The answer to one command. Raises RefusedError where it is an error."""
        self.say(*words)
        return self.hear()

    def say(self, *words: str | bytes) -> None:
        """Sends a command."""
        told = [word if isinstance(word, bytes) else word.encode() for word in words]
        parts = [b"*%d\r\n" % len(told), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in told)]
        self._socket.sendall(b"".join(parts))

    def hear(self) -> Any:
        """The answer to the first command that has none yet."""
        return _answer(self._answers)


def _answer(answers: BinaryIO) -> Any:
    line = answers.readline()
    kind, rest = line[:1], line[1:].rstrip()
    match kind:
        case b"+":
            return rest
        case b":":
            return int(rest)
        case b"-":
            raise RefusedError(rest.decode("utf-8", "replace"))
        case b"$":
            return None if rest == b"-1" else answers.read(int(rest) + 2)[:-2]
        case b"*":
            return [_answer(answers) for _ in range(int(rest))]
        case _:
            raise RefusedError(f"{line[:40]!r} is no answer of Redis")


def _encrypted(asker: Asker, raw: socket.socket, host: str) -> ssl.SSLSocket:
    asked = tls(asker.case, asker.urls, asker.here)["tls"]
    context = ssl.create_default_context(cafile=asked["ca"])
    if not asked["verify"]:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(raw, server_hostname=asked["server_name"] or host)


class Guest:
    """All keys that begin with the place's name and the workload's."""

    def __init__(self, asker: Asker, into: str, held: Held) -> None:
        self._asker, self._into = asker, into
        self._begin, self._mark = begin_of(into, held.name), begin_of(into, "benchlab")
        self._plan = driver(asker.case, asker.urls)

    def settle(self) -> None:
        """Sets the mark; what is there of an earlier lab goes before.

        Raises HostError where such a key is somebody else's.
        """
        with self._lines() as lines:
            if self._at_mark(lines, "GET") == MARK.encode():
                self._clear(lines)
            elif found := next((key for line in lines for key in self._scan(line)), None):
                raise self._asker.theirs(f"a key {str(found[0])[2:-1]}")
            self._at_mark(lines, "SET", MARK.encode())

    def leave(self) -> None:
        """Takes away what was made, and nothing else."""
        with self._lines() as lines:
            if self._at_mark(lines, "GET") == MARK.encode():
                self._clear(lines)
                self._at_mark(lines, "DEL")

    @contextmanager
    def _lines(self) -> Iterator[list[Line]]:
        """A connection to each master; what Redis refuses on them is a HostError."""
        try:
            with ExitStack() as stack:
                lines = []
                for target in self._plan["targets"]:
                    line = Line(self._asker, target, stack)
                    if password := self._password():
                        line.call("AUTH", *filter(None, (self._plan["user"], password)))
                    if self._plan["database"]:
                        line.call("SELECT", str(self._plan["database"]))
                    if not self._plan["cluster"] or line.call("ROLE")[0] == b"master":
                        lines.append(line)
                yield lines
        except (OSError, RefusedError) as error:
            name = self._asker.case.system_name
            raise HostError(f"{name}: {with_remedy(str(error))}") from error

    def _password(self) -> str:
        found = ENVIRONMENT.fullmatch(self._plan["password"] or "")
        return "" if found is None else {**os.environ, **self._asker.secrets}[found[1]]

    def _at_mark(self, lines: list[Line], verb: str, *words: bytes) -> Any:
        """Asked of whoever has the mark's slot."""
        for line in lines:
            try:
                return line.call(verb, self._mark, *words)
            except RefusedError as error:
                if not str(error).startswith("MOVED"):
                    raise
        raise RefusedError(f"no URL leads to the slot of {self._mark}")

    def _scan(self, line: Line) -> Iterator[list[bytes]]:
        """The keys at one master, some at a time."""
        cursor, words = b"0", ("MATCH", f"{self._begin}*", "COUNT", str(AT_ONCE))
        while True:
            cursor, keys = line.call("SCAN", cursor, *words)
            if keys:
                yield keys
            if cursor == b"0":
                return

    def _clear(self, lines: list[Line]) -> None:
        for line in lines:
            for keys in self._scan(line):
                # One by one, since those of several slots are refused together.
                for key in keys:
                    line.say("UNLINK", key)
                for _ in keys:
                    line.hear()
