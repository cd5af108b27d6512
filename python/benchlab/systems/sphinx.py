"""Sphinx, one server with one index, `docs`, asked by SphinxQL, which is MySQL's protocol.

`settings` are directives of that index; those of other sections of its configuration begin with
the section's name: `searchd.query_log_format`, `source.csvpipe_command`. The index is a real-time
one that statements fill, unless there is a source: then the system's own indexer builds it before
the server starts. It has the fields `title` and `body` and the attribute `number` unless others are
named; directives that may stand several times take a list: `rt_field: title, body`.
It asks for no password; it listens on loopback alone. Absent: distributed indexes.
"""

import re
import socket
import struct
from collections.abc import Mapping
from typing import BinaryIO

from benchlab.systems.counters import sphinx as counters
from benchlab.systems.members import ServerKind
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe, heeded

INDEX = "docs"
SECTIONS = ("searchd", "indexer", "source")
SEVERAL = ("rt_field", "rt_attr_", "sql_attr_", "csvpipe_field", "csvpipe_attr_")
"""How directives begin that stand once for each field or attribute."""
OTHERWISE = re.compile(
    r"WARNING: ('.* parse error .*|unknown .*, defaulting to .*|key .* removed .*)"
)
"""How it says that it goes on with something else than a line says."""


def recipe(bed: Bed) -> Recipe:
    """All is said in one configuration file; a source is indexed before the server starts."""
    given = bed.sections(SECTIONS, "index")
    conf, data = f"{bed.folder}/sphinx.conf", f"{bed.folder}/data"
    fixed = {
        "listen": f"127.0.0.1:{bed.port}:mysql41",
        "pid_file": f"{bed.folder}/pid",
        "log": f"{bed.folder}/searchd.log",
        "binlog_path": data,
    }
    index = {"path": f"{data}/{INDEX}"}
    text = ""
    if given["source"]:
        text += block(f"source {INDEX}", {"type": "csvpipe", **given["source"]})
        index |= {"type": "plain", "source": INDEX}
    else:
        index |= {"type": "rt", "rt_mem_limit": "256M"}
        if not any(name.startswith("rt_field") for name in given["index"]):
            index["rt_field"] = "title, body"
        if not any(name.startswith("rt_attr_") for name in given["index"]):
            index["rt_attr_uint"] = "number"
    text += block(f"index {INDEX}", {**index, **given["index"]})
    text += block("indexer", given["indexer"])
    text += block("searchd", {"workers": "threads", **given["searchd"], **fixed})
    indexer = [bed.program("indexer"), "--quiet", "--config", conf, INDEX]

    def answered() -> None:
        answers(bed.port)
        heeded(bed, OTHERWISE)

    return Recipe(
        prepare=[indexer] if given["source"] else [],
        start=[bed.program("searchd"), "--nodetach", "--config", conf],
        files={"sphinx.conf": text, "data/.keep": ""},
        answers=answered,
        data="data",
    )


def block(head: str, directives: Mapping[str, str]) -> str:
    """A section of the configuration."""
    lines = []
    for name, value in directives.items():
        parts = value.split(",") if name.startswith(SEVERAL) else [value]
        lines += [f"  {name} = {part.strip()}\n" for part in parts]
    return f"{head}\n{{\n{''.join(lines)}}}\n"


def answers(port: int) -> None:
    """Raises NotReadyError unless the server names its index."""
    try:
        with (
            socket.create_connection(("127.0.0.1", port), ANSWER_S) as there,
            there.makefile("rb") as stream,
        ):
            packet(stream)
            # Flags of protocol 4.1, the longest packet, the character set; nobody, no proof.
            there.sendall(packed(1, struct.pack("<IIB23x", 0x8200, 1 << 24, 33) + b"\0\0"))
            packet(stream)
            there.sendall(packed(0, b"\x03SHOW TABLES"))
            said = b"".join(packet(stream) for _ in range(5))
    except (OSError, struct.error) as error:
        raise NotReadyError(f"nobody answers as Sphinx does ({error})") from error
    if INDEX.encode() not in said:
        raise NotReadyError(f"it has no index {INDEX}")


def packed(number: int, content: bytes) -> bytes:
    """A packet of MySQL's protocol: its length, its number, and what it holds."""
    return struct.pack("<I", len(content) | number << 24) + content


def packet(stream: BinaryIO) -> bytes:
    """What the next packet holds. Raises struct.error where none comes."""
    length = struct.unpack("<I", stream.read(4))[0] & 0xFFFFFF
    return stream.read(length)


KIND = ServerKind(
    summary="Sphinx, one server with one full-text index",
    needs=("searchd", "indexer"),
    # It prepares no statements.
    url="mysql://127.0.0.1:${port}?protocol=text",
    recipe=recipe,
    counters=counters.COUNTING,
)
