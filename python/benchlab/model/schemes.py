"""The schemes of URLs that systems are asked by: one row each, and what follows from it alone.

Absent: what a URL becomes in a Plan, and what is asked of a system.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

Speaks = Literal["http", "sql", "command", "file", "ldap"]
"""The kind of request."""
ASKED_BY: Mapping[Speaks, str] = {
    "http": "get:, post: and their like",
    "sql": "sql:",
    "command": "command:",
    "file": "read:, write: or sync:",
    "ldap": "ldap:",
}
"""How a mix writes it."""


@dataclass(frozen=True)
class Scheme:
    """A scheme that a driver of the engine speaks."""

    driver: str
    """The driver's name in a Plan."""
    speaks: Speaks
    port: int | None = None
    """Of a URL that names none; None where there is no network."""
    encrypted: bool = False
    embedded: bool = False
    """Whether the agent itself does what is asked, so that there is no server."""
    minute: Mapping[str, object] | None = None
    """The least that can be asked without any data; None where a page is."""


_SELECT = {"select": {"sql": "SELECT 1", "expect": {"rows": "1", "first": "1"}}}
_READ = {"read": {"read": "4KiB"}}
_ROOT = {
    "root": {
        "ldap": {"search": {"base": "", "scope": "base", "attributes": ["1.1"]}},
        "expect": {"rows": "1"},
    }
}
_PING = {"ping": {"command": ["PING"], "expect": {"reply": "PONG"}}}
_NOTHING = {"mn": {"command": ["mn"], "expect": {"reply": "MN"}}}

SCHEMES: Mapping[str, Scheme] = {
    "http": Scheme("http", "http", 80),
    "https": Scheme("http", "http", 443, encrypted=True),
    "sqlite": Scheme("sqlite", "sql", minute=_SELECT, embedded=True),
    "file": Scheme("file", "file", minute=_READ, embedded=True),
    "postgresql": Scheme("postgresql", "sql", 5432, minute=_SELECT),
    "postgresqls": Scheme("postgresql", "sql", 5432, encrypted=True, minute=_SELECT),
    "memcached": Scheme("memcached", "command", 11211, minute=_NOTHING),
    "memcacheds": Scheme("memcached", "command", 11211, encrypted=True, minute=_NOTHING),
    "mysql": Scheme("mysql", "sql", 3306, minute=_SELECT),
    "mysqls": Scheme("mysql", "sql", 3306, encrypted=True, minute=_SELECT),
    "redis": Scheme("redis", "command", 6379, minute=_PING),
    "rediss": Scheme("redis", "command", 6379, encrypted=True, minute=_PING),
    "ldap": Scheme("ldap", "ldap", 389, minute=_ROOT),
    "ldaps": Scheme("ldap", "ldap", 636, encrypted=True, minute=_ROOT),
}
"""By the part of a URL before the colon."""
ENCRYPTED = tuple(name for name, scheme in SCHEMES.items() if scheme.encrypted)
"""Those whose connections are encrypted."""
EMBEDDED = frozenset(scheme.driver for scheme in SCHEMES.values() if scheme.embedded)
"""Drivers whose system is in the agent itself."""


def is_encrypted(url: str) -> bool:
    """Whether connections to a URL are encrypted: from the first byte, or once they have begun."""
    scheme, _, _ = url.partition(":")
    return scheme in ENCRYPTED or starts_tls(url)


def starts_tls(url: str) -> bool:
    """Whether a connection begins in the clear and encrypts then: LDAP (RFC 4511, section 4.14)."""
    return parse_qs(url.partition("?")[2]).get("start_tls") == ["yes"]
