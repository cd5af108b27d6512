"""Systems of several members: made, asked, one killed and started again, put back, and gone."""

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from servers import HELD, driven, until

from benchlab.host import ports
from benchlab.host.processes import Leash
from benchlab.lab.opening import KNOWN
from benchlab.load import agent
from benchlab.load.plan import make_plan
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Case, System
from benchlab.model.reading import read_mapping
from benchlab.model.secrets import PASSWORD
from benchlab.store.measurement import Measurement
from benchlab.systems import KINDS, Place, galera, mariadb, postgresql
from benchlab.systems.members import Members

pytestmark = pytest.mark.real

Make = Callable[..., tuple[Case, Members]]
QUICK = "evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT2S"
QUICK += ";evs.inactive_timeout=PT6S;evs.install_timeout=PT5S"
"""Galera gives up a node after two seconds instead of five."""
KEYS: dict[str, dict[str, Any]] = {
    "galera": {"settings": {"wsrep_provider_options": QUICK}},
    "memcached": {"instances": 3},
    "postgresql": {"replicas": 2},
    "redis": {"masters": 3, "replicas": 1},
}
NAMES = {
    "galera": ["1", "2", "3"],
    "memcached": ["1", "2", "3"],
    "postgresql": ["primary", "replica-1", "replica-2"],
    "redis": [f"master-{n}" for n in (1, 2, 3)] + [f"replica-{n}-1" for n in (1, 2, 3)],
}
LEVEL = "SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication"
"""Whether a replica has replayed all that its primary has written."""
LAST = {kind: names[-1] for kind, names in NAMES.items()}


def every_pid(made: Members) -> list[int]:
    return [pid for one in made.members.values() if one.process for pid in one.process.tree()]


@pytest.mark.parametrize("kind", KEYS)
def test_members_are_made_asked_and_gone(
    kind: str, made: Make, leash: Leash, tmp_path: Path
) -> None:
    case, system = made(kind, **KEYS[kind])
    assert list(system.members) == NAMES[kind]
    assert len(system.roots) == len(NAMES[kind])
    assert driven(case, system, leash, tmp_path / "load", loading=True) == 5
    assert driven(case, system, leash, tmp_path / "ask") == 2000
    pids, taken = every_pid(system), [one.port for one in system.members.values()]
    assert len(pids) >= len(taken)
    assert not any(ports.is_free(port) for port in taken)
    assert system.died() is None
    system.stop(10.0)
    until(lambda: not [pid for pid in pids if psutil.pid_exists(pid)])
    assert all(ports.is_free(port) for port in taken)


@pytest.mark.parametrize("kind", KEYS)
def test_a_member_is_killed_and_started_again(
    kind: str, made: Make, leash: Leash, tmp_path: Path
) -> None:
    case, system = made(kind, **KEYS[kind])
    driven(case, system, leash, tmp_path / "load", loading=True)
    last = LAST[kind]
    one = system.members[last]
    before = system.roots[last]
    system.kill(last)
    assert not one.is_up()
    assert system.died() is None, "who was ended on purpose has not died"
    system.restart(last)
    assert one.is_up()
    assert system.roots[last] != before
    if kind != "memcached":
        assert driven(case, system, leash, tmp_path / "ask") == 2000
    assert one.process is not None
    one.process.send_signal(signal.SIGKILL)
    until(lambda: system.died() == f"{last} was ended by signal 9")


@pytest.mark.parametrize("kind", ["galera", "postgresql", "redis"])
def test_data_of_all_members_go_back_to_what_was_kept(
    kind: str, made: Make, leash: Leash, tmp_path: Path
) -> None:
    case, system = made(kind, **KEYS[kind])
    driven(case, system, leash, tmp_path / "load", loading=True)
    assert system.keep(tmp_path / "snapshot")
    assert driven(case, system, leash, tmp_path / "kept") == 2000
    system.stop(10.0)
    # Another session's: on other ports, with the same password.
    place = Place(leash, leash.folder() / "again", password=system.secrets[PASSWORD])
    again = KINDS[kind].start(kind, case.system, place)
    assert isinstance(again, Members)
    again.restore(tmp_path / "snapshot")
    assert driven(case, again, leash, tmp_path / "restored") == 2000


