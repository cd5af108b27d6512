"""Servers that the lab makes from nothing, each by a recipe: one process tree, up and down.

A server has a folder, a free port on loopback and, where it knows passwords, a random one of its
own. That goes to the agent through its environment and into files that the server's user alone may
read. Absent: what any one server needs (a module beside this one has its recipe), and what makes
one or several of them a system (`members`).
"""

import os
import pwd
import re
import shlex
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchlab.host import ports, programs
from benchlab.host.probes import Root
from benchlab.host.processes import Process, tail
from benchlab.model.errors import HostError
from benchlab.model.experiment import Command, System
from benchlab.systems import behind as back
from benchlab.systems.command import (
    COMPLAINT_LINES,
    POLL_S,
    complaints,
    file_key,
    fill,
    how_it_ended,
    reasoned,
    run_command,
    write_own,
)
from benchlab.systems.protocol import Place, StoppedError
from benchlab.systems.reach import NotReadyError, RefusedError

READY_S = 60.0
PREPARE_S = 120.0
LOG_LINES = 5
TAIL_LINES = 20
STOP_S = 30.0
"""How long a server may take to put its data in order before they are copied."""


@dataclass(frozen=True)
class Bed:
    """What a recipe is made for: one member of a system."""

    system: System
    folder: Path
    """The server's own."""
    port: int
    password: str
    name: str = ""
    """Of the member among its peers; empty where there is one alone."""
    peers: "Sequence[Bed]" = ()
    """All members of the system in the order of their start, this one among them."""
    behind: back.Behind = field(default_factory=dict)
    """URLs of the systems that stand behind it, by their names."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Where what the system needs is, by its names."""
    _ports: dict[str, int] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """The file's `settings`, as text, with port and folder filled in; without those of null."""
        given = self.system.settings.items()
        return {name: self.filled(str(value)) for name, value in given if value is not None}

    def sections(self, names: Sequence[str], default: str) -> dict[str, dict[str, str]]:
        """The settings by the section that each names before a dot: `global.maxconn`."""
        found: dict[str, dict[str, str]] = {name: {} for name in (default, *names)}
        for name, value in self.settings.items():
            section, dot, directive = name.partition(".")
            if dot and section in names:
                found[section][directive] = value
            else:
                found[default][name] = value
        return found

    def filled(self, text: str) -> str:
        """A text with its port and folder in place of their mentions."""
        return text.replace("${port}", str(self.port)).replace("${dir}", str(self.folder))

    def program(self, name: str) -> str:
        """Where a program is. Raises HostError, saying how to get it, where it is not."""
        return self.paths.get(name) or programs.path(name)

    def port_for(self, use: str) -> int:
        """A further port of its own, by what it is for."""
        if use not in self._ports:
            self._ports[use] = ports.free()
        return self._ports[use]


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
    ready_s: float = READY_S
    """How long it may take to answer rightly."""
    alone: Sequence[str] = ()
    """Said beside `start` where no other member is up: there is nobody to join."""


