"""What each kind of system is made of, whether it is here, and how to have it.

Packages are Debian's, installed on request alone. A package that would start a server of its own is
kept from it, since that server would be in every figure measured here. Absent: any other package
manager, whose users are told which programs are needed.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from benchlab.host import programs
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import System
from benchlab.systems.members import ServerKind
from benchlab.systems.registry import KINDS

TAIL_LINES = 5
_QUIETLY = """
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
fi
DEBIAN_FRONTEND=noninteractive "$@"
"""
"""Runs a command while no package may start its services."""


@dataclass(frozen=True)
class Software:
    """What a kind of system is made of."""

    kind: str
    what: str
    versions: dict[str, str | None]
    """Of the programs that are here."""
    missing: tuple[str, ...]
    """The programs that are not."""
    packages: tuple[str, ...]
    """Debian's packages that bring what is missing, as far as they are known."""
    why: str | None
    """What is missing and how to get it; None where nothing is."""

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)

    @property
    def version(self) -> str:
        """Of its first program; empty where it tells none."""
        return next(iter(self.versions.values()), None) or ""


def look(name: str) -> Software:
    """What is here of a kind. Raises InputError, naming the nearest, for one that is not known."""
    if name not in KINDS:
        near = get_close_matches(name, KINDS, n=1, cutoff=0.4)
        what = f"no kind of system is called `{name}`; there are {', '.join(sorted(KINDS))}"
        raise InputError(what, nearest=near[0] if near else None)
    kind = KINDS[name]
    # What a command line needs is told by the file that has it.
    why = None if name == "command" else kind.missing(System(kind=name))
    if not isinstance(kind, ServerKind):
        return Software(name, kind.summary, {}, (), (), why)
    needed = [programs.look(need) for need in kind.needs]
    absent = [program for program in needed if not program.is_there]
    packages = dict.fromkeys(p.package for p in absent if p.package is not None)
    return Software(
        name,
        kind.summary,
        {program.name: program.version for program in needed if program.is_there},
        tuple(program.name for program in absent),
        tuple(packages),
        why,
    )


def everything() -> list[Software]:
    """Every kind, by name."""
    return [look(name) for name in sorted(KINDS)]


def command(packages: Sequence[str]) -> list[str]:
    """The command line, for root, that installs packages."""
    return ["apt-get", "install", "--yes", "--no-install-recommends", *packages]


def install(found: Sequence[Software]) -> None:
    """Installs what kinds lack.

    Raises HostError, with the command to type, where it may not be done here, where it fails, and
    where something is missing still.
    """
    packages = list(dict.fromkeys(package for one in found for package in one.packages))
    if unknown := [one for one in found if one.why and not one.packages]:
        raise HostError("; ".join(f"{one.kind} {one.why}" for one in unknown))
    if not packages:
        return
    line = command(packages)
    root = _as_root()
    if root is None:
        raise HostError(f"installing needs root: sudo {shlex.join(line)}")
    if shutil.which("apt-get") is None:
        names = ", ".join(name for one in found for name in one.missing)
        raise HostError(f"there is no apt-get here: install {names} and put them on the PATH")
    _run([*root, "sh", "-c", _QUIETLY, "sh", *line], line)
    programs.look.cache_clear()
    if still := [one for one in map(look, (one.kind for one in found)) if one.why]:
        raise HostError("; ".join(f"{one.kind} still {one.why}" for one in still))


def _as_root() -> list[str] | None:
    """What a command for root begins with; None where it may not be had without asking."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and not subprocess.run([*sudo, "true"], capture_output=True).returncode:
        return sudo
    return None


def _run(argv: Sequence[str], line: Sequence[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-TAIL_LINES:]
        hint = "; try apt-get update first" if "Unable to locate" in done.stderr else ""
        raise HostError(f"`{shlex.join(line)}` failed: {' '.join(said)}{hint}")
