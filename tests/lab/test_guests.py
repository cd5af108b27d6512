"""At somebody else's servers: what is put there goes again, and nothing of theirs is touched."""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from labs import Seen
from theirs import CLIENTS, LISTED, VARIABLE, Theirs

from benchlab import store
from benchlab.host import programs
from benchlab.host.processes import Leash
from benchlab.judge.run import judge_run
from benchlab.lab import events, preflight
from benchlab.lab.opening import Opened, begin, open_mapping
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.lab.visit import Visit
from benchlab.model.errors import HostError, InputError
from benchlab.model.evidence import CaseResult
from benchlab.systems import KINDS
from benchlab.systems.members import ServerKind

pytestmark = pytest.mark.real

THEIRS = {
    "memcached": "set other:record:1 0 0 6\ntheirs",
    "openldap": "dn: ou=other,dc=bench\nobjectClass: organizationalUnit\nou: other\n",
    "redis": "set other:record:1 theirs",
    "postgresql": "CREATE TABLE public.records (id int, value text);"
    "INSERT INTO public.records VALUES (1, 'theirs');",
    "mariadb": "CREATE TABLE bench.records (id int, value text);"
    "INSERT INTO bench.records VALUES (1, 'theirs');",
}
"""What its owner has there, under the very names the lab would use."""
SQL = ("mariadb", "postgresql")


@pytest.fixture
def theirs(
    program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Theirs]]:
    with Leash() as leash:

        def start(kind: str, **keys: Any) -> Theirs:
            found = KINDS[kind]
            assert isinstance(found, ServerKind)
            for need in found.needs:
                if not programs.look(need).is_there:
                    program(need)
            started = Theirs(kind, leash, leash.folder(), **keys)
            monkeypatch.setenv(VARIABLE, started.server.bed.password)
            return started

        yield start


def opened(url: str | list[str], data: Any, **more: Any) -> Opened:
    """Two sessions of a records workload at a system that is already running."""
    first = url if isinstance(url, str) else url[0]
    options = {"read": "60%", "update": "20%", "insert": "20%"}
    if first.startswith(("ldap", "memcached")):
        # What is inserted there cannot be found again.
        del options["insert"]
    return open_mapping(
        {
            "experiment": "guest",
            "systems": {"staging": {"at": url, **more.pop("system", {})}},
            "workload": {"name": "records", "options": more.pop("options", options), "data": data},
            "load": {"clients": 4, "duration": "0.5s", "warmup": "0.1s"},
            "sessions": 2,
            "blocks": 1,
            "allow": {"steal": "50%"},
            **more,
        }
    )


def ran(given: Opened, out: Path) -> tuple[CaseResult, Seen, store.Run]:
    """The result of its first case, and what was said."""
    run, seen = begin(given, ["benchlab", "run"], out), Seen()
    execute(given.experiment, given.cases, run, emit=seen, stop=StopToken(), here=given.folder)
    return judge_run(given.experiment, given.cases, run).summary.cases[0], seen, run


def right(case: CaseResult) -> bool:
    rows = {check.name: check for check in case.checks}
    return case.state == "ok" and rows["answers"].verdict == "valid"


@pytest.mark.parametrize("kind", sorted(THEIRS))
def test_data_are_put_there_and_taken_away_again(
    kind: str, theirs: Callable[..., Theirs], tmp_path: Path
) -> None:
    there = theirs(kind)
    there.client(THEIRS[kind])
    before = there.holds()
    given = opened(there.url, {"into": "guest", "records": 2000})
    case, seen, run = ran(given, tmp_path / "run")
    assert right(case), case
    assert there.holds() == before
    assert not [note for note in seen.of(events.Note) if "left" in note.text]
    plan = run.trials()[0].plan()["workload"]
    assert "guest" in str(plan)


@pytest.mark.parametrize("kind", sorted(THEIRS))
def test_what_somebody_else_made_is_refused_and_stays(
    kind: str, theirs: Callable[..., Theirs], tmp_path: Path
) -> None:
    there = theirs(kind)
    there.client(THEIRS[kind])
    before = there.holds()
    into = {"postgresql": "public", "mariadb": "bench"}.get(kind, "other")
    given = opened(there.url, {"into": into, "records": 2000})
    with pytest.raises(HostError, match=f"{into}.* that Benchlab did not make: "):
        ran(given, tmp_path / "run")
    assert there.holds() == before
    if kind in SQL:
        assert there.client(f"SELECT value FROM {into}.records;") == ["theirs"]


