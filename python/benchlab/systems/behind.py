"""What a system is told of those that stand behind it: URLs, in words it can take up.

A text of the file may mention `${db.url}`, `${db.host}` and the like of a system `db` behind it,
and its processes find the same in their environment, as `DB_URL`. Passwords go no other way than
into that environment and into files of the system's own folder. Absent: bringing them up
(`topology`).
"""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from benchlab.model.errors import InputError
from benchlab.model.secrets import MENTION
from benchlab.systems import reach

Behind = Mapping[str, tuple[str, ...]]
"""URLs by the names that the file gives; passwords are mentioned in them, not told."""
THROUGH = "through"
"""Scheme of a front that speaks what stands behind it speaks."""


def addresses(behind: Behind) -> dict[str, str]:
    """What may be told on a command line, by its mention: `db.host`, `db.port` and `db.user`."""
    found = {}
    for name, urls in behind.items():
        host, port = reach.address(urls[0])
        found[f"{name}.host"], found[f"{name}.port"] = host, str(port)
        found[f"{name}.user"] = unquote(urlsplit(urls[0]).username or "")
    return found


def secrets(behind: Behind, password: str) -> dict[str, str]:
    """All that may be told in an environment or in files: addresses, URLs and the password."""
    found = addresses(behind)
    for name, urls in behind.items():
        told = [url.replace(MENTION, password) for url in urls]
        found[f"{name}.url"], found[f"{name}.urls"] = told[0], ",".join(told)
        found[f"{name}.password"] = password if MENTION in urls[0] else ""
    return found


def environment(behind: Behind, password: str) -> dict[str, str]:
    """The same as variables: `DB_URL` for `db.url`."""
    told = secrets(behind, password)
    return {name.upper().replace(".", "_").replace("-", "_"): told[name] for name in told}


def checked(urls: tuple[str, ...], key: str) -> tuple[str, ...]:
    """The URLs of a system that nothing stands behind. Raises InputError where something must."""
    if any(url.startswith(f"{THROUGH}:") for url in urls):
        raise InputError("passes on what it is asked, so it needs `before:`", key=key)
    return urls


def through(url: str, behind: Behind) -> str:
    """The URL of a front, which may speak what stands behind it speaks."""
    if not url.startswith(f"{THROUGH}:"):
        return url
    front, (back, *_) = urlsplit(url), next(iter(behind.values()))
    user, at, _ = urlsplit(back).netloc.rpartition("@")
    return urlsplit(back)._replace(netloc=f"{user}{at}{front.netloc}").geturl()
