"""What systems that already run count of themselves, as far as their URL tells what they are.

Absent: HTTP, behind which anything may be.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from benchlab.host.counters import Source
from benchlab.model.schemes import SCHEMES
from benchlab.systems.counters import (
    Counting,
    mariadb,
    memcached,
    openldap,
    postgresql,
    redis,
)
from benchlab.systems.door import Door

KINDS: Mapping[str, tuple[str, Counting]] = {
    "ldap": ("openldap", openldap.COUNTING),
    "memcached": ("memcached", memcached.COUNTING),
    "mysql": ("mariadb", mariadb.COUNTING),
    "postgresql": ("postgresql", postgresql.COUNTING),
    "redis": ("redis", redis.COUNTING),
}
"""By the driver: the kind whose names its counters have, and how they are asked."""


def sources(doors: Sequence[Door]) -> list[Source]:
    """One for each; of several, host and port tell them apart."""
    found = []
    for door in doors:
        parts = urlsplit(door.url)
        if (driver := SCHEMES[parts.scheme].driver) in KINDS:
            kind, counting = KINDS[driver]
            member = parts.netloc.rpartition("@")[2] if len(doors) > 1 else ""
            found.append(counting.source(kind, door, member))
    return found
