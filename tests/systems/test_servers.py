"""Servers made from nothing: real ones, asked, killed, put back, and gone without a trace."""

import os
import shutil
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from servers import HELD, MIXES, driven

from benchlab.host import ports
from benchlab.host.processes import Leash
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Case, System
from benchlab.model.secrets import PASSWORD
from benchlab.systems import KINDS, Place, mariadb, postgresql, redis
from benchlab.systems.members import Members, ServerKind
from benchlab.systems.server import Bed, Recipe

pytestmark = pytest.mark.real

MADE = sorted(
    name
    for name, kind in KINDS.items()
    if isinstance(kind, ServerKind) and kind.needs and len(kind.members(System(kind=name))) == 1
    if name not in ("haproxy", "php-fpm")
)
NOBODYS = Recipe(start=["true"], answers=lambda: None, user="no-such-user")
PERSISTENT = ("mariadb", "nginx", "openldap", "postgresql")
STORES = [name for name in MADE if name not in MIXES]


@pytest.mark.parametrize("kind", MADE)
def test_a_server_is_made_asked_killed_made_again_and_gone(
    kind: str, made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    for number in range(3):
        case, server = made(kind)
        if kind in STORES:
            assert driven(case, server, leash, tmp_path / f"load-{number}", loading=True) == 5
        assert driven(case, server, leash, tmp_path / f"ask-{number}") == 2000
        (member,) = server.members.values()
        assert member.process is not None
        tree, port = member.process.tree(), member.port
        assert tree
        if number == 1:
            member.process.send_signal(signal.SIGKILL)
            while server.died() is None:
                leash.listen(0.01)
            assert "signal 9" in (server.died() or "")
        server.stop(10.0)
        # What was killed is still to be waited for by its keeper.
        while [pid for pid in tree if psutil.pid_exists(pid)]:
            leash.listen(0.01)
        assert ports.is_free(port)


@pytest.mark.parametrize("kind", MADE)
def test_a_server_is_held_still_goes_on_and_is_started_again_with_its_data(
    kind: str, made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    case, server = made(kind)
    (member,) = server.members.values()
    if kind in STORES:
        driven(case, server, leash, tmp_path / "load", loading=True)
    assert server.abilities == {"kill", "pause", "restart"}
    assert member.process is not None
    tree = member.process.tree()
    server.pause("")
    assert {psutil.Process(pid).status() for pid in tree} <= HELD
    server.resume("")
    assert driven(case, server, leash, tmp_path / "resumed") == 2000
    server.pause("")
    server.restart("")
    while [pid for pid in tree if psutil.pid_exists(pid)]:
        leash.listen(0.01)
    server.kill("")
    assert not member.is_up()
    assert server.died() is None
    server.restart("")
    assert member.is_up()
    if kind in PERSISTENT:
        assert driven(case, server, leash, tmp_path / "again") == 2000


@pytest.mark.parametrize("kind", [name for name in STORES if name != "memcached"])
def test_data_go_back_to_what_was_kept(
    kind: str, made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    case, server = made(kind)
    driven(case, server, leash, tmp_path / "load", loading=True)
    assert server.keep(tmp_path / "snapshot")
    assert driven(case, server, leash, tmp_path / "kept") == 2000
    server.stop(10.0)
    # Another server, as in another session: it has another port and the same password.
    _, other = made(kind)
    other.stop(10.0)
    again = KINDS[kind].start(
        kind, case.system, Place(leash, leash.folder() / "again", password=server.secrets[PASSWORD])
    )
    assert isinstance(again, Members)
    again.restore(tmp_path / "snapshot")
    assert driven(case, again, leash, tmp_path / "restored") == 2000


def test_data_may_take_long_to_be_written_down(
    made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    # Microseconds a record: more in all than any other answer is waited for.
    case, server = made("redis", settings={"rdb-key-save-delay": "500"})
    driven(case, server, leash, tmp_path / "load", loading=True)
    assert server.keep(tmp_path / "snapshot")
    shutil.rmtree(server.members[""].folder / "data")
    with pytest.raises(HostError, match="redis: `SAVE` is answered"):
        server.keep(tmp_path / "again")


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        ("postgresql", {"shared_bufers": "1GB"}, 'unrecognized configuration parameter "shared_'),
        ("postgresql", {"shared_buffers": "10TB"}, "shared_buffers"),
        ("redis", {"maxmemry": "1gb"}, "Bad directive or wrong number of arguments"),
        ("mariadb", {"inodb_buffer_pool_size": "1G"}, "unknown variable"),
        ("mariadb", {"max_connections": "many"}, "'max_connections': unsigned value 0 adjusted"),
        ("mariadb", {"max_connections": "1000000000"}, "adjusted to"),
        ("openldap", {"maxsiz": "1"}, "unknown directive <maxsiz>"),
        ("memcached", {"memory": "1"}, "option '--memory=1' is ambiguous"),
        ("sphinx", {"rt_feld": "x"}, "unknown key name 'rt_feld'"),
        ("sphinx", {"rt_mem_limit": "banana"}, "'rt_mem_limit = banana' parse error"),
        ("sphinx", {"searchd.read_buffer": "lots"}, "'read_buffer = lots' parse error"),
        ("sphinx", {"charset_type": "utf-8"}, "key 'charset_type' was permanently removed"),
        ("sphinx", {"source.csvpipe_command": "exit 1"}, "No fields in schema - will not index"),
        ("nginx", {"keepalive_request": "1"}, 'unknown directive "keepalive_request"'),
    ],
)
def test_a_wrong_setting_is_told_in_the_servers_own_words(
    kind: str, settings: dict[str, str], said: str, made: Callable[..., tuple[Case, Members]]
) -> None:
    with pytest.raises(HostError) as refused:
        made(kind, settings=settings)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_of_the_experiment_are_served_and_stay_in_their_folder(
    made: Callable[..., tuple[Case, Members]],
) -> None:
    _, server = made("nginx", files={"deep/page.html": "on port ${port}"})
    with urllib.request.urlopen(f"{server.urls[0]}/deep/page.html", timeout=5) as answer:
        assert answer.read().decode() == f"on port {server.members[''].port}"
    with pytest.raises(InputError) as refused:
        made("nginx", files={"../nginx.conf": "events {}"})
    assert refused.value.key == 'systems.nginx.files."../nginx.conf"'


CONFIGURATIONS: dict[str, tuple[dict[str, str], dict[str, str], str, Callable[[Bed], str]]] = {
    "mariadb": (
        {"my.cnf": "[mariadbd]\nmax_connections=77\nwait_timeout=900\n"},
        {"defaults-file": "${dir}/files/my.cnf", "wait_timeout": "600"},
        "77\t600",
        lambda bed: mariadb.ask(bed, "SELECT @@max_connections, @@global.wait_timeout"),
    ),
    "postgresql": (
        {"own.conf": "work_mem = 7MB\nport = 1\ncluster_name = 'of ${port}'\n"},
        {"config_file": "${dir}/files/own.conf"},
        "7MB of {port}",
        lambda bed: " ".join(
            postgresql.ask(bed, f"SHOW {n}") for n in ("work_mem", "cluster_name")
        ),
    ),
    "redis": (
        {"own.conf": "maxmemory 7mb\nport 1\n"},
        {"include": "${dir}/files/own.conf"},
        "7340032",
        lambda bed: redis.say(bed, "CONFIG GET maxmemory").splitlines()[-1],
    ),
}
"""Files, the settings that name them, and what the server then says it is set to."""


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_a_configuration_of_ones_own_is_read_and_the_labs_comes_after(
    kind: str, made: Callable[..., tuple[Case, Members]]
) -> None:
    files, settings, said, asked = CONFIGURATIONS[kind]
    _, server = made(kind, files=files, settings=settings)
    bed = server.members[""].bed
    assert asked(bed) == said.format(port=bed.port)
    assert KINDS[kind].describe(bed.system)["files"] == files
    server.stop(10.0)


@pytest.mark.parametrize(
    ("kind", "setting", "file", "said"),
    [
        ("openldap", "include", "own.conf", "unknown directive <maxsiz>"),
        ("nginx", "include", "own.conf", 'directive "maxsiz'),
        ("postgresql", "config_file", "own.conf", "syntax error in file"),
        ("mariadb", "defaults-file", "none.cnf", "Could not open required defaults file"),
    ],
)
def test_what_a_file_of_ones_own_has_wrong_is_told(
    kind: str, setting: str, file: str, said: str, made: Callable[..., tuple[Case, Members]]
) -> None:
    with pytest.raises(HostError) as refused:
        made(kind, files={"own.conf": "maxsiz 1;\n"}, settings={setting: f"${{dir}}/files/{file}"})
    assert said in str(refused.value)


def test_a_user_that_is_not_here_is_told(
    leash: Leash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    kind = ServerKind("x", ("true",), "http://127.0.0.1:${port}", lambda bed: NOBODYS)
    with pytest.raises(HostError, match="there is no user `no-such-user` here"):
        kind.start("x", System(kind="x"), Place(leash, tmp_path / "system"))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("postgresql", "No space left on device"),
        ("mariadb", "Probably out of disk space"),
        ("openldap", "there is no room left in "),
    ],
)
def test_a_full_disk_is_told_as_the_reason(
    kind: str,
    said: str,
    leash: Leash,
    program: Callable[[str], str],
    small_disk: Callable[[Path, str], None],
) -> None:
    made = KINDS[kind]
    assert isinstance(made, ServerKind)
    for need in made.needs:
        program(need)
    full = leash.folder("full")
    small_disk(full, "64k" if kind == "openldap" else "8m")
    with pytest.raises(HostError) as refused:
        made.start("db", System(kind=kind), Place(leash, full / "system"))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="a user of a server's own takes root")
