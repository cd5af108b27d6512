"""The systems of one session: started afresh, shared by cases, loaded, and taken away in order.

Cases that differ in load or in what is asked share an instance. All instances stay up, idle, until
the session ends, where memory allows and the idle ones keep quiet; otherwise one is up at a time,
started afresh for each block. Absent: the trials.
"""

import random
import time
from collections.abc import Mapping, Sequence

from benchlab.host import cores, memory
from benchlab.host.probes import Root
from benchlab.lab import beside, events
from benchlab.lab.setting import Setting
from benchlab.lab.visit import Visit
from benchlab.load import agent
from benchlab.load.asking import reason
from benchlab.load.drivers import let_in
from benchlab.load.passwords import password_of
from benchlab.load.plan import loading_plan
from benchlab.model.cases import placing
from benchlab.model.errors import BenchlabError, HostError, InputError
from benchlab.model.experiment import Case, Order
from benchlab.model.records import CpuSets
from benchlab.model.schemes import EMBEDDED
from benchlab.model.tree import join
from benchlab.store.measurement import Measurement
from benchlab.systems import Instance, Place, StoppedError, instance_key, kind_of

GRACE_S = 10.0
"""How long a system has to stop by itself."""
SPARE_SHARE = 0.1
"""Of the machine's memory must stay free, or systems are started one at a time."""


