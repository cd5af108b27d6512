"""What systems that already run count of themselves, as far as their URL tells what they are.

Absent: HTTP, behind which anything may be, and URLs whose encryption the counters' readers lack.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from benchlab.host.counters import Source
from benchlab.systems.counters import (
    Counting,
    mariadb,
    memcached,
    openldap,
    postgresql,
    redis,
)

KINDS: Mapping[str, tuple[str, Counting]] = {
    "ldap": ("openldap", openldap.COUNTING),
    "mariadb": ("mariadb", mariadb.COUNTING),
    "memcached": ("memcached", memcached.COUNTING),
    "mysql": ("mariadb", mariadb.COUNTING),
    "postgres": ("postgresql", postgresql.COUNTING),
    "postgresql": ("postgresql", postgresql.COUNTING),
    "redis": ("redis", redis.COUNTING),
}
"""By the URL's scheme: the kind whose names its counters have, and how they are asked."""


def sources(urls: Sequence[str]) -> list[Source]:
    """One for each URL, the password in it; of several, host and port tell them apart."""
    found = []
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme in KINDS:
            kind, counting = KINDS[parts.scheme]
            member = parts.netloc.rpartition("@")[2] if len(urls) > 1 else ""
            found.append(counting.source(kind, url, member))
    return found
