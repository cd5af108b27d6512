"""nginx, one server; `settings` are directives of its `http` block, and `files` what it serves.

A request that no file answers is answered with an empty 204, so that there is something to ask
without any files. A whole configuration of one's own is for the kind `command`. Absent: TLS.
"""

from pathlib import Path

from benchlab.host import programs
from benchlab.systems.members import ServerKind
from benchlab.systems.reach import answers
from benchlab.systems.server import Bed, Recipe

MAIN = ("worker_processes", "worker_rlimit_nofile", "worker_cpu_affinity")
EVENTS = ("worker_connections", "multi_accept")
CONFIGURATION = """daemon off; pid {folder}/pid; error_log stderr;
{main}
events {{ {events} }}
http {{
  {http}
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ root {folder}/files; try_files $uri $uri/ =204; }}
  }}
}}
"""


def recipe(bed: Bed) -> Recipe:
    """Its configuration is written for the folder and port it gets."""
    given = {
        **{"worker_processes": "1", "worker_connections": "4096"},
        **{"access_log": "off", "keepalive_requests": "1000000000"},
        **bed.settings,
    }

    def lines(names: tuple[str, ...]) -> str:
        return " ".join(f"{name} {given.pop(name)};" for name in names if name in given)

    main, events = lines(MAIN), lines(EVENTS)
    configuration = CONFIGURATION.format(
        folder=bed.folder, port=bed.port, main=main, events=events, http=lines(tuple(given))
    )
    return Recipe(
        start=[programs.path("nginx"), "-e", "stderr", "-c", str(Path(bed.folder, "nginx.conf"))],
        files={"nginx.conf": configuration},
        answers=lambda: answers(f"http://127.0.0.1:{bed.port}/"),
    )


KIND = ServerKind(
    summary="nginx, one server that answers from files",
    needs=("nginx",),
    url="http://127.0.0.1:${port}",
    recipe=recipe,
    keys=frozenset({"settings", "environment", "files"}),
)
