"""What PHP's process manager counts of itself: its status page, asked by FastCGI on a socket of its
own, so that it waits behind no script.

Names are those of the page, with `_` for blanks. Absent: what single processes do.
"""

import json
import socket
from collections.abc import Mapping

from benchlab.systems.counters import Counting, counters, gauges
from benchlab.systems.counters.local import Local
from benchlab.systems.fastcgi import ask

SOCKET, PATH = "status", "/status"
"""The socket, in the server's folder, and what is asked for there."""
MEANINGS = {
    **counters("accepted_conn max_children_reached slow_requests"),
    **gauges("active_processes idle_processes total_processes max_active_processes"),
    **gauges("listen_queue max_listen_queue"),
}
ASKED = {
    **{"SCRIPT_NAME": PATH, "SCRIPT_FILENAME": PATH},
    **{"QUERY_STRING": "json", "REQUEST_METHOD": "GET"},
}


def numbers(there: socket.socket) -> Mapping[str, float]:
    """What it tells on a fresh connection. Raises ValueError where that is no status."""
    told = {name.replace(" ", "_"): value for name, value in json.loads(ask(there, ASKED)).items()}
    return {name: float(told[name]) for name in MEANINGS}


COUNTING = Counting(MEANINGS, lambda door: Local(door, numbers), at=f"unix:${{dir}}/{SOCKET}")
