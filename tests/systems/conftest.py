"""Servers made from nothing, for the tests of one and of several."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from servers import MIXES

from benchlab.host import programs
from benchlab.host.processes import Leash
from benchlab.lab.opening import KNOWN
from benchlab.model.cases import cases
from benchlab.model.experiment import Case
from benchlab.model.reading import read_mapping
from benchlab.systems import KINDS, Place
from benchlab.systems.members import Members, ServerKind


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as leash:
        yield leash


@pytest.fixture
def made(leash: Leash, program: Callable[[str], str]) -> Callable[..., tuple[Case, Members]]:
    """Makes a server of a kind."""

    def make(kind: str, mix: Any = None, values: Any = None, **keys: Any) -> tuple[Case, Members]:
        found = KINDS[kind]
        assert isinstance(found, ServerKind)
        for need in found.needs:
            if not programs.look(need).is_there:
                program(need)
        workload: dict[str, Any] = {"name": "records", "data": {"records": 5000}}
        if kind in MIXES:
            workload = {"mix": mix or MIXES[kind]} | ({"values": values} if values else {})
        load = {"clients": 4, "transactions": 2000, "warmup": 0}
        text = {"experiment": "x", "systems": {kind: keys}, "workload": workload, "load": load}
        case = cases(read_mapping(text, known=KNOWN))[0]
        folder = leash.folder() / "system"
        return case, found.start(kind, case.system, Place(leash, folder))

    return make
