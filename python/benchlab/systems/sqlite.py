"""SQLite, in the agent's own process: its system is a database file.

Absent: the pragmas' meaning; `settings` are handed on as they are written.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.model.experiment import Command, System
from benchlab.model.sections import KINDS
from benchlab.systems.command import fill, run_command
from benchlab.systems.protocol import Ability, Place

summary = "SQLite, in the agent's own process"
keys = KINDS["sqlite"]
FILE = "database.sqlite"
_PARTS = ("", "-wal", "-journal")


class Embedded:
    """A database file in a folder of its own."""

    secrets: Mapping[str, str] = MappingProxyType({})
    counters: Sequence[Source] = ()
    in_process = True
    is_pinned = False
    roots: Mapping[str, Root] = MappingProxyType({})
    abilities: frozenset[Ability] = frozenset()

    def __init__(self, place: Place) -> None:
        self._place = place
        self.path = place.folder / FILE
        self.urls = (f"sqlite:{self.path}",)

    def died(self) -> str | None:
        """It lives and dies with the agent."""
        return None

    def keep(self, snapshot: Path) -> bool:
        """Copies the database."""
        snapshot.mkdir(parents=True, exist_ok=True)
        self._copy(self.path.parent, snapshot)
        return True

    def restore(self, snapshot: Path) -> None:
        """Puts the copy in the database's place."""
        for part in (*_PARTS, "-shm"):
            (self.path.parent / (FILE + part)).unlink(missing_ok=True)
        self._copy(snapshot, self.path.parent)

    def run(self, command: Command) -> None:
        """Runs a command beside it, with `${dir}` filled in."""
        names = {"dir": str(self.path.parent), "here": str(self._place.here.absolute())}
        line = fill(command.command, names)
        run_command(self._place, line, command.timeout, self.path.parent)

    def stop(self, grace_s: float) -> None:
        """Removes the database."""
        shutil.rmtree(self.path.parent)

    def log_tail(self) -> str:
        """It keeps no log."""
        return ""

    def _copy(self, source: Path, target: Path) -> None:
        for part in _PARTS:
            if (source / (FILE + part)).exists():
                shutil.copyfile(source / (FILE + part), target / (FILE + part))


def missing(system: System) -> str | None:
    """Nothing: it is part of the agent."""
    return None


def start(name: str, system: System, place: Place) -> Embedded:
    """Makes the folder; the loading Plan makes the database."""
    place.folder.mkdir(parents=True, exist_ok=True)
    return Embedded(place)


def expected_urls(system: System) -> tuple[str, ...]:
    """A database somewhere."""
    return (f"sqlite:/{FILE}",)


def describe(system: System) -> dict[str, Any]:
    """Its pragmas; the library's version is that of the agent's build."""
    return {"settings": dict(system.settings)}
