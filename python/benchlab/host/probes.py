"""Probes: what processes and the host spent and held during a trial, ten times a second.

Figures are read from /proc directly through files that stay open; what costs more (tree membership,
clock frequency) is read once a second and at both ends, memory as often as that costs little, and
context switches of every thread at both ends alone. What a system counts of itself is asked beside
it, once a second too. Absent: what the figures mean.
"""

# Plain paths and descriptors cost half of what pathlib does, ten times a second.
# ruff: noqa: PTH123, PTH208

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import polars

from benchlab.host import watchdog
from benchlab.host.cgroups import Cgroup
from benchlab.host.counters import Counters, Source
from benchlab.host.samples import Figures, Keep, Meaning, Samples

PERIOD_S = 0.1
SLOW_EVERY = 10
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_FREQUENCY = "/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq"

STOP_S = 3.0
"""How long a system's last answer about its counters is waited for."""
UNITS = {"_s": "s", "_bytes": "B", "_hz": "Hz", "_ns": "ns"}
GAUGES = {"resident_bytes", "memory_bytes", "threads", "processes", "frequency_hz"}
GAUGES |= {"wall_minus_monotonic_ns"}
MEMORY_SHARE = 0.003
"""Of a core, that reading what all processes hold may cost: their pages are walked for it."""


@cache
def _meaning(counter: str) -> Meaning:
    unit = next((unit for ending, unit in UNITS.items() if counter.endswith(ending)), "")
    return Meaning("gauge" if counter in GAUGES else "counter", unit)


