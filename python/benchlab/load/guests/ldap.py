"""Entries in a directory that somebody else runs: below one that is marked, and gone with it.

The mark is its description. Entries are deleted by their names, since that takes no search that a
server may bound. Absent: entries that trials add, which are refused beforehand.
"""

from benchlab.load.asking import MARK, Asker
from benchlab.load.workloads.asked import Asked
from benchlab.load.workloads.records import RECORDS
from benchlab.model.errors import HostError
from benchlab.model.experiment import Expect, Operation, Transaction

CHUNKS = 20
"""So many times the workload's records are looked for, where an earlier lab put more there."""


class Guest:
    """One organizational unit, and the records below it."""

    def __init__(self, asker: Asker, into: str) -> None:
        self._asker, self._unit, self._into = asker, f"ou={into}", into
        self._records = int(asker.case.workload.data.get("records", RECORDS))

    def settle(self) -> None:
        """Makes the unit; one that an earlier lab left goes before.

        Raises HostError where it is somebody else's.
        """
        if not self._finds(0):
            if not self._finds(1, filter=f"(description={MARK})"):
                raise self._asker.theirs(f"an entry {self._unit}")
            if left := self.leave():
                raise HostError(f"{self._asker.case.system_name}: {left}")
        attributes = {
            "objectClass": ("organizationalUnit",),
            "ou": (self._into,),
            "description": (MARK,),
        }
        made = {"add": {"dn": self._unit, "attributes": attributes}}
        self._asker.do(Operation(name="unit", ldap=made, expect=Expect(rows="1")))

    def leave(self) -> str | None:
        """Takes away what was made, and nothing else; says what is left."""
        if not self._finds(1, filter=f"(description={MARK})"):
            return None
        for chunk in range(CHUNKS):
            first = 1 + chunk * self._records
            if self._finds(0, scope="one", size_limit=1):
                break
            self._delete(first, first + self._records - 1)
        if not self._finds(0, scope="one", size_limit=1):
            return f"the entry {self._unit} is left, since something else is below it now"
        self._asker.do(Operation(name="unit", ldap={"delete": {"dn": self._unit}}))
        return None

    def _finds(self, entries: int, scope: str = "base", **more: str | int) -> bool:
        search = {"base": self._unit, "scope": scope, "attributes": ("1.1",), **more}
        expect = Expect(rows=str(entries))
        return self._asker.holds(Operation(name="look", ldap={"search": search}, expect=expect))

    def _delete(self, first: int, last: int) -> None:
        """Each by itself: one that is gone already keeps none from going."""
        values = {"id": {"batch": {"start": first, "length": 1, "last": last}}}
        delete = {"delete": {"dn": f"uid=${{id}},{self._unit}"}}
        operation = Operation(name="delete", ldap=delete, for_each="id")
        asked = Asked((Transaction(name="delete", operations=(operation,)),), values)
        self._asker.why_not(asked, last - first + 1)
