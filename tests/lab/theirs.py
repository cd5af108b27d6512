"""Servers that somebody else runs, for the lab to be a guest at: asked beside it by own clients."""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchlab.host import programs
from benchlab.host.processes import Leash
from benchlab.model.experiment import System
from benchlab.model.secrets import MENTION
from benchlab.systems import KINDS, Place, openldap
from benchlab.systems.members import ServerKind
from benchlab.systems.server import Server

VARIABLE = "THEIRS"
"""The environment variable in which a file finds their password."""


class Theirs:
    """A server of a kind, and what its owner sees in it."""

    def __init__(
        self, kind: str, leash: Leash, folder: Path, password: str = "hush", **keys: Any
    ) -> None:
        found = KINDS[kind]
        assert isinstance(found, ServerKind)
        self.kind = kind
        place = Place(leash, folder / "theirs", password=password)
        self.made = found.start(kind, System.model_validate({"kind": kind, **keys}), place)
        self.server: Server = next(iter(self.made.members.values()))
        if kind == "mariadb":
            grant = "GRANT ALL ON guest.* TO bench@'127.0.0.1';"
            socket_file = f"--socket={self.server.folder}/socket"
            client = [programs.path("mariadb"), "--no-defaults", socket_file, "-uroot"]
            _run(client, grant, MYSQL_PWD=self.server.bed.password)
        self.urls = [url.replace(MENTION, f"${{env:{VARIABLE}}}") for url in self.made.urls]
        self.url = self.urls[0]

    def client(self, text: str) -> list[str]:
        """What its owner's client answers, line by line."""
        return CLIENTS[self.kind](self.server, text)

    def holds(self) -> list[str]:
        """All its owner can find in it, member by member."""
        client, text = CLIENTS[self.kind], LISTED[self.kind]
        return [line for member in self.made.members.values() for line in client(member, text)]


def _run(command: list[str], text: str, **environment: str) -> list[str]:
    done = subprocess.run(
        command,
        input=text,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return sorted(done.stdout.splitlines())


def _psql(server: Server, text: str) -> list[str]:
    command = [programs.path("psql"), "-qAtX", "-h127.0.0.1", f"-p{server.port}", "-Ubench"]
    return _run([*command, "-vON_ERROR_STOP=1", "bench"], text, PGPASSWORD=server.bed.password)


def _mariadb(server: Server, text: str) -> list[str]:
    command = [programs.path("mariadb"), "--no-defaults", "-N", "-h127.0.0.1"]
    return _run([*command, f"-P{server.port}", "-ubench"], text, MYSQL_PWD=server.bed.password)


def _redis(server: Server, text: str) -> list[str]:
    command = ["redis-cli", "-p", str(server.port)]
    return _run(command, text, REDISCLI_AUTH=server.bed.password)


def _memcached(server: Server, text: str) -> list[str]:
    """What is said until it is done."""
    lines = []
    with socket.create_connection(("127.0.0.1", server.port), 5) as there:
        there.sendall(text.replace("\n", "\r\n").encode() + b"\r\n")
        with there.makefile("r") as answers:
            for line in map(str.strip, answers):
                if line in ("END", "STORED"):
                    break
                lines.append(line)
    # When a key is forgotten, and was last asked for, is no matter here.
    return sorted(re.sub(r" exp=.*", "", line) for line in lines)


def _ldap(server: Server, text: str) -> list[str]:
    """Adds entries, or tells all there are."""
    if text:
        command = ["ldapadd", "-x", "-H", f"ldap://127.0.0.1:{server.port}", "-D", openldap.ADMIN]
        return _run([*command, "-w", server.bed.password], text)
    return _run(["slapcat", "-f", f"{server.folder}/slapd.conf", "-o", "ldif-wrap=no"], "")


CLIENTS: dict[str, Callable[[Server, str], list[str]]] = {
    "mariadb": _mariadb,
    "memcached": _memcached,
    "openldap": _ldap,
    "postgresql": _psql,
    "redis": _redis,
}
LISTED = {
    "memcached": "lru_crawler metadump all",
    "openldap": "",
    "redis": "keys *",
    "postgresql": "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%';"
    "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT LIKE 'pg\\_%';",
    "mariadb": "SELECT schema_name FROM information_schema.schemata;"
    "SELECT table_schema, table_name, table_comment FROM information_schema.tables"
    " WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys');",
}