class _Files:
    """Files of /proc that stay open; one that vanishes reads as None."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def read(self, path: str) -> bytes | None:
        number = self._open.get(path)
        try:
            if number is None:
                number = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(number, 1 << 16, 0)
        except OSError:
            self.forget(path)
            return None

    def forget(self, path: str) -> None:
        number = self._open.pop(path, None)
        if number is not None:
            os.close(number)

    def close(self) -> None:
        for number in self._open.values():
            os.close(number)
        self._open.clear()


@dataclass(frozen=True)
class Root:
    """Where a tree of processes begins.

    A keeper (`Process.keeper`) counts for what its children have spent, not for itself. A container
    is all of its group, whoever started the processes.
    """

    pid: int
    is_keeper: bool = False
    cgroup: Cgroup | None = None

    def members(self) -> list[int]:
        """Process ids of all that belong to it, the keeper too."""
        if self.cgroup is not None:
            return self.cgroup.members()
        return [self.pid, *watchdog.descendants(self.pid)]


@dataclass
class _Tree:
    """A process and all below it, summed.

    CPU time and I/O of children that have ended are in their parents' counters, so the sums go on.
    A sum never falls: what a vanished process had counted by itself alone is kept, and what is
    started again in its place counts on.
    """

    root: Root
    pids: list[int] = field(default_factory=list)
    ended: tuple[int, int] = (0, 0)
    """Ticks in user mode and in the kernel that children of the keeper had spent at their end."""
    highest: dict[str, float] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    """Where /proc tells of their threads."""
    before: dict[str, float] = field(default_factory=dict)
    """What the trees had counted whose place this one has taken."""

    def follow(self, root: Root) -> None:
        """Goes on with another tree in place of one that has ended."""
        if root != self.root:
            self.root, self.pids, self.ended = root, [], (0, 0)
            self.before = dict(self.highest)

    def sample(self, files: _Files, slow: bool) -> dict[str, float]:
        slow = slow or not self.pids
        if slow:
            fresh = self.root.members()
            for gone in set(self.pids) - set(fresh):
                for name in ("stat", "io"):
                    files.forget(f"/proc/{gone}/{name}")
            self.pids = fresh
        user = system = resident = threads = processes = read = written = 0
        is_told = is_whole = True
        for pid in self.pids:
            if self.root.is_keeper and pid == self.root.pid:
                continue
            stat = files.read(f"/proc/{pid}/stat")
            if stat is None:
                is_whole = False
                continue
            # Fields from the state on, after the name in brackets, which may hold blanks.
            values = stat.rpartition(b")")[2].split(None, 22)
            user += int(values[11]) + int(values[13])
            system += int(values[12]) + int(values[14])
            if values[0] in b"ZX":
                continue
            threads += int(values[17])
            resident += int(values[21])
            processes += 1
            # Another user's are not ours to read; the sum would then be of some of them.
            io = files.read(f"/proc/{pid}/io")
            if io:
                lines = io.split()
                read += int(lines[9])
                written += int(lines[11])
            else:
                is_told = False
        if self.root.is_keeper and (slow or not is_whole):
            self._take_over(files)
        spent = (user + self.ended[0]) / _TICK, (system + self.ended[1]) / _TICK
        if (group := self.root.cgroup) is not None:
            # It has counted those too that have ended, whoever waited for them.
            spent = group.spent_s(files.read(group.cpu) or b"")
        sums = {"cpu_user_s": spent[0], "cpu_system_s": spent[1]}
        if is_told:
            sums |= {"read_bytes": float(read), "written_bytes": float(written)}
        sums = self._grown(sums)
        sums |= {"resident_bytes": resident * _PAGE, "threads": threads, "processes": processes}
        return sums

    def _grown(self, sums: dict[str, float]) -> dict[str, float]:
        """Counters with what those before them had counted, and never lower than they were."""
        for name, value in sums.items():
            counted = self.before.get(name, 0.0) + value
            sums[name] = self.highest[name] = max(counted, self.highest.get(name, 0.0))
        return sums

    def _take_over(self, files: _Files) -> None:
        """Takes in what children of the keeper had spent that have ended: they are rare."""
        if stat := files.read(f"/proc/{self.root.pid}/stat"):
            values = stat.rpartition(b")")[2].split(None, 15)
            self.ended = int(values[13]), int(values[14])

    def memory(self) -> float | None:
        """What the processes hold together, each page that several map divided among these.

        None where one of them is not ours to look into.
        """
        total = 0
        for pid in self.pids:
            if self.root.is_keeper and pid == self.root.pid:
                continue
            try:
                with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                    told = file.read().partition(b"\nPss:")[2]
            except (FileNotFoundError, ProcessLookupError):
                # It has ended meanwhile.
                continue
            except OSError:
                return None
            total += int(told.split(maxsplit=1)[0]) * 1024 if told else 0
        return float(total)

    def waited(self, files: _Files, slow: bool) -> dict[str, float]:
        """How long all their threads were ready to run and waited for a core (run delay).

        Empty where the kernel does not tell.
        """
        if slow or not self.tasks:
            fresh = []
            for tasks in (f"/proc/{pid}/task" for pid in self.pids):
                with contextlib.suppress(OSError):
                    fresh += [f"{tasks}/{task}" for task in os.listdir(tasks)]
            for gone in set(self.tasks) - set(fresh):
                files.forget(f"{gone}/schedstat")
            self.tasks = fresh
        told = [files.read(f"{task}/schedstat") for task in self.tasks]
        known = [int(text.split(None, 2)[1]) for text in told if text]
        return self._grown({"waited_s": sum(known) / 1e9}) if known else {}

    def switches(self, files: _Files) -> dict[str, float]:
        """How often all their threads gave way, by themselves or not."""
        voluntary = involuntary = 0
        for pid in self.pids:
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    path = f"/proc/{pid}/task/{task}/status"
                    text = files.read(path)
                    files.forget(path)
                    if text:
                        last = text.rsplit(b"\n", 3)
                        voluntary += int(last[1].split()[1])
                        involuntary += int(last[2].split()[1])
        return self._grown(
            {"voluntary_switches": float(voluntary), "involuntary_switches": float(involuntary)}
        )


Roots = Mapping[str, Root]
"""Of a source, by the names of its members; one that has none has the empty name."""


@dataclass
class _Source:
    """The trees of a source's members, and their sum."""

    roots: Callable[[], Roots]
    is_seldom: bool = False
    """Whether it is looked at once a second alone, and never at its memory and threads."""
    is_timed: bool = False
    """Whether it counts how long its threads wait for a core, as who keeps time for all must."""
    trees: dict[str, _Tree] = field(default_factory=dict)
    walked_s: float = 0.0
    """CPU time it has cost to read what they hold, the last time."""

    def sample(self, files: _Files, slow: bool, walks: bool, is_edge: bool) -> Figures:
        """What its processes have spent and hold; memory where it `walks`, or for the first time.

        What each of their threads tells is read at both ends alone."""
        if self.is_seldom and not slow:
            return {}
        is_edge = (is_edge or not self.trees) and not self.is_seldom
        walks = walks and not self.is_seldom
        if slow or not self.trees:
            for member, root in self.roots().items():
                self.trees.setdefault(member, _Tree(root)).follow(root)
        seen = {member: tree.sample(files, slow) for member, tree in self.trees.items()}
        if self.is_timed:
            for member, tree in self.trees.items():
                seen[member] |= tree.waited(files, slow)
        self.walked_s = 0.0
        for member, tree in self.trees.items():
            if is_edge:
                seen[member] |= tree.switches(files)
            if is_edge or walks:
                began = time.thread_time()
                if (memory := tree.memory()) is not None:
                    seen[member]["memory_bytes"] = memory
                self.walked_s += time.thread_time() - began
        found = {(who, name): x for who, told in seen.items() for name, x in told.items() if who}
        # A sum over some of the members would fall and rise with those that tell.
        for name in set.intersection(*map(set, seen.values())) if seen else ():
            found["", name] = sum(told[name] for told in seen.values())
        return found


