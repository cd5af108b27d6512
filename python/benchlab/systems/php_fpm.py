"""PHP's own process manager, which speaks FastCGI: it stands behind a web server that speaks HTTP.

`settings` are directives of php.ini, such as `opcache.enable`, and those of its pool, such as
`pm.max_children`; `files` are the scripts, and a `php.ini` to begin with, since the machine's is
not read. Which extensions there are is what the machine's packages have switched on. Scripts see
what stands behind them in their environment. Its status is told on a socket of its own
(`pm.status_listen`, `pm.status_path`), where no request waits behind the load. Absent: several
pools.
"""

import json
import socket

from benchlab.systems import fastcgi
from benchlab.systems.counters import php_fpm as counters
from benchlab.systems.members import OWN, ServerKind
from benchlab.systems.reach import ANSWER_S, NotReadyError, RefusedError
from benchlab.systems.server import Bed, Recipe

POOL = ("pm", "pm.", "listen.", "process.", "request_", "rlimit_", "security.", "slowlog")
"""How directives of a pool begin; all others are php.ini's."""
DIRECTIVES = {
    # A page that fails must not look like one that is well.
    "display_errors": "0",
    "log_errors": "1",
    # Scripts are cached at once, though they were written a moment ago.
    "opcache.file_update_protection": "0",
}
CONFIGURATION = """[global]
error_log = {folder}/error.log
[www]
listen = 127.0.0.1:{port}
clear_env = no
catch_workers_output = yes
{pool}
"""
TAKEN = """<?php
$other = [];
foreach (json_decode($_SERVER["DIRECTIVES"], true) as $name => $value) {
    $taken = ini_get($name);
    $meant = @parse_ini_string("x = $value")["x"] ?? $value;
    if ($taken !== $value && $taken !== $meant) $other[] = [$name, $taken];
}
echo json_encode($other);
"""
"""Says which directives PHP does not know, or has taken for something else than was given: by
itself it passes over both. What it means by `On` and the like, its own reader of php.ini says."""


def recipe(bed: Bed) -> Recipe:
    """What php.ini would hold stands on the command line, and the pool in a file of its own."""
    pool = {"pm": "static", "pm.max_children": "8", "listen.backlog": "4096"}
    given: dict[str, str] = {}
    directives = dict(DIRECTIVES)
    for name, value in bed.settings.items():
        if name == "pm" or name.startswith(POOL[1:]):
            pool[name] = value
        else:
            directives[name] = value
            given[name] = value
    pool |= {"pm.status_listen": f"{bed.folder}/{counters.SOCKET}", "pm.status_path": counters.PATH}
    configuration = CONFIGURATION.format(
        folder=bed.folder,
        port=bed.port,
        pool="\n".join(f"{name} = {value}" for name, value in pool.items()),
    )
    # One of the file's own is read first; it lies with the scripts.
    ini = f"{bed.folder}/{'files/' if 'php.ini' in bed.system.files else ''}php.ini"
    flags = [word for name, value in directives.items() for word in ("-d", f"{name}={value}")]

    def answers() -> None:
        asked = {"SCRIPT_FILENAME": f"{bed.folder}/taken.php", "DIRECTIVES": json.dumps(given)}
        try:
            with socket.create_connection(("127.0.0.1", bed.port), ANSWER_S) as there:
                said = fastcgi.ask(there, {**asked, "REQUEST_METHOD": "GET"})
            other = json.loads(said)
        except OSError as error:
            raise NotReadyError(f"nobody answers ({error.strerror or error})") from error
        except ValueError as error:
            raise NotReadyError(f"it answers {said!r}") from error
        for name, taken in other:
            if taken is False:
                raise RefusedError(f"PHP knows no directive `{name}`")
            raise RefusedError(f"PHP has `{name}` at `{taken}`, and does not take `{given[name]}`")

    return Recipe(
        start=[
            *(bed.program("php-fpm"), "--nodaemonize", "--force-stderr"),
            *("-c", ini, *flags, "-y", f"{bed.folder}/pool.conf"),
        ],
        files={"php.ini": "", "pool.conf": configuration, "taken.php": TAKEN},
        user="www-data",
        answers=answers,
    )


KIND = ServerKind(
    summary="PHP by FastCGI, behind a web server; opcode cache on or off",
    needs=("php-fpm",),
    # The path is where the scripts are, which a web server has to know.
    url="fastcgi://127.0.0.1:${port}${dir}/files",
    recipe=recipe,
    counters=counters.COUNTING,
    keys=OWN | {"before"},
)
