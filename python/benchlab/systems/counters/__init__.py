"""What systems count of themselves: a module a system has its catalogue and how it is asked.

A catalogue names the counters and gauges that are kept, by the system's own names, each in SI
units; it makes them known before anything runs, so that a promise on a name that does not exist is
refused. Absent: the sampling, which is the host's, and what is made of the figures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from benchlab.host.counters import Reader, Source
from benchlab.host.samples import Meaning

TIMEOUT_S = 2.0
"""A system that takes longer to tell its counters is asked anew."""


@dataclass(frozen=True)
class Counting:
    """What a kind of system counts of itself."""

    meanings: Mapping[str, Meaning]
    connect: Callable[[str], Reader]
    """Lets itself in by a URL, the password in it, and asks on the same connection each time."""
    at: str | None = None
    """The URL of a server made here, with `${port}` and `${dir}`, where it is not the driver's."""

    def source(self, kind: str, url: str, member: str = "") -> Source:
        """The counters of one server of a kind."""
        return Source(kind, member, self.meanings, partial(self.connect, url))


def counters(names: str, unit: str = "") -> dict[str, Meaning]:
    """A part of a catalogue: counters, by their names between blanks."""
    return {name: Meaning("counter", unit) for name in names.split()}


def gauges(names: str, unit: str = "") -> dict[str, Meaning]:
    """A part of a catalogue: gauges, by their names between blanks."""
    return {name: Meaning("gauge", unit) for name in names.split()}
