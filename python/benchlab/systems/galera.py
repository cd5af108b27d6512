"""MariaDB as a Galera cluster of `instances: n` nodes (three unless given), which all take writes.

`settings` are MariaDB's own variables, the same for all nodes; `wsrep_provider_options` are added
to those that say where each listens. The driver talks to all nodes, or with `ask: one` to the
first. The first node makes the data, the others are given them (`wsrep_sst_method`, rsync unless
set). A node that starts while no other is up begins the cluster, so that after all were stopped in
order the last one to go is the first to come. Where all were killed, the one whose data go furthest
begins, and the others are given what they lack. Absent: an arbiter.
"""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from benchlab.model.errors import HostError
from benchlab.model.experiment import System
from benchlab.systems import mariadb
from benchlab.systems.members import OWN, ServerKind
from benchlab.systems.reach import NotReadyError
from benchlab.systems.server import Bed, Recipe, Server, heeded

NODES = 3
GIVEN_S = 600.0
"""How long a node may take to be given all data."""
PROVIDERS = ("/usr/lib/galera", "/usr/lib/galera-4", "/usr/lib64/galera-4")
"""Folders where distributions keep the library."""
_SEQUENCE = re.compile(r"(?m)^seqno:\s*(-?\d+)")
_RECOVERED = re.compile(r"WSREP: Recovered position: [0-9a-f-]+:(-?\d+)")


def recipe(bed: Bed) -> Recipe:
    """MariaDB's, with the cluster's variables; users are made where the cluster begins."""
    group = ",".join(f"127.0.0.1:{peer.port_for('group')}" for peer in bed.peers)
    options = [
        f"gmcast.listen_addr=tcp://127.0.0.1:{bed.port_for('group')}",
        f"ist.recv_addr=127.0.0.1:{bed.port_for('increments')}",
        *filter(None, [bed.settings.get("wsrep_provider_options")]),
    ]
    variables = {
        "wsrep_on": "ON",
        "binlog_format": "ROW",
        "default_storage_engine": "InnoDB",
        "innodb_autoinc_lock_mode": "2",
        "wsrep_sst_method": "rsync",
        **bed.settings,
        "wsrep_provider": _provider(),
        "wsrep_provider_options": ";".join(options),
        "wsrep_cluster_name": mariadb.USER,
        "wsrep_cluster_address": f"gcomm://{group}",
        "wsrep_node_name": bed.name,
        "wsrep_node_address": f"127.0.0.1:{bed.port_for('group')}",
        "wsrep_node_incoming_address": f"127.0.0.1:{bed.port}",
        "wsrep_sst_receive_address": f"127.0.0.1:{bed.port_for('snapshot')}",
    }

    def answers() -> None:
        said = status(bed, "wsrep_local_state_comment")
        if said != "Synced":
            raise NotReadyError(f"its state is {said or 'none'}")
        heeded(bed, mariadb.OTHERWISE)

    return dataclasses.replace(
        mariadb.recipe(bed),
        start=mariadb.command(bed, variables),
        alone=["--wsrep-new-cluster", mariadb.first(bed)],
        answers=answers,
        ready_s=GIVEN_S,
    )


def leader(members: Sequence[Server], again: Sequence[Server]) -> Server:
    """The node whose data go furthest, made ready to begin the cluster.

    Raises HostError where it is not among those that are started.
    """
    reached = {member.name: position(member) for member in members}
    furthest = max(members, key=lambda one: (reached[one.name], one in again))
    if furthest not in again:
        what = f"has only what was written until {max(reached[one.name] for one in again)}"
        ahead = f"{furthest.name} goes on until {reached[furthest.name]}"
        raise HostError(f"{again[0].name} {what}, and {ahead}: start that first")
    state = _state(furthest)
    if state.exists():
        text = state.read_text()
        state.write_text(re.sub(r"(?m)^safe_to_bootstrap:.*$", "safe_to_bootstrap: 1", text))
    return furthest


def position(member: Server) -> int:
    """The number of the last write in the data of a node that is down; -1 where it has none.

    One that was stopped in order has it in a file; of one that was killed the server is asked,
    which puts the data in order first.
    """
    state = _state(member)
    if not state.exists():
        return -1
    if (said := _SEQUENCE.search(state.read_text())) and int(said[1]) >= 0:
        return int(said[1])
    log = member.folder / "recovered"
    member.prepare([*member.recipe.start, "--wsrep-recover"], log)
    found = _RECOVERED.findall(log.read_text("utf-8", "replace"))
    return int(found[-1]) if found else -1


def _state(member: Server) -> Path:
    return member.folder / "data" / "grastate.dat"


def status(bed: Bed, name: str) -> str:
    """What a node says of itself. Raises NotReadyError where it does not answer."""
    said = mariadb.ask(bed, f"SHOW GLOBAL STATUS LIKE '{name}'")
    return said.partition("\t")[2]


def members(system: System) -> Sequence[str]:
    """The nodes by their numbers."""
    return [str(number) for number in range(1, (system.instances or NODES) + 1)]


def join(beds: Sequence[Bed]) -> None:
    """Nodes find each other by themselves; it is seen here that each knows of all."""
    for bed in beds:
        size = status(bed, "wsrep_cluster_size")
        if size != str(len(beds)):
            raise NotReadyError(f"node {bed.name} sees a cluster of {size or 0} of {len(beds)}")


def primaries(beds: Sequence[Bed]) -> Sequence[str]:
    """The nodes that take writes: those of the part of the cluster that may."""

    def is_one(bed: Bed) -> bool:
        return (status(bed, "wsrep_cluster_status"), status(bed, "wsrep_ready")) == (
            "Primary",
            "ON",
        )

    return [bed.name for bed in beds if is_one(bed)]


def _provider() -> str:
    for folder in PROVIDERS:
        library = Path(folder, "libgalera_smm.so")
        if library.exists():
            return str(library)
    raise HostError("needs Galera's library: apt-get install galera-4")


def _missing() -> str | None:
    try:
        _provider()
    except HostError as error:
        return str(error)
    return None


KIND = ServerKind(
    summary="MariaDB as a Galera cluster",
    needs=(*mariadb.KIND.needs, "rsync"),
    url=mariadb.KIND.url,
    recipe=recipe,
    counters=mariadb.KIND.counters,
    keys=OWN | {"instances", "ask"},
    members=members,
    asked=lambda beds: beds[:1] if beds[0].system.ask == "one" else beds,
    join=join,
    leader=leader,
    primaries=primaries,
    grows="",
    lacks=_missing,
)
