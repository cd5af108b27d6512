"""SQL over the store's tables, by DuckDB: it reads, and it reads nothing else.

The tables that a query names are copied into a database in memory, which is then shut in: no file,
no network, no extension and no setting can be reached from the SQL. Absent: what the tables hold
(`tables`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import duckdb
import polars

from benchlab.model.errors import InputError
from benchlab.store import tables
from benchlab.store.runs import Run

_CLOSED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
_LOCKED = "SET enable_external_access = false; SET lock_configuration = true"
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_UNKNOWN_TABLE = re.compile(r"Table with name (\S+) does not exist")


@dataclass(frozen=True)
class Answer:
    """The rows that a query gave."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class _Stream:
    """A frame as DuckDB takes it in without another library in between."""

    def __init__(self, frame: polars.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def query(sql: str, runs: Sequence[Run]) -> Answer:
    """What one statement that reads finds in the tables of these runs.

    Raises InputError, in one line, for SQL that cannot be answered.
    """
    with duckdb.connect(":memory:", config=dict(_CLOSED)) as database:
        try:
            _check(database, sql)
            for name in tables.COLUMNS:
                # A name that only occurs in a text costs time, never the answer.
                is_meant = re.search(rf"\b{name}\b", sql, re.IGNORECASE)
                frame = tables.table(name, runs) if is_meant else tables.empty(name)
                database.register("incoming", _Stream(frame))
                database.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
                database.unregister("incoming")
            database.execute(_LOCKED)
            found = database.execute(sql)
            columns = tuple(str(column[0]) for column in found.description or ())
            return Answer(columns, tuple(map(tuple, found.fetchall())))
        except duckdb.Error as error:
            raise _complaint(str(error)) from None


def _check(database: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = database.extract_statements(sql)
    if len(statements) != 1:
        raise InputError(f"takes one statement, not {len(statements)}", key="query")
    if statements[0].type not in _READING:
        word = str(statements[0].type).rpartition(".")[2]
        raise InputError(f"only reads: SELECT and its like, not {word}", key="query")


def _complaint(said: str) -> InputError:
    """DuckDB's message in one line; of a table that is not there, with those that are."""
    missing = _UNKNOWN_TABLE.search(said)
    if missing:
        near = get_close_matches(missing[1].lower(), tables.COLUMNS, n=1, cutoff=0.5)
        listed = ", ".join(tables.COLUMNS)
        what = f"there is no table {missing[1]}; there are {listed}"
        return InputError(what, key="query", nearest=near[0] if near else None)
    if "pytz" in said:
        what = "a time with a zone cannot be shown; cast it, as in now()::TIMESTAMP"
        return InputError(what, key="query")
    lines = [line.strip() for line in said.split("\nLINE ")[0].splitlines()]
    return InputError(" ".join(line for line in lines if line), key="query")
