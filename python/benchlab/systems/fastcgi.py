"""FastCGI as a web server speaks it: one request on a connection of its own.

Absent: bodies, several requests on a connection, and what a responder is asked for.
"""

import socket
import struct
from collections.abc import Iterator, Mapping

BEGIN, PARAMETERS, INPUT, OUTPUT = 1, 4, 5, 6
"""Types of FastCGI records (FastCGI 1.0, section 8)."""


def ask(there: socket.socket, parameters: Mapping[str, str]) -> bytes:
    """What a responder says on a fresh connection to one request without a body.

    Its header is left out. Raises OSError where the connection is lost.
    """
    # Lengths above 127 are written in four bytes, the first bit set (section 3.4).
    pairs = b"".join(
        struct.pack(">II", len(name) | 1 << 31, len(value.encode()) | 1 << 31)
        + name.encode()
        + value.encode()
        for name, value in parameters.items()
    )
    # The responder's role is 1; the connection is closed behind the answer.
    asked = record(BEGIN, struct.pack(">HB5x", 1, 0)) + record(PARAMETERS, pairs)
    asked += record(PARAMETERS, b"") + record(INPUT, b"")
    there.sendall(asked)
    with there.makefile("rb") as answer:
        said = answer.read()
    told = b"".join(content for kind, content in records(said) if kind == OUTPUT)
    return told.partition(b"\r\n\r\n")[2]


def record(kind: int, content: bytes) -> bytes:
    """A record of the only request of its connection."""
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def records(said: bytes) -> Iterator[tuple[int, bytes]]:
    """Types and contents of the whole records of an answer."""
    while len(said) >= 8:
        _, kind, _, length, padding = struct.unpack(">BBHHBx", said[:8])
        yield kind, said[8 : 8 + length]
        said = said[8 + length + padding :]
