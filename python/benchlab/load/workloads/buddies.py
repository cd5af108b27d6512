"""Logins that read a user and then the user's buddies: one multiget, or many gets?

A login reads a user and then each of 10 to 100 distinct buddies, 55 on average: `fetch: each` by a
query of its own, `together` by one query for all, `lazy` not at all. The login is the transaction.
A name is text that follows from its id, so every name that comes back is compared with what it must
be. Absent: friendships are not stored, since which users are buddies does not change what reading
them costs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchlab.load.workloads.asked import Asked, BuiltIn, Held, Loading, table_in
from benchlab.model.experiment import Expect, Operation, Transaction, Workload
from benchlab.model.grammar import Choice, Count, Record
from benchlab.model.sections import WorkloadKeys

USERS = 100_000
FEWEST, MOST = 10, 100
NAME_CHARACTERS = 32
TABLE, COLUMNS = "users", "id INTEGER PRIMARY KEY, name TEXT NOT NULL"
_ROWS_AT_ONCE = 1000


def _users(workload: Workload) -> int:
    return int(workload.data.get("users", USERS))


def _name_of(value: str) -> dict[str, Any]:
    return {"text": {"length": NAME_CHARACTERS, "key": value}}


def ask(workload: Workload, urls: Sequence[str], _folder: Path, _case: str) -> Asked:
    """The login, its buddies fetched as the option says."""
    users, table = _users(workload), table_in(urls[0].partition(":")[0], workload.into, TABLE)
    values: dict[str, Any] = {
        "user": {"uniform": {"low": 1, "high": users}},
        "user_name": _name_of("user"),
    }
    operations = [
        Operation(
            name="user",
            sql=f"SELECT name FROM {table} WHERE id = ${{user}}",
            expect=Expect(rows="1", first="${user_name}"),
        )
    ]
    fetch = workload.options.get("fetch", "each")
    if fetch != "lazy":
        values["buddies"] = {
            "list": {
                "low": 1,
                "high": users,
                "length": {"low": FEWEST, "high": MOST},
                "distinct": True,
            }
        }
    if fetch == "each":
        values["buddy_name"] = _name_of("buddies")
        operations.append(
            Operation(
                name="buddy",
                sql=f"SELECT name FROM {table} WHERE id = ${{buddies}}",
                expect=Expect(rows="1", first="${buddy_name}"),
                for_each="buddies",
            )
        )
    elif fetch == "together":
        operations.append(
            Operation(
                name="buddies",
                sql=f"SELECT id, name FROM {table} WHERE id IN (${{buddies}})",
                expect=Expect(rows="${buddies}", keyed="user_name"),
            )
        )
    return Asked((Transaction(name="login", operations=tuple(operations)),), values)


def load(workload: Workload, scheme: str) -> Loading:
    """The table of users, filled by transactions of a thousand rows."""
    users = _users(workload)
    values: dict[str, Any] = {
        "ids": {"batch": {"start": 1, "length": _ROWS_AT_ONCE, "last": users}},
        "name": _name_of("ids"),
    }
    table, held = table_in(scheme, workload.into, TABLE), Held(TABLE, COLUMNS)
    create = Operation(name="schema", sql=f"CREATE TABLE IF NOT EXISTS {TABLE} ({COLUMNS})")
    insert = f"INSERT INTO {table} (id, name) VALUES (${{ids}}, ${{name}})"
    row = Operation(name="row", sql=insert, for_each="ids", expect=Expect(rows="1"))
    filling = Transaction(name="load", operations=(row,) if workload.into else (create, row))
    return Loading(Asked((filling,), values), -(-users // _ROWS_AT_ONCE), held)


def find(workload: Workload, scheme: str) -> Loading:
    """The users are counted."""
    users, table = _users(workload), table_in(scheme, workload.into, TABLE)
    count = Operation(
        name=f"table {table} with the users 1 to {users}",
        sql=f"SELECT count(*) FROM {table} WHERE id BETWEEN 1 AND {users}",
        expect=Expect(first=str(users)),
    )
    return Loading(Asked((Transaction(name="find", operations=(count,)),)), 1)


BUDDIES = BuiltIn(
    summary="a login reads a user and 10 to 100 buddies: each, together or lazily",
    keys=WorkloadKeys(
        options=Record({"fetch": Choice(("each", "together", "lazy"))}),
        data=Record({"users": Count(low=MOST, high=100_000_000)}),
    ),
    schemes=("sqlite",),
    ask=ask,
    load=load,
    find=find,
)