def _host(files: _Files, slow: bool) -> Figures:
    found: dict[tuple[str, str], float] = {}
    for line in (files.read("/proc/stat") or b"").splitlines():
        if not line.startswith(b"cpu"):
            break
        name, *ticks = line.split()
        if name != b"cpu":
            user, nice, system, idle, wait, irq, soft, steal = (int(tick) for tick in ticks[:8])
            core = name[3:].decode()
            found[core, "busy_s"] = (user + nice + system + irq + soft) / _TICK
            found[core, "idle_s"] = (idle + wait) / _TICK
            found[core, "steal_s"] = steal / _TICK
            if slow and (khz := files.read(_FREQUENCY.format(core=core))):
                found[core, "frequency_hz"] = float(khz) * 1e3
    for what in ("cpu", "io", "memory"):
        if text := files.read(f"/proc/pressure/{what}"):
            total = text.partition(b"total=")[2].split()[0]
            found["", f"{what}_pressure_s"] = int(total) / 1e6
    text = files.read("/proc/vmstat") or b""
    for counter, key in (("swap_in_pages", b"\npswpin "), ("swap_out_pages", b"\npswpout ")):
        if key in text:
            found["", counter] = float(text.partition(key)[2].split(maxsplit=1)[0])
    found["", "wall_minus_monotonic_ns"] = float(time.time_ns() - time.monotonic_ns())
    return found


def _nothing() -> Sequence[Source]:
    return ()


class Probes:
    """A thread that samples until it is stopped, and one for each server that tells its counters.

    Args:
        sources: By its name (`system`, `agent`) where the processes of a source are. The host is
            sampled always.
        asked: Which servers tell their counters. Both are asked again each second, since members
            come and go.
        keep: Where rows are put every second, so that they survive the lab.
        seldom: Further sources, of which once a second is enough.
    """

    def __init__(
        self,
        sources: Mapping[str, Callable[[], Roots]],
        asked: Callable[[], Sequence[Source]] = _nothing,
        keep: Keep | None = None,
        seldom: Mapping[str, Callable[[], Roots]] = MappingProxyType({}),
    ) -> None:
        self._sources = {source: _Source(roots) for source, roots in sources.items()}
        self._sources |= {source: _Source(roots, True) for source, roots in seldom.items()}
        self._files = _Files()
        self._samples, self._keep, self._asked = Samples(), keep, asked
        self._counters: dict[tuple[str, str], Counters] = {}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="probes", daemon=True)
        self._due_s = 0.0
        """When memory may be read again."""
        self._error: Exception | None = None
        self.samples = 0
        self.cpu_s = 0.0
        """CPU time the sampling of processes and host has cost."""

    @property
    def counters(self) -> Sequence[Counters]:
        """Those that tell their counters, or should."""
        return tuple(self._counters.values())

    def start(self) -> None:
        """Takes the first sample and goes on in threads."""
        self._sample(slow=True, is_edge=True)
        self._thread.start()

    def watch(self, source: str, root: Root) -> None:
        """Samples the tree of the load generator, or of another who keeps time, from now on."""
        with self._lock:
            self._sources[source] = _Source(lambda: {"": root}, is_timed=True)

    def stop(self) -> polars.DataFrame:
        """Takes the last sample and returns all of them, long and tidy.

        Raises what ended the sampling early, if anything did.
        """
        self._stop.set()
        self._thread.join()
        deadline = time.monotonic() + STOP_S
        for each in self.counters:
            each.stop(max(0.0, deadline - time.monotonic()))
        if self._error is not None:
            raise self._error
        self._sample(slow=True, is_edge=True)
        self._files.close()
        return self._samples.all()

    def _run(self) -> None:
        due = time.monotonic()
        turn = 0
        while True:
            due += PERIOD_S
            if self._stop.wait(max(0.0, due - time.monotonic())):
                break
            # One late by more than a period starts the beat anew rather than hurry after it.
            due = max(due, time.monotonic() - PERIOD_S)
            turn += 1
            try:
                self._sample(slow=turn % SLOW_EVERY == 0)
            except Exception as error:
                # A thread has nobody to tell; who stops it does.
                self._error = error
                break

    def _sample(self, slow: bool, is_edge: bool = False) -> None:
        began = time.thread_time()
        with self._lock:
            sources = dict(self._sources)
        walks = slow and time.monotonic() >= self._due_s
        before = time.monotonic_ns()
        self._add("host", before, _host(self._files, slow))
        for name, source in sources.items():
            before = time.monotonic_ns()
            self._add(name, before, source.sample(self._files, slow, walks, is_edge))
        if walked_s := sum(source.walked_s for source in sources.values()):
            self._due_s = time.monotonic() + walked_s / MEMORY_SHARE
        self.samples += 1
        if slow:
            self._samples.pack(self._keep)
            if not self._stop.is_set():
                self._ask_all()
        self.cpu_s += time.thread_time() - began

    def _add(self, source: str, before_ns: int, figures: Figures) -> None:
        self._samples.add((before_ns, time.monotonic_ns()), source, figures, _meaning)

    def _ask_all(self) -> None:
        """Begins to ask servers that are new, and no longer asks those that were taken away."""
        there = {(source.kind, source.member): source for source in self._asked()}
        for key in self._counters.keys() - there.keys():
            self._counters.pop(key).stop(0.0)
        for key in there.keys() - self._counters.keys():
            self._counters[key] = Counters(there[key], self._samples)
            self._counters[key].start()
