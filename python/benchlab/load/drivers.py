"""The Plan's driver, from the URLs of a system.

One function a driver: what the URLs say becomes its fields. A password is never among them, but the
name of the environment variable that the agent finds it in. Absent: what is asked.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from benchlab.load import passwords
from benchlab.load.workloads.asked import readable
from benchlab.model import quantities
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case, Tls
from benchlab.model.mentions import ENVIRONMENT
from benchlab.model.schemes import SCHEMES, is_encrypted, starts_tls
from benchlab.model.secrets import MENTION, is_mention, mask


def driver(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """The Plan's driver for a system at these URLs, which share one scheme."""
    kind = SCHEMES[urls[0].partition(":")[0]].driver
    for name in ("cookies", "redirects"):
        if kind != "http" and name in case.load.model_fields_set:
            raise InputError(f"{kind} has none", key=f"load.{name}")
    return {"kind": kind, **_FIELDS[kind](case, urls)}


def tls(case: Case, urls: Sequence[str], folder: Path) -> dict[str, Any]:
    """The Plan's key `tls` where connections are encrypted; nothing for any other.

    Raises:
        InputError: when the file of certificates, named from the folder, cannot be read.
    """
    if not is_encrypted(urls[0]):
        return {}
    found = (case.system.tls or Tls()).model_dump()
    if found["ca"] is not None:
        found["ca"] = readable(found["ca"], folder, f"systems.{case.system_name}.tls.ca")
    return {"tls": found}


def let_in(case: Case) -> tuple[str, ...]:
    """The URLs of a system that is already running, as its own client would complete them.

    With user, password and database, from wherever the Plan has them; to be kept nowhere.
    """
    urls = [ENVIRONMENT.sub(_said, url) for url in case.system.at]
    if not urls or SCHEMES[urls[0].partition(":")[0]].embedded:
        return tuple(urls)
    asked = driver(case, urls)
    if "user" not in asked:
        return tuple(urls)
    password = passwords.password_of(case)
    if asked["password"] not in (None, MENTION):
        password = ENVIRONMENT.sub(_said, asked["password"])
    user = quote(asked["user"] or "", safe="")
    who = f"{user}:{quote(password, safe='')}@" if password else f"{user}@" if user else ""
    found = []
    for url, target in zip(urls, asked["targets"], strict=True):
        parts, there = urlsplit(url), urlsplit(target)
        path = f"/{quote(str(asked['database']))}" if asked.get("database") else parts.path
        found.append(there._replace(netloc=who + there.netloc, path=path, query=parts.query))
    return tuple(parts.geturl() for parts in found)


def _said(mention: re.Match[str]) -> str:
    """What an environment variable says."""
    return os.environ.get(mention[1], "")


