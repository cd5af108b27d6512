"""Databases asked beside the load: their connections, and a statement said for its effect.

Absent: what counters are asked by (`counters`), and all load.
"""

import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import Any

from benchlab.model.errors import HostError
from benchlab.model.schemes import SCHEMES
from benchlab.systems.command import POLL_S
from benchlab.systems.door import Door
from benchlab.systems.protocol import StoppedError

APPLICATION = "benchlab"


def postgresql(door: Door, timeout_s: float) -> Any:
    """A connection to PostgreSQL; each statement is a transaction of its own."""
    from pg8000.native import Connection  # type: ignore[import-untyped]

    host, port = door.address
    return Connection(
        door.user or "postgres",
        host=host,
        port=port,
        database=door.path or None,
        password=door.password or None,
        timeout=timeout_s,
        application_name=APPLICATION,
        ssl_context=door.encryption or False,
    )


def mysql(door: Door, timeout_s: float) -> Any:
    """A connection to MySQL, MariaDB or Sphinx; each statement is a transaction of its own."""
    import pymysql

    host, port = door.address
    encryption = door.encryption
    return pymysql.connect(
        host=host,
        port=port,
        user=door.user or "root",
        password=door.password,
        database=door.path or None,
        autocommit=True,
        ssl=encryption,
        # Where it is told nothing, it loads certificates to encrypt where it can.
        ssl_disabled=encryption is None,
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
    )


def _to_postgresql(door: Door, sql: str, timeout_s: float) -> None:
    connection = postgresql(door, timeout_s)
    try:
        connection.run(sql)
    finally:
        connection.close()


def _to_mysql(door: Door, sql: str, timeout_s: float) -> None:
    with mysql(door, timeout_s) as connection, connection.cursor() as cursor:
        cursor.execute(sql)


def _to_sqlite(door: Door, sql: str, timeout_s: float) -> None:
    path = door.url.removeprefix("sqlite:").removeprefix("//")
    connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None)
    try:
        connection.execute(sql).fetchall()
    finally:
        connection.close()


_SAID: Mapping[str, Callable[[Door, str, float], None]] = {
    "postgresql": _to_postgresql,
    "mysql": _to_mysql,
    "sqlite": _to_sqlite,
}
"""By the driver."""


def say(door: Door, sql: str, timeout_s: float, pause: Callable[[float], bool]) -> None:
    """Has a system do a statement, and waits until it is done.

    Raises HostError, with the system's own words, where it is refused or takes longer than it may;
    StoppedError where the lab is asked to stop meanwhile.
    """
    told: list[BaseException] = []
    said = _SAID[SCHEMES[door.url.partition(":")[0]].driver]

    def run() -> None:
        try:
            said(door, sql, timeout_s)
        except BaseException as error:
            told.append(error)

    # A client library waits without looking whether it is to stop.
    thread = threading.Thread(target=run, name="statement", daemon=True)
    thread.start()
    while thread.is_alive():
        if pause(POLL_S):
            raise StoppedError
    if told:
        raise HostError(f"`{sql}` is answered: {_words(told[0])}") from told[0]


def _words(error: BaseException) -> str:
    """What the server says, without what its client makes of it."""
    last = error.args[-1] if error.args else ""
    return str(last["M"] if isinstance(last, dict) and "M" in last else last or repr(error))
