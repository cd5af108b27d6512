"""A system that is already running: reached, and never started or stopped.

A session begins with its `restart:` command where it has one, otherwise with new connections after
a pause of random length. Absent: any change to it but that.
"""

import contextlib
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from benchlab.host import ports
from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.model.errors import HostError
from benchlab.model.experiment import Command, System, Tls
from benchlab.model.schemes import SCHEMES
from benchlab.model.secrets import PASSWORD
from benchlab.systems import reach
from benchlab.systems.command import POLL_S, READY_S, fill, how_it_ended, split
from benchlab.systems.counters import exporter, running
from benchlab.systems.door import Door
from benchlab.systems.protocol import Ability, Place, StoppedError

summary = "whatever answers at a URL already"
keys: frozenset[str] = frozenset()
PAUSE_S = (0.2, 2.0)
"""Least and greatest pause before a session on a system that is not restarted."""
TAIL_BYTES = 2048
_PASSWORD = re.compile(r"([^/]*://[^/@]*:)(\$\{env:\w+\})@")
"""The beginning of a URL whose password is the mention of a variable, up to it, and that."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Reached:
    """A system somebody else started."""

    counters: Sequence[Source] = ()
    is_pinned = False
    abilities: frozenset[Ability] = frozenset()

    def __init__(self, name: str, urls: tuple[str, ...], place: Place) -> None:
        self.name, self.urls, self._place = name, urls, place
        self.secrets: Mapping[str, str] = {PASSWORD: place.password}
        self.in_process = bool(urls) and _is_embedded(urls[0])
        served = [url for url in urls if not _is_embedded(url)]
        local = [port for host, port in map(reach.address, served) if host in LOOPBACK]
        pid = ports.holder(local[0]) if local else None
        self.roots = {"": Root(pid)} if pid else {}
        # It knows the process by when it began too, since another may be given the number.
        self._process = psutil.Process(pid) if pid else None

    def died(self) -> str | None:
        """Told only where its process is known."""
        process = self._process
        if process is None:
            return None
        # Nobody may have asked yet how it ended.
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                return None
        return f"ended: its process {process.pid} is gone"

    def keep(self, snapshot: Path) -> bool:
        """Its data are not ours to copy."""
        return False

    def restore(self, snapshot: Path) -> None:
        """Its data are not ours to replace."""
        raise HostError(f"{self.name} is already running: its data are left alone")

    def run(self, command: Command) -> None:
        """Runs a command beside it.

        Not on the leash: what the command starts, as a restart does, is not ours to end.
        """
        line = fill(command.command, {"here": str(self._place.here.absolute())})
        _run_unleashed(line, command.timeout, self._place)

    def stop(self, grace_s: float) -> None:
        """Leaves it running."""

    def log_tail(self) -> str:
        """Its log is not known."""
        return ""


def missing(system: System) -> str | None:
    """Nothing: it is there or it is not, which `start` tells."""
    return None


def start(name: str, system: System, place: Place) -> Reached:
    """Restarts it by its own command, or pauses; then sees that every address answers.

    Raises HostError when one does not.
    """
    urls = expected_urls(system)
    deadline = time.monotonic()
    if system.restart is not None:
        try:
            Reached(name, (), place).run(system.restart)
        except HostError as error:
            raise HostError(f"{name}: restart: {error}") from error
        deadline += system.ready.timeout if system.ready else READY_S
    else:
        if place.pause(random.Random(place.seed).uniform(*PAUSE_S)):
            raise StoppedError
    for url in urls:
        # Whether a file can be used as the workload wants is told by the agent, at once.
        if not _is_embedded(url):
            _await(name, url, deadline, place)
    reached = Reached(name, urls, place)
    doors = [Door(url, system.tls or Tls(), place.here) for url in place.let_in]
    known = running.sources(doors)
    reached.counters = (*known, *exporter.sources(system.metrics_at))
    return reached


def expected_urls(system: System) -> tuple[str, ...]:
    """Its addresses, in which a password is still the mention of a variable."""
    return tuple(_filled(url) for url in system.at)


def _filled(url: str) -> str:
    found = _PASSWORD.match(url)
    if found is None:
        return fill(url, {})
    return fill(found[1], {}) + found[2] + fill(url[found.end(2) :], {})


def describe(system: System) -> dict[str, Any]:
    """Where it is, and that it was not started here."""
    return {"at": list(system.at), "restart": system.restart and system.restart.command}


def _is_embedded(url: str) -> bool:
    """Whether it is a file, which nobody serves."""
    scheme = SCHEMES.get(url.partition(":")[0])
    return scheme is not None and scheme.embedded


def _run_unleashed(line: str, timeout_s: float, place: Place) -> None:
    """Raises HostError when the command fails or takes too long, StoppedError when asked to stop.

    Its output goes to a file and not through a pipe, which a daemon it starts would hold open.
    """
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                split(line, "command"),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"`{line}` cannot be started: {error.strerror}") from error
        while (status := process.poll()) is None:
            stopped = place.pause(POLL_S)
            if stopped or time.monotonic() >= deadline:
                process.kill()
                process.wait()
                if stopped:
                    raise StoppedError
                raise HostError(f"`{line}` took longer than {timeout_s:g} s")
        if status:
            said.seek(max(0, said.seek(0, 2) - TAIL_BYTES))
            words = said.read().decode("utf-8", "replace").strip()
            raise HostError(f"`{line}` {how_it_ended(status)}" + (f": {words}" if words else ""))


def _await(name: str, url: str, deadline: float, place: Place) -> None:
    while True:
        try:
            reach.answers(url)
            return
        except reach.NotReadyError as error:
            if time.monotonic() >= deadline:
                raise HostError(f"{name} cannot be measured: {error}") from error
        if place.pause(POLL_S):
            raise StoppedError
