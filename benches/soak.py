"""Every kind of system through its whole life, many times in a row: started, loaded, its records
counted, driven, all its members killed, started again, counted again, and gone.

Ports, processes, folders and segments of shared memory are counted before and after each round.
Ends with 1 where anything failed or was left over; the other kinds are gone through nevertheless.
Needs the servers that `make servers` installs.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

# The benches beside this one are called as protocols are, one of them as the package `http`.
if sys.path[0] == str(Path(__file__).parent):
    sys.path.pop(0)

import psutil

from benchlab.host import ports
from benchlab.host.processes import Leash, Process
from benchlab.lab.fleet import GRACE_S
from benchlab.lab.opening import open_mapping
from benchlab.load import agent
from benchlab.load.asking import Asker, sql
from benchlab.load.plan import errand, finding_plan, loading_plan, make_plan
from benchlab.load.workloads.asked import Asked
from benchlab.model.errors import BenchlabError, EngineBug, HostError
from benchlab.model.experiment import Case, Transaction
from benchlab.store.measurement import Measurement
from benchlab.systems import Instance, Place, kind_of
from benchlab.systems.protocol import Able

PAGE = {"page": {"get": "/", "expect": {"status": 200}}}
FILES = {"index.html": "hello\n"}
SCRIPT = {"kind": "php-fpm", "files": {"index.php": "<?php echo 'hello ', getmypid();"}}
LIBRARY = f"{sys.executable} -m http.server --bind 127.0.0.1 ${{port}}"
STORES: dict[str, dict[str, Any]] = {
    # By its default one writer that waits for the disk has others wait until they give up.
    "sqlite": {"kind": "sqlite", "settings": {"journal_mode": "wal", "synchronous": "normal"}},
    "postgresql": {"kind": "postgresql"},
    "postgresql-replicas": {"kind": "postgresql", "replicas": 2},
    "mariadb": {"kind": "mariadb"},
    # Nodes that are written to at the same time turn some writes away, as they should.
    "galera": {"kind": "galera", "instances": 3, "ask": "one"},
    "redis": {"kind": "redis"},
    "redis-cluster": {"kind": "redis", "masters": 3, "replicas": 1},
    "memcached": {"kind": "memcached"},
    "memcached-3": {"kind": "memcached", "instances": 3},
    # It waits for the disk once an entry, which would be most of what one sees.
    "openldap": {"kind": "openldap", "settings": {"dbnosync": ""}},
}
PAGES: dict[str, dict[str, Any]] = {
    "nginx": {"kind": "nginx", "files": FILES},
    "php-fpm": {"kind": "nginx", "before": {"php": SCRIPT}},
    "haproxy": {"kind": "haproxy", "before": {"web": {"kind": "nginx", "files": FILES}}},
    "command": {
        "kind": "command",
        "start": LIBRARY,
        "url": "http://127.0.0.1:${port}/",
        "instances": 3,
    },
}
SYSTEMS = {**STORES, "sphinx": {"kind": "sphinx"}, **PAGES}
"""What is gone through, by the name that `--only` takes."""
FORGETFUL = ("redis", "memcached")
"""Kinds that keep nothing on disk unless they are told to: they are loaded again after a kill."""
DOCUMENT = "(${id}, 'a title', 'found everywhere', 7)"
FIND = "SELECT number FROM docs WHERE MATCH('everywhere') LIMIT 15"
AT_ONCE = 1000
CLIENTS = 8
GONE_S = 10.0
"""How long what was ended may take until the kernel shows it no more."""


@dataclass(frozen=True)
class World:
    """What a system may leave on a machine."""

    ports: frozenset[int] = frozenset()
    """Taken ones, of those that were seen to be a system's."""
    processes: frozenset[int] = frozenset()
    """Those that know the folder for temporary files: by environment, command line or place."""
    folders: frozenset[str] = frozenset()
    """Entries of that folder."""
    segments: frozenset[tuple[str, int]] = frozenset()
    """System V's shared memory on the whole machine, with how many use it, by its number."""

    @classmethod
    def now(cls, temporary: Path, watched: frozenset[int] = frozenset()) -> "World":
        """What there is at this moment."""
        return cls(
            frozenset(port for port in watched if not ports.is_free(port)),
            frozenset(each for each in psutil.pids() if _knows(each, str(temporary))),
            frozenset(entry.name for entry in temporary.iterdir()),
            frozenset(_segments()),
        )

    def beyond(self, before: "World") -> dict[str, list[Any]]:
        """What there is that was not there before; nothing of a kind is left out."""
        known = {number for number, _ in before.segments}
        new: dict[str, set[Any]] = {
            "ports": {*self.ports} - before.ports,
            "processes": {*self.processes} - before.processes,
            "folders": {*self.folders} - before.folders,
            # Others on this machine may make some, and use them.
            "segments": {one for one, users in self.segments if not users} - known,
        }
        return {name: sorted(found) for name, found in new.items() if found}