@pytest.mark.parametrize("kind", sorted(THEIRS))
def test_what_a_killed_lab_left_goes_with_the_next(
    kind: str, theirs: Callable[..., Theirs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = theirs(kind)
    before = there.holds()
    given = opened(there.url, {"into": "guest", "records": 1000})
    with monkeypatch.context() as killed:
        killed.setattr(Visit, "end", lambda _: None)
        ran(given, tmp_path / "killed")
    assert len(there.holds()) > len(before)
    assert right(ran(given, tmp_path / "run")[0])
    assert there.holds() == before


@pytest.mark.parametrize("kind", SQL)
def test_what_came_into_the_place_meanwhile_stays(
    kind: str, theirs: Callable[..., Theirs], tmp_path: Path
) -> None:
    there = theirs(kind)
    said: list[str] = []

    def meddle(event: events.Event) -> None:
        if isinstance(event, events.TrialStarted):
            there.client("CREATE TABLE IF NOT EXISTS guest.theirs (id int);")
        if isinstance(event, events.Note):
            said.append(event.text)

    given = opened(there.url, {"into": "guest", "records": 1000}, sessions=1)
    run = begin(given, ["benchlab", "run"], tmp_path / "run")
    execute(given.experiment, given.cases, run, emit=meddle, stop=StopToken(), here=given.folder)
    assert [text for text in said if "guest is left, since something else is in it now" in text]
    assert [line for line in there.holds() if "theirs" in line]
    assert not [line for line in there.holds() if "records" in line]


@pytest.mark.parametrize(
    ("kind", "keys"), [("redis", {"masters": 3}), ("memcached", {"instances": 2})]
)
def test_members_that_share_the_keys_are_left_as_they_were(
    kind: str, keys: dict[str, int], theirs: Callable[..., Theirs], tmp_path: Path
) -> None:
    there = theirs(kind, **keys)
    before = there.holds()
    given = opened(there.urls, {"into": "guest", "records": 2000}, sessions=1)
    held: list[list[str]] = []

    def look(event: events.Event) -> None:
        if isinstance(event, events.TrialEnded):
            held.extend(CLIENTS[kind](m, LISTED[kind]) for m in there.made.members.values())

    run = begin(given, ["benchlab", "run"], tmp_path / "run")
    execute(given.experiment, given.cases, run, emit=look, stop=StopToken(), here=given.folder)
    assert all(len(keys) > 300 for keys in held), held
    assert there.holds() == before


def test_in_a_file_of_somebody_elses_tables_have_longer_names(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(file)) as there:
        there.execute("CREATE TABLE records (id INTEGER, value TEXT)")
        there.execute("CREATE TABLE other_records (id INTEGER, value TEXT)")
        there.commit()
        listed = "SELECT name, sql FROM sqlite_master"
        before = there.execute(listed).fetchall()
        case, _, run = ran(opened(f"sqlite:{file}", {"into": "guest"}), tmp_path / "run")
        assert right(case), case
        assert "guest_records" in str(run.trials()[0].plan()["workload"])
        with pytest.raises(HostError, match="records in the tables called other that Bench"):
            ran(opened(f"sqlite:{file}", {"into": "other"}), tmp_path / "refused")
        assert there.execute(listed).fetchall() == before


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"records": 2000}, "write `into: NAME` for data that are made there and taken away"),
        ({"into": "Robert'); DROP", "records": 2000}, "is not of the form bench_1, in small"),
        ({"into": "a", "existing": True}, "are not put anywhere"),
    ],
)
def test_where_the_data_go_must_be_said(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"workload.data.*{re.escape(said)}"):
        given = opened("postgresql://127.0.0.1:1/x", data)
        preflight.check(given.experiment, given.cases, given.folder)


def test_two_sorts_of_data_do_not_share_a_place() -> None:
    factors = {"workload.data.records": [1000, 2000]}
    given = opened("postgresql://127.0.0.1:1/x", {"into": "a"}, factors=factors)
    with pytest.raises(InputError, match=r"let a factor set workload\.data\.into, too"):
        preflight.check(given.experiment, given.cases, given.folder)


def test_what_has_no_data_is_put_nowhere() -> None:
    page = {"name": "page", "data": {"into": "a"}}
    given = opened("http://127.0.0.1:1/", None, workload=page)
    with pytest.raises(InputError, match=r"data\.into: it has no data to be put anywhere"):
        preflight.check(given.experiment, given.cases, given.folder)


def test_what_the_lab_makes_itself_needs_no_place() -> None:
    given = opened("", {"into": "a"}, systems={"sqlite": {}})
    with pytest.raises(InputError, match=r"data.into: belongs to a system that is already runn"):
        preflight.check(given.experiment, given.cases, given.folder)
