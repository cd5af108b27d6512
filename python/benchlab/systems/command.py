"""Any server that a command line starts.

The command, its files and its environment may mention `${port}` (a free port), `${dir}` (a folder
of its own), `${here}` (the experiment file's folder), `${source}` (the checkout of what was built)
and `${env:NAME}`; anything else in `${}` is left as it stands, since configuration files have their
own. No shell is involved unless the command says `sh -c`. Absent: what the server speaks,
but for seeing that it answers.
"""

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchlab.host import ports, programs
from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.host.processes import Process, tail
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Command, System
from benchlab.model.mentions import split as split_line
from benchlab.model.sections import KINDS
from benchlab.model.tree import join
from benchlab.systems import behind, container, reach
from benchlab.systems.protocol import Ability, Place, StoppedError

keys = KINDS["command"]
READY_S = 30.0
POLL_S = 0.02
NOT_HTTP_TRIES = 3
SETTLE_S = 5.0
"""How long after its first answer a container may not be known to its client."""
CLIENT_S = 2.0
"""How much longer than its container a client may take to end."""
COMPLAINT_LINES = 200
COMPLAINT = re.compile(
    r"\[(ERROR|emerg|ALERT)\]|\b(ALERT|ERROR|FATAL|HINT|error):"
    # Of a configuration file: of lesser rank, or none, than what it leads to.
    r"|\b(unrecognized configuration|invalid value for|syntax error in|Could not open required) "
)
"""Some servers say much while they go down, and why they do before it."""
COMPLAINTS, LAST_LINES = 2, 5
"""How many are told: more follow from the first, and are about less."""
ROOM_BYTES = 1 << 16
"""On a disk with less room not even a log can be written."""
_MENTION = re.compile(
    r"\$\{(port|dir|here|source|pid|[\w-]+\.(?:urls?|host|port|user|password)"
    r"|env:([A-Za-z_][A-Za-z0-9_]*))\}"
)


