"""HAProxy, one server that balances what it is asked over what stands behind it.

It passes HTTP on where that is what is spoken behind it, and else the connections as they are.
`settings` are directives of its section `defaults`; those of others begin with the section's name:
`global.nbthread`, `backend.balance`; `files` that end in `.cfg` bring sections of their own.
Servers behind it are checked twice a second and balanced in turn unless the settings say otherwise.
Absent: TLS, and several backends.
"""

import csv
import re
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from benchlab.model.errors import HostError
from benchlab.model.schemes import SCHEMES
from benchlab.systems import reach
from benchlab.systems.behind import THROUGH
from benchlab.systems.counters import haproxy as counters
from benchlab.systems.members import OWN, ServerKind
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe, heeded

SECTIONS = ("global", "frontend", "backend")
FRESH = {
    "timeout connect": "5s",
    "timeout client": "1m",
    "timeout server": "1m",
    "balance": "roundrobin",
    "default-server": "check inter 500ms",
}
CONFIGURATION = """global
  stats socket {folder}/admin level admin
{global}
defaults
  mode {mode}
{defaults}
frontend front
  bind 127.0.0.1:{port}
  default_backend back
{frontend}
backend back
{servers}
{backend}
"""
NUMBERS = {"maxconn", "maxconnrate", "maxsessrate", "retries", "backlog", "fullconn", "ulimit-n"}
NUMBERS |= {"tune.maxaccept"}
"""Directives that it reads as far as they are digits, and else as 0, without a word."""
OTHERWISE = re.compile(
    r"\[WARNING\].*? : config : (?:parsing \[\S+\] ?: )?(.+ (?:ignored|Falling back) .+)"
)
"""How it says that it passes over a line, or goes on with something else than it says."""
GOOD = ("UP", "no check")


def recipe(bed: Bed) -> Recipe:
    """Its configuration names the servers behind it, which are up by now."""
    ((name, urls),) = bed.behind.items()
    given = bed.sections(SECTIONS, "defaults")
    given["defaults"] = {**FRESH, **given["defaults"]}
    for directive, value in (each for found in given.values() for each in found.items()):
        if directive in NUMBERS and not value.isdecimal():
            wrong = f"`{directive} {value}` for another number: give a whole one"
            raise HostError(f"haproxy would take {wrong}")
    speaks_http = urlsplit(urls[0]).scheme == "http"
    configuration = CONFIGURATION.format(
        folder=bed.folder,
        port=bed.port,
        mode="http" if speaks_http else "tcp",
        servers=servers(name, urls),
        **{
            section: "\n".join(f"  {directive} {value}" for directive, value in found.items())
            for section, found in given.items()
        },
    )

    given_too = [name for name in bed.system.files if name.endswith(".cfg")]
    more = [word for name in given_too for word in ("-f", f"{bed.folder}/files/{name}")]

    def answers() -> None:
        all_up(f"{bed.folder}/admin")
        heeded(bed, OTHERWISE)
        reach.answers(f"{'http' if speaks_http else 'tcp'}://127.0.0.1:{bed.port}/")

    return Recipe(
        start=[bed.program("haproxy"), "-db", "-f", f"{bed.folder}/haproxy.cfg", *more],
        files={"haproxy.cfg": configuration},
        answers=answers,
    )


def servers(name: str, urls: Sequence[str]) -> str:
    """A line for each server behind it."""
    names = [name] if len(urls) == 1 else [f"{name}-{n}" for n in range(1, len(urls) + 1)]
    addresses = [reach.address(url) for url in urls]
    return "\n".join(
        f"  server {each} {host}:{port}"
        for each, (host, port) in zip(names, addresses, strict=True)
    )


def all_up(admin: str) -> None:
    """Raises NotReadyError unless it takes every server behind it for one that is up."""
    try:
        with socket.socket(socket.AF_UNIX) as there:
            there.settimeout(ANSWER_S)
            there.connect(admin)
            there.sendall(b"show stat\n")
            with there.makefile(encoding="utf-8") as answer:
                rows = list(csv.DictReader(answer))
    except OSError as error:
        raise NotReadyError(f"nobody answers ({error.strerror or error})") from error
    for row in rows:
        if row["svname"] not in ("FRONTEND", "BACKEND") and not row["status"].startswith(GOOD):
            raise NotReadyError(f"{row['svname']} is {row['status']} to it")


KIND = ServerKind(
    summary="HAProxy, one server that balances over what stands behind it",
    needs=("haproxy",),
    url=f"{THROUGH}://127.0.0.1:${{port}}",
    recipe=recipe,
    counters=counters.COUNTING,
    passes=(*(name for name, scheme in SCHEMES.items() if not scheme.embedded), "fastcgi"),
    keys=OWN | {"before"},
)
