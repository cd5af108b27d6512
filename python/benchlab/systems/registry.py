"""The kinds of systems by name.

Absent: the kinds themselves, each a module beside this one.
"""

from difflib import get_close_matches

from benchlab.model.errors import InputError
from benchlab.model.experiment import System
from benchlab.systems import at, command, sqlite
from benchlab.systems.protocol import Kind

KINDS: dict[str, Kind] = {"command": command, "sqlite": sqlite}
"""Kinds the lab starts itself."""


def kind_of(name: str, system: System) -> Kind:
    """The module for a system of the experiment: one that has `at` is only reached.

    Raises InputError, naming the nearest, for a kind that is not known.
    """
    if system.at:
        return at
    if system.kind in KINDS:
        return KINDS[system.kind]
    if system.start is not None:
        return command
    near = get_close_matches(system.kind, KINDS, n=1, cutoff=0.4)
    raise InputError(
        f"no kind of system is called `{system.kind}`; there are {', '.join(sorted(KINDS))}, "
        "or `at:` for one that is already running",
        key=f"systems.{name}.kind",
        nearest=near[0] if near else None,
    )