def _knows(pid: int, folder: str) -> bool:
    if pid == os.getpid():
        return False
    entry = Path(f"/proc/{pid}")
    try:
        told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        return folder.encode() in told or str((entry / "cwd").readlink()).startswith(folder)
    except OSError:
        # It is gone, or another user's, which a system of this user's never is.
        return False


def _segments() -> Iterator[tuple[str, int]]:
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        words = line.split()
        yield words[1], int(words[6])


@dataclass
class Row:
    """What came of one round, or of several together."""

    rounds: int = 0
    records: int = 0
    operations: int = 0
    errors: int = 0
    seconds: float = 0.0
    left: dict[str, list[Any]] = field(default_factory=dict)
    why: str = ""
    """Why it failed."""

    @property
    def is_well(self) -> bool:
        """Whether nothing failed and nothing was left over."""
        return not (self.why or self.errors or self.left)

    def plus(self, other: "Row") -> "Row":
        """Both together."""
        return Row(
            self.rounds + other.rounds,
            self.records + other.records,
            self.operations + other.operations,
            self.errors + other.errors,
            self.seconds + other.seconds,
            {**self.left, **other.left},
            self.why or other.why,
        )

    def __str__(self) -> str:
        left = ", ".join(f"{name} {found}" for name, found in self.left.items()) or "nothing"
        numbers = f"{self.records} | {self.operations} | {self.errors} | {self.seconds:.1f}"
        return f"{numbers} | {left} |" + (f" failed: {self.why}" if self.why else "")