class Fleet:
    """The instances of one session."""

    def __init__(
        self, setting: Setting, session: int, cases: Sequence[Case], order: Order = "resident"
    ) -> None:
        self._setting, self._session = setting, session
        self._cases = {instance_key(case): case for case in reversed(cases)}
        self._names = _names(self._cases)
        self._up: dict[str, Instance] = {}
        self._visits: dict[str, Visit] = {}
        self._failed: dict[str, HostError] = {}
        self._starts = 0
        self._said: set[str] = set()
        self._started_in: dict[str, int] = {}
        self.order: Order = order
        """How systems take turns from here on."""

    @property
    def is_resident(self) -> bool:
        """Whether all systems are up at once."""
        return self.order == "resident"

    def open(self) -> None:
        """Starts every system in an order of its own for this session; failures are kept.

        Where one is up at a time, each is started when its turn comes. Raises StoppedError when the
        lab is asked to stop meanwhile.
        """
        if not self.is_resident:
            return
        keys = sorted(self._cases)
        random.Random(f"{self._setting.seed}/{self._session}/start").shuffle(keys)
        for key in keys:
            self._try_start(key)
            if key != keys[-1] and memory.available_share() < SPARE_SHARE:
                self._fall_back("memory is short")
                self.close()
                return

    def instance(self, case: Case, block: int) -> Instance:
        """The case's system, started again where it died or its block is over.

        Raises HostError when it does not come up.
        """
        key = instance_key(case)
        if not self.is_resident:
            self._stop_others(key)
        if self.order == "blocks" and self._started_in.get(key, block) != block:
            self._stop(key)
        if key in self._up and (why := self._up[key].died()):
            self._say(f"session {self._session + 1}: {case.system_name} {why} and is started again")
            self._stop(key)
        if key not in self._up and key not in self._failed:
            self._try_start(key)
        if key in self._failed:
            raise self._failed[key]
        self._started_in.setdefault(key, block)
        return self._up[key]

    def idle_roots(self, case: Case) -> Mapping[str, Root]:
        """The processes of the systems that are up and not the case's, by system and member.

        Those that already ran before the lab came do not count: it could not end them.
        """
        own, found = instance_key(case), {}
        for key, instance in self._up.items():
            if key == own or self._cases[key].system.at:
                continue
            for member, root in instance.roots.items():
                found[f"{self._names[key]} {member}".strip()] = root
        return found

    def stand_alone(self, case: Case, why: str) -> None:
        """Ends all systems but the case's; each is started afresh for each block from now on."""
        self._fall_back(why)
        self._stop_others(instance_key(case))

    def _fall_back(self, why: str) -> None:
        self.order = "blocks"
        self._say(
            f"session {self._session + 1}: {why}, so from here on one system is up at a time, "
            "started afresh for each block"
        )

    def _stop_others(self, key: str) -> None:
        for other in [other for other in self._up if other != key]:
            self._stop(other)

    def close(self) -> None:
        """Stops every system, the last started first; at once where the lab is in a hurry."""
        errors = []
        for key in reversed(list(self._up)):
            try:
                self._stop(key)
            except HostError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _stop(self, key: str) -> None:
        if key in self._visits and (left := self._visits.pop(key).end()):
            self._say(left)
        self._started_in.pop(key, None)
        self._up.pop(key).stop(0.0 if self._setting.stop.is_urgent else GRACE_S)

    def _try_start(self, key: str) -> None:
        if self._setting.stop.is_set:
            raise StoppedError
        case = self._cases[key]
        began = time.monotonic()
        try:
            instance = self._start(key, case)
        except HostError as error:
            self._failed[key] = error
            return
        seconds = time.monotonic() - began
        self._setting.emit(events.SystemStarted(case.system_name, instance.urls, seconds))

    def _start(self, key: str, case: Case) -> Instance:
        setting = self._setting
        self._starts += 1
        place = Place(
            leash=setting.leash,
            folder=setting.folder / f"{self._session}-{self._starts}",
            cpus=placed(case).system,
            here=setting.here,
            source_of=setting.builder.folder_of,
            password=password_of(case) or setting.password,
            let_in=let_in(case),
            seed=f"{setting.seed}/{self._session}/{case.system_name}",
            pause=setting.stop.pause,
        )
        kind = kind_of(case.system_name, case.system)
        with placing(case):
            instance = kind.start(case.system_name, case.system, place)
        self._up[key] = instance
        if self._session == 0 and len(instance.roots) > len(place.cpus) > 0:
            cpus = ", ".join(map(str, place.cpus))
            told = f"{case.system_name}: {len(instance.roots)} members share cores: {cpus}"
            if told not in self._said:
                self._said.add(told)
                self._say(told)
        try:
            self._load(key, case, instance)
            for command in case.system.before_session:
                try:
                    beside.run(case, instance, command, setting)
                except HostError as error:
                    raise HostError(f"{case.system_name}: before_session: {error}") from error
        except (BenchlabError, StoppedError):
            self._stop(key)
            raise
        return instance

    def _load(self, key: str, case: Case, instance: Instance) -> None:
        """Brings the data in: from the first session's copy where there can be one."""
        setting = self._setting
        agent_cpus = placed(case).agent
        with placing(case):
            plan = loading_plan(
                case, urls=instance.urls, seed=setting.seed, cpus=agent_cpus, folder=setting.here
            )
        visit = None
        room = setting.folder / f"loading-{self._session}-{self._starts}"
        if case.system.at:
            visit = self._visits[key] = Visit(setting, case, instance, room)
            visit.begin()
        if plan is None:
            return
        number = sorted(self._cases).index(key)
        snapshot = setting.folder / f"snapshot-{number}"
        if snapshot.exists():
            instance.restore(snapshot)
            return
        room.mkdir(exist_ok=True)
        outcome = agent.run(
            plan,
            room,
            leash=setting.leash,
            secrets=instance.secrets,
            should_stop=lambda: setting.stop.is_set,
        )
        if outcome.state != "complete":
            raise StoppedError
        # Half a database would be fast.
        if why := reason(Measurement.read(room / agent.MEASUREMENT)):
            raise HostError(f"{case.system_name}: its data could not be loaded: {why}")
        if visit is not None:
            visit.loaded()
        instance.keep(snapshot)

    def _say(self, text: str) -> None:
        self._setting.emit(events.Note(text))


def _names(cases: Mapping[str, Case]) -> dict[str, str]:
    """What each instance is called: its system's name, numbered where it has several settings."""
    names: dict[str, str] = {}
    for key, case in cases.items():
        twins = sum(name.partition("#")[0] == case.system_name for name in names.values())
        names[key] = f"{case.system_name}#{twins + 1}" if twins else case.system_name
    return names


def placed(case: Case) -> CpuSets:
    """The cores of a case's agent and system, by its placement.

    An embedded system has the agent's; one that already runs stays where it is.
    """
    if case.system.kind in EMBEDDED and not case.system.at:
        return CpuSets()
    try:
        sets = cores.divide(case.system.placement)
    except InputError as error:
        raise error.at(None, None, join("systems", case.system_name) + ".placement") from None
    if case.system.at:
        return CpuSets(agent=sets.agent, shared=True)
    return sets
