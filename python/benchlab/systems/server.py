"""Servers that the lab makes from nothing, each by a recipe: the part that is the same for all.

A server has a folder, a free port on loopback and, where it knows passwords, a random one of its
own. That goes to the agent through its environment and into files that the server's user alone may
read. Absent: what any one server needs (a module beside this one has its recipe), and several of
them together.
"""

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchlab.host import ports, programs
from benchlab.host.probes import Root
from benchlab.host.processes import Process, tail
from benchlab.model.errors import HostError
from benchlab.model.experiment import Command, System
from benchlab.model.secrets import PASSWORD
from benchlab.systems.command import (
    POLL_S,
    file_key,
    fill,
    how_it_ended,
    run_command,
    write_own,
)
from benchlab.systems.protocol import Place, StoppedError
from benchlab.systems.reach import NotReadyError

READY_S = 60.0
PREPARE_S = 120.0
LOG_LINES = 5
STOP_S = 30.0
"""How long a server may take to put its data in order before they are copied."""


@dataclass(frozen=True)
class Bed:
    """What a recipe is made for."""

    system: System
    folder: Path
    """The server's own."""
    port: int
    password: str

    @property
    def settings(self) -> dict[str, str]:
        """The file's `settings`, as text; those that are null are left out."""
        given = self.system.settings.items()
        return {name: str(value) for name, value in given if value is not None}


@dataclass(frozen=True)
class Recipe:
    """How one server is brought up and taken away."""

    start: Sequence[str]
    answers: Callable[[], None]
    """Asks it the first question. Raises NotReadyError while the answer is not the right one."""
    prepare: Sequence[Sequence[str]] = ()
    """Commands that make its data, before it starts."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of its folder by their names, which its user alone may read; those that the experiment
    file gives are in its folder `files`."""
    user: str | None = None
    """Whom it runs as where the lab is root; None where it may be root too."""
    data: str | None = None
    """The folder of its data, in its own; None where nothing of them outlives it."""
    persist: Callable[[], None] | None = None
    """Has it write its data down before it is stopped to copy them."""
    stop: signal.Signals = signal.SIGTERM


