"""The kinds of systems by name.

Absent: the kinds themselves, each a module beside this one.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import System
from benchlab.model.metrics import made_of
from benchlab.model.schemes import SCHEMES
from benchlab.systems import (
    at,
    behind,
    file,
    galera,
    haproxy,
    instances,
    mariadb,
    memcached,
    nginx,
    openldap,
    php_fpm,
    postgresql,
    redis,
    sphinx,
    sqlite,
)
from benchlab.systems.counters import Counting, exporter
from benchlab.systems.members import ServerKind
from benchlab.systems.protocol import Instance, Kind, Place
from benchlab.systems.topology import TopologyKind

GROUP = "benchlab.systems"
"""Entry points of other packages that bring kinds of their own, each by its name."""
KINDS: dict[str, Kind] = {
    "command": instances.KIND,
    "file": file,
    "galera": galera.KIND,
    "haproxy": haproxy.KIND,
    "mariadb": mariadb.KIND,
    "memcached": memcached.KIND,
    "nginx": nginx.KIND,
    "openldap": openldap.KIND,
    "php-fpm": php_fpm.KIND,
    "postgresql": postgresql.KIND,
    "redis": redis.KIND,
    "sphinx": sphinx.KIND,
    "sqlite": sqlite,
}
"""Kinds the lab starts itself."""


@dataclass(frozen=True)
class Broken:
    """A kind of another package that cannot be loaded: an experiment that uses it is refused."""

    why: str
    summary = "brought by another package, and not to be had"
    keys = frozenset({"settings", "environment", "files"})

    def missing(self, system: System) -> str | None:
        """Always why."""
        return self.why

    def start(self, name: str, system: System, place: Place) -> Instance:
        """Raises HostError."""
        raise HostError(f"{name}: {self.why}")

    def expected_urls(self, system: System) -> tuple[str, ...]:
        """Raises HostError."""
        raise HostError(f"the kind `{system.kind}` of {self.why}")

    def describe(self, system: System) -> dict[str, Any]:
        """Nothing that is known."""
        return {}


def _brought(point: EntryPoint) -> Kind:
    try:
        kind: Kind = point.load()
    except Exception as error:
        return Broken(f"{point.value} cannot be loaded: {error!r:.200}")
    return kind


KINDS |= {point.name: _brought(point) for point in entry_points(group=GROUP)}


def own_metrics() -> dict[str, str]:
    """The metrics made of what the kinds count of themselves, with their units."""
    counting = {name: getattr(kind, "counters", None) for name, kind in KINDS.items()}
    counting[exporter.KIND] = exporter.COUNTING
    return {
        metric.name: metric.unit
        for name, found in counting.items()
        if isinstance(found, Counting)
        for counter, what in found.meanings.items()
        for metric in made_of(name, counter, what.kind, what.unit)
    }


def kind_of(name: str, system: System) -> Kind:
    """The module for a system of the experiment, which is what its driver talks to.

    Raises InputError, naming the nearest, for a kind that is not known, and for one that no driver
    can ask.
    """
    kind: Kind = TopologyKind(name, kind_alone) if system.before else kind_alone(name, system)
    if isinstance(kind, ServerKind | TopologyKind):
        key = f"systems.{name}"
        scheme = behind.checked(kind.expected_urls(system), key)[0].partition(":")[0]
        if scheme not in SCHEMES:
            what = f"no driver speaks {scheme}: name it in `before:` of a system that one asks"
            raise InputError(what, key=key)
    return kind


def kind_alone(name: str, system: System) -> Kind:
    """The module for one system, whatever stands behind it; `at` is only reached.

    Raises InputError, naming the nearest, for a kind that is not known.
    """
    if system.at:
        return at
    if system.start is not None:
        return instances.KIND
    if system.kind in KINDS:
        return KINDS[system.kind]
    near = get_close_matches(system.kind, KINDS, n=1, cutoff=0.4)
    raise InputError(
        f"no kind of system is called `{system.kind}`; there are {', '.join(sorted(KINDS))}, "
        "or `at:` for one that is already running",
        key=f"systems.{name}.kind",
        nearest=near[0] if near else None,
    )
