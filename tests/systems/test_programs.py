"""Which program a system is made of: that of its kind, another one, or one of a version."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.host import programs
from benchlab.host.processes import Leash
from benchlab.lab.opening import KNOWN
from benchlab.model.errors import InputError
from benchlab.model.experiment import System
from benchlab.model.reading import read_experiment
from benchlab.systems import KINDS, Place
from benchlab.systems.members import ServerKind

pytestmark = pytest.mark.real

OTHER = """#!/bin/sh
[ "$1" = --version ] && echo "memcached 9.8.7-other" && exit
echo made by hand >&2
exec {memcached} "$@"
"""


@pytest.fixture
def other(leash: Leash, program: Callable[[str], str]) -> Path:
    """A memcached of somebody's own making, which tells a version of its own."""
    made = leash.folder() / "memcached"
    made.parent.chmod(0o755)
    made.write_text(OTHER.format(memcached=program("memcached")))
    made.chmod(0o755)
    return made


def kind(name: str) -> ServerKind:
    found = KINDS[name]
    assert isinstance(found, ServerKind)
    return found


def test_another_program_is_what_runs_and_what_is_told(other: Path, leash: Leash) -> None:
    system = System(kind="memcached", program=str(other), version="9.8")
    memcached = kind("memcached")
    assert memcached.missing(system) is None
    assert memcached.describe(system)["versions"] == {"memcached": "9.8.7-other"}
    up = memcached.start("memcached", system, Place(leash, leash.folder() / "system"))
    assert up.log_tail() == "made by hand"
    up.stop(5.0)
    assert "9.8.7" not in str(memcached.describe(System(kind="memcached")))


def test_a_version_is_asked_for_by_its_first_parts(other: Path) -> None:
    def missing(version: str) -> str | None:
        system = System(kind="memcached", program=str(other), version=version)
        return kind("memcached").missing(system)

    assert missing("9") is None and missing("9.8.7") is None
    for wrong in ("9.8.70", "9.80", "98", "9.8.7.1"):
        assert missing(wrong) == f"needs {other} {wrong}: there is 9.8.7-other ({other})"
    absent = System(kind="memcached", program="/nowhere/memcached")
    assert kind("memcached").missing(absent) == (
        "needs memcached: there is no file /nowhere/memcached"
    )


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_server_tells_its_version_and_can_be_asked_for_by_it(
    name: str, program: Callable[[str], str]
) -> None:
    found = KINDS[name]
    if not isinstance(found, ServerKind) or not found.needs:
        assert name in ("command", "file", "sqlite")
        return
    program(found.needs[0])
    version = programs.look(found.needs[0]).version
    assert version is not None
    first = version.partition(".")[0]
    for need in found.needed(System(kind=name, version=first)).values():
        assert need.is_there, need
    assert "there is" in str(found.missing(System(kind=name, version="77.7")))


def test_what_belongs_to_the_program_is_taken_from_beside_it(program: Callable[[str], str]) -> None:
    postgres = str(Path(program("postgres")).resolve())
    needed = kind("postgresql").needed(System(kind="postgresql", program=postgres))
    assert needed["initdb"].path == str(Path(postgres).with_name("initdb"))
    assert needed["psql"].path == str(Path(postgres).with_name("psql"))


def test_and_from_beside_what_it_is_a_link_to(other: Path, tmp_path: Path) -> None:
    other.with_name("first").write_text("#!/bin/sh\n")
    other.with_name("first").chmod(0o755)
    (tmp_path / "memcached").symlink_to(other)
    found = programs.companion("first", programs.look(str(tmp_path / "memcached")))
    assert found.path == str(other.with_name("first"))


TWO = """
experiment: versions
systems: {postgresql: {version: 15}}
workload: {name: records, data: {records: 1000}}
factors: {version: {key: systems.postgresql.version, values: [15, 15.10, "16"]}}
"""


def test_versions_are_read_as_they_are_written() -> None:
    from benchlab.model.cases import cases

    found = cases(read_experiment(TWO, file="x.yaml", known=KNOWN))
    assert [case.system.version for case in found] == ["15", "15.10", "16"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("{kind: sqlite, version: 3}", "does not belong to a system of kind sqlite"),
        ("{at: 'redis://h', program: x}", "does not belong to a system that is already running"),
        ("{kind: redis, version: new}", "'new' is not of the form 15 or 15.6"),
        ("{kind: redis, program: ./x}", "a whole path or a name on the PATH"),
    ],
)
def test_what_cannot_be_chosen_is_told(keys: str, said: str) -> None:
    text = f"experiment: x\nsystems: {{s: {keys}}}\nworkload: {{mix: {{p: {{command: [PING]}}}}}}\n"
    with pytest.raises(InputError) as refused:
        read_experiment(text, file="x.yaml", known=KNOWN)
    assert said in str(refused.value)