def _http(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    for url in urls:
        parts = _split(url)
        if "@" in parts.netloc:
            what = f"a user in an {parts.scheme}: URL is not sent; use a header `Authorization`"
            raise InputError(what)
    manners = {"cookies": case.load.cookies, "redirects": case.load.redirects}
    asked = {name: word for name, word in manners.items() if word not in ("ignore", "leave")}
    return {"targets": _targets(urls), **asked}


def _sqlite(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    if len(urls) != 1:
        raise InputError("sqlite: takes one database", key=f"systems.{case.system_name}.at")
    path = urls[0].removeprefix("sqlite:").removeprefix("//")
    settings = case.system.settings
    pragmas = {name: str(value) for name, value in settings.items() if value is not None}
    return {"path": path, "pragmas": pragmas}


def _file(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`file:/path?size=1GiB&direct=true`, all but the path at will."""
    key = f"systems.{case.system_name}.at"
    if len(urls) != 1:
        raise InputError("file: takes one path", key=key)
    parts = urlsplit(urls[0])
    given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    size, direct = given.pop("size", None), given.pop("direct", "false")
    if given or parts.netloc or not parts.path.startswith("/") or direct not in _YES_OR_NO:
        raise InputError(f"{urls[0]!r} is not file:/path?size=1GiB&direct=true", key=key)
    size_bytes = None if size is None else round(quantities.parse(size, "B"))
    return {"path": unquote(parts.path), "size_bytes": size_bytes, "direct": _YES_OR_NO[direct]}


_YES_OR_NO = {"true": True, "false": False}


def _postgresql(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`postgresql://USER@HOST:PORT/DATABASE?protocol=simple`, all but the host at will.

    The user is `PGUSER` or `postgres` by default. The simple protocol prepares nothing, which a
    pooler that lends its connections by the transaction may need.
    """
    user = os.environ.get("PGUSER", "postgres")
    return _database(case, urls, (user, "PGPASSWORD"), ("extended", "simple"))


def _mysql(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`mysql://USER@HOST:PORT/DATABASE?protocol=text`, whose user is `root` by default."""
    return _database(case, urls, ("root", "MYSQL_PWD"), ("prepared", "text"))


def _database(
    case: Case, urls: Sequence[str], by_default: tuple[str, str], protocols: tuple[str, str]
) -> dict[str, Any]:
    """What the URL leaves out is said by the files of the system's own client, where it runs.

    `by_default` are the user and the password's variable; the first protocol is the Plan's.
    """
    first = _alike(case, urls)
    user, password_variable = by_default
    options = parse_qs(first.query, keep_blank_values=True)
    protocol = options.pop("protocol", [protocols[0]])[-1]
    if options or protocol not in protocols:
        shape = f"{first.scheme}://host:port/DATABASE?protocol={protocols[0]} (or {protocols[1]})"
        what = f"{mask(urls[0])!r} is not {shape}"
        raise InputError(what, key=f"systems.{case.system_name}")
    said = passwords.kept(first, user) if case.system.at else passwords.Kept()
    password = _password(case, first, password_variable)
    if first.password is None and said.password is not None:
        password = MENTION
    return {
        "targets": _targets(urls),
        "user": unquote(first.username or "") or said.user or user,
        "password": password,
        "database": unquote(first.path.removeprefix("/")) or said.database,
        **({} if protocol == protocols[0] else {"protocol": protocol}),
    }


def _redis(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`redis://USER@HOST:PORT/DATABASE?resp=3&cluster=true`, all but the host at will.

    Several URLs spread the connections; those of a cluster name its nodes, all masters among them.
    """
    first = _alike(case, urls)
    path = first.path.strip("/")
    options = parse_qs(first.query, keep_blank_values=True)
    version, cluster = options.pop("resp", ["2"]), options.pop("cluster", ["false"])
    sound = version in (["2"], ["3"]) and cluster in (["false"], ["true"]) and not options
    if (path and not path.isdecimal()) or not sound:
        what = (
            f"{mask(urls[0])!r} is not redis://host:port/DATABASE?resp=2 (or 3), and for the nodes"
            " of a cluster &cluster=true"
        )
        raise InputError(what, key=f"systems.{case.system_name}")
    return {
        "targets": _targets(urls),
        "user": unquote(first.username or "") or None,
        "password": _password(case, first, "REDISCLI_AUTH"),
        "database": int(path or 0),
        "resp": int(version[0]),
        "cluster": cluster == ["true"],
    }


def _memcached(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`memcached://USER@HOST:PORT?sharding=modulo`, all but the host at will (ketama then)."""
    first = _alike(case, urls)
    sharding = parse_qs(first.query).get("sharding", []) if first.query else ["ketama"]
    if first.path.strip("/") or sharding not in (["ketama"], ["modulo"]):
        what = f"{mask(urls[0])!r} is not memcached://host:port?sharding=ketama (or modulo)"
        raise InputError(what, key=f"systems.{case.system_name}")
    return {
        "targets": _targets(urls),
        "sharding": sharding[0],
        "user": unquote(first.username or "") or None,
        "password": _password(case, first, "MEMCACHED_PASSWORD"),
    }


def _ldap(case: Case, urls: Sequence[str]) -> dict[str, Any]:
    """`ldap://NAME@HOST:PORT/BASE?start_tls=yes`, all but the host at will.

    Who asks is `LDAPBINDDN` by default, as with OpenLDAP's own clients, and nobody without that;
    the names of a mix are below the base.
    """
    first = _alike(case, urls)
    starts = parse_qs(first.query).get("start_tls", []) if first.query else ["no"]
    if starts not in (["no"], ["yes"]):
        what = f"{mask(urls[0])!r} is not ldap://host:port/BASE?start_tls=yes"
        raise InputError(what, key=f"systems.{case.system_name}")
    user = unquote(first.username or os.environ.get("LDAPBINDDN", "")) or None
    password = _password(case, first, "LDAPPASSWORD")
    if user is not None and password is None:
        what = f"{user} needs a password: set LDAPPASSWORD"
        raise InputError(what, key=f"systems.{case.system_name}")
    return {
        "targets": _targets(urls),
        "user": user,
        "password": None if user is None else password,
        "start_tls": starts_tls(urls[0]),
    }


_FIELDS: Mapping[str, Callable[[Case, Sequence[str]], dict[str, Any]]] = {
    "http": _http,
    "sqlite": _sqlite,
    "file": _file,
    "postgresql": _postgresql,
    "memcached": _memcached,
    "mysql": _mysql,
    "redis": _redis,
    "ldap": _ldap,
}


def _alike(case: Case, urls: Sequence[str]) -> SplitResult:
    """The first URL, which the others differ from in host and port alone."""
    parts = [_split(url) for url in urls]
    if len({(part.username, part.password, part.path, part.query) for part in parts}) > 1:
        what = "the URLs of one system differ in more than host and port"
        raise InputError(what, key=f"systems.{case.system_name}.at")
    return parts[0]


def _targets(urls: Sequence[str]) -> list[str]:
    parts = [_split(url) for url in urls]
    return [f"{part.scheme}://{_host(part)}:{_port(part)}" for part in parts]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError(f"{mask(url)!r} is no URL") from None
    if _port(parts) == 0:
        raise InputError(f"{mask(url)!r} has no port between 1 and 65535")
    if not parts.hostname:
        raise InputError(f"{mask(url)!r} names no host")
    return parts


def _port(parts: SplitResult) -> int:
    """The port, the scheme's own where none is given; 0 for what is none."""
    try:
        return (SCHEMES[parts.scheme].port or 0) if parts.port is None else parts.port
    except ValueError:
        return 0


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"[{name}]" if ":" in name else name


def _password(case: Case, parts: SplitResult, variable: str) -> str | None:
    """Where the agent finds the password: what the file's URL names, or else this variable.

    The URL at hand has its mentions filled in, so the file's own is looked at.

    Raises:
        InputError: where the URL itself has a password.
    """
    if parts.password is None:
        return f"${{env:{variable}}}" if variable in os.environ else None
    if is_mention(unquote(parts.password)):
        return unquote(parts.password)
    for written in (*case.system.at, case.system.url or ""):
        if found := re.search(r"://[^/@]*?:(\$\{env:\w+\})@", written):
            return found[1]
    what = f"a password does not belong in a URL; set {variable} and leave it out"
    raise InputError(what, key=f"systems.{case.system_name}.at")
