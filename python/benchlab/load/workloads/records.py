"""Reading and writing records by their keys: the same questions to any store that has records.

A record is a key, a whole number, and a text that begins with its version and its key and otherwise
follows from both, so that whatever comes back is checked, also after it was overwritten. Each
store is asked in its native best way: a prepared statement, or a command of its own. YCSB's
workloads A to F are six settings (`ycsb: A`). Absent: records of several columns.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchlab.load.workloads.asked import Asked, BuiltIn, Held, Loading, begin_of, table_in
from benchlab.model.errors import InputError
from benchlab.model.experiment import Expect, Operation, Transaction, Workload
from benchlab.model.grammar import Choice, Count, Quantity, Record
from benchlab.model.schemes import SCHEMES
from benchlab.model.sections import WorkloadKeys

Into = str | None
RECORDS = 100_000
TABLE, KEY = "records", "record:"
"""What holds the records: a table, or keys that begin so."""
GUEST_S = 86_400
"""How long memcached keeps what is put into one that is already running."""
LENGTH = 100
MANY = 10
SCAN = 100
_ROWS_AT_ONCE = 1000
_SHORTEST = 22
"""Version and key take so many characters."""
_FAR = 1 << 62
"""Keys that are inserted are drawn from so many, so that none comes twice."""

KINDS = ("read", "read_many", "update", "insert", "scan", "read_modify_write")
"""What a transaction may be; the options of these names are shares."""

YCSB: Mapping[str, tuple[Mapping[str, float], str]] = {
    "A": ({"read": 0.5, "update": 0.5}, "zipfian"),
    "B": ({"read": 0.95, "update": 0.05}, "zipfian"),
    "C": ({"read": 1.0}, "zipfian"),
    "D": ({"read": 0.95, "insert": 0.05}, "latest"),
    "E": ({"scan": 0.95, "insert": 0.05}, "zipfian"),
    "F": ({"read": 0.5, "read_modify_write": 0.5}, "zipfian"),
}
"""Shares and distribution of the Yahoo Cloud Serving Benchmark's core workloads (Cooper et al.,
SoCC 2010, table 2), whose records have ten fields of 100 bytes and here are one text. D reads the
latest of the records that were loaded, not of those inserted since."""


@dataclass(frozen=True)
class Dialect:
    """How a store's driver is asked: an operation a kind, `None` for what it cannot."""

    insert: Operation
    write: Operation
    """Inserts a record, or overwrites one that is there."""
    read: Operation
    update: Operation
    columns: str = ""
    """Of the table, where there is one."""
    read_many: Operation | None = None
    scan: Operation | None = None

    def operation(self, kind: str, scheme: str) -> Operation:
        """The operation of that kind.

        Raises:
            InputError: when the store cannot do that.
        """
        operation: Operation | None = getattr(self, kind)
        if operation is None:
            what = f"{scheme}: has no {kind}"
            raise InputError(what, key=f"workload.options.{kind}")
        return operation


_ONE, _CHECKED = Expect(rows="1"), Expect(keyed="value")


def _sql(driver: str, key: str, upsert: str, text: str = "TEXT") -> Callable[[Into], Dialect]:
    columns = f"id {key} PRIMARY KEY, value {text} NOT NULL"

    def dialect(into: Into) -> Dialect:
        table = table_in(driver, into, TABLE)
        insert = f"INSERT INTO {table} (id, value) VALUES (${{id}}, ${{value}})"
        select = f"SELECT id, value FROM {table} WHERE"
        update = f"UPDATE {table} SET value = ${{value}} WHERE id = ${{id}}"
        one = f"{select} id = ${{id}}"
        many, scan = f"{select} id IN (${{ids}})", f"{select} id >= ${{id}} ORDER BY id"
        checked = Expect(rows="${ids}", keyed="value")
        return Dialect(
            columns=columns,
            insert=Operation(name="insert", sql=insert),
            write=Operation(name="insert", sql=f"{insert} {upsert}"),
            read=Operation(name="read", sql=one, expect=Expect(rows="1", keyed="value")),
            read_many=Operation(name="read_many", sql=many, expect=checked),
            update=Operation(name="update", sql=update, expect=_ONE),
            scan=Operation(name="scan", sql=f"{scan} LIMIT ${{scan}}", expect=_CHECKED),
        )

    return dialect