def test_a_replica_is_added_streams_and_is_removed(made: Make) -> None:
    _, system = made("postgresql", replicas=1)
    assert system.abilities == {"kill", "pause", "restart", "add", "remove", "primaries"}
    assert system.primaries() == ("primary",)
    assert system.urls == (system.urls[0],)
    primary = system.members["primary"].bed
    assert system.add() == "replica-2"
    slots = "SELECT count(*) FROM pg_replication_slots WHERE active"
    assert postgresql.ask(primary, slots) == "2"
    system.remove("replica-1")
    assert list(system.members) == ["primary", "replica-2"]
    assert postgresql.ask(primary, slots) == "1"
    with pytest.raises(HostError, match="primary cannot be removed"):
        system.remove("primary")
    with pytest.raises(HostError, match="has no member replica-1; it has primary, replica-2"):
        system.kill("replica-1")


def test_reads_are_spread_over_replicas_where_all_are_asked(
    made: Make, leash: Leash, tmp_path: Path
) -> None:
    case, system = made("postgresql", replicas=1, ask="all")
    assert len(system.urls) == 2
    primary, replica = (one.bed for one in system.members.values())
    driven(case, system, leash, tmp_path / "load", loading=True)
    until(lambda: postgresql.ask(primary, LEVEL) == "t")
    assert driven(case, system, leash, tmp_path / "ask") == 2000
    asked = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'bench'"
    until(lambda: int(postgresql.ask(replica, asked)) >= 900)


def test_a_postgresql_that_is_killed_leaves_no_shared_memory(made: Make) -> None:
    def left() -> tuple[set[str], set[str]]:
        segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        keys = {line.split()[1] for line in segments if line.split()[6] == "0"}
        return keys, {path.name for path in Path("/dev/shm").glob("PostgreSQL.*")}

    _, system = made("postgresql")
    before = left()
    (server,) = system.members.values()

    def segment() -> str:
        pid_file = server.folder / "data" / "postmaster.pid"
        return pid_file.read_text().splitlines()[6].split()[1]

    first = segment()
    system.kill("")
    assert first not in left()[0]
    assert left()[1] <= before[1]
    system.restart("")
    assert postgresql.ask(server.bed, "SELECT 42") == "42"
    # It ends by itself, and nobody takes it away.
    second = segment()
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    until(lambda: not server.is_up() and not (server.process and server.process.tree()))
    until(lambda: second not in left()[0])


def test_a_replica_that_is_paused_falls_behind_and_catches_up(made: Make) -> None:
    _, system = made("postgresql", replicas=1)
    primary, replica = (one.bed for one in system.members.values())
    system.pause("replica-1")
    postgresql.ask(primary, "CREATE TABLE t AS SELECT 1 AS n")
    assert all(
        psutil.Process(pid).status() in HELD
        for pid in every_pid(system)
        if pid in (system.members["replica-1"].process or pytest.fail()).tree()
    )
    system.resume("replica-1")
    until(lambda: postgresql.ask(primary, LEVEL) == "t")
    assert postgresql.ask(replica, "SELECT n FROM t") == "1"


def test_a_redis_master_that_is_killed_is_followed_by_its_replica(made: Make) -> None:
    _, system = made("redis", masters=3, replicas=1)
    assert system.abilities == {"kill", "pause", "restart", "primaries"}
    assert system.primaries() == ("master-1", "master-2", "master-3")
    system.kill("master-2")
    until(lambda: "replica-2-1" in system.primaries())
    system.restart("master-2")
    until(lambda: system.primaries() == ("master-1", "master-3", "replica-2-1"))


def test_a_galera_cluster_loses_a_node_under_load_and_takes_it_back(
    made: Make, leash: Leash, tmp_path: Path
) -> None:
    case, system = made("galera", **KEYS["galera"])
    driven(case, system, leash, tmp_path / "load", loading=True)
    first = system.members["1"].bed
    sizes = [galera.status(first, "wsrep_cluster_size")]
    load = case.load.model_copy(update={"transactions": None, "duration": 600.0})
    writes = case.workload.model_copy(update={"options": {"read": "50%", "update": "50%"}})
    endless = case.model_copy(update={"load": load, "workload": writes})
    plan = make_plan(endless, urls=system.urls[:1], seed=1, session=0, block=0)
    over = threading.Event()

    def ask() -> None:
        agent.run(plan, tmp_path, leash=leash, secrets=system.secrets, should_stop=over.is_set)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert system.primaries() == ("1", "2", "3")
        system.kill("3")
        until(lambda: galera.status(first, "wsrep_cluster_size") != "3")
        sizes.append(galera.status(first, "wsrep_cluster_size"))
        assert system.primaries() == ("1", "2")
        system.restart("3")
        sizes.append(galera.status(first, "wsrep_cluster_size"))
    finally:
        over.set()
        asking.join()
    assert sizes == ["3", "2", "3"]
    totals = Measurement.read(tmp_path / agent.MEASUREMENT).totals()
    assert totals["ok"] > 1000
    assert totals["failed"] == 0
    held = "SET wsrep_sync_wait = 1; SELECT COUNT(*), SUM(CRC32(value)) FROM records"
    held_by = [mariadb.ask(one.bed, held) for one in system.members.values()]
    assert held_by[0].startswith("5000\t")
    assert held_by == held_by[:1] * 3


