"""Histograms in the file's encoding (HDR V2, 1 ns to 1 h, 3 digits), written without the engine."""

import struct
from collections.abc import Mapping

COOKIE = 0x1C849303 | 0x10
GREATEST_NS = 3_600_000_000_000


def encode(counts: Mapping[int, int]) -> bytes:
    """These lengths, each so often."""
    slots: dict[int, int] = {}
    for value, count in counts.items():
        bucket = max(0, value.bit_length() - 11)
        index = bucket * 1024 + (value >> bucket)
        slots[index] = slots.get(index, 0) + count
    payload, reached = bytearray(), 0
    for index, count in sorted(slots.items()):
        if index > reached:
            payload += _zigzag(reached - index)
        payload += _zigzag(count)
        reached = index + 1
    return struct.pack(">IIIIQQd", COOKIE, len(payload), 0, 3, 1, GREATEST_NS, 1.0) + payload


def _zigzag(number: int) -> bytes:
    """LEB128 of the zig-zag form; a negative number is a run of empty slots."""
    rest = (number << 1) ^ (number >> 63)
    found = bytearray()
    while rest >= 128:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found, rest])
