"""May two runs be compared at all: the same experiment, asked alike, on the same machine?

What is asked and how must be the same; the systems may differ, which is what one wants to know of.
Absent: what the runs' figures say (`between`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.model.errors import InputError
from benchlab.model.evidence import Frozen, Summary
from benchlab.model.experiment import Case, Experiment
from benchlab.model.records import SHORT, RunRecord

FINGERPRINT = "fingerprint"
_PASSING = ("name", "swap_bytes", FINGERPRINT)
"""Of a machine's description, what does not make it another machine."""
ABSENT = "nothing"
MOST_CHANGES = 12


@dataclass(frozen=True)
class Told:
    """A run that has an answer, as it is laid beside others."""

    record: RunRecord
    experiment: Experiment
    cases: Mapping[str, Case]
    summary: Summary

    @property
    def id(self) -> str:
        """The run's short name."""
        return self.record.id

    @property
    def machine(self) -> str:
        """The fingerprint of the machine it ran on; empty where it has none."""
        return str(self.record.host.get(FINGERPRINT, ""))


def check_alike(a: Told, b: Told) -> tuple[str, ...]:
    """The cases that both runs have, by name.

    Raises InputError that names the first thing that keeps them from being compared.
    """
    if a.id == b.id:
        raise InputError("is the same run; name two", key=a.id)
    if a.experiment.name != b.experiment.name:
        raise InputError(
            f"is a run of {a.experiment.name}, and {b.id} one of {b.experiment.name}: "
            "only runs of one experiment are compared",
            key=a.id,
        )
    _check_machine(a, b)
    shared = tuple(name for name in a.cases if name in b.cases)
    if not shared:
        raise InputError(f"has no case in common with {b.id}", key=a.id)
    for name in shared:
        for key, was, now in _asked_otherwise(a.cases[name], b.cases[name]):
            raise InputError(
                f"{name} was asked otherwise in {b.id}: {key} was {was} and is {now}", key=a.id
            )
    return shared


def is_alike(a: Told, b: Told, case: str) -> bool:
    """Whether a case of both runs was measured on one machine and asked alike."""
    if a.machine != b.machine or case not in a.cases or case not in b.cases:
        return False
    return not any(_asked_otherwise(a.cases[case], b.cases[case]))


def _asked_otherwise(a: Case, b: Case) -> Iterator[tuple[str, Any, Any]]:
    for place in ("workload", "load"):
        one, other = (_flat(getattr(case, place), place) for case in (a, b))
        yield from _differing(one, other)


def _check_machine(a: Told, b: Told) -> None:
    for side in (a, b):
        if not side.machine:
            raise InputError("does not say which machine it was measured on", key=side.id)
    if a.machine == b.machine:
        return
    known = [{k: v for k, v in side.record.host.items() if k not in _PASSING} for side in (a, b)]
    parts = [f"{key} {was} and {now}" for key, was, now in _differing(*known)]
    what = "; ".join(parts) or "another fingerprint"
    raise InputError(f"was measured on another machine than {b.id} ({what})", key=a.id)


def changed(a: Told, b: Told) -> tuple[str, ...]:
    """What is known to differ between two runs: commits, versions, settings; a line each."""
    found = [f"{key}: {was} → {now}" for key, was, now in _differing(_recipe(a), _recipe(b))]
    more = len(found) - MOST_CHANGES
    return (*found[:MOST_CHANGES], *([f"and {more} more"] if more > 0 else ()))


def missing(a: Told, b: Told) -> tuple[str, ...]:
    """Cases that one of two runs has alone, a line each."""
    return tuple(
        f"only {one.id} has the case {name}"
        for one, other in ((a, b), (b, a))
        for name in one.cases
        if name not in other.cases
    )


def _recipe(side: Told) -> dict[str, Any]:
    record = side.record
    commits = {f"{s.system} at {s.revision}": s.commit[:SHORT] for s in record.sources}
    systems = {case.system_name: case.system for case in side.cases.values()}
    parts: dict[str, Any] = {"commits": commits, "installed": record.systems, "systems": systems}
    return _flat({**parts, "versions": record.versions, "allow": side.experiment.allow})


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """A tree as paths and their plain values."""
    plain = value.model_dump() if isinstance(value, Frozen) else value
    if not isinstance(plain, Mapping):
        return {path: plain}
    found: dict[str, Any] = {}
    for key, inner in plain.items():
        found |= _flat(inner, f"{path}.{key}" if path else str(key))
    return found


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in dict.fromkeys((*a, *b)):
        was, now = a.get(key, ABSENT), b.get(key, ABSENT)
        if was != now:
            yield key, was, now
