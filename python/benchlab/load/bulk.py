"""Loading by the thousand: the Plan that brings data in, made to wait less.

Asked one record after another, a million of them take minutes of waiting for answers and none of
work. Databases take many rows in one statement; other stores are asked by many clients, whose
commands stand behind each other on a few connections. Absent: what is loaded.
"""

import re
from collections.abc import Mapping
from typing import Any

CLIENTS: Mapping[str, tuple[int, int]] = {
    "redis": (256, 64),
    "memcached": (256, 64),
    "ldap": (16, 1),
}
"""By the driver: how many clients load, and how many of them share a connection."""
COPIES = ("postgresql", "mysql")
LONGEST = 4000
"""Of a text, in bytes: a thousand of them are below what a server takes as one statement, which is
16 MB of MariaDB; longer ones go one by one, where waiting counts for little."""
_INSERT = re.compile(r"INSERT INTO (.+? \([^()]+\)) VALUES \(([^()]+)\)")


def hastened(plan: dict[str, Any]) -> dict[str, Any]:
    """The Plan that loads the same in less time."""
    kind = plan["driver"]["kind"]
    if kind in CLIENTS:
        clients, pipeline = CLIENTS[kind]
        return plan | {"schedule": {"closed": {"clients": clients}}, "pipeline": pipeline}
    workload = plan["workload"]
    lengths = [law["text"]["length"] for law in workload["values"].values() if "text" in law]
    if kind not in COPIES or any(_most(length) > LONGEST for length in lengths):
        return plan
    copied = [
        each | {"operations": [_copied(operation) for operation in each["operations"]]}
        for each in workload["transactions"]
    ]
    return plan | {"workload": workload | {"transactions": copied}}


def _most(length: Any) -> int:
    return int(length["high"] if isinstance(length, Mapping) else length)


def _copied(operation: dict[str, Any]) -> dict[str, Any]:
    """An insert for each element of a list as rows that go together."""
    each, insert = operation["for_each"], _INSERT.fullmatch(operation["request"].get("sql", ""))
    if each is None or insert is None:
        return operation
    into, row = insert.groups()
    request = {"copy": {"into": into, "row": row.split(", ")}}
    expect = operation["expect"] | {"rows": f"${{{each}}}"}
    return operation | {"request": request, "expect": expect}
