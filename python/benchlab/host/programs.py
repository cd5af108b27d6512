"""Programs: whether they are on the machine, in which version, and which package brings them.

Absent: starting them.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchlab.model.errors import HostError

VERSION_S = 5.0
SERVERS = "/usr/sbin"
"""Where Debian puts servers; only root's PATH has it."""
_NUMBER = re.compile(r"\d+(?:\.\d+)+[^\s\"]*")
_DASHED = {"java": "-version", "javac": "-version", "nginx": "-v", "apache2": "-v"}
_DASHED |= {"searchd": "-h", "slapd": "-VV"}
"""How programs are asked that know no `--version`."""

PACKAGES: dict[str, str] = {
    "cargo": "cargo",
    "cc": "gcc",
    "curl": "curl",
    "docker": "docker.io",
    "gcc": "gcc",
    "git": "git",
    "go": "golang-go",
    "gunicorn": "gunicorn",
    "haproxy": "haproxy",
    "indexer": "sphinxsearch",
    "initdb": "postgresql",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "make": "make",
    "mariadb": "mariadb-client",
    "mariadb-install-db": "mariadb-server",
    "mariadbd": "mariadb-server",
    "memcached": "memcached",
    "nginx": "nginx-light",
    "node": "nodejs",
    "npm": "npm",
    "pg_basebackup": "postgresql-client",
    "php-fpm": "php-fpm",
    "podman": "podman",
    "postgres": "postgresql",
    "psql": "postgresql-client",
    "python3": "python3",
    "redis-cli": "redis-tools",
    "redis-server": "redis-server",
    "rsync": "rsync",
    "searchd": "sphinxsearch",
    "slapd": "slapd",
    "sqlite3": "sqlite3",
}
"""Program to the Debian package that brings it."""


@dataclass(frozen=True)
class Program:
    """Something a system needs: a program, or `python3:tornado`, a module of an interpreter."""

    name: str
    path: str | None
    version: str | None
    package: str | None

    @property
    def is_there(self) -> bool:
        """Whether it can be used."""
        return self.path is not None


@cache
def look(need: str, wanted: str | None = None) -> Program:
    """Looks for what a system needs; with a wanted version for a program of that, or part of it."""
    name, _, module = need.partition(":")
    there = _every(name) if wanted is None else _of_version(name, wanted)
    path = next(there, None)
    if not module:
        return Program(need, path, version(path) if path else None, PACKAGES.get(Path(name).name))
    code = (
        "import importlib.metadata as m, importlib.util as u, sys\n"
        f"u.find_spec({module!r}) or sys.exit(1)\n"
        f"print(m.version({module!r}))"
    )
    out = _run([path, "-c", code]) if path else None
    found = path if out is not None else None
    return Program(need, found, (out or "").strip() or None, f"python3-{module}")


def path(name: str) -> str:
    """Where a program is. Raises HostError, saying how to get it, where it is not."""
    program = look(name)
    if program.path is None:
        raise HostError(f"needs {name}: {how_to_get(program)}")
    return program.path


def search_path() -> str:
    """Where programs are looked for: the PATH, and where servers lie that a user's may lack."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), SERVERS))


def companion(name: str, of: Program) -> Program:
    """The program of that name beside another one, or beside what that is a link to; else any."""
    for path in (Path(of.path), Path(of.path).resolve()) if of.path else ():
        if os.access(path.with_name(name), os.X_OK):
            return look(str(path.with_name(name)))
    return look(name)


def others(name: str) -> str:
    """The versions of a program that are here, for a message; empty where there are none."""
    return " and ".join(f"{version(path)} ({path})" for path in dict.fromkeys(_every(name)))


def _of_version(name: str, wanted: str) -> Iterator[str]:
    """Those whose version begins with the parts of the wanted one: 15.6 is a 15, but no 15.60."""
    parts = wanted.split(".")
    for path in _every(name):
        if re.split(r"[.-]", version(path) or "")[: len(parts)] == parts:
            yield path


def _every(name: str) -> Iterator[str]:
    """On the PATH, then where Debian keeps what it does not put there, the newest first."""
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = (SERVERS, *map(str, newest))
    # Debian puts the version into the names of PHP's programs.
    versions = sorted(Path(SERVERS).glob("php-fpm?*")) if name == "php-fpm" else []
    for each in (name, *(path.name for path in reversed(versions))):
        if found := shutil.which(each):
            yield found
        for folder in folders:
            if found := shutil.which(each, path=folder):
                yield found


def version(path: str) -> str | None:
    """The version a program tells of itself; None when it tells none."""
    flag = _DASHED.get(Path(path).name, "--version")
    found = _NUMBER.search(_run([path, flag], errors=True) or "")
    return found[0].rstrip(",;)") if found else None


def how_to_get(program: Program, install: str | None = None) -> str:
    """What to type to have it; `install` is what the experiment file says."""
    path = Path(program.name.partition(":")[0])
    if path.is_absolute() and not path.exists():
        return install or f"there is no file {path}"
    if path.is_absolute() and path.is_dir():
        return f"{path} is a folder, not a program"
    if path.is_absolute() and not os.access(path, os.X_OK):
        return f"{path} may not be executed: chmod +x {path}"
    if install:
        return install
    if program.package:
        return f"apt-get install {program.package}"
    return f"install {program.name} and put it on the PATH"


def _run(argv: list[str], errors: bool = False) -> str | None:
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=VERSION_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    if done.returncode and not errors:
        return None
    return done.stdout + (done.stderr if errors else "")
