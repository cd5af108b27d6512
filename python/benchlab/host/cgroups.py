"""Control groups of the kernel: which processes a container is made of, and what they have spent.

Whoever starts a container puts its processes into a group of their own, wherever in the tree of
processes they stand. Both versions are read, the first by its controller `cpuacct`. Absent: making
groups, and setting limits.
"""

# The probes read what is here ten times a second; plain paths cost half of what pathlib does.
# ruff: noqa: PTH118, PTH123

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cgroup:
    """A group of processes, with those below it."""

    folder: str
    """Where the kernel tells of it."""
    version: int

    @property
    def cpu(self) -> str:
        """The file that tells what all its processes have spent, ended ones included."""
        return os.path.join(self.folder, "cpuacct.stat" if self.version == 1 else "cpu.stat")

    def spent_s(self, told: bytes) -> tuple[float, float]:
        """CPU time in user mode and in the kernel, as the file `cpu` tells; none of no file."""
        if not told:
            return 0.0, 0.0
        lines = dict(line.split() for line in told.splitlines())
        if self.version == 1:
            return int(lines[b"user"]) / _TICK, int(lines[b"system"]) / _TICK
        return int(lines[b"user_usec"]) / 1e6, int(lines[b"system_usec"]) / 1e6

    def members(self) -> list[int]:
        """Process ids of all that are in it now; none once it is gone."""
        found: list[int] = []
        for folder, _, _ in os.walk(self.folder):
            with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs")) as file:
                found.extend(int(pid) for pid in file.read().split())
        return found


def called(name: str, pid: int, versions: Sequence[int] = (1, 2)) -> Cgroup | None:
    """The group of a process that has `name` in its path; None where it is in none to be seen.

    Where a machine has both versions, the first has the controllers.
    """
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return None
    paths: dict[str, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    for version in versions:
        controller = "cpuacct" if version == 1 else ""
        if name in paths.get(controller, "") and (place := _mounted(controller)):
            root, mount = place
            # What a container makes below its own group belongs to it.
            until = paths[controller].index(name) + len(name)
            path = paths[controller][:until] + paths[controller][until:].partition("/")[0]
            folder = mount + path.removeprefix(root.rstrip("/"))
            if Path(folder, "cgroup.procs").exists():
                return Cgroup(folder, version)
    return None


def _mounted(controller: str) -> tuple[str, str] | None:
    """The topmost group that can be seen of a controller, or of version 2, and where it is."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        wanted = "cgroup" if controller else "cgroup2"
        if kind == wanted and (not controller or controller in options.split(",")):
            _, _, _, root, mount, *_ = before.split(" ")
            return root, mount
    return None
