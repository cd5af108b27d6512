"""Is this machine fit to measure on? Findings, each with what it costs and what would mend it.

Absent: how findings are shown, and how much this machine's figures scatter, which only trials tell.
"""

import os
import resource
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from benchlab.host import cores, fingerprint, leftovers

LOOK_S = 10.0
BUSY_SHARE = 0.05
NAMED = 5
STEAL_SHARE = 0.02
FILES = 4096
BACKLOG = 1024
EPHEMERAL = 16_000
READS = 1000
FAST_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
Verdict = Literal["fit", "mind", "unfit", "unknown"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    verdict: Verdict
    figure: str
    costs: str = ""
    """What it does to a figure; empty where it is fit."""
    mend: str = ""
    """The command, or the deed, that mends it."""

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


@dataclass(frozen=True)
class Look:
    """What a short look at the machine saw: shares of all cores' time."""

    busy: float
    steal: float
    greedy: tuple[tuple[str, int, float], ...]
    """Name, process and cores used of those that used a twentieth of a core."""
    seconds: float = LOOK_S


def look(seconds: float = LOOK_S, wait: Callable[[float], None] = time.sleep) -> Look:
    """Watches the machine for a moment."""
    before = psutil.cpu_times()
    spent = {process.pid: _cpu_s(process) for process in psutil.process_iter()}
    began = time.monotonic()
    wait(seconds)
    elapsed = max(time.monotonic() - began, 1e-3)
    after = psutil.cpu_times()
    own = {os.getpid(), *leftovers.marked()}
    # Those that began meanwhile have used all of theirs meanwhile.
    used = [
        (str(process.info["name"]), process.pid, (_cpu_s(process) - spent.get(process.pid, 0.0)))
        for process in psutil.process_iter(["name"])
        if process.pid not in own
    ]
    whole = max(sum(after) - sum(before), 1e-9)
    steal = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    waiting = after.idle + getattr(after, "iowait", 0.0) - before.idle
    waiting -= getattr(before, "iowait", 0.0)
    shares = [(name, pid, cpu_s / elapsed) for name, pid, cpu_s in used]
    greedy = sorted((row for row in shares if row[2] >= BUSY_SHARE), key=lambda row: -row[2])
    busy = min(1.0, max(0.0, 1 - (waiting + steal) / whole))
    return Look(busy, steal / whole, tuple(greedy), elapsed)


def findings(seen: Look | None) -> tuple[Finding, ...]:
    """Everything looked at, in the order a reader would mend it.

    Args:
        seen: What a `look` saw; None where nobody looked, so that what it would tell is unknown.
    """
    return (
        _cores(len(cores.available()), len(cores.physical(cores.available()))),
        *((_busy(seen), _steal(seen)) if seen else map(_unseen, ("other work", "steal"))),
        _governor(fingerprint.governor()),
        _boost(_text("/sys/devices/system/cpu/cpufreq/boost").strip()),
        _swap(psutil.swap_memory().used),
        _memory(psutil.virtual_memory().available),
        _files(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        _backlog(_number("/proc/sys/net/core/somaxconn")),
        _ports(_text("/proc/sys/net/ipv4/ip_local_port_range")),
        _clock(fingerprint.clocksource(), read_ns()),
        _others(leftovers.marked()),
        _left(leftovers.find()),
    )


def read_ns() -> float:
    """What reading the time costs, in nanoseconds: the least of several goes, Python included."""
    least = float("inf")
    for _ in range(5):
        began = time.perf_counter_ns()
        for _ in range(READS):
            time.monotonic_ns()
        least = min(least, (time.perf_counter_ns() - began) / READS)
    return least


def _unseen(name: str) -> Finding:
    return Finding(name, "unknown", "nobody looked: leave out --quick")


def _cores(logical: int, physical: int) -> Finding:
    figure = f"{logical} logical, {physical} physical"
    if logical == 1:
        return Finding(
            "cores",
            "unfit",
            figure,
            "load and system share the one core: every figure is of both together",
            "measure on a machine with at least two cores",
        )
    if physical == 1 or logical == 2:
        return Finding(
            "cores",
            "mind",
            figure,
            "one core for the agent, one for all members of the system",
            "four cores or more for systems that use several",
        )
    return Finding("cores", "fit", figure)


def _busy(seen: Look) -> Finding:
    figure = f"{seen.busy:.0%} of all cores in {seen.seconds:.0f} s"
    if seen.busy <= BUSY_SHARE:
        return Finding("other work", "fit", figure)
    names = ", ".join(
        f"{name} ({pid}): {used:.0%} of a core" for name, pid, used in seen.greedy[:NAMED]
    )
    mend = f"end what is not needed: {names}" if names else "see what runs: top"
    costs = f"up to {seen.busy:.0%} of the machine is others': rates that much lower, and uneven"
    return Finding("other work", "mind", figure, costs, mend)


def _steal(seen: Look) -> Finding:
    figure = f"{seen.steal:.1%} stolen"
    if seen.steal <= STEAL_SHARE:
        return Finding("steal", "fit", figure)
    costs = f"the hypervisor gives {seen.steal:.1%} of the cores to others: trials will be invalid"
    return Finding("steal", "unfit", figure, costs, "a dedicated machine, or `allow: {steal: …}`")


def _governor(governor: str | None) -> Finding:
    if governor is None:
        return Finding("governor", "unknown", "the machine does not tell")
    if governor == "performance":
        return Finding("governor", "fit", governor)
    costs = "cores slow down when idle, often to a third: low rates look that much slower"
    return Finding("governor", "mind", governor, costs, "cpupower frequency-set -g performance")


def _boost(switch: str) -> Finding:
    if switch not in ("0", "1"):
        return Finding("boost", "unknown", "the machine does not tell")
    if switch == "0":
        return Finding("boost", "fit", "off")
    costs = "cores run faster while they are cool: the first trials by some per cent, up to 30"
    mend = "echo 0 > /sys/devices/system/cpu/cpufreq/boost"
    return Finding("boost", "mind", "on", costs, mend)


def _swap(used: int) -> Finding:
    figure = f"{used >> 20} MiB in use"
    if used < 64 << 20:
        return Finding("swap", "fit", figure)
    costs = "a page fetched back costs 0.1 to 10 ms, and makes its trial invalid"
    return Finding("swap", "mind", figure, costs, "swapoff -a && swapon -a")


def _memory(available: int) -> Finding:
    figure = f"{available >> 20} MiB available"
    if available > 1 << 30:
        return Finding("memory", "fit", figure)
    costs = "systems may not fit side by side and are then started one at a time"
    return Finding("memory", "mind", figure, costs, "end what holds memory: ps aux --sort=-rss")


def _files(limit: int) -> Finding:
    figure = "no limit" if limit == resource.RLIM_INFINITY else str(limit)
    if limit == resource.RLIM_INFINITY or limit >= FILES:
        return Finding("open files", "fit", figure)
    costs = f"fewer than {limit} connections can be held"
    return Finding("open files", "mind", figure, costs, f"ulimit -n {FILES * 16}")


def _backlog(limit: int | None) -> Finding:
    if limit is None:
        return Finding("listen backlog", "unknown", "the machine does not tell")
    if limit >= BACKLOG:
        return Finding("listen backlog", "fit", str(limit))
    costs = f"more than {limit} clients connecting at once wait a second for a second try"
    mend = f"sysctl -w net.core.somaxconn={BACKLOG * 4}"
    return Finding("listen backlog", "mind", str(limit), costs, mend)


def _ports(text: str) -> Finding:
    parts = text.split()
    if len(parts) != 2:
        return Finding("outgoing ports", "unknown", "the machine does not tell")
    count = int(parts[1]) - int(parts[0]) + 1
    if count >= EPHEMERAL:
        return Finding("outgoing ports", "fit", str(count))
    costs = "a load with `connection: new` runs out of ports"
    mend = 'sysctl -w net.ipv4.ip_local_port_range="32768 60999"'
    return Finding("outgoing ports", "mind", str(count), costs, mend)


def _clock(source: str | None, cost_ns: float) -> Finding:
    if source is None:
        return Finding("clock", "unknown", "the machine does not tell")
    figure = f"{source}, read in {cost_ns:.0f} ns"
    if source in FAST_CLOCKS:
        return Finding("clock", "fit", figure)
    costs = f"reading the time is a system call: the agent pays {cost_ns:.0f} ns twice a request"
    mend = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Finding("clock", "mind", figure, costs, mend)


def _others(pids: Iterable[int]) -> Finding:
    found = sorted(pids)
    if not found:
        return Finding("other runs", "fit", "none")
    costs = "another benchlab is at work here, and both measure each other"
    mend = f"wait for it; its processes: {' '.join(map(str, found))}"
    return Finding("other runs", "mind", f"{len(found)} processes", costs, mend)


def _left(found: Sequence[leftovers.Left]) -> Finding:
    if not found:
        return Finding("left behind", "fit", "nothing")
    costs = "what a lab left in an outage takes room, and its servers work on"
    mend = f"the next run takes it away: {', '.join(map(str, found))}"
    return Finding("left behind", "mind", f"by {len(found)} labs", costs, mend)


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None
