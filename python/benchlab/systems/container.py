"""Containers: what `docker run` or `podman run` starts, followed to where its processes are.

They are children of whoever runs containers on the machine, not of the client that a command line
names. So the client is asked for the container's first process, whose control group is what is
probed; it puts the container on the system's cores, and ends, holds and removes it. Containers are
told apart by a label of the lab's own, which a file tells the watchdog before there is one. Absent:
images, which are as the client has them, and starting the client (`command`).
"""

import contextlib
import json
import math
import os
import re
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlab.host import cgroups, leftovers, programs, watchdog
from benchlab.host.probes import Root
from benchlab.host.processes import Process
from benchlab.model.errors import HostError, InputError
from benchlab.systems.protocol import Place

CLIENTS = {"docker", "podman", "nerdctl"}
ASK_S = 10.0
PIN_TRIES = 20
CPUSET = "--cpuset-cpus"
_ALONE = {"-D", "--debug", "--tls", "--tlsverify", "-r", "--remote", "--syslog", "--noout"}
"""The clients' own options that no value follows."""
_STEERING = re.compile(
    r"(?!.*(AUTH|PASS|SECRET|TOKEN))(DOCKER|CONTAINER|PODMAN|NERDCTL|XDG).*|PATH|HOME|USER|TMPDIR"
)
"""What of an environment tells a client whom to talk to; it is written down, so no secrets."""


@dataclass(frozen=True)
class Run:
    """A command line that runs a container, taken apart."""

    client: tuple[str, ...]
    """The program, with its own options."""
    rest: tuple[str, ...]
    """What follows `run`."""


def taken_apart(argv: Sequence[str]) -> Run | None:
    """What runs a container; None of any other command line."""
    if not argv or Path(argv[0]).name not in CLIENTS:
        return None
    number = 1
    while number < len(argv) and argv[number].startswith("-"):
        is_alone = "=" in argv[number] or argv[number] in _ALONE
        # No value is called like what all this is about: there are options that are new to us.
        number += 1 if is_alone or argv[number + 1 : number + 2] in (["run"], ["container"]) else 2
    verb = number + (argv[number : number + 1] == ["container"])
    if list(argv[verb : verb + 1]) != ["run"]:
        return None
    return Run(tuple(argv[:number]), tuple(argv[verb + 1 :]))


def check_cores(run: Run, key: str) -> None:
    """Raises InputError where the cores that are the lab's to choose are given to the client."""
    if any(word.partition("=")[0] == CPUSET for word in run.rest):
        what = f"the lab chooses the cores: leave {CPUSET} out, and give `placement:`"
        raise InputError(what, key=key)


