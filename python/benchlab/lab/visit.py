"""A session at a system that somebody else runs: what begins it there, and what ends it.

After a restart its first right answer is waited for. Data are put there as a guest's, or what is
there is looked at. Absent: starting and stopping it, and loading.
"""

import contextlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchlab.lab.setting import Setting
from benchlab.load.asking import Asker
from benchlab.load.guests import Guest, guest
from benchlab.load.plan import finding_plan
from benchlab.model.errors import HostError
from benchlab.model.experiment import Case
from benchlab.model.schemes import SCHEMES
from benchlab.model.secrets import mask
from benchlab.systems import Instance, StoppedError

READY_S = 30.0
"""How long a restarted system has for its first right answer, and others to show what was loaded
through one of them."""
POLL_S = 0.1


class Visit:
    """What one session does at one running system, beside its trials."""

    def __init__(self, setting: Setting, case: Case, instance: Instance, room: Path) -> None:
        self._setting, self._case, self._instance, self._room = setting, case, instance, room
        self._guest: Guest | None = None

    def begin(self) -> None:
        """Waits for it after a restart, then has the place for the data ready, or finds them.

        Raises HostError where it does not answer, what is in the place is somebody else's, or the
        data that are to be there are not; StoppedError where the lab is asked to stop.
        """
        system, workload = self._case.system, self._case.workload
        if system.restart is not None:
            ready_s = system.ready.timeout if system.ready else READY_S
            for number, urls in enumerate(_alone(self._instance.urls)):
                asker = self._asker(urls, f"first-{number}")
                self._until(asker.unanswered, ready_s, "after its restart")
        if workload.into is not None and workload.name is not None:
            self._settle(guest(self._asker(_alone(self._instance.urls)[0], "guest")))
        elif workload.existing:
            for number, urls in enumerate(_alone(self._instance.urls)):
                if why := self._lacks(self._asker(urls, f"existing-{number}")):
                    raise HostError(f"{self._case.system_name}: {why}")

    def _settle(self, comer: Guest) -> None:
        try:
            comer.settle()
        except HostError:
            # What is marked already goes again, where that can be; the first reason is told.
            with contextlib.suppress(HostError):
                comer.leave()
            raise
        self._guest = comer

    def loaded(self) -> None:
        """Sees that each of several URLs leads to what was loaded through the first.

        Raises HostError where one does not, in time.
        """
        for number, urls in enumerate(_alone(self._instance.urls)[1:]):
            asker = self._asker(urls, f"loaded-{number}")
            what = f"at {mask(urls[0])}, though its data were loaded through another URL"
            self._until(partial(self._lacks, asker), READY_S, what)

    def end(self) -> str | None:
        """Takes the guest's data away; says what is left, and why."""
        if self._guest is None:
            return None
        what = f"{self._case.system_name}: what was put into {self._case.workload.into} is left"
        again = "the next run with the same `into` takes it away"
        if self._setting.stop.is_urgent:
            return f"{what}, since the run was ended at once; {again}"
        try:
            left = self._guest.leave()
        except HostError as error:
            return f"{what} ({error}); {again}"
        return left and f"{self._case.system_name}: {left}"

    def _lacks(self, asker: Asker) -> str | None:
        plan = finding_plan(
            self._case, urls=asker.urls, seed=self._setting.seed, folder=self._setting.here
        )
        why = None if plan is None else asker.run(plan)
        if why is None:
            return None
        what = f"there is no {why.operation}" if why.is_another_answer else str(why)
        return f"its data are not those that the workload asks for: {what}"

    def _until(self, why_not: Callable[[], object], time_s: float, what: str) -> None:
        deadline = time.monotonic() + time_s
        while why := why_not():
            if time.monotonic() >= deadline:
                told = f"{self._case.system_name} does not answer rightly {what}"
                raise HostError(f"{told}, in {time_s:g} s: {why}")
            if self._setting.stop.pause(POLL_S):
                raise StoppedError

    def _asker(self, urls: tuple[str, ...], name: str) -> Asker:
        return Asker(
            self._case,
            urls,
            leash=self._setting.leash,
            room=self._room / name,
            here=self._setting.here,
            secrets=self._instance.secrets,
        )


def _alone(urls: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each URL that has all data, by itself; those that have a part each, together."""
    scheme = SCHEMES[urls[0].partition(":")[0]]
    if scheme.driver == "memcached" or "cluster=true" in urls[0]:
        return [urls]
    return [(url,) for url in urls]
