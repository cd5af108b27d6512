"""What a transaction costs the agent, beside sysbench, on MariaDB.

Both ask for one row by its key, or change one, or send the twenty statements of sysbench's reads
and writes, by prepared statements over kept connections; rows are sysbench's own. Needs sysbench
and mariadbd.
"""

import contextlib
import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import interleave
import sysbench


@contextlib.contextmanager
def mariadb(cpu: int) -> Iterator[sysbench.Server]:
    """A MariaDB that holds sysbench's rows, while it runs."""
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        common = ["--no-defaults", f"--datadir={folder}/data", f"--tmpdir={folder}"]
        common.append(f"--user={getpass.getuser()}")
        install = ["mariadb-install-db", *common, "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        Path(folder, "init.sql").write_text("CREATE DATABASE bench;\n")
        # Writes wait for no disk, which is not what is compared.
        command = [
            *("mariadbd", *common, f"--port={port}", "--bind-address=127.0.0.1"),
            *(f"--socket={folder}/socket", f"--pid-file={folder}/pid"),
            f"--log-error={folder}/log",
            *(f"--init-file={folder}/init.sql", "--innodb-flush-log-at-trx-commit=0"),
        ]
        with interleave.server(command, port, cpu) as address:
            flags = ["db-driver=mysql", "mysql-host=127.0.0.1", f"mysql-port={port}"]
            flags += ["mysql-user=root", "mysql-db=bench"]
            driver = {"kind": "mysql", "targets": [f"mysql://{address}"]}
            driver |= {"user": "root", "database": "bench"}
            server = sysbench.Server("MariaDB", tuple(f"--{flag}" for flag in flags), driver)
            server.prepare()
            yield server


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=16)
    os.environ["PATH"] += ":/usr/sbin"
    sysbench.needed()
    if shutil.which("mariadbd") is None:
        sys.exit("mariadbd is not installed: apt-get install mariadb-server")
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds", "transaction")
    with mariadb(options.cpus[1]) as server:
        server.compare(options, sysbench.SCRIPTS)


if __name__ == "__main__":
    main()
