"""Systems that stand on one another in one entry of the file: a balancer before web servers, these
before a database.

What stands behind is started first and stopped last; a front is told where it is. The driver talks
to the front of all. Each part keeps its own processes, log and cores, where there are enough of
those; members are called by their part: `web.2`. Absent: what any one part is.
"""

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from benchlab.host import cores
from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Command, System
from benchlab.systems.behind import Behind, checked, through
from benchlab.systems.members import TAIL_LINES, ServerKind
from benchlab.systems.protocol import Ability, Able, Instance, Kind, Place

Lookup = Callable[[str, System], Kind]
"""The kind of one part by its name, for messages, and what the file says of it."""


@dataclass
class Topology:
    """Systems that are up, the one in front last."""

    parts: dict[str, Instance] = field(default_factory=dict)
    addresses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """URLs of the parts as whoever stands before them sees them."""
    stores: tuple[str, ...] = ()
    """Parts that nothing stands behind and that pass nothing on: they hold what data there are."""

    in_process = False

    @property
    def urls(self) -> tuple[str, ...]:
        """Of the front."""
        return self.addresses[next(reversed(self.parts))]

    @property
    def secrets(self) -> Mapping[str, str]:
        """Of all parts, since the front may pass them on."""
        return {name: value for part in self.parts.values() for name, value in part.secrets.items()}

    @property
    def is_pinned(self) -> bool:
        """Whether all parts are."""
        return all(part.is_pinned for part in self.parts.values())

    @property
    def roots(self) -> Mapping[str, Root]:
        """Of all members of all parts."""
        found = {}
        for name, part in list(self.parts.items()):
            for member, root in part.roots.items():
                found[f"{name}.{member}" if member else name] = root
        return found

    @property
    def counters(self) -> Sequence[Source]:
        """What all members of all parts count of themselves."""
        return [
            replace(source, member=f"{name}.{source.member}" if source.member else name)
            for name, part in list(self.parts.items())
            for source in part.counters
        ]

    @property
    def abilities(self) -> frozenset[Ability]:
        """What can be done to members of some part; adding names none, so one part alone can."""
        able = Counter(ability for part in self.parts.values() for ability in part.abilities)
        return frozenset(ability for ability in able if able[ability] == 1 or ability != "add")

    def died(self) -> str | None:
        """The first part that is gone though nobody ended it, and how it ended."""
        for name, part in self.parts.items():
            if why := part.died():
                return f"{name}: {why}"
        return None

    def keep(self, snapshot: Path) -> bool:
        """Copies what the stores hold; false where there are none or one of them cannot."""
        if not self.stores:
            return False
        kept = all(self.parts[name].keep(snapshot / name) for name in self.stores)
        if not kept:
            shutil.rmtree(snapshot, ignore_errors=True)
        self._fronts_again()
        return kept

    def restore(self, snapshot: Path) -> None:
        """Puts what the stores held back."""
        for name in self.stores:
            self.parts[name].restore(snapshot / name)
        self._fronts_again()

    def run(self, command: Command) -> None:
        """Runs a command beside the front."""
        self._front.run(command)

    def stop(self, grace_s: float) -> None:
        """Takes all parts away, the front first."""
        errors = []
        for part in reversed(self.parts.values()):
            try:
                part.stop(grace_s)
            except HostError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def log_tail(self) -> str:
        """The last lines of each part, each with the part's name."""
        share = TAIL_LINES // len(self.parts)
        said = []
        for name, part in self.parts.items():
            said += [f"{name}: {line}" for line in part.log_tail().splitlines()[-share:]]
        return "\n".join(said)

    def kill(self, member: str) -> None:
        """Ends a member at once, as an outage would."""
        part, inner = self._able(member, "kill")
        part.kill(inner)

    def pause(self, member: str) -> None:
        """Holds a member still."""
        part, inner = self._able(member, "pause")
        part.pause(inner)

    def resume(self, member: str) -> None:
        """Has a member go on after a pause."""
        part, inner = self._able(member, "pause")
        part.resume(inner)

    def restart(self, *members: str) -> None:
        """Starts members again with their data, those behind others first."""
        found = [self._able(member, "restart") for member in members]
        for part in self.parts.values():
            if inner := [name for able, name in found if able is part]:
                cast(Able, part).restart(*inner)

    def add(self) -> str:
        """Makes one more member of the part that can grow. Returns its name."""
        if "add" not in self.abilities:
            raise HostError("there is no one part that can be given another member")
        ((name, part),) = self._parts("add")
        return f"{name}.{part.add()}"

    def remove(self, member: str) -> None:
        """Takes a member away in order, for good."""
        part, inner = self._able(member, "remove")
        part.remove(inner)

    def primaries(self) -> tuple[str, ...]:
        """The members that take writes now, of those parts whose members differ in that."""
        parts = self._parts("primaries")
        return tuple(f"{name}.{member}" for name, part in parts for member in part.primaries())

    @property
    def _front(self) -> Instance:
        return next(reversed(self.parts.values()))

    def _able(self, member: str, ability: Ability) -> tuple[Able, str]:
        if member not in self.roots:
            raise HostError(f"there is no member {member}; there are {', '.join(self.roots)}")
        name, _, inner = (member, "", "") if member in self.parts else member.rpartition(".")
        part = self.parts[name]
        if ability not in part.abilities:
            raise HostError(f"{member}: nothing of this kind can {ability}")
        return cast(Able, part), inner

    def _parts(self, ability: Ability) -> list[tuple[str, Able]]:
        able = ((name, part) for name, part in self.parts.items() if ability in part.abilities)
        return [(name, cast(Able, part)) for name, part in able]

    def _fronts_again(self) -> None:
        """Starts what passes requests on again, so that it knows what is behind it to be up."""
        for name, part in self.parts.items():
            if name not in self.stores and "restart" in part.abilities:
                cast(Able, part).restart(*part.roots)


