"""Redis, by RESP: alone, or a cluster of `masters: n` that share the keys, each with `replicas: m`.

`settings` are its own configuration directives, the same for all members. Nothing is written to
disk unless they say so: `save` and `appendonly` are off by default. Slots are dealt evenly in the
order of the masters, and a cluster's replicas copy at once (`repl-diskless-sync-delay`), since one
whose first copy has not come never takes over. Absent: replicas without a cluster, and moving
slots, so that a cluster neither grows nor shrinks.
"""

import re
import socket
from collections.abc import Sequence

from benchlab.model.errors import InputError
from benchlab.model.experiment import System
from benchlab.model.secrets import MENTION
from benchlab.systems.counters import redis as counters
from benchlab.systems.members import OWN, ServerKind
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe

SLOTS = 16384
MASTER = "master-"
FEWEST_MASTERS = 3
"""A majority of masters must be left to say that one is gone."""
SAVED_S = 600.0
"""How long it may take to write its data down: it says so once all is on the disk."""


def recipe(bed: Bed) -> Recipe:
    """The server's configuration is a file of its folder, since it holds the password."""
    directives = {"save": "", "appendonly": "no"}
    fixed = {
        "bind": "127.0.0.1",
        "port": str(bed.port),
        "dir": f"{bed.folder}/data",
        "daemonize": "no",
        "requirepass": bed.password,
    }
    if bed.system.masters:
        directives |= {"cluster-node-timeout": "2000", "repl-diskless-sync-delay": "0"}
        fixed |= {
            "cluster-enabled": "yes",
            "cluster-port": str(bed.port_for("cluster")),
            # Not among its data, which outlive the ports it names.
            "cluster-config-file": f"{bed.folder}/nodes.conf",
            "masterauth": bed.password,
        }
    empty = '""'
    given = {**directives, **bed.settings, **fixed}
    lines = [f"{name} {value or empty}\n" for name, value in given.items()]

    def answers() -> None:
        if (said := say(bed, "PING")) != "+PONG":
            raise NotReadyError(f"it answers {said!r}")

    return Recipe(
        start=[bed.program("redis-server"), f"{bed.folder}/redis.conf"],
        files={"redis.conf": "".join(lines), "data/.keep": ""},
        answers=answers,
        data="data",
        persist=lambda: _done(bed, "SAVE", SAVED_S),
    )


def say(bed: Bed, command: str, answer_s: float = ANSWER_S) -> str:
    """The answer to a command, as it is sent. Raises NotReadyError where there is none."""
    try:
        with socket.create_connection(("127.0.0.1", bed.port), answer_s) as there:
            there.sendall(f"AUTH {bed.password}\r\n{command}\r\nQUIT\r\n".encode())
            with there.makefile("rb") as answers:
                said = answers.read().decode("utf-8", "replace")
    except OSError as error:
        raise NotReadyError(f"nobody answers ({error.strerror or error})") from error
    return said.removeprefix("+OK\r\n").removesuffix("+OK\r\n").removesuffix("\r\n")


def members(system: System) -> Sequence[str]:
    """The masters, and after them the replicas of each."""
    if system.masters is None:
        if system.replicas:
            raise InputError("belong to a cluster: say how many `masters`", key="replicas")
        return ("",)
    if system.masters < FEWEST_MASTERS:
        raise InputError(f"a cluster has {FEWEST_MASTERS} masters at least", key="masters")
    masters = range(1, system.masters + 1)
    replicas = range(1, (system.replicas or 0) + 1)
    return [f"{MASTER}{n}" for n in masters] + [
        f"replica-{n}-{m}" for n in masters for m in replicas
    ]


def join(beds: Sequence[Bed]) -> None:
    """Introduces the members, deals the slots, has replicas follow their masters.

    What is done already is left alone, so that a member that was away is no master again by this.
    """
    peers = list(beds[0].peers)
    if len(peers) == 1:
        return
    for bed in beds:
        if _figure(bed, "CLUSTER INFO", "cluster_known_nodes") < len(peers):
            _meet(bed, beds)
    if len(beds) < len(peers):
        return
    masters = [bed for bed in peers if bed.name.startswith(MASTER)]
    for number, bed in enumerate(masters):
        if _figure(bed, "CLUSTER INFO", "cluster_slots_assigned") < SLOTS and not _slots(bed):
            first, end = (SLOTS * n // len(masters) for n in (number, number + 1))
            _done(bed, f"CLUSTER ADDSLOTSRANGE {first} {end - 1}")
    for bed in peers:
        if bed not in masters and _is_master(bed) and not _slots(bed):
            its = masters[int(bed.name.split("-")[1]) - 1]
            _done(bed, f"CLUSTER REPLICATE {say(its, 'CLUSTER MYID').splitlines()[-1]}")
    for bed in peers:
        if "cluster_state:ok" not in say(bed, "CLUSTER INFO"):
            raise NotReadyError("the cluster has no state `ok` yet")
        if not _is_master(bed) and "master_link_status:up" not in say(bed, "INFO replication"):
            raise NotReadyError(f"{bed.name} has not copied its master yet")


def primaries(beds: Sequence[Bed]) -> Sequence[str]:
    """The masters, as they say themselves."""
    return [bed.name for bed in beds if _is_master(bed)]


def _meet(bed: Bed, others: Sequence[Bed]) -> None:
    # A number of its own spares a new member the settling of equal claims; one that is not new
    # has it already, and refuses.
    number = [peer.name for peer in bed.peers].index(bed.name) + 1
    say(bed, f"CLUSTER SET-CONFIG-EPOCH {number}")
    for other in others:
        if other is not bed:
            _done(bed, f"CLUSTER MEET 127.0.0.1 {other.port} {other.port_for('cluster')}")


def _done(bed: Bed, command: str, answer_s: float = ANSWER_S) -> None:
    """Raises NotReadyError where a command is refused."""
    if (said := say(bed, command, answer_s)) != "+OK":
        raise NotReadyError(f"`{command}` is answered {said!r}")


def _figure(bed: Bed, command: str, name: str) -> int:
    found = re.search(rf"^{name}:(\d+)", said := say(bed, command), re.MULTILINE)
    if found is None:
        raise NotReadyError(f"it answers {said!r}")
    return int(found[1])


def _itself(bed: Bed) -> list[str]:
    """What a member says of itself: id, address, flags, master, times, and slots from the ninth."""
    lines = [line.split() for line in say(bed, "CLUSTER NODES").splitlines()]
    found = [words for words in lines if len(words) > 2 and "myself" in words[2]]
    if not found:
        raise NotReadyError(f"{bed.name} does not know itself yet")
    return found[0]


def _slots(bed: Bed) -> list[str]:
    return _itself(bed)[8:]


def _is_master(bed: Bed) -> bool:
    return "master" in _itself(bed)[2]


def url(system: System) -> str:
    """Of a member; a cluster's says that it is one."""
    return f"redis://:{MENTION}@127.0.0.1:${{port}}" + ("?cluster=true" if system.masters else "")


KIND = ServerKind(
    summary="Redis, one server or a cluster",
    needs=("redis-server",),
    url=url,
    recipe=recipe,
    counters=counters.COUNTING,
    keys=OWN | {"masters", "replicas"},
    members=members,
    join=join,
    primaries=primaries,
)
