"""What OpenLDAP's slapd counts of itself: the entries below `cn=Monitor` (slapd-monitor(5)).

Its own names are those of entries; `cn=Search,cn=Operations` is `search_completed` here. Absent:
the figures of single databases and connections.
"""

from collections.abc import Mapping

from benchlab.model.schemes import starts_tls
from benchlab.systems import ldap
from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.door import Door

OPERATIONS = (
    *("bind", "unbind", "search", "compare", "modify", "modrdn", "add", "delete", "abandon"),
    "extended",
)
MEANINGS = {
    **counters(" ".join(f"{name}_initiated {name}_completed" for name in OPERATIONS)),
    **counters("pdu entries referrals total_connections"),
    **counters("bytes", "B"),
    **gauges("current_connections read_waiters write_waiters"),
    **gauges("open_threads active_threads pending_threads backload_threads"),
}
ATTRIBUTES = ("monitorCounter", "monitorOpInitiated", "monitorOpCompleted", "monitoredInfo")


class Monitor:
    """Asks over a connection of its own, as the URL's user where it names one."""

    def __init__(self, door: Door) -> None:
        self._socket = door.open()
        self._read = self._socket.makefile("rb")
        if starts_tls(door.url):
            self._socket.sendall(ldap.start_tls())
            if ldap.SUCCESS not in self._message():
                self.close()
                raise PermissionError("it does not begin to encrypt")
            self._read.close()
            self._socket = door.encrypted(self._socket)
            self._read = self._socket.makefile("rb")
        if door.password:
            self._socket.sendall(ldap.bind(door.user, door.password))
            if ldap.SUCCESS not in self._message():
                self.close()
                raise PermissionError("it does not let its user in")

    def read(self) -> Mapping[str, float]:
        """Every number of the catalogue."""
        self._socket.sendall(ldap.search("cn=Monitor", ATTRIBUTES))
        found: dict[str, float] = {}
        while True:
            (_, (tag, content)) = ldap.values(self._message())
            if tag == ldap.DONE:
                if not content.startswith(ldap.SUCCESS) or not found:
                    raise PermissionError("it does not show its cn=Monitor")
                return found
            if tag == ldap.ENTRY:
                found |= numbers(*ldap.entry(content))

    def close(self) -> None:
        """Gives the connection back."""
        self._read.close()
        self._socket.close()

    def _message(self) -> bytes:
        """The content of the next message."""
        head = b""
        while (size := ldap.length(head)) is None:
            byte = self._read.read(1)
            if not byte:
                raise ConnectionError("it closed the connection")
            head += byte
        return self._read.read(size - len(head))


def numbers(name: str, attributes: Mapping[str, str]) -> Mapping[str, float]:
    """What an entry says, by the names of the catalogue."""
    first, _, above = name.lower().partition(",")
    what, where = first.removeprefix("cn="), above.partition(",")[0].removeprefix("cn=")
    found = {
        f"{what}_initiated": attributes.get("monitorOpInitiated"),
        f"{what}_completed": attributes.get("monitorOpCompleted"),
        what if where == "statistics" else f"{what}_{where}": attributes.get("monitorCounter"),
    }
    if where == "threads":
        found[f"{what}_threads"] = attributes.get("monitoredInfo")
    return {n: float(x) for n, x in found.items() if n in MEANINGS and x is not None}


COUNTING = Counting(MEANINGS, Monitor)