@dataclass(frozen=True)
class TopologyKind:
    """The kind of a system that others stand behind."""

    name: str
    """Of the one in front."""
    lookup: Lookup

    summary = "a system that others stand behind"
    keys = frozenset[str]()

    def missing(self, system: System) -> str | None:
        """What the first part lacks that lacks anything."""
        for name, part in in_order(self.name, system):
            if why := self.lookup(name, part).missing(part):
                return why
        return None

    def start(self, name: str, system: System, place: Place) -> Topology:
        """Starts all parts, those behind first; the front has answered rightly when this returns.

        Raises HostError when one does not come up, StoppedError where the lab is asked to stop;
        nothing is left then.
        """
        order = list(in_order(name, system))
        made = Topology(stores=tuple(part for part, one in order if self._holds(part, one)))
        try:
            for (part, one), cpus in zip(order, cores.deal(place.cpus, len(order)), strict=True):
                behind = {inner: made.addresses[inner] for inner in one.before}
                there = replace(place, folder=place.folder / part, cpus=cpus, behind=behind)
                made.parts[part] = up = self.lookup(part, one).start(part, one, there)
                made.addresses[part] = tuple(through(url, behind) for url in up.urls)
        except BaseException:
            with contextlib.suppress(HostError):
                made.stop(0.0)
            raise
        return made

    def expected_urls(self, system: System) -> tuple[str, ...]:
        """The front's, in the words of what stands behind it.

        Raises InputError where a front cannot pass on to what stands behind it.
        """
        return self._expected(self.name, system, f"systems.{self.name}")

    def describe(self, system: System) -> dict[str, Any]:
        """Each part's versions and settings, the front's last."""
        order = in_order(self.name, system)
        return {"parts": {name: self.lookup(name, part).describe(part) for name, part in order}}

    def _expected(self, name: str, system: System, key: str) -> tuple[str, ...]:
        behind: Behind = {
            inner: self._expected(inner, one, f"{key}.before.{inner}")
            for inner, one in system.before.items()
        }
        kind = self.lookup(name, system)
        urls = kind.expected_urls(system)
        if not behind:
            return checked(urls, key)
        if isinstance(kind, ServerKind) and kind.passes:
            schemes = {url.partition(":")[0] for urls in behind.values() for url in urls}
            if len(behind) != 1 or not schemes <= set(kind.passes):
                listed = ", ".join(f"{scheme}:" for scheme in kind.passes)
                what = f"one system that speaks one of {listed} stands behind a {system.kind}"
                raise InputError(what, key=f"{key}.before")
        return tuple(through(url, behind) for url in urls)

    def _holds(self, name: str, system: System) -> bool:
        return not system.before and "before" not in self.lookup(name, system).keys


def in_order(name: str, system: System) -> Iterator[tuple[str, System]]:
    """All parts by their names, each behind those that it stands before."""
    for inner, one in system.before.items():
        yield from in_order(inner, one)
    yield name, system
