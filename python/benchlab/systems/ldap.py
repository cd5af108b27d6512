"""The little of LDAP that a system is asked in: who one is, and what entries say (RFC 4511).

Absent: load, which is the engine's; everything that writes.
"""

from collections.abc import Iterator, Mapping, Sequence

SUCCESS = b"\x0a\x01\x00"
"""The result code 0 (section 4.1.9)."""
ENTRY, DONE = 0x64, 0x65
"""Tags of a SearchResultEntry and of a SearchResultDone."""


def value(tag: int, content: bytes) -> bytes:
    """One value in BER, its length definite (section 5.1)."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def bind(name: str, password: str) -> bytes:
    """A BindRequest by name and password (section 4.2)."""
    asked = value(2, b"\x03") + value(4, name.encode()) + value(0x80, password.encode())
    return value(0x30, value(2, b"\x01") + value(0x60, asked))


def start_tls() -> bytes:
    """Asks to encrypt all that follows (sections 4.12 and 4.14.1)."""
    return value(0x30, value(2, b"\x01") + value(0x77, value(0x80, b"1.3.6.1.4.1.1466.20037")))


def search(base: str, attributes: Sequence[str]) -> bytes:
    """A SearchRequest for every entry at and below a base (section 4.5.1)."""
    wanted = b"".join(value(4, name.encode()) for name in attributes)
    asked = (
        value(4, base.encode())
        + value(10, b"\x02")
        + value(10, b"\x00")
        + value(2, b"\x00")
        + value(2, b"\x00")
        + value(1, b"\x00")
        + value(0x87, b"objectClass")
        + value(0x30, wanted)
    )
    return value(0x30, value(2, b"\x02") + value(0x63, asked))


def length(head: bytes) -> int | None:
    """How long a message is, by its first bytes; None while these are too few to tell."""
    if len(head) < 2 or len(head) < 2 + (head[1] & 0x7F if head[1] & 0x80 else 0):
        return None
    if not head[1] & 0x80:
        return 2 + head[1]
    start = 2 + (head[1] & 0x7F)
    return start + int.from_bytes(head[2:start], "big")


def values(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The values side by side in a content, each with its tag."""
    while content:
        size = length(content)
        if size is None or size > len(content):
            raise ValueError("a value of LDAP is cut off")
        start = 2 + (content[1] & 0x7F if content[1] & 0x80 else 0)
        yield content[0], content[start:size]
        content = content[size:]


def entry(content: bytes) -> tuple[str, Mapping[str, str]]:
    """The name of a SearchResultEntry, and the first value of each of its attributes."""
    (_, name), (_, attributes) = values(content)
    found = {}
    for _, attribute in values(attributes):
        (_, described), (_, several) = values(attribute)
        found[described.decode()] = next(values(several), (4, b""))[1].decode("utf-8", "replace")
    return name.decode(), found
