"""What nginx counts of itself: `stub_status` on a location of its own.

Absent: what only its commercial edition tells.
"""

import re
from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.page import Page

PATH = "/.stub_status"
LOCATION = f"location = {PATH} {{ stub_status; access_log off; allow 127.0.0.1; deny all; }}"
"""For the configuration of a server."""
MEANINGS = {
    **counters("accepts handled requests"),
    **gauges("active reading writing waiting"),
}
_NUMBERS = re.compile(
    r"Active connections: (?P<active>\d+)\s+server accepts handled requests\s+"
    r"(?P<accepts>\d+) (?P<handled>\d+) (?P<requests>\d+)\s+"
    r"Reading: (?P<reading>\d+) Writing: (?P<writing>\d+) Waiting: (?P<waiting>\d+)"
)


def numbers(text: str) -> Mapping[str, float]:
    """The numbers of the page."""
    found = _NUMBERS.match(text)
    if found is None:
        raise ValueError(f"its {PATH} says {text[:60]!r}")
    return {name: float(value) for name, value in found.groupdict().items()}


COUNTING = Counting(MEANINGS, lambda door: Page(door, PATH, numbers))
