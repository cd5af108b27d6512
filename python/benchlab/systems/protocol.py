"""What every system is to the lab: started, reset and stopped, and told about.

Absent: any one system (each has a module of its own) and any load.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchlab.host.probes import Root
from benchlab.host.processes import Leash
from benchlab.model.experiment import Command, System


class StoppedError(Exception):
    """The lab was asked to stop while a system was being brought up."""


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


@dataclass(frozen=True)
class Place:
    """Where an instance is put: its leash, its folder, its cores."""

    leash: Leash
    folder: Path
    cpus: tuple[int, ...] = ()
    here: Path = Path()
    """The experiment file's folder."""
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    """Of the servers that are made there; the same in all sessions, since data may hold it."""
    seed: str = ""
    """Of whatever is drawn as it starts."""
    pause: Callable[[float], bool] = _sleep
    """Waits so many seconds; less, and true, where the lab is asked to stop."""


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
    def root(self) -> Root | None:
        """Where its tree of processes begins; None when it is not known."""

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


class Kind(Protocol):
    """A module that brings up one kind of system."""

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
