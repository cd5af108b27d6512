"""MariaDB, one server; `settings` are its own variables, as on its command line.

The user `bench` logs in by a random password and may do everything in the database of that name.
The machine's own option files are not read. Absent: clusters and replicas.
"""

import os
import subprocess

from benchlab.host import programs
from benchlab.model.secrets import MENTION
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe, ServerKind

USER = "bench"
FIRST = f"""CREATE DATABASE IF NOT EXISTS {USER};
CREATE OR REPLACE USER {USER}@'127.0.0.1' IDENTIFIED BY '{{password}}';
GRANT ALL ON {USER}.* TO {USER}@'127.0.0.1';
ALTER USER root@localhost IDENTIFIED BY '{{password}}';
"""
"""What the server does as it starts; a password of ours has neither quotes nor backslashes."""


def recipe(bed: Bed) -> Recipe:
    """Its data folder is made by the system's own script, its users by the first statements."""
    data = f"{bed.folder}/data"
    variables = {
        **bed.settings,
        "datadir": data,
        "bind-address": "127.0.0.1",
        "port": str(bed.port),
        "socket": f"{bed.folder}/socket",
        "pid-file": f"{bed.folder}/pid",
        "init-file": f"{bed.folder}/first.sql",
    }
    flags = [f"--{name}={value}" for name, value in variables.items()]
    client = [programs.path("mariadb"), "--no-defaults", "-h127.0.0.1", f"-P{bed.port}"]

    def answers() -> None:
        try:
            done = subprocess.run(
                [*client, f"-u{USER}", "-Ne", "SELECT 42", USER],
                env={**os.environ, "MYSQL_PWD": bed.password},
                capture_output=True,
                text=True,
                timeout=10 * ANSWER_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotReadyError("it does not answer") from error
        if done.stdout.strip() != "42":
            raise NotReadyError(done.stderr.strip() or f"it answers {done.stdout!r}")

    return Recipe(
        prepare=[
            [
                *(programs.path("mariadb-install-db"), "--no-defaults", f"--datadir={data}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
            ]
        ],
        start=[programs.path("mariadbd"), "--no-defaults", *flags],
        files={"first.sql": FIRST.format(password=bed.password)},
        user="mysql",
        answers=answers,
        data="data",
    )


KIND = ServerKind(
    summary="MariaDB, one server",
    needs=("mariadbd", "mariadb-install-db", "mariadb"),
    url=f"mysql://{USER}:{MENTION}@127.0.0.1:${{port}}/{USER}",
    recipe=recipe,
)
