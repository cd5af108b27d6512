"""Systems of one server or several: members that are made, joined, ended and put back together.

A module of a kind says what its members are called (`ServerKind.members`: one alone unless it says
otherwise), gives each its recipe (`recipe`, which sees the others as `Bed.peers`), and, where they
belong together, how they are joined (`join`), which of them the driver asks (`asked`) and which of
them take writes (`primaries`). All else is here, the same for all. Absent: what any one server is.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.host import ports, programs
from benchlab.host.counters import Source
from benchlab.host.probes import Root
from benchlab.model.errors import HostError
from benchlab.model.experiment import Command, System
from benchlab.model.secrets import MENTION, PASSWORD
from benchlab.systems.counters import Counting
from benchlab.systems.door import Door
from benchlab.systems.protocol import Ability, Place
from benchlab.systems.reach import NotReadyError
from benchlab.systems.server import Bed, Recipe, Server, wait_for

OWN = frozenset({"settings", "files", "environment", "program", "version"})
"""Keys of the experiment file that every kind here takes beside those of every system."""
TAIL_LINES = 40
"""Of all members together."""


class Members:
    """The servers of one system, by the names of its members; one alone has the empty name."""

    in_process = False

    def __init__(self, name: str, kind: "ServerKind", system: System, place: Place) -> None:
        self.name, self._kind, self._system, self._place = name, kind, system, place
        self.is_pinned = bool(place.cpus)
        found = kind.needed(system).items()
        self._paths = {name: program.path for name, program in found if program.path}
        self.secrets: Mapping[str, str] = {PASSWORD: place.password}
        self._beds: list[Bed] = []
        self.members: dict[str, Server] = {}
        names = kind.members(system)
        # All beds first: a recipe may name the ports of members that start later.
        self._beds.extend(self._bed(member) for member in names)
        for bed in self._beds:
            self._member(bed)

    @property
    def urls(self) -> tuple[str, ...]:
        """Of the members that the driver asks."""
        return self._kind.urls(self._system, self._beds)

    @property
    def roots(self) -> Mapping[str, Root]:
        """The keeper of each member that was started."""
        found = {name: member.root for name, member in list(self.members.items())}
        return {name: root for name, root in found.items() if root is not None}

    @property
    def counters(self) -> Sequence[Source]:
        """What each member counts of itself, where its kind is known to."""
        counting, password = self._kind.counters, self._place.password
        if counting is None:
            return ()
        url = (counting.at or self._kind.template(self._system)).replace(MENTION, password)
        kind, beds = self._system.kind, list(self._beds)
        return [counting.source(kind, Door(bed.filled(url)), bed.name) for bed in beds]

    @property
    def abilities(self) -> frozenset[Ability]:
        """Of any server that it can be killed, paused and restarted; the rest is its kind's."""
        able: set[Ability] = {"kill", "pause", "restart"}
        if self._kind.primaries is not None and len(self.members) > 1:
            able.add("primaries")
        if self._kind.grows is not None and len(self.members) > 1:
            able |= {"add", "remove"}
        return frozenset(able)

    def start(self) -> None:
        """Makes each member and starts it, in order; then joins them."""
        for member in self.members.values():
            member.make()
            self._up(member)
        self._join()

    def died(self) -> str | None:
        """The first member that is gone though nobody ended it, and how it ended."""
        for name, member in list(self.members.items()):
            if why := member.died():
                return f"{name} {why}" if name else why
        return None

    def keep(self, snapshot: Path) -> bool:
        """Stops all in order, copies their data and starts them; false where one keeps none."""
        if any(member.recipe.data is None for member in self.members.values()):
            return False
        for member in self.members.values():
            if member.recipe.persist is not None:
                with _told(member.name):
                    member.recipe.persist()
        with self._all_down():
            for name, member in self.members.items():
                member.copy(snapshot / name)
        return True

    def restore(self, snapshot: Path) -> None:
        """Starts them again with the data that were kept; their own caches are empty then."""
        if any(member.recipe.data is None for member in self.members.values()):
            raise HostError(f"{self.name} has no snapshot to go back to")
        with self._all_down():
            for name, member in self.members.items():
                member.put_back(snapshot / name)

    def run(self, command: Command) -> None:
        """Runs a command with the first member's port and folder filled in."""
        next(iter(self.members.values())).run(command)

    def stop(self, grace_s: float) -> None:
        """Ends all in order, the last first; what is left after the grace is killed."""
        errors = []
        for member in reversed(self.members.values()):
            try:
                member.down(grace_s)
            except HostError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def log_tail(self) -> str:
        """The last lines that they wrote; each line begins with its member where there are more."""
        share = max(1, TAIL_LINES // len(self.members))
        said = []
        for name, member in list(self.members.items()):
            lines = member.log_tail().splitlines()[-share:]
            said += [f"{name}: {line}" if name else line for line in lines]
        return "\n".join(said)

    def kill(self, member: str) -> None:
        """Ends a member at once, as an outage would."""
        self._named(member).kill()

    def pause(self, member: str) -> None:
        """Holds a member still: its connections stay, its answers do not come."""
        self._named(member).pause()

    def resume(self, member: str) -> None:
        """Has a member go on after a pause."""
        self._named(member).resume()

    def restart(self, *members: str) -> None:
        """Starts members again with their data, stopping in order those that are up; joins them."""
        named = [self._named(member) for member in members]
        again = [one for one in self.members.values() if one in named]
        for one in reversed(again):
            one.down()
        if self._kind.leader is not None and not any(one.is_up() for one in self.members.values()):
            leader = self._kind.leader(list(self.members.values()), again)
            again.sort(key=lambda one: one is not leader)
        for one in again:
            self._up(one)
        self._join()

    def add(self) -> str:
        """Makes one more member, starts and joins it. Returns its name."""
        if "add" not in self.abilities:
            raise HostError(f"{self.name} cannot be given another member")
        stem = f"{self._kind.grows}-" if self._kind.grows else ""
        taken = {bed.name for bed in self._beds}
        number = next(n for n in range(1, len(taken) + 2) if f"{stem}{n}" not in taken)
        bed = self._bed(f"{stem}{number}")
        self._beds.append(bed)
        member = self._member(bed)
        try:
            member.make()
            self._up(member)
            self._join()
        except BaseException:
            self._forget(bed.name)
            raise
        return bed.name

    def remove(self, member: str) -> None:
        """Takes a member away in order, for good."""
        one = self._named(member)
        if "remove" not in self.abilities or (self._kind.is_kept and self._kind.is_kept(one.bed)):
            raise HostError(f"{one.name} cannot be removed")
        one.down()
        if self._kind.leave is not None:
            with _told(one.name):
                self._kind.leave(one.bed)
        self._forget(member)

    def primaries(self) -> tuple[str, ...]:
        """The members that take writes now, of those that may answer."""
        if self._kind.primaries is None:
            raise HostError(f"{self.name} does not tell its members apart")
        up = [member.bed for member in self._able()]
        with _told(self.name):
            return tuple(self._kind.primaries(up))

    def _bed(self, member: str) -> Bed:
        place = self._place
        return Bed(
            self._system,
            place.folder / member / "dir",
            ports.free(),
            place.password,
            member,
            peers=self._beds,
            behind=place.behind,
            paths=self._paths,
        )

    def _member(self, bed: Bed) -> Server:
        found = self._kind.server(self.name, bed, self._kind.recipe(bed), self._place)
        self.members[bed.name] = found
        return found

    def _named(self, member: str) -> Server:
        if member not in self.members:
            there = ", ".join(self.members)
            raise HostError(f"{self.name} has no member {member}; it has {there}")
        return self.members[member]

    def _able(self) -> list[Server]:
        return [member for member in list(self.members.values()) if member.is_able()]

    def _up(self, member: Server) -> None:
        others = (other for other in self.members.values() if other is not member)
        member.up(is_alone=not any(other.is_up() for other in others))

    def _join(self) -> None:
        """Has those that are up find each other. Raises HostError where they do not."""
        join = self._kind.join
        up = self._able()
        if join is None or not up:
            return
        wait_for(lambda: join([member.bed for member in up]), up, self._place)

    @contextlib.contextmanager
    def _all_down(self) -> Iterator[None]:
        for member in reversed(self.members.values()):
            member.down()
        yield
        for member in self.members.values():
            self._up(member)
        self._join()

    def _forget(self, member: str) -> None:
        self.members.pop(member).down()
        self._beds[:] = [bed for bed in self._beds if bed.name != member]


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """Says whose wrong answer it was."""
    try:
        yield
    except NotReadyError as error:
        raise HostError(f"{name}: {error}") from error


def _one(system: System) -> Sequence[str]:
    return ("",)


def _all(beds: Sequence[Bed]) -> Sequence[Bed]:
    return beds


def numbered(system: System) -> Sequence[str]:
    """Names of as many like members as `instances` asks for."""
    count = system.instances or 1
    return ("",) if count == 1 else [str(number) for number in range(1, count + 1)]


@dataclass(frozen=True)
class ServerKind:
    """A kind of system made of one server or several, by its recipe."""

    summary: str
    """What it is, in a line."""
    needs: tuple[str, ...]
    """Programs; the first tells the version."""
    url: str | Callable[[System], str]
    """Of a member, with `${port}`, `${dir}` and, where there is one, its password's mention."""
    recipe: Callable[[Bed], Recipe]
    """Of one member; called once its peers are known, and before any of them is there."""
    server: type[Server] = Server
    keys: frozenset[str] = OWN
    """Keys of the experiment file beside those of every system."""
    members: Callable[[System], Sequence[str]] = _one
    """Their names in the order of their start; they are stopped in the opposite order."""
    asked: Callable[[Sequence[Bed]], Sequence[Bed]] = _all
    """Which members the driver talks to."""
    join: Callable[[Sequence[Bed]], None] | None = None
    """Has the members that are up find each other, as often as it is asked.

    Raises NotReadyError while they have not."""
    leader: Callable[[Sequence[Server], Sequence[Server]], Server] | None = None
    """Whom of the second, which are to be started, the data of all members ask to begin.

    Asked where all are down and have been up; it makes that one ready to begin. Raises HostError
    where it is none of them."""
    primaries: Callable[[Sequence[Bed]], Sequence[str]] | None = None
    """Which of the members that are up take writes now."""
    grows: str | None = None
    """What a member that is added is called, before its number; None where none can be."""
    leave: Callable[[Bed], None] | None = None
    """Has the others forget a member, before it is removed."""
    passes: Collection[str] = ()
    """Schemes of the one system behind it to which it passes on what it is asked."""
    is_kept: Callable[[Bed], bool] | None = None
    """Whether a member cannot be removed."""
    counters: Counting | None = None
    """What a member counts of itself."""
    lacks: Callable[[], str | None] | None = None
    """What it needs beside programs and is not here, with how to get it."""

    def missing(self, system: System) -> str | None:
        """The first program that is not here, or not in this version, and how to get it."""
        needed = self.needed(system) | {need: programs.look(need) for need in system.needs}
        for need, program in needed.items():
            if program.is_there:
                continue
            if system.version is not None and (others := programs.others(program.name)):
                wanted = f"{program.name} {system.version}"
                return f"needs {wanted}: {system.install or f'there is {others}'}"
            return f"needs {need}: {programs.how_to_get(program, system.install)}"
        return self.lacks() if self.lacks is not None else None

    def needed(self, system: System) -> dict[str, programs.Program]:
        """What it needs, by the names of `needs`.

        The first is the file's `program:` and of its `version:` where these are given; the others
        are then those beside it.
        """
        if not self.needs:
            return {}
        first, *others = self.needs
        main = programs.look(system.program or first, system.version)
        if system.program is None and system.version is None:
            return {first: main} | {name: programs.look(name) for name in others}
        return {first: main} | {name: programs.companion(name, main) for name in others}

    def start(self, name: str, system: System, place: Place) -> Members:
        """Makes the members and starts them; they have answered rightly when this returns.

        Raises HostError with a log's last lines when one does not come up.
        """
        made = Members(name, self, system, place)
        try:
            made.start()
        except BaseException:
            with contextlib.suppress(HostError):
                made.stop(0.0)
            raise
        return made

    def template(self, system: System) -> str:
        """The URL of any of its members."""
        return self.url if isinstance(self.url, str) else self.url(system)

    def urls(self, system: System, beds: Sequence[Bed]) -> tuple[str, ...]:
        """Of the members that the driver asks."""
        url = self.template(system)
        return tuple(bed.filled(url) for bed in self.asked(beds))

    def expected_urls(self, system: System) -> tuple[str, ...]:
        """Its URLs, with ports in place of those to be found."""
        names = self.members(system)
        beds = [Bed(system, Path(), port, "", name) for port, name in enumerate(names, start=1)]
        return self.urls(system, beds)

    def describe(self, system: System) -> dict[str, Any]:
        """Version, settings, files as given, and members."""
        first = self.needs[0]
        program = self.needed(system)[first]
        return {
            "versions": {first: program.version} if program.is_there else {},
            "settings": dict(system.settings),
            "files": dict(system.files),
            "members": len(self.members(system)),
        }
