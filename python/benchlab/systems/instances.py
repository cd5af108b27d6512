"""Commands as members of a system: one, or `instances: n` that are started alike.

Each has a port and a folder of its own, so that the command mentions `${port}` where there are
several. What data they hold is not known, so that none are kept. Absent: how a command is started
(`command`).
"""

from dataclasses import dataclass, replace
from typing import Any

from benchlab.host.probes import Root
from benchlab.model.errors import InputError
from benchlab.model.experiment import Command, System
from benchlab.model.tree import join
from benchlab.systems import command
from benchlab.systems.members import ServerKind, numbered
from benchlab.systems.protocol import Place
from benchlab.systems.server import STOP_S, Bed, Recipe, Server


class Repeated(Server):
    """A server that a command line starts, as often as it is asked to."""

    def __init__(self, name: str, bed: Bed, recipe: Recipe, place: Place) -> None:
        super().__init__(name, bed, recipe, place)
        self._there = replace(place, folder=bed.folder.parent)
        self._started: command.Started | None = None

    @property
    def root(self) -> Root | None:
        """Its processes."""
        return self._started.root if self._started is not None else None

    def make(self) -> None:
        """The command makes what it needs as it starts."""

    def up(self, *, is_alone: bool) -> None:
        """Starts it and waits until it answers. Raises HostError when it does not."""
        try:
            self._started = command.start(
                self.name, self.bed.system, self._there, port=self.bed.port
            )
        except InputError as error:
            # The file knows the system, not its members.
            here, there = (join("systems", name) for name in (self.name, self._system_name))
            raise error.at(None, None, (error.key or "").replace(here, there)) from None
        self.process = self._started.process
        self.is_away = self.is_paused = False

    def down(self, grace_s: float = STOP_S) -> None:
        """Ends it by its own `stop`, or by SIGTERM."""
        self.is_away = True
        if self.is_paused:
            self.resume()
        if self._started is not None:
            self._started.stop(grace_s)

    def died(self) -> str | None:
        """How its program ended, once nothing of it is left though nobody ended it."""
        return None if self.is_away or self._started is None else self._started.died()

    def is_up(self) -> bool:
        """Whether anything of it runs."""
        return self._started is not None and self._started.is_running()

    def kill(self) -> None:
        """Ends it at once, as an outage would."""
        self.is_away = True
        if self._started is not None:
            self._started.kill()

    def pause(self) -> None:
        """Holds it still: connections stay, answers do not come."""
        self.is_paused = True
        if self._started is not None:
            self._started.pause()

    def resume(self) -> None:
        """Has it go on after a pause."""
        if self._started is not None:
            self._started.resume()
        self.is_paused = False

    def run(self, command: Command) -> None:
        """Runs a command with its port and folder filled in."""
        if self._started is not None:
            self._started.run(command)


@dataclass(frozen=True)
class CommandKind(ServerKind):
    """The kind of systems that a command line starts."""

    def missing(self, system: System) -> str | None:
        """The first program it needs that is not here, and how to get it."""
        return command.missing(system)

    def describe(self, system: System) -> dict[str, Any]:
        """The command, its program's version, its files as given, and how many there are."""
        return {**command.describe(system), "members": len(self.members(system))}


def _answers() -> None:
    """The command's own way to be ready is asked as it starts."""


KIND = CommandKind(
    summary="any server that a command line starts",
    needs=(),
    url=lambda system: command.fill(system.url or "", {}),
    recipe=lambda bed: Recipe(start=(), answers=_answers),
    keys=command.keys,
    members=numbered,
    server=Repeated,
    grows="",
)
