"""nginx, one server or several alike; `settings` are directives of its `http` block.

It serves `files`. A request that none of them answers is passed on to what stands behind it, over
HTTP or FastCGI, in turn where there are several; with nothing behind it the answer is an empty 204,
so that there is something to ask without any files. Connections over HTTP to what stands behind are
kept. A whole configuration of one's own is for the kind `command`. Absent: TLS.
"""

from pathlib import Path
from urllib.parse import urlsplit

from benchlab.systems import reach
from benchlab.systems.counters import nginx as counters
from benchlab.systems.members import OWN, ServerKind, numbered
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
{behind}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    {status}
{locations}
  }}
}}
"""
FILES = "    location / {{ root {folder}/files; try_files {tried}; }}"
PASSED = """    proxy_pass http://behind;
    proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection "";"""
CGI = """    fastcgi_pass behind;
    fastcgi_param SCRIPT_FILENAME {scripts}$script; fastcgi_param SCRIPT_NAME $script;
    fastcgi_param DOCUMENT_ROOT {scripts}; fastcgi_param DOCUMENT_URI $document_uri;
    fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
    fastcgi_param REQUEST_URI $request_uri; fastcgi_param REQUEST_SCHEME $scheme;
    fastcgi_param SERVER_PROTOCOL $server_protocol; fastcgi_param GATEWAY_INTERFACE CGI/1.1;
    fastcgi_param SERVER_SOFTWARE nginx; fastcgi_param SERVER_NAME $server_name;
    fastcgi_param SERVER_ADDR $server_addr; fastcgi_param SERVER_PORT $server_port;
    fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param REMOTE_PORT $remote_port;"""
SCRIPT = "  map $uri $script { default /index.php; ~\\.php$ $uri; }"
"""A path that names no script is for the first one."""


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
    behind, locations = passing(bed)
    configuration = CONFIGURATION.format(
        folder=bed.folder,
        port=bed.port,
        main=main,
        events=events,
        http=lines(tuple(given)),
        behind=behind,
        locations=locations,
        status=counters.LOCATION,
    )
    return Recipe(
        start=[bed.program("nginx"), "-e", "stderr", "-c", str(Path(bed.folder, "nginx.conf"))],
        files={"nginx.conf": configuration},
        answers=lambda: reach.answers(f"http://127.0.0.1:{bed.port}/"),
    )


def passing(bed: Bed) -> tuple[str, str]:
    """What is said of servers behind it, and where requests go."""
    if not bed.behind:
        return "", FILES.format(folder=bed.folder, tried="$uri $uri/ =204")
    (urls,) = bed.behind.values()
    servers = " ".join("server {}:{};".format(*reach.address(url)) for url in urls)
    behind = f"  upstream behind {{ {servers} keepalive 64; }}"
    passed, back = PASSED, urlsplit(urls[0])
    if back.scheme == "fastcgi":
        # A connection that is kept would hold one of its processes.
        behind = f"{SCRIPT}\n  upstream behind {{ {servers} }}"
        passed = CGI.format(scripts=back.path)
    if not bed.system.files:
        return behind, f"    location / {{\n{passed}\n    }}"
    files = FILES.format(folder=bed.folder, tried="$uri @behind")
    return behind, f"{files}\n    location @behind {{\n{passed}\n    }}"


KIND = ServerKind(
    summary="nginx, which answers from files and passes on what they do not answer",
    needs=("nginx",),
    url="http://127.0.0.1:${port}",
    recipe=recipe,
    counters=counters.COUNTING,
    keys=OWN | {"instances", "before"},
    members=numbered,
    passes=("http", "fastcgi"),
)
