"""Loopback ports: free ones for servers, and who holds a taken one.

Absent: anything beyond this machine.
"""

import random
import socket
import threading
from pathlib import Path

import psutil

from benchlab.model.errors import HostError

_TRIES = 200
_lock = threading.Lock()
_given: set[int] = set()


def free() -> int:
    """A port nothing listens on, never given twice by this process.

    It lies below the range from which the kernel draws ports of outgoing connections, so that the
    load itself cannot take it while the server starts.
    """
    drawn = random.SystemRandom()
    top = _ephemeral_from()
    with _lock:
        for _ in range(_TRIES):
            port = drawn.randrange(max(1024, top - 12_000), top)
            if port not in _given and is_free(port):
                _given.add(port)
                return port
    raise HostError(f"no free port below {top} on 127.0.0.1: end some of the servers running here")


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Whether a server could listen on it now."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError:
            return False
        return True


def accepts(address: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether somebody accepts a connection there."""
    try:
        socket.create_connection((address, port), timeout_s).close()
    except OSError:
        return False
    return True


def holder(port: int) -> int | None:
    """The process that listens on a local port: the topmost when several of one tree do.

    None when nobody does or it belongs to another user.
    """
    pids = {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
        and connection.pid
    }
    for pid in sorted(pids):
        try:
            if not pids & {parent.pid for parent in psutil.Process(pid).parents()}:
                return pid
        except psutil.NoSuchProcess:
            continue
    return None


def describe_holder(port: int) -> str:
    """Who holds a port, in words, for a message."""
    pid = holder(port)
    if pid is None:
        return "another process"
    try:
        return f"`{psutil.Process(pid).name()}` (process {pid})"
    except psutil.NoSuchProcess:
        return f"process {pid}"


def _ephemeral_from() -> int:
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    low = int(path.read_text().split()[0]) if path.exists() else 32_768
    return low if low > 2_048 else 32_768
