"""Passwords are found where each system's own client finds them, and never stand in a Plan."""

from pathlib import Path

import pytest

from benchlab.load.drivers import driver, let_in
from benchlab.load.passwords import password_of
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case
from benchlab.model.reading import read_mapping
from benchlab.model.secrets import MENTION

PASSFILE = r"""
# host:port:database:user:password
other:*:*:*:wrong
db.lan:5432:app:bench:with\:colon
*:*:*:bench:any
"""
SERVICES = """
[other]
password=wrong
[staging]
user=served
password = from-service
dbname=app
"""
MY_CNF = """
[mysqld]
password=not-a-client
[client]
user = me
password = "from a file"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


def at(url: str | list[str]) -> Case:
    experiment = {
        "experiment": "x",
        "systems": {"there": {"at": url}},
        "workload": {"mix": {"one": {"sql": "SELECT 1"}}},
    }
    return cases(read_mapping(experiment))[0]


def test_pgpass_is_read_as_libpq_reads_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / ".pgpass", PASSFILE)
    case = at("postgresql://bench@db.lan/app")
    assert password_of(case) == "with:colon"
    assert driver(case, case.system.at)["password"] == MENTION
    assert password_of(at("postgresql://bench@db.lan:5433/app")) == "any"
    assert password_of(at("postgresql://another@db.lan/app")) is None
    monkeypatch.setenv("PGPASSWORD", "x")
    assert password_of(case) is None
    assert driver(case, case.system.at)["password"] == "${env:PGPASSWORD}"
    monkeypatch.delenv("PGPASSWORD")
    write(home / "elsewhere", "*:*:*:*:there")
    monkeypatch.setenv("PGPASSFILE", str(home / "elsewhere"))
    assert password_of(case) == "there"


def test_a_pgpass_that_others_may_read_is_not_believed(home: Path) -> None:
    write(home / ".pgpass", PASSFILE, 0o644)
    assert password_of(at("postgresql://bench@db.lan/app")) is None


def test_a_service_says_what_the_url_leaves_out(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".pg_service.conf", SERVICES)
    monkeypatch.setenv("PGSERVICE", "staging")
    case = at("postgresql://db.lan")
    asked = driver(case, case.system.at)
    assert (asked["user"], asked["database"], asked["password"]) == ("served", "app", MENTION)
    assert password_of(case) == "from-service"
    named = at("postgresql://me@db.lan/mine")
    assert driver(named, named.system.at)["user"] == "me"
    monkeypatch.setenv("PGSERVICE", "nowhere")
    with pytest.raises(InputError, match="the service 'nowhere' is not in "):
        password_of(case)


def test_my_cnf_is_read_before_the_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "x")
    case = at("mysql://127.0.0.1/app")
    assert driver(case, case.system.at)["password"] == "${env:MYSQL_PWD}"
    write(home / ".my.cnf", MY_CNF)
    asked = driver(case, case.system.at)
    assert (asked["user"], asked["password"]) == ("me", MENTION)
    assert password_of(case) == "from a file"
    write(home / ".my.cnf", MY_CNF, 0o666)
    assert password_of(case) is None


def test_what_the_url_names_comes_first(home: Path) -> None:
    write(home / ".pgpass", PASSFILE)
    case = at("postgresql://bench:${env:OWN}@db.lan/app")
    assert driver(case, case.system.at)["password"] == "${env:OWN}"


def test_all_that_lets_one_in_stands_in_urls_that_are_kept_nowhere(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".pgpass", "*:*:*:*:a/b@c%20")
    case = at(["postgresqls://bench@db.lan/app", "postgresqls://bench@db2.lan:77/app"])
    assert let_in(case) == (
        "postgresqls://bench:a%2Fb%40c%2520@db.lan:5432/app",
        "postgresqls://bench:a%2Fb%40c%2520@db2.lan:77/app",
    )
    monkeypatch.setenv("OWN", "x:y")
    assert let_in(at("mysql://me:${env:OWN}@db.lan")) == ("mysql://me:x%3Ay@db.lan:3306",)
    write(home / ".pg_service.conf", SERVICES)
    monkeypatch.setenv("PGSERVICE", "staging")
    assert let_in(at("postgresql://db.lan")) == (
        "postgresql://served:from-service@db.lan:5432/app",
    )
