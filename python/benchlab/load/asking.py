"""A system that is already running, asked one thing after another as a client of it would.

The agent asks, so that each protocol is spoken in one place, with the same passwords and the same
encryption as in a trial. Absent: answers; whether one is as expected is all that is told.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.host.processes import Leash
from benchlab.load import agent
from benchlab.load.bulk import hastened
from benchlab.load.plan import errand
from benchlab.load.workloads.asked import Asked
from benchlab.model import mixes
from benchlab.model.errors import HostError
from benchlab.model.experiment import Case, Expect, Operation, Transaction
from benchlab.model.remedies import with_remedy
from benchlab.model.schemes import SCHEMES
from benchlab.model.tree import from_plain
from benchlab.store.measurement import Measurement

MARK = "made by benchlab"
"""What tells the lab's own from what somebody else has."""
_OTHERWISE = ("as expected", "than expected", "no first column", "not what its key says")
"""Ends of what the engine says of an answer that came and is another than expected."""
_BAD = ("failed", "timed_out", "unknown")


class Asker:
    """Asks a case's system at some of its URLs."""

    def __init__(
        self,
        case: Case,
        urls: Sequence[str],
        *,
        leash: Leash,
        room: Path,
        here: Path = Path(),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.case, self.urls = case, tuple(urls)
        self.here, self.secrets = here, secrets or {}
        self._leash, self._room = leash, room
        self._numbers = itertools.count()

    def holds(self, *operations: Operation) -> bool:
        """Whether all answers are as expected. Raises HostError where one is an error."""
        why = self.why_not(Asked((Transaction(name="ask", operations=operations),)))
        if why is not None and not why.is_another_answer:
            raise HostError(f"{self.case.system_name}: {why}")
        return why is None

    def do(self, *operations: Operation) -> None:
        """Has something done, in one transaction. Raises HostError where it is refused."""
        if why := self.why_not(Asked((Transaction(name="do", operations=operations),))):
            raise HostError(f"{self.case.system_name}: {why}")

    def theirs(self, what: str) -> HostError:
        """That something is in the way which has no mark."""
        return HostError(
            f"{self.case.system_name}: there is {what} that Benchlab did not make: it was left "
            "alone; name another place by `data: {into: NAME}`"
        )

    def why_not(self, asked: Asked, transactions: int = 1) -> "Reason | None":
        """The most frequent reason against it; None where all was right."""
        plan = errand(self.case, asked, transactions, self.urls, folder=self.here)
        return self.run(plan if transactions == 1 else hastened(plan))

    def unanswered(self) -> "Reason | None":
        """Why the least that can be asked is not answered rightly; None where it is."""
        minute = SCHEMES[self.urls[0].partition(":")[0]].minute
        if minute is None:
            return None
        found = mixes.MIX.read(from_plain(minute), "minute")
        return self.why_not(Asked(tuple(found.values())))

    def run(self, plan: Mapping[str, Any]) -> "Reason | None":
        """The most frequent reason why not all of a Plan went well; None where it did."""
        folder = self._room / f"asked-{next(self._numbers)}"
        folder.mkdir(parents=True)
        agent.run(plan, folder, leash=self._leash, secrets=self.secrets)
        return reason(Measurement.read(folder / agent.MEASUREMENT))


@dataclass(frozen=True)
class Reason:
    """Why something did not go well."""

    operation: str
    message: str

    def __str__(self) -> str:
        told = with_remedy(self.message)
        return f"{self.operation}: {told}" if self.operation else told

    @property
    def is_another_answer(self) -> bool:
        """Whether an answer came, and was another than expected."""
        return self.message.endswith(_OTHERWISE)


def reason(measured: Measurement) -> Reason | None:
    """The most frequent reason why transactions did not end well; None where all did."""
    totals = measured.totals()
    if not any(totals[outcome] for outcome in _BAD) and totals["ok"]:
        return None
    for error in measured.events("error"):
        return Reason(str(error["operation"]), str(error["message"]))
    return Reason("", "nothing was answered")


def sql(statement: str, first: str | None = None) -> Operation:
    """A statement, and what the first column of its answer must be."""
    return Operation(name=statement[:60], sql=statement, expect=Expect(first=first))
