"""The systems of one session: started afresh, shared by cases, loaded, and taken away in order.

Cases that differ in load or in what is asked share an instance; all instances stay up, idle, until
the session ends, where memory allows; otherwise one is up at a time. Absent: the trials.
"""

import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars

from benchlab.host import cores, memory
from benchlab.host.processes import Leash
from benchlab.lab import events
from benchlab.lab.building import Builder
from benchlab.lab.stopping import StopToken
from benchlab.load import agent
from benchlab.load.plan import loading_plan
from benchlab.model.cases import placing
from benchlab.model.errors import BenchlabError, HostError, InputError
from benchlab.model.experiment import Case
from benchlab.model.records import CpuSets
from benchlab.model.schemes import EMBEDDED
from benchlab.model.tree import join
from benchlab.store.measurement import Measurement
from benchlab.systems import Instance, Place, StoppedError, instance_key, kind_of

GRACE_S = 10.0
"""How long a system has to stop by itself."""
SPARE_SHARE = 0.1
"""Of the machine's memory must stay free, or systems are started one at a time."""


@dataclass(frozen=True)
class Setting:
    """What every session of a run shares."""

    leash: Leash
    folder: Path
    """For everything temporary."""
    here: Path
    """The experiment file's folder."""
    seed: int
    stop: StopToken
    emit: Callable[[events.Event], None]
    builder: Builder
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    """Of the servers that the lab makes."""


class Fleet:
    """The instances of one session."""

    def __init__(self, setting: Setting, session: int, cases: Sequence[Case]) -> None:
        self._setting, self._session = setting, session
        self._cases = {instance_key(case): case for case in reversed(cases)}
        self._up: dict[str, Instance] = {}
        self._failed: dict[str, HostError] = {}
        self._starts = 0
        self._said: set[str] = set()
        self.one_at_a_time = False

    def open(self) -> None:
        """Starts every system in an order of its own for this session; failures are kept.

        Raises StoppedError when the lab is asked to stop meanwhile.
        """
        keys = sorted(self._cases)
        random.Random(f"{self._setting.seed}/{self._session}/start").shuffle(keys)
        for key in keys:
            self._try_start(key)
            if key != keys[-1] and memory.available_share() < SPARE_SHARE:
                self.one_at_a_time = True
                self._say(
                    f"session {self._session}: memory is short, so one system is up at a time"
                )
                self.close()
                return

    def instance(self, case: Case) -> Instance:
        """The case's system, started again where it died or had to make room.

        Raises HostError when it does not come up.
        """
        key = instance_key(case)
        if self.one_at_a_time:
            for other in [other for other in self._up if other != key]:
                self._stop(other)
        if key in self._up and (why := self._up[key].died()):
            self._say(f"session {self._session}: {case.system_name} {why} and is started again")
            self._stop(key)
        if key not in self._up and key not in self._failed:
            self._try_start(key)
        if key in self._failed:
            raise self._failed[key]
        return self._up[key]

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
            password=setting.password,
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
                    instance.run(command)
                except HostError as error:
                    raise HostError(f"{case.system_name}: before_session: {error}") from error
        except (BenchlabError, StoppedError):
            self._stop(key)
            raise
        return instance

    def _load(self, key: str, case: Case, instance: Instance) -> None:
        """Brings the data in: from the first session's copy where there can be one."""
        setting = self._setting
        plan = loading_plan(case, urls=instance.urls, seed=setting.seed, cpus=placed(case).agent)
        if plan is None:
            return
        number = sorted(self._cases).index(key)
        snapshot = setting.folder / f"snapshot-{number}"
        if snapshot.exists():
            instance.restore(snapshot)
            return
        folder = setting.folder / f"loading-{self._session}-{self._starts}"
        folder.mkdir()
        outcome = agent.run(
            plan,
            folder,
            leash=setting.leash,
            secrets=instance.secrets,
            should_stop=lambda: setting.stop.is_set,
        )
        if outcome.state != "complete":
            raise StoppedError
        _check_loaded(case.system_name, folder)
        instance.keep(snapshot)

    def _say(self, text: str) -> None:
        self._setting.emit(events.Note(text))


def _check_loaded(system: str, folder: Path) -> None:
    """Raises HostError unless all data arrived: half a database would be fast."""
    loaded = Measurement.read(folder / agent.MEASUREMENT)
    failed = loaded.rows.filter(polars.col("kind") == "transaction")
    count = int(sum(failed[column].sum() for column in ("failed", "timed_out", "unknown")))
    if count:
        errors = loaded.events("error")
        why = str(errors[0]["message"]) if errors else "no reason was given"
        raise HostError(f"{system}: {count} transactions failed while its data were loaded: {why}")


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