class Started:
    """A server that a command line brought up."""

    secrets: Mapping[str, str] = MappingProxyType({})
    counters: Sequence[Source] = ()
    in_process = False
    abilities: frozenset[Ability] = frozenset()

    def __init__(self, name: str, system: System, place: Place, port: int | None) -> None:
        self.name, self._system, self._place = name, system, place
        self.folder = place.folder / "dir"
        self.log = place.folder / "log"
        self.is_pinned = bool(place.cpus)
        self._names = {"dir": str(self.folder), "here": str(place.here.absolute())}
        self._names |= behind.addresses(place.behind)
        if (source := place.source_of(system)) is not None:
            self._names["source"] = str(source)
        if port is not None:
            self._names["port"] = str(port)
        self.urls: tuple[str, ...] = (self.fill(system.url),) if system.url else ()
        self.process: Process | None = None
        self.container: container.Container | None = None

    @property
    def root(self) -> Root | None:
        """The keeper of its processes, or its container."""
        if self.container is not None:
            return self.container.root
        return Root(self.process.keeper, is_keeper=True) if self.process else None

    @property
    def roots(self) -> Mapping[str, Root]:
        """The same as of a system of one member."""
        return {} if self.root is None else {"": self.root}

    def fill(self, text: str) -> str:
        """Puts port, folder and environment into a text of the experiment file."""
        return fill(text, self._names)

    def addresses(self) -> Iterator[tuple[str, int]]:
        """Hosts and ports at which it is going to answer, by what the file says."""
        yield from map(reach.address, self.urls)
        ready = self._system.ready
        if ready and ready.url is not None:
            yield reach.address(self.fill(ready.url))
        if ready and ready.port is not None:
            yield "127.0.0.1", self.ready_port(ready.port)

    def ready_port(self, asked: int | str) -> int:
        """The port of `ready:`. Raises InputError for what is filled in and is none."""
        text = self.fill(str(asked))
        if not (text.isdecimal() and 0 < int(text) < 65536):
            key = join("systems", self.name) + ".ready.port"
            raise InputError(f"`{asked}` stands for something that is no port", key=key)
        return int(text)

    def launch(self, place: Place) -> None:
        """Writes its files and starts its command."""
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {**self._names, **behind.secrets(place.behind, place.password)}
        for file, content in self._system.files.items():
            self._write(file, content)
        environment = behind.environment(place.behind, place.password)
        given = self._system.environment
        environment |= {key: fill(given[key], told) for key in given}
        key = join("systems", self.name) + ".start"
        argv = split(self.fill(self._system.start or ""), key)
        try:
            if (run := container.taken_apart(argv)) is not None:
                self.container = container.Container(run, place, environment, key)
                self.container.guard()
                argv = self.container.argv
            self.process = place.leash.start(
                argv, log=self.log, cpus=place.cpus, environment=environment, folder=self.folder
            )
        except HostError as error:
            raise HostError(f"{self.name}: {error}") from error
        self._names["pid"] = str(self.process.pid)

    def _write(self, file: str, content: str) -> None:
        told = {**self._names, **behind.secrets(self._place.behind, self._place.password)}
        text = fill(content, told)
        is_secret = text != self.fill(content)
        write_own(self.folder, self.fill(file), text, file_key(self.name, file), is_secret)

    def died(self) -> str | None:
        """How its program ended, once nothing of its tree, or of its container, is left."""
        if self.process is None or self.is_running():
            return None
        if self.container is None:
            return how_it_ended(self.process.poll())
        # The client stays as long as the container, or leaves at once: that tells nothing then.
        status = self.process.wait(CLIENT_S) or self.container.status()
        # What a signal ended is told the way shells do.
        return how_it_ended(128 - status if status is not None and status > 128 else status)

    def is_running(self) -> bool:
        """Whether anything of its tree, or its container, is alive; while it starts, its client."""
        if self.process is None:
            return False
        if self.container is None:
            return self.process.is_running()
        if self.container.root is None:
            return self.process.poll() is None or (self.process.poll() == 0 and self._look())
        return self.container.is_running()

    def settle(self) -> None:
        """Finds its container, now that it answers. Raises HostError where that is not there."""
        deadline = time.monotonic() + SETTLE_S
        while self.container is not None and not self._look():
            if time.monotonic() >= deadline or not self.is_running():
                raise HostError(_with_log(f"{self.name} answers, but its container does not", self))
            if self._place.pause(POLL_S):
                raise StoppedError

    def _look(self) -> bool:
        """Whether its container is there."""
        if self.container is None or self.process is None:
            return False
        is_there = self.container.find(self.process)
        if self.process.poll() is not None:
            self.container.follow_log(self.log)
        return is_there

    def kill(self) -> None:
        """Ends it at once, as an outage would."""
        if self.container is not None:
            self.container.kill()
        if self.process is not None:
            self.process.kill()

    def pause(self) -> None:
        """Holds it still."""
        if self.container is not None and self.container.is_apart:
            self.container.pause()
        elif self.process is not None:
            self.process.hold()

    def resume(self) -> None:
        """Has it go on."""
        if self.container is not None and self.container.is_apart:
            self.container.resume()
        elif self.process is not None:
            self.process.signal_tree(signal.SIGCONT)

    def keep(self, snapshot: Path) -> bool:
        """Cannot be done: how its data are stored is not known."""
        return False

    def restore(self, snapshot: Path) -> None:
        """Cannot be done."""
        raise HostError(f"{self.name} has no snapshot to go back to")

    def run(self, command: Command) -> None:
        """Runs a command with this server's port and folder filled in."""
        run_command(self._place, self.fill(command.command), command.timeout, self.folder)

    def stop(self, grace_s: float) -> None:
        """By its own `stop` command, or by SIGTERM; what is left after the grace is killed."""
        if self.process is None:
            return
        deadline = time.monotonic() + grace_s
        try:
            if self._system.stop and grace_s and self.is_running():
                unstopped = replace(self._place, pause=_never)
                run_command(unstopped, self.fill(self._system.stop), grace_s, self.folder)
                while self.is_running() and time.monotonic() < deadline:
                    self._place.leash.listen(POLL_S)
            if self.container is not None:
                self.container.stop(max(0.0, deadline - time.monotonic()))
        finally:
            try:
                self.process.stop(max(0.0, deadline - time.monotonic()))
            finally:
                if self.container is not None:
                    self.container.kill()

    def log_tail(self) -> str:
        """The last lines it wrote, to its own log files too where it keeps them in its folder."""
        if self.process is not None:
            self.process.trim_log()
        texts = [tail(path) for path in (self.log, *sorted(self.folder.rglob("*.log")))]
        return "\n".join(text for text in texts if text)


