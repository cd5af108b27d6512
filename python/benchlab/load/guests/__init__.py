"""Data put into systems that somebody else runs: made there under a mark, and taken away again.

A guest makes nothing beside its own place, takes nothing for its own that has no mark, and leaves
the rest alone. Absent: the data themselves, which are loaded as anywhere.
"""

from typing import Protocol

from benchlab.load.asking import Asker
from benchlab.load.guests import ldap, memcached, redis, sql
from benchlab.load.plan import held
from benchlab.model.schemes import SCHEMES


class Guest(Protocol):
    """What is put into a system that is already running."""

    def settle(self) -> None:
        """Makes an empty place; what is there of an earlier lab goes before.

        Raises HostError where something there is somebody else's.
        """

    def leave(self) -> str | None:
        """Takes away what was made, and nothing else; says what is left."""


def guest(asker: Asker) -> Guest:
    """The guest that a case asks for by `into:`."""
    driver = SCHEMES[asker.urls[0].partition(":")[0]].driver
    into, holder = asker.case.workload.into, held(asker.case, asker.urls)
    assert into is not None and holder is not None
    match driver:
        case "redis":
            return redis.Guest(asker, into, holder)
        case "memcached":
            return memcached.Guest(asker, into, holder)
        case "ldap":
            return ldap.Guest(asker, into)
        case _:
            return sql.Guest(asker, driver, into, holder)
