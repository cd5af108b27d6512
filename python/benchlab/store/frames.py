"""Tables as Arrow: appended batch by batch while they grow, whole and compressed at the end.

What grows is an Arrow IPC stream in which each batch is one write, so that a lab that is killed
leaves every batch it had written. Polars writes whole streams alone: the schema message in front
and the end mark behind are told from the batch by the format's own framing (Arrow columnar format,
"Encapsulated message format"). Absent: what the columns mean.
"""

import io
import struct
from pathlib import Path

import polars

from benchlab.store import files

MAGIC = b"ARROW1"
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_BODY_LENGTH = 3
"""The field of a Message's table that says how long its body is."""


def write(path: Path, frame: polars.DataFrame) -> None:
    """Puts a whole table in place. Raises HostError when it cannot be written."""
    packed = io.BytesIO()
    frame.write_ipc(packed, compression="zstd")
    files.replace(path, packed.getvalue())


def append(path: Path, frame: polars.DataFrame) -> None:
    """Adds a batch to a table that grows; all have the same columns.

    Raises HostError when it cannot be written.
    """
    packed = io.BytesIO()
    frame.write_ipc_stream(packed, compression="zstd")
    raw = packed.getvalue()
    schema = 8 + int.from_bytes(raw[4:8], "little")
    with files.writing(path), path.open("ab", buffering=0) as file:
        file.write(raw[schema if file.tell() else 0 : -len(_END)])


def read(path: Path) -> polars.DataFrame:
    """The table, whole or still growing; what is torn at its end is left out."""
    raw = path.read_bytes()
    if raw.startswith(MAGIC):
        return polars.read_ipc(io.BytesIO(raw))
    return polars.read_ipc_stream(io.BytesIO(raw[: _whole(raw)] + _END))


def _whole(raw: bytes) -> int:
    """Up to where whole messages reach."""
    at = 0
    while at + 8 < len(raw):
        body = at + 8 + int.from_bytes(raw[at + 4 : at + 8], "little")
        if body > len(raw):
            break
        following = body + _body(raw[at + 8 : body])
        if following > len(raw):
            break
        at = following
    return at


def _body(meta: bytes) -> int:
    """How many bytes follow a message: read from its FlatBuffers table, which may leave it out."""
    (table,) = struct.unpack_from("<I", meta)
    (back,) = struct.unpack_from("<i", meta, table)
    fields = table - back
    (size,) = struct.unpack_from("<H", meta, fields)
    at = 4 + 2 * _BODY_LENGTH
    (field,) = struct.unpack_from("<H", meta, fields + at) if at < size else (0,)
    (length,) = struct.unpack_from("<q", meta, table + field) if field else (0,)
    return int(length)
