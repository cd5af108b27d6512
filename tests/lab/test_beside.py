"""Statements that a file has said to its systems before sessions and trials."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labs import Seen, new_run

from benchlab.host.processes import Leash
from benchlab.lab import preflight
from benchlab.lab.opening import KNOWN, open_mapping
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import System
from benchlab.model.secrets import MENTION
from benchlab.systems import KINDS, Place, StoppedError
from benchlab.systems.door import Door
from benchlab.systems.statements import say

SAID = """
experiment: said
systems:
  sqlite:
    at: "sqlite:{file}"
    before_session: {{sql: "INSERT INTO said VALUES ('session')"}}
    before_trial: [{{sql: "INSERT INTO said VALUES ('trial')"}}, {{sql: VACUUM}}]
workload: {{mix: {{count: {{sql: "SELECT count(*) FROM said"}}}}}}
load: {{clients: 1, duration: 0.3s, warmup: 0}}
sessions: 2
blocks: 2
"""


def test_statements_are_said_before_each_session_and_trial(tmp_path: Path) -> None:
    file = tmp_path / "there.sqlite"
    with sqlite3.connect(file) as there:
        there.execute("CREATE TABLE said (what TEXT)")
    experiment, run = new_run(SAID.format(file=file), tmp_path / "run", KNOWN)
    execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    said = [what for (what,) in sqlite3.connect(file).execute("SELECT what FROM said")]
    assert said == ["session", "trial", "trial"] * 2
    assert [trial.record.state for trial in run.trials()] == ["ok"] * 4


def test_one_that_is_refused_is_told_with_the_systems_own_words(tmp_path: Path) -> None:
    file = tmp_path / "empty.sqlite"
    file.touch()
    experiment, run = new_run(SAID.format(file=file), tmp_path / "run", KNOWN)
    with pytest.raises(HostError) as refused:
        execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    assert str(refused.value).startswith(
        "sqlite: before_session: `INSERT INTO said VALUES ('session')` is answered: no such table"
    )


def test_a_system_that_takes_no_sql_is_refused_beforehand(tmp_path: Path) -> None:
    given = open_mapping(
        {
            "experiment": "x",
            "systems": {"cache": {"at": "redis://127.0.0.1", "before_trial": {"sql": "VACUUM"}}},
            "workload": {"mix": {"ping": {"command": ["PING"]}}},
        }
    )
    with pytest.raises(InputError, match=r"redis: takes no SQL, but command:") as refused:
        preflight.check(given.experiment, given.cases, tmp_path)
    assert refused.value.key == "systems.cache.before_trial"


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as leash:
        yield leash


@pytest.mark.real
@pytest.mark.parametrize(
    ("kind", "right", "slow"),
    [
        ("mariadb", "ANALYZE TABLE bench.none", "SELECT SLEEP(20)"),
        ("postgresql", "VACUUM", "SELECT pg_sleep(20)"),
    ],
)
def test_a_database_says_what_is_wrong_and_is_not_waited_for_for_ever(
    kind: str, right: str, slow: str, leash: Leash, program: Callable[[str], str]
) -> None:
    program({"mariadb": "mariadbd", "postgresql": "postgres"}[kind])
    system, place = System(kind=kind), Place(leash, leash.folder() / "system")
    up = KINDS[kind].start(kind, system, place)
    door = Door(up.urls[0].replace(MENTION, place.password))
    say(door, right, 20.0, place.pause)
    with pytest.raises(HostError, match=r"`VACUM` is answered: .*syntax"):
        say(door, "VACUM", 20.0, place.pause)
    with pytest.raises(HostError, match=r"SLEEP|pg_sleep"):
        say(door, slow, 0.3, place.pause)
    with pytest.raises(StoppedError):
        say(door, slow, 20.0, lambda seconds: True)
    up.stop(10.0)
