"""Data in a database that somebody else runs: a table with a mark of its own, taken away again.

The mark is the comment on the table (SQLite: in its definition), which comes into being with it and
tells whose it is even where the lab was killed. A schema (MySQL: a database) that is made on the
way is marked too, and goes when nothing else is in it. Absent: rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from benchlab.load.asking import MARK, Asker, sql
from benchlab.load.workloads.asked import Held, table_in


@dataclass(frozen=True)
class Dialect:
    """Statements with {into}, {name} (of the table), {table} (both), {columns} and {mark}."""

    place: str
    """What data are put into."""
    is_there: str
    """Counts tables of that name."""
    is_ours: str
    """Counts those with the mark."""
    make: tuple[str, ...]
    place_is_there: str | None = None
    """Counts places of that name; None where names of tables are places enough."""
    make_place: tuple[str, ...] = ()
    place_is_ours: str = ""
    """Counts places with the mark."""
    others: str = ""
    """Counts what is in the place."""
    drop_place: str = ""


_CLASS = (
    "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
    " ON n.oid = c.relnamespace WHERE n.nspname = '{into}'"
)
_NAMESPACE = "SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{into}'"
_TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = '{into}'"
_MASTER = "SELECT count(*) FROM sqlite_master WHERE name = '{into}_{name}'"

DIALECTS: Mapping[str, Dialect] = {
    "postgresql": Dialect(
        place="the schema",
        is_there=_CLASS + " AND c.relname = '{name}'",
        is_ours=_CLASS + " AND c.relname = '{name}'"
        " AND pg_catalog.obj_description(c.oid, 'pg_class') = '{mark}'",
        make=("CREATE TABLE {table} ({columns})", "COMMENT ON TABLE {table} IS '{mark}'"),
        place_is_there=_NAMESPACE,
        make_place=('CREATE SCHEMA "{into}"', "COMMENT ON SCHEMA \"{into}\" IS '{mark}'"),
        place_is_ours=_NAMESPACE
        + " AND pg_catalog.obj_description(oid, 'pg_namespace') = '{mark}'",
        others="SELECT (SELECT count(*) FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid)"
        " + (SELECT count(*) FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid)"
        " + (SELECT count(*) FROM pg_catalog.pg_type t WHERE t.typnamespace = n.oid)"
        " FROM pg_catalog.pg_namespace n WHERE n.nspname = '{into}'",
        # Without CASCADE it is refused while there is anything in it.
        drop_place='DROP SCHEMA "{into}"',
    ),
    "mysql": Dialect(
        place="the database",
        is_there=_TABLES + " AND table_name = '{name}'",
        is_ours=_TABLES + " AND table_name = '{name}' AND table_comment = '{mark}'",
        make=("CREATE TABLE {table} ({columns}) COMMENT = '{mark}'",),
        place_is_there="SELECT count(*) FROM information_schema.schemata"
        " WHERE schema_name = '{into}'",
        # A database has no comment in MySQL, so that a table says whose it is.
        make_place=(
            "CREATE DATABASE `{into}`",
            "CREATE TABLE `{into}`.benchlab (made INTEGER) COMMENT = '{mark}'",
        ),
        place_is_ours=_TABLES + " AND table_name = 'benchlab' AND table_comment = '{mark}'",
        others="SELECT (SELECT count(*) FROM information_schema.tables"
        " WHERE table_schema = '{into}' AND table_name <> 'benchlab')"
        " + (SELECT count(*) FROM information_schema.routines WHERE routine_schema = '{into}')"
        " + (SELECT count(*) FROM information_schema.events WHERE event_schema = '{into}')",
        drop_place="DROP DATABASE `{into}`",
    ),
    "sqlite": Dialect(
        place="the tables called",
        is_there=_MASTER,
        is_ours=_MASTER + " AND sql LIKE '%/* {mark} */%'",
        make=("CREATE TABLE {table} ({columns} /* {mark} */)",),
    ),
}


class Guest:
    """One table in a place of a running database."""

    def __init__(self, asker: Asker, driver: str, into: str, held: Held) -> None:
        self._asker, self._dialect = asker, DIALECTS[driver]
        self._words = {
            "into": into,
            "name": held.name,
            "table": table_in(driver, into, held.name),
            "columns": held.columns,
            "mark": MARK,
        }

    def settle(self) -> None:
        """Makes the empty table; what is there of an earlier lab goes before.

        Raises HostError where a table of that name is somebody else's.
        """
        dialect, words = self._dialect, self._words
        if self._count(dialect.is_there):
            if not self._count(dialect.is_ours):
                place = f"{dialect.place} {words['into']}"
                raise self._asker.theirs(f"a table {words['name']} in {place}")
            self._do("DROP TABLE {table}")
        if dialect.place_is_there is not None and not self._count(dialect.place_is_there):
            self._do(*dialect.make_place)
        self._do(*dialect.make)

    def leave(self) -> str | None:
        """Takes away what was made, and nothing else; says what is left."""
        dialect, words = self._dialect, self._words
        if self._count(dialect.is_ours):
            self._do("DROP TABLE {table}")
        if dialect.place_is_there is None or not self._count(dialect.place_is_ours):
            return None
        if not self._count(dialect.others, "0"):
            return f"{dialect.place} {words['into']} is left, since something else is in it now"
        self._do(dialect.drop_place)
        return None

    def _count(self, statement: str, first: str = "1") -> bool:
        return self._asker.holds(sql(statement.format(**self._words), first))

    def _do(self, *statements: str) -> None:
        self._asker.do(*(sql(statement.format(**self._words)) for statement in statements))
