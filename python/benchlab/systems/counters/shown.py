"""Servers that tell their counters to statements, over MySQL's protocol: rows of name and value.

Absent: the statements and what the names mean; each server's module knows that.
"""

from collections.abc import Mapping, Sequence

from benchlab.systems.door import TIMEOUT_S, Door
from benchlab.systems.statements import mysql


class Shown:
    """Asks over a connection of its own.

    Args:
        names: Which are kept, each with what its value is multiplied with to be in SI units.
    """

    def __init__(self, door: Door, statements: Sequence[str], names: Mapping[str, float]) -> None:
        self._statements, self._names = statements, names
        self._connection = mysql(door, TIMEOUT_S)

    def read(self) -> Mapping[str, float]:
        """Every number of those names that the server has and counts."""
        found = {}
        with self._connection.cursor() as cursor:
            for statement in self._statements:
                cursor.execute(statement)
                for name, value in cursor.fetchall():
                    if name in self._names and value and value != "OFF":
                        found[name] = float(value) * self._names[name]
        return found

    def close(self) -> None:
        """Gives the connection back."""
        self._connection.close()
