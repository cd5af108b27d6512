"""PostgreSQL, one server or a primary with `replicas: n` that stream from it, each by a slot.

`settings` are its own parameters, whatever their names, and the same for all members; a replica is
called `replica_1` where they name it, as in `synchronous_standby_names`. The driver talks to the
primary, or with `ask: all` to all of them, of which the primary alone takes writes. The superuser
`bench` logs in by SCRAM with a random password; the database has the same name. Data checksums,
encoding and locale are initdb's own but for UTF-8 and the locale C, which sorts alike everywhere.
Shared memory of parallel queries lies in the data folder (`dynamic_shared_memory_type: mmap` unless
set), so that a server that is killed leaves none. Absent: promoting a replica.
"""

import signal
from collections.abc import Sequence

from benchlab.model.experiment import System
from benchlab.model.secrets import MENTION
from benchlab.systems.counters import postgresql as counters
from benchlab.systems.members import OWN, ServerKind
from benchlab.systems.reach import NotReadyError, client_says
from benchlab.systems.server import Bed, Recipe

USER = "bench"
PRIMARY = "primary"
CREATE = f"""SET synchronous_commit = local;
SELECT 'CREATE DATABASE {USER}' WHERE NOT EXISTS
(SELECT FROM pg_database WHERE datname = '{USER}') \\gexec
SELECT 42;
"""
"""Not waiting for replicas, which are not there yet as the primary starts."""


def recipe(bed: Bed) -> Recipe:
    """What it is set to stands on its command line; its data are initdb's or the primary's."""
    data = f"{bed.folder}/data"
    fixed = {
        "listen_addresses": "127.0.0.1",
        "port": str(bed.port),
        "unix_socket_directories": str(bed.folder),
    }
    follows = _follows(bed)
    if len(bed.peers) > 1:
        # A replica takes a sender, and another one while its data are copied.
        most = str(10 + 2 * len(bed.peers))
        fixed |= {"max_wal_senders": most, "max_replication_slots": most}
    if follows:
        fixed |= {"primary_conninfo": follows, "primary_slot_name": _slot(bed)}
    given = {"dynamic_shared_memory_type": "mmap", **bed.settings, **fixed}.items()
    flags = [word for name, value in given for word in ("-c", f"{name}={value}")]
    initdb = [
        *(bed.program("initdb"), "--pgdata", data, "--username", USER),
        *("--auth", "scram-sha-256", "--pwfile", f"{bed.folder}/password"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
    ]
    basebackup = [
        *(bed.program("pg_basebackup"), "-d", follows, "--pgdata", data, "--no-sync"),
        *("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"),
        *("--create-slot", "--slot", _slot(bed)),
    ]

    def answers() -> None:
        if (said := ask(bed, CREATE)) != "42":
            raise NotReadyError(f"it answers {said!r}")

    return Recipe(
        prepare=[basebackup if follows else initdb],
        start=[bed.program("postgres"), "-D", data, *flags],
        files={"password": bed.password, "pgpass": f"*:*:*:{USER}:{bed.password}\n"},
        user="postgres",
        answers=answers,
        data="data",
        # The fast one: clients are turned away, and what they wrote is kept.
        stop=signal.SIGINT,
    )


def ask(bed: Bed, sql: str) -> str:
    """The answer of a member, without headings. Raises NotReadyError where it gives none."""
    asked = [bed.program("psql"), "-qAtX", "-h", "127.0.0.1", "-p", str(bed.port)]
    return client_says([*asked, "-U", USER, "postgres"], {"PGPASSWORD": bed.password}, sql)


def members(system: System) -> Sequence[str]:
    """The primary, and its replicas after it."""
    if not system.replicas:
        return ("",)
    return (PRIMARY, *(f"replica-{number}" for number in range(1, system.replicas + 1)))


def join(beds: Sequence[Bed]) -> None:
    """Replicas find the primary by themselves; it is seen here that all stream from it."""
    if beds[0].name != PRIMARY:
        return
    streaming = ask(
        beds[0], "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming'"
    )
    if late := sorted({_slot(bed) for bed in beds[1:]} - set(streaming.split())):
        raise NotReadyError(f"{', '.join(late)} does not stream from the primary yet")


def primaries(beds: Sequence[Bed]) -> Sequence[str]:
    """Whoever does not follow anybody."""
    return [bed.name for bed in beds if ask(bed, "SELECT pg_is_in_recovery()") == "f"]


def leave(bed: Bed) -> None:
    """The primary no longer keeps for a replica what that has not read."""
    ask(bed.peers[0], f"SELECT pg_drop_replication_slot('{_slot(bed)}')")


def _slot(bed: Bed) -> str:
    return bed.name.replace("-", "_")


def _follows(bed: Bed) -> str:
    """How a replica reaches its primary; empty of one that follows nobody."""
    if bed.name in ("", PRIMARY):
        return ""
    where = f"host=127.0.0.1 port={bed.peers[0].port} application_name={_slot(bed)}"
    return f"{where} user={USER} passfile={bed.folder}/pgpass"


KIND = ServerKind(
    summary="PostgreSQL, one server or a primary with streaming replicas",
    needs=("postgres", "initdb", "psql", "pg_basebackup"),
    url=f"postgresql://{USER}:{MENTION}@127.0.0.1:${{port}}/{USER}",
    recipe=recipe,
    counters=counters.COUNTING,
    keys=OWN | {"replicas", "ask"},
    members=members,
    asked=lambda beds: beds if beds[0].system.ask == "all" else beds[:1],
    join=join,
    primaries=primaries,
    grows="replica",
    leave=leave,
    is_kept=lambda bed: bed.name == PRIMARY,
)
