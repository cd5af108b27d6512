"""PostgreSQL, one server; `settings` are its own parameters, whatever their names.

The superuser `bench` logs in by SCRAM with a random password; the database has the same name. Data
checksums, encoding and locale are initdb's own but for UTF-8 and the locale C, which sorts alike
everywhere. Absent: replicas.
"""

import os
import signal
import subprocess

from benchlab.host import programs
from benchlab.model.secrets import MENTION
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe, ServerKind

USER = "bench"


def recipe(bed: Bed) -> Recipe:
    """Its data folder is made by initdb, and what it is set to stands on its command line."""
    data = f"{bed.folder}/data"
    fixed = {
        "listen_addresses": "127.0.0.1",
        "port": str(bed.port),
        "unix_socket_directories": str(bed.folder),
    }
    given = {**bed.settings, **fixed}.items()
    flags = [word for name, value in given for word in ("-c", f"{name}={value}")]
    initdb = [
        *(programs.path("initdb"), "--pgdata", data, "--username", USER),
        *("--auth", "scram-sha-256", "--pwfile", f"{bed.folder}/password"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
    ]

    def answers() -> None:
        asked = [programs.path("psql"), "-qAtX", "-h", "127.0.0.1", "-p", str(bed.port)]
        create = f"SELECT 'CREATE DATABASE {USER}' WHERE NOT EXISTS " + (
            f"(SELECT FROM pg_database WHERE datname = '{USER}') \\gexec\nSELECT 42;\n"
        )
        try:
            done = subprocess.run(
                [*asked, "-U", USER, "postgres"],
                input=create,
                env={**os.environ, "PGPASSWORD": bed.password},
                capture_output=True,
                text=True,
                timeout=10 * ANSWER_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotReadyError("it does not answer") from error
        if done.returncode or done.stdout.strip() != "42":
            raise NotReadyError(done.stderr.strip() or f"it answers {done.stdout!r}")

    return Recipe(
        prepare=[initdb],
        start=[programs.path("postgres"), "-D", data, *flags],
        files={"password": bed.password},
        user="postgres",
        answers=answers,
        data="data",
        # The fast one: clients are turned away, and what they wrote is kept.
        stop=signal.SIGINT,
    )


KIND = ServerKind(
    summary="PostgreSQL, one server",
    needs=("postgres", "initdb", "psql"),
    url=f"postgresql://{USER}:{MENTION}@127.0.0.1:${{port}}/{USER}",
    recipe=recipe,
)