class Server:
    """One server: a member of a system, perhaps its only one."""

    def __init__(self, name: str, bed: Bed, recipe: Recipe, place: Place) -> None:
        self.bed, self.recipe, self._place, self._system_name = bed, recipe, place, name
        self.name = f"{name}/{bed.name}" if bed.name else name
        self.folder, self.port = bed.folder, bed.port
        self.log = bed.folder.parent / "log"
        self._names = {"dir": str(self.folder), "port": str(self.port)}
        self._names["here"] = str(place.here.absolute())
        self._names |= back.addresses(bed.behind)
        self._told = back.secrets(bed.behind, place.password)
        # The lab's own folder for temporary files may be no place for the server's user.
        self._own = {"TMPDIR": str(self.folder)}
        self.process: Process | None = None
        self._said_before: dict[Path, int] = {}
        """How long each log was when it was started; what it says of an earlier life is over."""
        self.is_away = False
        """Whether it was ended on purpose, so that its absence is no death."""
        self.is_paused = False

    @property
    def root(self) -> Root | None:
        """The keeper of its processes."""
        return Root(self.process.keeper, is_keeper=True) if self.process else None

    def make(self) -> None:
        """Writes its files and makes its data."""
        self.folder.mkdir(parents=True)
        for file, content in self.recipe.files.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(fill(content, self._told))
        for file, content in self.bed.system.files.items():
            plain, text = fill(content, self._names), fill(content, {**self._names, **self._told})
            key = file_key(self._system_name, file)
            write_own(self.folder / "files", file, text, key, is_secret=text != plain)
        self._give_away(self.folder)
        self._can_be_entered()
        for command in self.recipe.prepare:
            self.prepare(command)

    def prepare(self, command: Sequence[str], log: Path | None = None) -> None:
        """Runs a command beside it as its user. Raises HostError where it fails."""
        line = shlex.join(self._as_user(command))
        try:
            run_command(self._place, line, PREPARE_S, self.folder, log, self._own)
        except HostError as error:
            raise HostError(f"{self.name}: {error}") from error

    def up(self, *, is_alone: bool) -> None:
        """Starts it and waits for its first right answer.

        Raises HostError with the log's last lines when that does not come.
        """
        told = {**self._names, **self._told}
        environment = back.environment(self.bed.behind, self.bed.password)
        given = self.bed.system.environment
        self._said_before = {path: path.stat().st_size for path in self._logs() if path.exists()}
        self.process = self._place.leash.start(
            self._as_user([*self.recipe.start, *(self.recipe.alone if is_alone else ())]),
            log=self.log,
            cpus=self._place.cpus,
            environment={
                **self._own,
                **environment,
                **{key: fill(given[key], told) for key in given},
            },
            folder=self.folder,
        )
        self.is_away = self.is_paused = False
        wait_for(self.recipe.answers, [self], self._place, self.recipe.ready_s)

    def down(self, grace_s: float = STOP_S) -> None:
        """Ends it in order; what is left after the grace is killed."""
        self.is_away = True
        if self.is_paused:
            self.resume()
        if self.process is not None:
            self.process.stop(grace_s, self.recipe.stop)

    def kill(self) -> None:
        """Ends it at once, with all its processes, as an outage would."""
        self.is_away = True
        if self.process is not None:
            self.process.kill()

    def pause(self) -> None:
        """Holds all its processes still: connections stay, answers do not come."""
        self.is_paused = True
        if self.process is not None:
            self.process.hold()

    def resume(self) -> None:
        """Has it go on after a pause."""
        if self.process is not None:
            self.process.signal_tree(signal.SIGCONT)
        self.is_paused = False

    def died(self) -> str | None:
        """How its program ended, once it is gone though nobody ended it."""
        if self.process is None or self.is_away or self.process.poll() is None:
            return None
        return how_it_ended(self.process.poll())

    def is_up(self) -> bool:
        """Whether its program runs."""
        return self.process is not None and self.process.poll() is None

    def is_able(self) -> bool:
        """Whether its program runs and may answer."""
        return self.is_up() and not self.is_paused

    def copy(self, snapshot: Path) -> None:
        """Copies the data of a server that is down."""
        if self.recipe.data is not None:
            shutil.copytree(self.folder / self.recipe.data, snapshot, symlinks=True)

    def put_back(self, snapshot: Path) -> None:
        """Replaces the data of a server that is down by those that were copied."""
        if self.recipe.data is not None:
            data = self.folder / self.recipe.data
            shutil.rmtree(data)
            shutil.copytree(snapshot, data, symlinks=True)
            self._give_away(data)

    def run(self, command: Command) -> None:
        """Runs a command with its port and folder filled in."""
        run_command(self._place, fill(command.command, self._names), command.timeout, self.folder)

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines it wrote."""
        if self.process is not None:
            self.process.trim_log()
        return "\n".join(text for path in self._logs() if (text := tail(path, lines)))

    def with_log(self, what: str) -> str:
        """What befell it, and the last lines of its log, after its first complaint."""
        said = self.log_tail(COMPLAINT_LINES).splitlines()
        lines = said[-LOG_LINES:]
        lines = [*complaints(said[:-LOG_LINES])[:1], *lines]
        return what + ("; its log ends:\n" + "\n".join(lines) if lines else "; it wrote nothing")

    def with_reason(self, what: str) -> str:
        """How it ended, and why in its own words, in one line."""
        before = self._said_before
        texts = [tail(path, COMPLAINT_LINES, before.get(path, 0)) for path in self._logs()]
        return reasoned(what, "\n".join(texts), self.folder)

    def _logs(self) -> list[Path]:
        return [self.log, *sorted(self.folder.rglob("*.log"))]

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

    def _can_be_entered(self) -> None:
        """Raises HostError where the server's user may not enter a folder above its own."""
        if self.recipe.user is None or os.geteuid() != 0:
            return
        for above in reversed(self.folder.parents):
            # What the mode denies, another right may allow.
            enter = self._as_user(["test", "-x", str(above)])
            if not above.stat().st_mode & stat.S_IXOTH and subprocess.run(enter).returncode:
                why = f"its user `{self.recipe.user}` may not enter {above}"
                what = "set TMPDIR to a folder that all users may enter, such as /tmp"
                raise HostError(f"{self.name}: {why}: {what}")


def heeded(bed: Bed, otherwise: re.Pattern[str]) -> None:
    """Raises RefusedError where a server's log says that it was not set as it was told.

    Args:
        otherwise: What it says then; the first group is told.
    """
    for log in (bed.folder.parent / "log", *bed.folder.glob("*.log")):
        if log.exists() and (said := otherwise.search(log.read_text("utf-8", "replace"))):
            raise RefusedError(said[1])


def _account(user: str) -> pwd.struct_passwd:
    """The user a server runs as. Raises HostError where the machine has none of that name."""
    try:
        return pwd.getpwnam(user)
    except KeyError as error:
        what = f"there is no user `{user}` here, whom the server would run as instead of root"
        raise HostError(f"{what}: run the lab as an ordinary user") from error


def wait_for(
    asked: Callable[[], None], servers: Sequence[Server], place: Place, limit_s: float = READY_S
) -> None:
    """Asks until the answer is the right one.

    Raises HostError, with the log's last lines, when that does not come or one of the servers
    ends meanwhile; StoppedError where the lab is asked to stop.
    """
    deadline = time.monotonic() + limit_s
    while True:
        try:
            return asked()
        except RefusedError as error:
            raise HostError(f"{servers[-1].name}: {error}") from error
        except NotReadyError as error:
            why = str(error)
        for server in servers:
            if ended := server.died():
                raise HostError(server.with_reason(f"{server.name} {ended} while starting"))
        if time.monotonic() >= deadline:
            late = f"{servers[-1].name} was not ready after {limit_s:g} s: {why}"
            raise HostError(servers[-1].with_log(late))
        if place.pause(POLL_S):
            raise StoppedError