def test_a_folder_that_the_servers_user_may_not_enter_is_told_before_anything_starts(
    leash: Leash, program: Callable[[str], str]
) -> None:
    program("psql")
    private = leash.folder()
    private.chmod(0o700)
    with pytest.raises(HostError) as refused:
        KINDS["postgresql"].start("db", System(kind="postgresql"), Place(leash, private / "system"))
    why = f"db: its user `postgres` may not enter {private}: "
    assert (
        str(refused.value) == f"{why}set TMPDIR to a folder that all users may enter, such as /tmp"
    )


def test_sphinx_finds_what_was_written_also_after_it_was_put_back(
    made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    row = "(${id}, 'a title', 'found everywhere', 7)"
    write = {"write": {"sql": f"REPLACE INTO docs (id, title, body, number) VALUES {row}"}}
    find = "SELECT number FROM docs WHERE MATCH('everywhere') LIMIT 15"
    case, server = made("sphinx", mix=write, values={"id": {"uniform": [1, 1000]}})
    assert driven(case, server, leash, tmp_path / "write") == 2000
    assert server.keep(tmp_path / "snapshot")
    asked, other = made("sphinx", mix={"find": {"sql": find, "expect": {"rows": "15"}}})
    other.restore(tmp_path / "snapshot")
    assert driven(asked, other, leash, tmp_path / "find") == 2000


def test_sphinx_builds_an_index_from_a_source(
    made: Callable[..., tuple[Case, Members]], leash: Leash, tmp_path: Path
) -> None:
    (tmp_path / "docs.csv").write_text("1,one word\n2,another word\n")
    source = {"csvpipe_command": f"cat {tmp_path}/docs.csv", "csvpipe_field": "body"}
    settings = {f"source.{name}": value for name, value in source.items()}
    find = {"sql": "SELECT id FROM docs WHERE MATCH('another')", "expect": {"first": "2"}}
    case, server = made("sphinx", mix={"find": find}, settings=settings)
    assert KINDS["sphinx"].describe(case.system)["versions"]["searchd"].startswith("2.")
    assert driven(case, server, leash, tmp_path / "ask") == 2000


def test_what_is_missing_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    kind = ServerKind("x", ("no-such-server",), "http://127.0.0.1:${port}", redis.recipe)
    told = kind.missing(System(kind="x"))
    assert told == "needs no-such-server: install no-such-server and put it on the PATH"
