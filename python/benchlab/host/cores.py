"""Which cores load and system run on: apart where the machine has more than one.

Absent: pinning itself, which is done as a process is started (`processes`).
"""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from benchlab.model.errors import InputError
from benchlab.model.records import CpuSets

AGENT_SHARE = 4
"""One core in so many is the agent's: generating a request costs less than answering it."""


def available() -> tuple[int, ...]:
    """Cores this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def physical(cores: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The given logical cores grouped by the physical core they share."""
    groups: dict[str, list[int]] = {}
    for core in cores:
        path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        shared = path.read_text().strip() if path.exists() else str(core)
        groups.setdefault(shared, []).append(core)
    return tuple(tuple(group) for group in groups.values())


def divide(placement: str, cores: Sequence[int] | None = None) -> CpuSets:
    """Cores for agent and system by a system's `placement`.

    `own`: whole physical cores apart, the last quarter (at least one) the agent's, the others all
    members' of the system; on a single core both share it. `shared`: nobody is pinned. A list such
    as `0-2,5`: these are the system's and the agent gets the others. Raises InputError for a core
    that is not there.
    """
    have = tuple(available() if cores is None else cores)
    if placement == "shared":
        return CpuSets(shared=True)
    if placement != "own":
        system = parse(placement)
        if missing := sorted(set(system) - set(have)):
            raise InputError(
                f"no core {missing[0]} here; there are {', '.join(map(str, have))}",
                key="placement",
            )
        agent = tuple(core for core in have if core not in system)
        return CpuSets(agent=agent or have, system=system, shared=not agent)
    groups = physical(have)
    if len(groups) == 1:
        groups = tuple((core,) for core in have)
    if len(groups) == 1:
        return CpuSets(agent=have, system=have, shared=True)
    count = max(1, len(groups) // AGENT_SHARE)
    split = len(groups) - count
    return CpuSets(
        agent=tuple(core for group in groups[split:] for core in group),
        system=tuple(core for group in groups[:split] for core in group),
    )


def deal(cores: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Whole physical cores for each of so many; where they are too few, all of them for each."""
    groups = physical(cores)
    if len(groups) < count:
        return [tuple(cores)] * count
    each, more = divmod(len(groups), count)
    ends = [number * each + min(number, more) for number in range(count + 1)]
    pairs = itertools.pairwise(ends)
    return [tuple(core for group in groups[low:high] for core in group) for low, high in pairs]


def parse(text: str) -> tuple[int, ...]:
    """Reads a list of cores: `0-2,5`. Raises InputError when it is none."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            raise InputError(
                f"`{text}` is neither own, shared nor a list of cores such as 0-2,5",
                key="placement",
            )
        found.update(range(int(low), int(high or low) + 1))
    return tuple(sorted(found))
