"""What every system is to the lab: started, reset and stopped, and told about.

Absent: any one system (each has a module of its own) and any load.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.host.processes import Leash
from benchlab.model.experiment import Command, System


class StoppedError(Exception):
    """The lab was asked to stop while a system was being brought up."""


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _none(system: System) -> Path | None:
    return None


@dataclass(frozen=True)
class Place:
    """Where an instance is put: its leash, its folder, its cores."""

    leash: Leash
    folder: Path
    cpus: tuple[int, ...] = ()
    here: Path = Path()
    """The experiment file's folder."""
    source_of: Callable[[System], Path | None] = _none
    """The checkout of what a system is built from, ready to be started."""
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    """Of the servers that are made there, the same in all sessions, since data may hold it; of one
    that is already running, what the files of its own client say."""
    let_in: tuple[str, ...] = field(default=(), repr=False)
    """URLs of a system that is already running, with all in them that its own client would say."""
    seed: str = ""
    """Of whatever is drawn as it starts."""
    pause: Callable[[float], bool] = _sleep
    """Waits so many seconds; less, and true, where the lab is asked to stop."""
    behind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """URLs of what stands behind the system, by its names; passwords are mentioned, not told."""


Ability = Literal["kill", "pause", "restart", "add", "remove", "primaries"]
"""What can be done to members of a system, by the methods of `Able` of that name."""


class Instance(Protocol):
    """A system that is up."""

    @property
    def urls(self) -> tuple[str, ...]:
        """What a driver talks to; of an embedded system, `sqlite:` and the path of its database."""

    @property
    def secrets(self) -> Mapping[str, str]:
        """Environment variables that the agent needs to be let in."""

    @property
    def in_process(self) -> bool:
        """Whether it runs inside the agent, so that there is nothing to pin, probe or see die."""

    @property
    def is_pinned(self) -> bool:
        """Whether it runs on the cores of its place."""

    @property
    def roots(self) -> Mapping[str, Root]:
        """Where the tree of processes of each member begins, as far as it is known.

        A system of one server has one member, whose name is empty."""

    @property
    def abilities(self) -> frozenset[Ability]:
        """What can be done to its members."""

    @property
    def counters(self) -> Sequence[Source]:
        """What is asked for the counters it keeps of itself; nothing where none are known.

        It is asked again each second, since members come and go.
        """

    def died(self) -> str | None:
        """Why it is no longer running; None while it is."""

    def keep(self, snapshot: Path) -> bool:
        """Copies its data to a folder, for `restore`; false where it cannot be done."""

    def restore(self, snapshot: Path) -> None:
        """Puts its data back to what `keep` has kept."""

    def run(self, command: Command) -> None:
        """Runs a command beside it. Raises HostError when that fails."""

    def stop(self, grace_s: float) -> None:
        """Takes it away. Raises HostError when it will not go."""

    def log_tail(self) -> str:
        """The last lines it wrote."""


class Able(Instance, Protocol):
    """An instance whose members can be disturbed; each method only as far as `abilities` says.

    A member that was ended on purpose has not `died`."""

    def kill(self, member: str) -> None:
        """Ends a member at once, as an outage would."""

    def pause(self, member: str) -> None:
        """Holds a member still: its connections stay, its answers do not come."""

    def resume(self, member: str) -> None:
        """Has a member go on after a pause."""

    def restart(self, *members: str) -> None:
        """Starts members again with their data, and joins them. Raises HostError when it fails.

        Those that need each other to be ready are named together, as when all were killed."""

    def add(self) -> str:
        """Makes one more member, starts and joins it. Returns its name."""

    def remove(self, member: str) -> None:
        """Takes a member away in order, for good."""

    def primaries(self) -> tuple[str, ...]:
        """The members that take writes now, of those that may answer."""


class Kind(Protocol):
    """A module that brings up one kind of system."""

    @property
    def summary(self) -> str:
        """What it is, in a line."""

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the experiment file that it takes beside those of every system."""

    def missing(self, system: System) -> str | None:
        """What this machine lacks for it and how to get it; None when nothing."""

    def start(self, name: str, system: System, place: Place) -> Instance:
        """Brings it up; it has answered rightly when this returns.

        Raises HostError with the log's last lines when it does not come up, StoppedError where the
        lab is asked to stop meanwhile; nothing of it is left then.
        """

    def expected_urls(self, system: System) -> tuple[str, ...]:
        """What its instances' URLs will be like, to check a Plan beforehand."""

    def describe(self, system: System) -> dict[str, Any]:
        """Versions and settings, for the recipe."""