def _redis(into: Into) -> Dialect:
    record, taken = f"{begin_of(into, KEY)}${{id}}", Expect(reply="OK")
    many = f"{begin_of(into, KEY)}${{ids}}"
    write = ("SET", record, "${value}")
    return Dialect(
        insert=Operation(name="insert", command=write, expect=taken),
        write=Operation(name="insert", command=write, expect=taken),
        read=Operation(name="read", command=("GET", record), expect=_CHECKED),
        read_many=Operation(name="read_many", command=("MGET", many), expect=_CHECKED),
        update=Operation(name="update", command=(*write, "XX"), expect=taken),
    )


def _memcached(into: Into) -> Dialect:
    record, stored = f"{begin_of(into, KEY)}${{id}}", Expect(reply="STORED")
    many = f"{begin_of(into, KEY)}${{ids}}"
    # Nobody can list its keys, so what is a guest there goes by itself, at the latest.
    write = ("set", record, "0", "0" if into is None else str(GUEST_S), "${value}")
    return Dialect(
        insert=Operation(name="insert", command=write, expect=stored),
        write=Operation(name="insert", command=write, expect=stored),
        read=Operation(name="read", command=("get", record), expect=_CHECKED),
        read_many=Operation(name="read_many", command=("get", many), expect=_CHECKED),
        update=Operation(name="update", command=("replace", *write[1:]), expect=stored),
    )


def _ldap(into: Into) -> Dialect:
    """Entries right below the URL's base; there is no adding one that may be there."""
    above = "" if into is None else f"ou={into}"
    record, columns = f"uid=${{id}},{above}".rstrip(","), {"attributes": ("uid", "description")}
    one = {"base": record, "scope": "base", **columns}
    many = {"base": above, "scope": "one", "filter": "(|(uid=${ids}))", **columns}
    held = {"objectClass": ("account",), "uid": ("${id}",), "description": ("${value}",)}
    changed = {"replace": {"description": ("${value}",)}}
    insert = {"add": {"dn": record, "attributes": held}}
    checked = Expect(rows="${ids}", keyed="value")
    return Dialect(
        insert=Operation(name="insert", ldap=insert, expect=_ONE),
        write=Operation(name="insert", ldap=insert, expect=_ONE),
        read=Operation(name="read", ldap={"search": one}, expect=Expect(rows="1", keyed="value")),
        read_many=Operation(name="read_many", ldap={"search": many}, expect=checked),
        update=Operation(name="update", ldap={"modify": {"dn": record, **changed}}, expect=_ONE),
    )


_ON_CONFLICT = "ON CONFLICT (id) DO UPDATE SET value = excluded.value"
# What is inserted is called VALUES(...) by MySQL and MariaDB alike.
_ON_DUPLICATE = "ON DUPLICATE KEY UPDATE value = VALUES(value)"
DIALECTS: Mapping[str, Callable[[Into], Dialect]] = {
    "sqlite": _sql("sqlite", "INTEGER", _ON_CONFLICT),
    "postgresql": _sql("postgresql", "BIGINT", _ON_CONFLICT),
    "memcached": _memcached,
    # TEXT is 64 KiB there.
    "mysql": _sql("mysql", "BIGINT", _ON_DUPLICATE, "MEDIUMTEXT"),
    "redis": _redis,
    "ldap": _ldap,
}
"""By the driver, for data at their own place or in a place of this name."""


def ask(workload: Workload, urls: Sequence[str], _folder: Path, case: str) -> Asked:
    """The transactions, each a kind with its share.

    Raises:
        InputError: when the store cannot do what has a share, or nothing has one.
    """
    scheme = urls[0].partition(":")[0]
    dialect = DIALECTS[SCHEMES[scheme].driver](workload.into)
    options = workload.options
    shares, distribution = YCSB[options["ycsb"]] if "ycsb" in options else ({}, "zipfian")
    given = {kind: options[kind] for kind in KINDS if options.get(kind)}
    shares = given or shares or {"read": 1.0}
    if workload.into is not None and "insert" in shares and SCHEMES[scheme].speaks == "ldap":
        what = "what trials add to a directory that is already running could not be found again"
        raise InputError(f"{what}, so nothing is inserted there", key="workload.options.insert")
    distribution = options.get("distribution", distribution)
    records = int(workload.data.get("records", RECORDS))
    values = {
        "id": _keys(distribution, records),
        "value": _text_of("id", workload),
        "scan": {"uniform": {"low": 1, "high": int(options.get("scanned", SCAN))}},
        "ids": {
            "list": {
                "low": 1,
                "high": records,
                "length": int(options.get("many", MANY)),
                "distinct": True,
            }
        },
    }
    # The name takes part in what is drawn, and no two cases may insert the same.
    new = f"new_{hashlib.blake2b(case.encode(), digest_size=4).hexdigest()}"
    values[new] = {"uniform": {"low": records + 1, "high": _FAR}}
    values[f"{new}_value"] = _text_of(new, workload)
    transactions = tuple(
        Transaction(name=kind, weight=weight, operations=_operations(kind, dialect, scheme, new))
        for kind, weight in shares.items()
    )
    return Asked(transactions, values)


