"""MariaDB as a Galera cluster of `instances: n` nodes (three unless given), which all take writes.

`settings` are MariaDB's own variables, the same for all nodes; `wsrep_provider_options` are added
to those that say where each listens. The driver talks to all nodes, or with `ask: one` to the
first. The first node makes the data, the others are given them (`wsrep_sst_method`, rsync unless
set). A node that starts while no other is up begins the cluster, so that after all were stopped in
order the last one to go is the first to come. Absent: a cluster that was killed as a whole, and an
arbiter.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from benchlab.model.errors import HostError
from benchlab.model.experiment import System
from benchlab.systems import mariadb
from benchlab.systems.members import ServerKind
from benchlab.systems.reach import NotReadyError
from benchlab.systems.server import Bed, Recipe

NODES = 3
GIVEN_S = 600.0
"""How long a node may take to be given all data."""
PROVIDERS = ("/usr/lib/galera", "/usr/lib/galera-4", "/usr/lib64/galera-4")
"""Folders where distributions keep the library."""


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

    return dataclasses.replace(
        mariadb.recipe(bed),
        start=mariadb.command(bed, variables),
        alone=["--wsrep-new-cluster", mariadb.first(bed)],
        answers=answers,
        ready_s=GIVEN_S,
    )


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
    keys=frozenset({"settings", "environment", "instances", "ask"}),
    members=members,
    asked=lambda beds: beds[:1] if beds[0].system.ask == "one" else beds,
    join=join,
    primaries=primaries,
    grows="",
    lacks=_missing,
)