class Server:
    """One server that is up."""

    in_process = False

    def __init__(self, name: str, kind: "ServerKind", system: System, place: Place) -> None:
        self.port = port = ports.free()
        self.name, self._place, self.folder = name, place, place.folder / "dir"
        self.log = place.folder / "log"
        self.is_pinned = bool(place.cpus)
        self.urls = (kind.url.replace("${port}", str(port)),)
        bed = Bed(system, self.folder, port, place.password)
        self.password = place.password
        self.secrets: Mapping[str, str] = {PASSWORD: place.password}
        self.folder.mkdir(parents=True)
        self.recipe = kind.recipe(bed)
        self._names = {"dir": str(self.folder), "port": str(port)}
        self._names["here"] = str(place.here.absolute())
        self._system = system
        self.process: Process | None = None

    @property
    def root(self) -> Root | None:
        """The keeper of its processes."""
        return Root(self.process.keeper, is_keeper=True) if self.process else None

    def make(self) -> None:
        """Writes its files and makes its data."""
        for file, content in self.recipe.files.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(content)
        for file, content in self._system.files.items():
            text = fill(content, self._names)
            write_own(self.folder / "files", file, text, file_key(self.name, file))
        self._give_away(self.folder)
        for command in self.recipe.prepare:
            line = shlex.join(self._as_user(command))
            try:
                run_command(self._place, line, PREPARE_S, self.folder)
            except HostError as error:
                raise HostError(f"{self.name}: {error}") from error

    def up(self) -> None:
        """Starts it and waits for its first right answer.

        Raises HostError with the log's last lines when that does not come.
        """
        self.process = self._place.leash.start(
            self._as_user(self.recipe.start),
            log=self.log,
            cpus=self._place.cpus,
            environment={
                key: fill(text, self._names) for key, text in self._system.environment.items()
            },
            folder=self.folder,
        )
        deadline = time.monotonic() + READY_S
        while True:
            try:
                return self.recipe.answers()
            except NotReadyError as error:
                why = str(error)
            if ended := self.died():
                raise HostError(self._with_log(f"{self.name} {ended} while starting"))
            if time.monotonic() >= deadline:
                late = f"{self.name} was not ready after {READY_S:g} s: {why}"
                raise HostError(self._with_log(late))
            if self._place.pause(POLL_S):
                raise StoppedError

    def died(self) -> str | None:
        """How its program ended, once it is gone."""
        if self.process is None or self.process.poll() is None:
            return None
        return how_it_ended(self.process.poll())

    def keep(self, snapshot: Path) -> bool:
        """Stops it in order, copies its data and starts it again; false where it keeps none."""
        if self.recipe.data is None:
            return False
        if self.recipe.persist is not None:
            self.recipe.persist()
        self._down()
        shutil.copytree(self.folder / self.recipe.data, snapshot, symlinks=True)
        self.up()
        return True

    def restore(self, snapshot: Path) -> None:
        """Starts it again with the data that were kept; its own caches are empty then."""
        if self.recipe.data is None:
            raise HostError(f"{self.name} has no snapshot to go back to")
        self._down()
        data = self.folder / self.recipe.data
        shutil.rmtree(data)
        shutil.copytree(snapshot, data, symlinks=True)
        self._give_away(data)
        self.up()

    def run(self, command: Command) -> None:
        """Runs a command with its port and folder filled in."""
        run_command(self._place, fill(command.command, self._names), command.timeout, self.folder)

    def stop(self, grace_s: float) -> None:
        """Ends it in order; what is left after the grace is killed."""
        if self.process is not None:
            self.process.stop(grace_s, self.recipe.stop)

    def log_tail(self) -> str:
        """The last lines it wrote."""
        if self.process is not None:
            self.process.trim_log()
        texts = [tail(path) for path in (self.log, *sorted(self.folder.rglob("*.log")))]
        return "\n".join(text for text in texts if text)

    def _down(self) -> None:
        if self.process is not None:
            self.process.stop(STOP_S, self.recipe.stop)

    def _as_user(self, command: Sequence[str]) -> list[str]:
        user = self.recipe.user
        if user is None or os.geteuid() != 0:
            return list(command)
        group = _account(user).pw_gid
        return ["setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", *command]

    def _give_away(self, path: Path) -> None:
        """Makes a folder and all in it the server's user's, where that is another."""
        if self.recipe.user is None or os.geteuid() != 0:
            return
        found = _account(self.recipe.user)
        for each in (path, *path.rglob("*")):
            os.chown(each, found.pw_uid, found.pw_gid, follow_symlinks=False)

    def _with_log(self, what: str) -> str:
        lines = self.log_tail().splitlines()[-LOG_LINES:]
        return what + ("; its log ends:\n" + "\n".join(lines) if lines else "; it wrote nothing")


def _account(user: str) -> pwd.struct_passwd:
    """The user a server runs as. Raises HostError where the machine has none of that name."""
    try:
        return pwd.getpwnam(user)
    except KeyError as error:
        what = f"there is no user `{user}` here, whom the server would run as instead of root"
        raise HostError(f"{what}: run the lab as an ordinary user") from error


@dataclass(frozen=True)
class ServerKind:
    """A kind of server, by its recipe."""

    summary: str
    """What it is, in a line."""
    needs: tuple[str, ...]
    """Programs; the first tells the version."""
    url: str
    """Of an instance, with `${port}` and, where there is one, the mention of its password."""
    recipe: Callable[[Bed], Recipe]
    keys: frozenset[str] = frozenset({"settings", "environment"})
    """Keys of the experiment file beside those of every system."""

    def missing(self, system: System) -> str | None:
        """The first program that is not here, and how to get it."""
        for need in (*self.needs, *system.needs):
            program = programs.look(need)
            if not program.is_there:
                return f"needs {need}: {programs.how_to_get(program, system.install)}"
        return None

    def start(self, name: str, system: System, place: Place) -> Server:
        """Makes the server and starts it; it has answered rightly when this returns.

        Raises HostError with its log's last lines when it does not come up.
        """
        server = Server(name, self, system, place)
        try:
            server.make()
            server.up()
        except BaseException:
            with contextlib.suppress(HostError):
                server.stop(0.0)
            raise
        return server

    def expected_urls(self, system: System) -> tuple[str, ...]:
        """Its URL, with a port in place of the one to be found."""
        return (self.url.replace("${port}", "1"),)

    def describe(self, system: System) -> dict[str, Any]:
        """Version and settings."""
        program = programs.look(self.needs[0])
        return {
            "versions": {program.name: program.version} if program.is_there else {},
            "settings": dict(system.settings),
        }