class Round:
    """One life of one system."""

    def __init__(self, name: str, options: argparse.Namespace, leash: Leash) -> None:
        self._case = _case(name, options)
        self._is_store = name in STORES
        self._records, self._seconds = options.records, options.seconds
        self._leash, self._room = leash, leash.folder("asked")
        self.ports: frozenset[int] = frozenset()
        """Ports that its processes were seen to listen on."""
        self.row = Row(rounds=1)

    def live(self) -> None:
        """Brings the system through its life. Raises BenchlabError where something fails."""
        name, system = self._case.system_name, self._case.system
        kind = kind_of(name, system)
        if why := kind.missing(system):
            raise HostError(f"{name}: {why}")
        up = kind.start(name, system, Place(self._leash, self._leash.folder() / "system"))
        try:
            self._look(up)
            self._load(up)
            self._drive(up, self._seconds)
            self._look(up)
            if up.in_process:
                self._drive_and_kill(up)
            else:
                able = cast(Able, up)
                for member in up.roots:
                    able.kill(member)
                able.restart(*up.roots)
            self._look(up)
            if system.kind in FORGETFUL:
                self._load(up)
            self._count(up)
            self._drive(up, min(1.0, self._seconds))
            if why := up.died():
                raise HostError(f"{name} {why}; its log ends:\n{up.log_tail()}")
        finally:
            up.stop(GRACE_S)

    def _look(self, up: Instance) -> None:
        """Notes which ports are the system's."""
        for root in up.roots.values():
            for process in psutil.Process(root.pid).children(recursive=True):
                try:
                    found = process.net_connections("tcp")
                except psutil.Error:
                    # It has just ended: what is left of it is nobody's, or the kernel's own.
                    continue
                listening = (at for at in found if at.status == psutil.CONN_LISTEN)
                self.ports |= {at.laddr.port for at in listening}

    def _load(self, up: Instance) -> None:
        if self._is_store:
            self._ask(up, loading_plan(self._case, urls=up.urls, seed=1), "loaded")
        elif self._case.system.kind == "sphinx":
            write = sql(f"REPLACE INTO docs (id, title, body, number) VALUES {DOCUMENT}")
            write = write.model_copy(update={"for_each": "id"})
            ids = {"batch": {"start": 1, "length": AT_ONCE, "last": self._records}}
            asked = Asked((Transaction(name="load", operations=(write,)),), {"id": ids})
            rounds = -(-self._records // AT_ONCE)
            self._ask(up, errand(self._case, asked, rounds, up.urls), "loaded")
        else:
            return
        self._count(up)

    def _count(self, up: Instance) -> None:
        if self._is_store:
            self._ask(up, finding_plan(self._case, urls=up.urls, seed=1), "counted")
        elif self._case.system.kind == "sphinx":
            count = sql("SELECT COUNT(*) FROM docs", first=str(self._records))
            asked = Asked((Transaction(name="count", operations=(count,)),))
            self._ask(up, errand(self._case, asked, 1, up.urls), "counted")
        else:
            return
        self.row.records += self._records

    def _ask(self, up: Instance, plan: Mapping[str, Any] | None, what: str) -> None:
        room = self._room / f"{what}-{time.monotonic_ns()}"
        asker = Asker(self._case, up.urls, leash=self._leash, room=room, secrets=up.secrets)
        if plan is None or (why := asker.run(plan)):
            raise HostError(f"{self._case.system_name}: its records are not {what}: {why}")

    def _drive(self, up: Instance, seconds: float) -> None:
        measured = self._measured(up, seconds)
        totals = measured.totals()
        self.row.operations += totals["ok"]
        self.row.errors += totals["failed"] + totals["timed_out"] + totals["unknown"]
        if self.row.errors or not totals["ok"]:
            raise HostError(f"{self._case.system_name}: {measured.events('error')}")

    def _drive_and_kill(self, up: Instance) -> None:
        """Kills the agent, which an embedded system lives in, while it is asked."""
        agents: list[Process] = []
        try:
            self._measured(up, 600.0, agents)
        except EngineBug as error:
            if "by signal 9" not in str(error):
                raise
            return
        raise HostError(f"{self._case.system_name}: its agent was killed and lived on")

    def _measured(
        self, up: Instance, seconds: float, victims: list[Process] | None = None
    ) -> Measurement:
        load = self._case.load.model_copy(update={"duration": seconds})
        case = self._case.model_copy(update={"load": load})
        plan = make_plan(case, urls=up.urls, seed=1, session=0, block=0)
        folder = self._room / f"driven-{time.monotonic_ns()}"
        folder.mkdir()

        def on_progress(told: agent.Progress) -> None:
            for victim in victims or ():
                victim.send_signal(signal.SIGKILL)

        agent.run(
            plan,
            folder,
            leash=self._leash,
            secrets=up.secrets,
            on_started=(victims if victims is not None else []).append,
            on_progress=on_progress,
        )
        return Measurement.read(folder / agent.MEASUREMENT)


def _case(name: str, options: argparse.Namespace) -> Case:
    workload: dict[str, Any] = {"mix": PAGE}
    if name in STORES:
        workload = {
            "name": "records",
            "options": {"read": "50%", "update": "50%"},
            "data": {"records": options.records},
        }
    elif name == "sphinx":
        workload = {"mix": {"find": {"sql": FIND, "expect": {"rows": "15"}}}}
    load = {"clients": CLIENTS, "duration": f"{options.seconds}s", "warmup": 0}
    text = {"experiment": "soak", "systems": {name: SYSTEMS[name]}, "workload": workload}
    return open_mapping({**text, "load": load}).cases[0]


def soaked(name: str, options: argparse.Namespace, temporary: Path) -> Row:
    """One round, and what it left over."""
    before, began = World.now(temporary), time.monotonic()
    row, watched = Row(rounds=1), frozenset[int]()
    try:
        with Leash() as leash:
            one = Round(name, options, leash)
            row = one.row
            try:
                one.live()
            finally:
                watched = one.ports
    except BenchlabError as error:
        row.why = str(error)
    except Exception as error:
        # Whatever is wrong with one kind, the others are gone through.
        traceback.print_exc()
        row.why = repr(error)
    deadline = time.monotonic() + GONE_S
    while (left := World.now(temporary, watched).beyond(before)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return replace(row, seconds=time.monotonic() - began, left=left)


def soak(options: argparse.Namespace, temporary: Path) -> dict[str, Row]:
    """Prints a row for each kind and round; what came of each kind."""
    print("| kind | round | records | operations | errors | seconds | left over |")
    print("|---|---|---|---|---|---|---|", flush=True)
    total: dict[str, Row] = {}
    for name in options.only or SYSTEMS:
        total[name] = Row()
        for number in range(1, options.rounds + 1):
            row = soaked(name, options, temporary)
            print(f"| {name} | {number} | {row}", flush=True)
            total[name] = total[name].plus(row)
            if not row.is_well:
                break
    return total


def main() -> None:
    """Prints a row a round, and a table of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", action="append", choices=list(SYSTEMS), metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        # Servers that are not root's are to reach it, and whatever they start.
        Path(folder).chmod(0o755)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        total = soak(options, Path(folder))
    print("\n| kind | rounds | records counted | operations | errors | seconds | left over |")
    print("|---|---|---|---|---|---|---|")
    for name, row in total.items():
        print(f"| {name} | {row.rounds} | {row}")
    if not all(row.is_well for row in total.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