class Container:
    """A container from before its client is started until nothing of it is left."""

    def __init__(self, run: Run, place: Place, environment: Mapping[str, str], key: str) -> None:
        self._client, self._place = run.client, place
        self._label = f"benchlab={place.leash.id}-{secrets.token_hex(4)}"
        steered = {**os.environ, **environment, "PATH": programs.search_path()}
        self._environment = {name: steered[name] for name in steered if _STEERING.fullmatch(name)}
        mine = ["--label", self._label]
        if place.cpus:
            check_cores(run, key)
            # One of an ordinary user's own may not; it is moved once it is there.
            if os.geteuid() == 0 or Path(run.client[0]).name != "podman":
                mine += [CPUSET, ",".join(map(str, place.cpus))]
        self.argv = [*run.client, "run", *mine, *run.rest]
        self.root: Root | None = None
        """Its processes, once they are found."""
        self._id = ""
        self._began: int | None = None
        self._folder: Path | None = None
        self._follower: Process | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it has a group of its own; else its processes are below its client."""
        return self.root is not None and self.root.cgroup is not None

    def guard(self) -> None:
        """Has the watchdog, or else the next run, end it should the lab not do so itself.

        Raises HostError where the client cannot reach whoever runs containers.
        """
        self._there()
        self._folder = self._place.leash.folder("benchlab-container")
        record = self._folder / watchdog.CONTAINER
        record.touch(mode=0o600)
        told = {"client": self._client, "environment": self._environment, "label": self._label}
        record.write_text(json.dumps(told))

    def find(self, process: Process) -> bool:
        """Looks for its processes; whether they are there. `process` is the client's.

        Raises HostError where they are out of this lab's sight or cannot be put on its cores.
        """
        if self.root is not None:
            return True
        found = self._there()
        if not found:
            return False
        self._id = found[0]
        pid = int(self._ask("inspect", "--format", "{{.State.Pid}}", self._id).strip() or 0)
        if not pid:
            return False
        cgroup = cgroups.called(self._id, pid)
        # A process that only has the same number is not in the group, nor below the client.
        if cgroup is None and pid not in process.tree():
            what = f"the processes of container {self._id[:12]} cannot be seen from here"
            raise HostError(f"{what}: where it runs on another machine, give that as `at:`")
        self._began = leftovers.began(pid)
        root = Root(pid, cgroup=cgroup)
        self._pin(root)
        self.root = root
        return True

    def follow_log(self, log: Path) -> None:
        """Has what it writes go to the log, where its client has not stayed to do so."""
        if not self._id or self._follower is not None:
            return
        self._follower = self._place.leash.start(
            [*self._client, "logs", "--follow", self._id], log=log, environment=self._environment
        )
        if self.root is None:
            self._follower.wait(ASK_S)

    def is_running(self) -> bool:
        """Whether its first process is there."""
        root = self.root
        return root is not None and leftovers.began(root.pid) == self._began is not None

    def kill(self) -> None:
        """Ends it at once, as an outage would, and removes it. Raises HostError where it stays."""
        if self._folder is None:
            return
        if not watchdog.remove_containers(str(self._folder)):
            raise HostError(f"the container {self._label} cannot be ended: end it by hand")
        (self._folder / watchdog.CONTAINER).unlink(missing_ok=True)
        self._folder = None

    def stop(self, grace_s: float) -> None:
        """Asks it to end, by the signal that its image names."""
        if self.is_running() and grace_s:
            with contextlib.suppress(HostError):
                self._ask("stop", "-t", str(math.ceil(grace_s)), self._id, limit_s=grace_s + ASK_S)

    def pause(self) -> None:
        """Holds all its processes still. Raises HostError where that cannot be done."""
        self._ask("pause", self._id)

    def resume(self) -> None:
        """Has it go on. Raises HostError where that cannot be done."""
        self._ask("unpause", self._id)

    def status(self) -> int | None:
        """How its first process ended, where it is still known."""
        with contextlib.suppress(HostError, ValueError):
            return int(self._ask("inspect", "--format", "{{.State.ExitCode}}", self._id))
        return None

    def _there(self) -> list[str]:
        label = f"label={self._label}"
        return self._ask("ps", "--all", "--quiet", "--no-trunc", "--filter", label).split()

    def _ask(self, *words: str, limit_s: float = ASK_S) -> str:
        argv = [*self._client, *words]
        try:
            done = subprocess.run(
                argv,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            what = f"`{self._client[0]} {words[0]}` failed"
            raise HostError(f"{what}: {' '.join(str(said).split())}") from error
        return done.stdout

    def _pin(self, root: Root) -> None:
        """Sees to it that all its processes are on the system's cores."""
        cpus = set(self._place.cpus)
        for _ in range(PIN_TRIES if cpus else 0):
            astray = [task for task in _tasks(root) if not _cores(task) <= cpus]
            if not astray:
                return
            for task in astray:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.sched_setaffinity(task, cpus)
            time.sleep(watchdog.POLL_S)
        if cpus:
            told = ", ".join(map(str, self._place.cpus))
            what = f"the container {self._id[:12]} cannot be put on cores {told}"
            raise HostError(f"{what}: as an ordinary user, give `placement: shared`")


def _tasks(root: Root) -> list[int]:
    found = []
    for pid in root.members():
        with contextlib.suppress(OSError):
            found += [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return found


def _cores(task: int) -> set[int]:
    """Where a thread may run; nowhere once it has ended."""
    try:
        return os.sched_getaffinity(task)
    except ProcessLookupError:
        return set()