def file_key(name: str, file: str) -> str:
    """Where a file of a system stands in the experiment file."""
    return join(join("systems", name) + ".files", file)


def write_own(folder: Path, file: str, content: str, key: str, is_secret: bool = False) -> None:
    """Writes a file that the experiment file gives a system; whoever the system is may read it.

    One that holds a password is for the folder's user alone.

    Raises InputError unless it lies in the folder, HostError when it cannot be written.
    """
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        what = "a file of a system lies in its own folder: give a relative path"
        raise InputError(what, key=key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_secret:
            path.touch(mode=0o600)
        path.write_text(content)
    except OSError as error:
        raise HostError(f"{key}: the file cannot be written: {error.strerror}") from error


def missing(system: System) -> str | None:
    """The first program it needs that is not here, and how to get it.

    Raises InputError for a container that is given cores, which are the lab's to choose.
    """
    argv = split(fill(system.start or "", {}), "start")
    if system.placement != "shared" and (run := container.taken_apart(argv)) is not None:
        container.check_cores(run, "start")
    # A program in the system's own folder comes into being with the system.
    first = [name for name in argv[:1] if "${" not in name]
    for name in first:
        if "/" in name and not name.startswith("/"):
            what = "it starts in a folder of its own, so give the whole path, or one from ${here}"
            return f"needs {name}: {what}"
    for need in (*system.needs, *_to_build(system), *first):
        program = programs.look(need)
        if not program.is_there:
            return f"needs {need}: {programs.how_to_get(program, system.install)}"
    return None


def _to_build(system: System) -> Iterator[str]:
    """The programs that check its source out and build it."""
    if system.source is not None:
        yield "git"
    if system.build is not None:
        program = split(fill(system.build, {}), "build")[0]
        # One with a path may be of the checkout, where the build is run.
        if "/" not in program:
            yield program


def start(name: str, system: System, place: Place, port: int | None = None) -> Started:
    """Starts the command and waits until it answers; again, where its folder is there already.

    It is given the port where it mentions one, or else a free one. Raises HostError when its port
    is taken, or when it ends or does not answer in time.
    """
    texts = (*system.environment.values(), *system.files.values())
    mentions = " ".join((system.start or "", system.url or "", *texts))
    port = (port or ports.free()) if "${port}" in mentions else None
    instance = Started(name, system, place, port)
    # Whoever is there already would be taken for the system, and be measured in its place.
    for host, wanted in instance.addresses():
        if wanted != port and not ports.is_free(wanted) and ports.accepts(host, wanted):
            raise HostError(
                f"{name}: port {wanted} is taken by {ports.describe_holder(wanted)}: "
                "end it, or let the lab choose with ${port}"
            )
    instance.launch(place)
    try:
        _await_ready(instance, system, place)
        instance.settle()
    except BaseException:
        instance.stop(0.0)
        raise
    return instance


def describe(system: System) -> dict[str, Any]:
    """The command, its program's version, and its files as given."""
    argv = split(fill(system.start or "", {}), "start")
    needed = [programs.look(need) for need in (*argv[:1], *system.needs)]
    return {
        "start": system.start,
        "versions": {program.name: program.version for program in needed if program.is_there},
        "files": dict(system.files),
    }


def expected_urls(system: System) -> tuple[str, ...]:
    """Its URL, with a port in place of the one to be found."""
    return (fill(system.url, {"port": "1"}),) if system.url else ()


def run_command(
    place: Place,
    line: str,
    timeout_s: float,
    folder: Path,
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs a command line to its end; what it writes goes to the log, or a file of the folder.

    Raises HostError, with what it wrote last, when it fails or takes longer than `timeout_s`;
    StoppedError where the lab is asked to stop meanwhile.
    """
    log = log or folder / ".command"
    log.unlink(missing_ok=True)
    argv = split(line, "command")
    process = place.leash.start(argv, log=log, folder=folder, environment=environment)
    deadline = time.monotonic() + timeout_s
    while (status := process.wait(POLL_S)) is None and time.monotonic() < deadline:
        if place.pause(0.0):
            process.kill()
            raise StoppedError
    if status != 0:
        said = process.log_tail(COMPLAINT_LINES)
        process.kill()
        why = f"took longer than {timeout_s:g} s" if status is None else how_it_ended(status)
        raise HostError(reasoned(f"`{line}` {why}", said, folder))


def complaints(said: Sequence[str]) -> list[str]:
    """The lines that tell what went wrong, as far as they can be told by how they look."""
    return [line for line in said if COMPLAINT.search(line)]


def reasoned(what: str, said: str, folder: Path) -> str:
    """How a program ended, and why: by its first complaints, or else by its last words."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = complaints(lines)[:COMPLAINTS] or lines[-LAST_LINES:]
    if shutil.disk_usage(folder).free < ROOM_BYTES:
        told.append(f"there is no room left in {folder}")
    return f"{what}: {'; '.join(told)}" if told else f"{what}; it wrote nothing"


def split(line: str, key: str) -> list[str]:
    """Takes a command line apart as a shell would, without being one."""
    try:
        return split_line(line)
    except ValueError as error:
        raise InputError(f"`{line}` is not a command line: {error}", key=key) from error


def fill(text: str, names: Mapping[str, str]) -> str:
    """Fills in what is named, and `${env:NAME}`. Raises InputError when that is not set."""

    def value(found: re.Match[str]) -> str:
        variable = found[2]
        if variable is None:
            return names.get(found[1], found[0])
        if variable not in os.environ:
            raise InputError(f"the environment variable {variable} is not set", key=found[0])
        return os.environ[variable]

    return _MENTION.sub(value, text)


def _await_ready(instance: Started, system: System, place: Place) -> None:
    ready = system.ready
    limit_s = ready.timeout if ready else READY_S
    deadline = time.monotonic() + limit_s
    check = _check(instance, system)
    not_http = 0
    while True:
        try:
            check()
            return
        except reach.OtherProtocolError as error:
            not_http, why = not_http + 1, str(error)
        except reach.NotReadyError as error:
            why = str(error)
        if ended := instance.died():
            ended = f"{instance.name} {ended} while starting"
            if instance.process is not None and instance.process.poll() == 0:
                ended += ", and left nothing running"
            raise HostError(_with_log(ended, instance))
        if not_http >= NOT_HTTP_TRIES:
            raise HostError(_with_log(f"{instance.name} is up, but {why}", instance))
        if time.monotonic() >= deadline:
            raise HostError(
                _with_log(f"{instance.name} was not ready after {limit_s:g} s: {why}", instance)
            )
        if place.pause(POLL_S):
            raise StoppedError


def _check(instance: Started, system: System) -> Callable[[], None]:
    ready = system.ready
    if ready and ready.url is not None:
        url = instance.fill(ready.url)
        return lambda: reach.answers(url, below=400)
    if ready and ready.log is not None:
        wanted = re.compile(ready.log)
        return lambda: _said(instance.log, wanted)
    if ready and ready.port is not None:
        port = instance.ready_port(ready.port)
        return lambda: reach.accepts("127.0.0.1", port)
    if not instance.urls:
        raise InputError("give the `url` that the driver talks to", key=f"systems.{instance.name}")
    return lambda: reach.answers(instance.urls[0])


def _never(seconds: float) -> bool:
    """A system's own way to stop is part of stopping and is seen through."""
    return False


def _said(log: Path, wanted: re.Pattern[str]) -> None:
    if not (log.exists() and wanted.search(log.read_text("utf-8", "replace"))):
        raise reach.NotReadyError(f"its log does not say `{wanted.pattern}`")


def _with_log(what: str, instance: Started) -> str:
    said = instance.log_tail()
    return what + (f"; its log ends:\n{said}" if said else "; it wrote nothing")


def how_it_ended(status: int | None) -> str:
    """An exit status in words."""
    if status is None:
        return "ended"
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
