"""MariaDB, one server; `settings` are its own variables, as on its command line.

The user `bench` logs in by a random password and may do everything in the database of that name.
No option files are read but one that `settings` name (`defaults-file`). Absent: clusters
(`galera`), and replicas.
"""

import re
from collections.abc import Mapping

from benchlab.model.secrets import MENTION
from benchlab.systems.counters import mariadb as counters
from benchlab.systems.members import ServerKind
from benchlab.systems.reach import NotReadyError, client_says
from benchlab.systems.server import Bed, Recipe, heeded

USER = "bench"
DEFAULTS = "defaults-file"
FIRST = f"""CREATE DATABASE IF NOT EXISTS {USER};
CREATE OR REPLACE USER {USER}@'127.0.0.1' IDENTIFIED BY '{{password}}';
GRANT ALL ON {USER}.* TO {USER}@'127.0.0.1';
ALTER USER root@localhost IDENTIFIED BY '{{password}}';
"""
"""What the server does as it starts; a password of ours has neither quotes nor backslashes."""
OTHERWISE = re.compile(r"\[Warning\] .*?(option '.*': .* adjusted to .*)")
"""How it says that it was started with something else than it was told."""


def recipe(bed: Bed) -> Recipe:
    """Its data folder is made by the system's own script, its users by the first statements."""

    def answers() -> None:
        if (said := ask(bed, "SELECT 42")) != "42":
            raise NotReadyError(f"it answers {said!r}")
        heeded(bed, OTHERWISE)

    return Recipe(
        prepare=[
            [
                *(bed.program("mariadb-install-db"), defaults(bed)),
                *(f"--datadir={bed.folder}/data", "--auth-root-authentication-method=normal"),
                "--skip-test-db",
            ]
        ],
        start=[*command(bed, bed.settings), first(bed)],
        files={"first.sql": FIRST.format(password=bed.password)},
        user="mysql",
        answers=answers,
        data="data",
    )


def command(bed: Bed, variables: Mapping[str, str]) -> list[str]:
    """The server's command line."""
    given = {
        **{name: value for name, value in variables.items() if name != DEFAULTS},
        "datadir": f"{bed.folder}/data",
        "bind-address": "127.0.0.1",
        "port": str(bed.port),
        "socket": f"{bed.folder}/socket",
        "pid-file": f"{bed.folder}/pid",
    }
    flags = [f"--{name}={value}" for name, value in given.items()]
    return [bed.program("mariadbd"), defaults(bed), *flags]


def defaults(bed: Bed) -> str:
    """Which option file is read, before all that stands on the command line."""
    file = bed.settings.get(DEFAULTS)
    return f"--{DEFAULTS}={file}" if file else "--no-defaults"


def first(bed: Bed) -> str:
    """Has a server make its users as it starts."""
    return f"--init-file={bed.folder}/first.sql"


def ask(bed: Bed, sql: str) -> str:
    """The answer to a statement, without headings. Raises NotReadyError where there is none."""
    client = [bed.program("mariadb"), "--no-defaults", "-h127.0.0.1", f"-P{bed.port}"]
    asked = [*client, f"-u{USER}", "-Ne", sql, USER]
    return client_says(asked, {"MYSQL_PWD": bed.password})


KIND = ServerKind(
    summary="MariaDB, one server",
    needs=("mariadbd", "mariadb-install-db", "mariadb"),
    url=f"mysql://{USER}:{MENTION}@127.0.0.1:${{port}}/{USER}",
    recipe=recipe,
    counters=counters.COUNTING,
)