def _operations(kind: str, dialect: Dialect, scheme: str, new: str) -> tuple[Operation, ...]:
    match kind:
        case "read_modify_write":
            return (dialect.read, dialect.update)
        case "insert":
            return (_new(dialect.write, new),)
        case _:
            return (dialect.operation(kind, scheme),)


def _new(operation: Operation, new: str) -> Operation:
    """The operation on a new record."""

    def renamed(request: Any) -> Any:
        if isinstance(request, str):
            named = request.replace("${id}", f"${{{new}}}")
            return named.replace("${value}", f"${{{new}_value}}")
        if isinstance(request, Mapping):
            return {key: renamed(inner) for key, inner in request.items()}
        return tuple(renamed(inner) for inner in request)

    speaks = operation.speaks
    return operation.model_copy(update={speaks: renamed(getattr(operation, speaks))})


def _keys(distribution: str, records: int) -> dict[str, Any]:
    whole = {"low": 1, "high": records}
    return {distribution: {**whole, "scramble": True} if distribution == "zipfian" else whole}


def _text_of(key: str, workload: Workload) -> dict[str, Any]:
    return {"text": {"length": _length(workload), "key": key, "versioned": True}}


def _length(workload: Workload) -> int:
    return int(workload.data.get("length", LENGTH))


def load(workload: Workload, scheme: str) -> Loading:
    """All records, filled by transactions of a thousand."""
    driver = SCHEMES[scheme].driver
    dialect = DIALECTS[driver](workload.into)
    insert = dialect.insert.model_copy(update={"for_each": "id"})
    held = Held(TABLE if dialect.columns else KEY, dialect.columns)
    if workload.into is not None:
        return _by_thousands(workload, (insert,), held)
    make = f"CREATE TABLE IF NOT EXISTS {TABLE} ({dialect.columns})"
    schema = (Operation(name="schema", sql=make),) if dialect.columns else ()
    return _by_thousands(workload, (*schema, insert), held)


def find(workload: Workload, scheme: str) -> Loading:
    """Each record is read; where they can be counted, they are, and a thousand are read."""
    dialect = DIALECTS[SCHEMES[scheme].driver](workload.into)
    records = int(workload.data.get("records", RECORDS))
    name = f"record as it is made of the seed, of {_length(workload)} bytes"
    read = dialect.read.model_copy(update={"for_each": "id", "name": name})
    if not dialect.columns:
        return _by_thousands(workload, (read,))
    table = table_in(SCHEMES[scheme].driver, workload.into, TABLE)
    count = Operation(
        name=f"table {table} with the records 1 to {records}",
        sql=f"SELECT count(*) FROM {table} WHERE id BETWEEN 1 AND {records}",
        expect=Expect(first=str(records)),
    )
    return replace(_by_thousands(workload, (count, read)), transactions=1)


def _by_thousands(
    workload: Workload, operations: tuple[Operation, ...], held: Held | None = None
) -> Loading:
    """Operations on each record, a thousand of them a transaction."""
    records = int(workload.data.get("records", RECORDS))
    values = {
        "id": {"batch": {"start": 1, "length": _ROWS_AT_ONCE, "last": records}},
        "value": _text_of("id", workload),
    }
    filling = Transaction(name="load", operations=operations)
    return Loading(Asked((filling,), values), -(-records // _ROWS_AT_ONCE), held)


_SHARE = Quantity("")

RECORDS_WORKLOAD = BuiltIn(
    summary="reads, writes and scans records by key; `ycsb: A` to `F`",
    keys=WorkloadKeys(
        options=Record(
            {
                "ycsb": Choice(tuple(YCSB)),
                **dict.fromkeys(KINDS, _SHARE),
                "distribution": Choice(("zipfian", "uniform", "latest")),
                "many": Count(low=1, high=1000),
                "scanned": Count(low=1, high=10_000),
            }
        ),
        data=Record(
            {
                "records": Count(low=1000, high=1_000_000_000),
                "length": Count(low=_SHORTEST, high=1 << 20),
            }
        ),
    ),
    schemes=tuple(name for name, scheme in SCHEMES.items() if scheme.driver in DIALECTS),
    ask=ask,
    load=load,
    find=find,
)
