"""memcached, one server or `instances: n`; `settings` are long options: `memory-limit: 256`.

Servers know nothing of each other: the driver places each key on one of them. What they hold does
not outlive them, so that every session loads its data anew. They ask for no password; they listen
on loopback alone. Absent: a server that takes the place of one that is gone.
"""

import socket

from benchlab.systems.counters import memcached as counters
from benchlab.systems.members import OWN, ServerKind, numbered
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe


def recipe(bed: Bed) -> Recipe:
    """All it is told stands on its command line."""
    options = {
        **{"memory-limit": "1024", "conn-limit": "4096"},
        **bed.settings,
        **{"listen": "127.0.0.1", "port": str(bed.port), "udp-port": "0"},
    }
    flags = [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]

    def answers() -> None:
        try:
            with socket.create_connection(("127.0.0.1", bed.port), ANSWER_S) as there:
                there.sendall(b"version\r\n")
                said = there.recv(100)
        except OSError as error:
            raise NotReadyError(f"nobody answers ({error.strerror or error})") from error
        if not said.startswith(b"VERSION "):
            raise NotReadyError(f"it answers {said!r}")

    return Recipe(start=[bed.program("memcached"), *flags], answers=answers, user="nobody")


KIND = ServerKind(
    summary="memcached, one server or several that share the keys",
    needs=("memcached",),
    url="memcached://127.0.0.1:${port}",
    recipe=recipe,
    counters=counters.COUNTING,
    keys=OWN | {"instances"},
    members=numbered,
    grows="",
)
