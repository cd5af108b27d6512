"""Keys in a memcached that somebody else runs: all begin alike, beside a mark, and go again.

Its keys cannot be listed, so that each key that would be written is asked for; and all is written
to be forgotten within a day, what trials insert and nobody deletes among it.
"""

from benchlab.load.asking import MARK, Asker, Reason
from benchlab.load.workloads.asked import Asked, Held, begin_of
from benchlab.load.workloads.records import GUEST_S, RECORDS
from benchlab.model.errors import HostError
from benchlab.model.experiment import Expect, Operation, Transaction


class Guest:
    """The keys of a workload's records, beginning with the place's name."""

    def __init__(self, asker: Asker, into: str, held: Held) -> None:
        self._asker, self._record = asker, f"{begin_of(into, held.name)}${{id}}"
        self._into, self._mark = into, begin_of(into, "benchlab")
        self._records = int(asker.case.workload.data.get("records", RECORDS))

    def settle(self) -> None:
        """Sets the mark; what is there of an earlier lab goes before.

        Raises HostError where one of the keys is somebody else's.
        """
        if self._is_ours():
            self._each(Operation(name="delete", command=("delete", self._record)))
        elif not self._are_free():
            raise self._asker.theirs(f"a key {self._record}")
        command = ("set", self._mark, "0", str(GUEST_S), MARK)
        self._asker.do(Operation(name="mark", command=command, expect=Expect(reply="STORED")))

    def leave(self) -> None:
        """Takes away what was loaded; what trials inserted is forgotten by itself."""
        if self._is_ours():
            self._each(Operation(name="delete", command=("delete", self._record)))
            self._asker.do(Operation(name="mark", command=("delete", self._mark)))

    def _is_ours(self) -> bool:
        expect = Expect(contains=MARK)
        return self._asker.holds(Operation(name="mark", command=("get", self._mark), expect=expect))

    def _are_free(self) -> bool:
        asked = ("get", self._record)
        why = self._each(Operation(name="look", command=asked, expect=Expect(rows="0")))
        if why is not None and not why.is_another_answer:
            raise HostError(f"{self._asker.case.system_name}: {why}")
        return why is None

    def _each(self, operation: Operation) -> Reason | None:
        """Asked of each record; why not all is as expected."""
        values = {"id": {"batch": {"start": 1, "length": 1000, "last": self._records}}}
        each = operation.model_copy(update={"for_each": "id"})
        asked = Asked((Transaction(name="each", operations=(each,)),), values)
        return self._asker.why_not(asked, -(-self._records // 1000))
