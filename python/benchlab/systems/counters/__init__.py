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
from benchlab.systems.door import Door


@dataclass(frozen=True)
class Counting:
    """What a kind of system counts of itself."""

    meanings: Mapping[str, Meaning]
    connect: Callable[[Door], Reader]
    """Lets itself in, and asks on the same connection each time."""
    at: str | None = None
    """The URL of a server made here, with `${port}` and `${dir}`, where it is not the driver's."""

    def source(self, kind: str, door: Door, member: str = "") -> Source:
        """The counters of one server of a kind."""
        return Source(kind, member, self.meanings, partial(self.connect, door))


def counters(names: str, unit: str = "") -> dict[str, Meaning]:
    """A part of a catalogue: counters, by their names between blanks."""
    return {name: Meaning("counter", unit) for name in names.split()}


def gauges(names: str, unit: str = "") -> dict[str, Meaning]:
    """A part of a catalogue: gauges, by their names between blanks."""
    return {name: Meaning("gauge", unit) for name in names.split()}
