"""Who asks a running system and by which password, from where its own client looks for them.

PostgreSQL: the service of `PGSERVICE`, `PGPASSWORD`, `~/.pgpass` (libpq, sections 34.15 to 34.17).
MySQL and MariaDB: `~/.my.cnf`, `MYSQL_PWD`. Others by an environment variable alone, which
`drivers` names. A file that others may read (PostgreSQL) or write (MySQL) is not believed, as the
clients do not. Absent: passwords in a Plan, which only says where the agent finds one.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from benchlab.model.errors import InputError
from benchlab.model.experiment import Case
from benchlab.model.mentions import ENVIRONMENT
from benchlab.model.schemes import SCHEMES


@dataclass(frozen=True)
class Kept:
    """What a client's own files say."""

    user: str | None = None
    password: str | None = None
    database: str | None = None


def kept(parts: SplitResult, default_user: str) -> Kept:
    """What the files of the client of such a URL say about it."""
    look = _LOOKS.get(SCHEMES[parts.scheme].driver)
    return Kept() if look is None else look(parts, default_user)


def password_of(case: Case) -> str | None:
    """The password in files for a system that is already running, if there is one.

    Raises:
        InputError: where a service is asked for that is nowhere.
    """
    if not case.system.at:
        return None
    url = ENVIRONMENT.sub(lambda found: os.environ.get(found[1], ""), case.system.at[0])
    return kept(urlsplit(url), "").password


def _postgresql(parts: SplitResult, default_user: str) -> Kept:
    service = _service()
    user = unquote(parts.username or "") or service.get("user") or os.environ.get("PGUSER")
    database = unquote(parts.path.strip("/")) or service.get("dbname")
    password = service.get("password")
    if password is None and "PGPASSWORD" not in os.environ:
        user = user or default_user or "postgres"
        asked = (parts.hostname or "", str(parts.port or 5432), database or user, user)
        password = _passed(asked)
    return Kept(service.get("user"), password, database)


def _service() -> Mapping[str, str]:
    name = os.environ.get("PGSERVICE")
    if not name:
        return {}
    path = Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")
    sections = _sections(_text(path, 0))
    if name not in sections:
        what = f"the service {name!r} is not in {path}"
        raise InputError(what, key="PGSERVICE")
    return sections[name]


def _passed(asked: tuple[str, ...]) -> str | None:
    """The password of the first line of .pgpass that fits."""
    path = Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
    for line in _text(path, 0o077).splitlines():
        if line.startswith("#"):
            continue
        if found := _LINE.fullmatch(line):
            fields = [re.sub(r"\\(.)", r"\1", part) for part in found.groups()]
            if all(part in ("*", wanted) for part, wanted in zip(fields, asked, strict=False)):
                return fields[4]
    return None


_LINE = re.compile(r"((?:\\.|[^:\\])*):" * 4 + "(.*)")


def _mysql(_parts: SplitResult, _default_user: str) -> Kept:
    sections = _sections(_text(Path.home() / ".my.cnf", 0o002))
    found: dict[str, str] = {}
    for name in ("client", "mysql", "client-mariadb", "mariadb-client"):
        found |= sections.get(name, {})
    return Kept(found.get("user"), found.get("password"))


_LOOKS: Mapping[str, Callable[[SplitResult, str], Kept]] = {
    "postgresql": _postgresql,
    "mysql": _mysql,
}
"""By the driver."""


def _text(path: Path, refused_mode: int) -> str:
    """A file's content; nothing where it cannot be read or has one of these permissions."""
    try:
        if path.stat().st_mode & refused_mode:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sections(text: str) -> dict[str, dict[str, str]]:
    """The sections of an option file, each key's last value in it."""
    return {name: dict(_options(body)) for name, body in _bodies(text)}


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"(?m)^\s*\[([^\]]*)\].*$", text)
    merged: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        merged[name] = merged.get(name, "") + body
    yield from merged.items()


def _options(body: str) -> Iterator[tuple[str, str]]:
    for line in body.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.lstrip().startswith(("#", ";")):
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            yield key.strip(), value[1:-1] if quoted else value
