"""A file that trials read and write: laid out afresh in each session, and removed after it.

Settings: `size` (64MiB unless given), `direct` (true: past the system's cache) and `folder`, on the
disk that is meant; it lies with the run unless given. Absent: its content, which the loading Plan
writes.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.model import quantities
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Command, System
from benchlab.model.sections import KINDS
from benchlab.systems.command import fill, run_command
from benchlab.systems.protocol import Ability, Place

summary = "a file on the disk that is meant, read and written in blocks"
keys = KINDS["file"]
SIZE = "64MiB"
_SETTINGS = ("size", "direct", "folder")


class Laid:
    """A file in a folder of its own."""

    secrets: Mapping[str, str] = MappingProxyType({})
    counters: Sequence[Source] = ()
    in_process = True
    is_pinned = False
    roots: Mapping[str, Root] = MappingProxyType({})
    abilities: frozenset[Ability] = frozenset()

    def __init__(self, folder: Path, system: System, place: Place) -> None:
        self._folder, self._place = folder, place
        self.urls = (_url(folder / "file", system),)

    def died(self) -> str | None:
        """It lives and dies with the agent."""
        return None

    def keep(self, snapshot: Path) -> bool:
        """Laying it out costs no more than copying it, and leaves the disk in a like state."""
        return False

    def restore(self, snapshot: Path) -> None:
        """Nothing is ever kept."""

    def run(self, command: Command) -> None:
        """Runs a command beside it, with `${dir}` filled in."""
        names = {"dir": str(self._folder), "here": str(self._place.here.absolute())}
        run_command(self._place, fill(command.command, names), command.timeout, self._folder)

    def stop(self, grace_s: float) -> None:
        """Removes the file."""
        shutil.rmtree(self._folder)

    def log_tail(self) -> str:
        """It keeps no log."""
        return ""


def missing(system: System) -> str | None:
    """Nothing: it is part of the agent."""
    return None


def start(name: str, system: System, place: Place) -> Laid:
    """Makes the folder; the loading Plan makes the file.

    Raises HostError when the folder that is wanted is not there, or the file is no smaller than
    the room on its disk.
    """
    _check(name, system)
    folder = place.folder
    try:
        if "folder" in system.settings:
            wanted = Path(str(system.settings["folder"]))
            folder = Path(tempfile.mkdtemp(prefix="benchlab-", dir=place.here / wanted))
        else:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"{name}: no folder can be made: {error}") from error
    size = quantities.parse(str(system.settings.get("size", SIZE)), "B")
    if size >= (free := shutil.disk_usage(folder).free):
        shutil.rmtree(folder)
        asked, there = (quantities.format(each, "B") for each in (size, free))
        what = f"a file of {asked} does not fit: {there} are free in {folder.parent}"
        raise HostError(f"{name}: {what}: set `size`, or another `folder`")
    return Laid(folder, system, place)


def expected_urls(system: System) -> tuple[str, ...]:
    """A file somewhere."""
    return (_url(Path("/file"), system),)


def describe(system: System) -> dict[str, Any]:
    """Its settings."""
    return {"settings": dict(system.settings)}


def _url(path: Path, system: System) -> str:
    size = system.settings.get("size", SIZE)
    direct = str(system.settings.get("direct", "false")).lower()
    return f"file:{quote(str(path))}?size={size}&direct={direct}"


def _check(name: str, system: System) -> None:
    for setting in system.settings:
        if setting not in _SETTINGS:
            listed = ", ".join(_SETTINGS)
            key = f"systems.{name}.settings.{setting}"
            raise InputError(f"no setting of a file; it has {listed}", key=key)