def test_a_galera_cluster_that_was_killed_as_a_whole_begins_where_its_data_go_furthest(
    made: Make,
) -> None:
    _, system = made("galera", **KEYS["galera"])
    mariadb.ask(system.members["1"].bed, "CREATE TABLE t (id INT PRIMARY KEY)")
    system.kill("1")
    third = system.members["3"].bed
    until(lambda: galera.status(third, "wsrep_cluster_size") == "2")
    mariadb.ask(third, "INSERT INTO t VALUES (1), (2)")
    system.kill("2")
    system.kill("3")
    with pytest.raises(HostError, match=r"galera/1 has only what was written .* start that first"):
        system.restart("1")
    system.restart("1", "2", "3")
    assert system.primaries() == ("1", "2", "3")
    count = "SET wsrep_sync_wait = 1; SELECT COUNT(*) FROM t"
    assert [mariadb.ask(one.bed, count) for one in system.members.values()] == ["2"] * 3


def test_a_redis_cluster_that_was_killed_as_a_whole_is_one_again(made: Make) -> None:
    _, system = made("redis", masters=3, replicas=1)
    for member in system.members:
        system.kill(member)
    system.restart(*system.members)
    assert len(system.primaries()) == 3


def test_a_galera_cluster_gives_up_a_node_that_is_held_still_grows_and_shrinks(
    made: Make,
) -> None:
    _, system = made("galera", **KEYS["galera"])
    first = system.members["1"].bed
    system.pause("3")
    until(lambda: galera.status(first, "wsrep_cluster_size") == "2")
    assert system.primaries() == ("1", "2")
    system.restart("2")
    system.resume("3")
    until(lambda: galera.status(first, "wsrep_cluster_size") == "3")
    assert system.add() == "4"
    assert galera.status(first, "wsrep_cluster_size") == "4"
    system.remove("1")
    second = system.members["2"].bed
    until(lambda: galera.status(second, "wsrep_cluster_size") == "3")


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("postgresql", {"replicas": 1, "settings": {"shared_bufers": 1}}, "unrecognized config"),
        ("redis", {"masters": 3, "settings": {"maxmemry": "1gb"}}, "Bad directive"),
        ("galera", {"settings": {"inodb_buffer_pool_size": "1G"}}, "unknown variable"),
        ("galera", {"settings": {"wsrep_provider_options": "evs.suspect=1"}}, "evs.suspect"),
        ("memcached", {"instances": 2, "settings": {"memory": 1}}, "is ambiguous"),
    ],
)
def test_a_wrong_setting_is_told_by_the_member_in_its_own_words(
    kind: str, keys: dict[str, Any], said: str, made: Make
) -> None:
    with pytest.raises(HostError) as refused:
        made(kind, **keys)
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"{kind}/")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"replicas": 1}, "belong to a cluster"),
        ({"masters": 2}, "a cluster has 3 masters at least"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(keys: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        KINDS["redis"].expected_urls(System(kind="redis", **keys))


@pytest.mark.parametrize(
    ("kind", "keys", "asked"),
    [
        ("postgresql", {"replicas": 2}, 1),
        ("postgresql", {"replicas": 2, "ask": "all"}, 3),
        ("galera", {}, 3),
        ("galera", {"instances": 5, "ask": "one"}, 1),
        ("memcached", {"instances": 4}, 4),
        ("redis", {"masters": 3, "replicas": 2}, 9),
    ],
)
def test_whom_the_driver_asks(kind: str, keys: dict[str, Any], asked: int) -> None:
    urls = KINDS[kind].expected_urls(System(kind=kind, **keys))
    assert len(set(urls)) == asked
    assert all(("?cluster=true" in url) == (kind == "redis") for url in urls)


def test_how_many_belongs_to_kinds_that_can_be_several() -> None:
    text = {"experiment": "x", "systems": {"mariadb": {"replicas": 1}}, "workload": {"name": "r"}}
    with pytest.raises(InputError, match="replicas: does not belong to a system of kind mariadb"):
        read_mapping(text, known=KNOWN)
