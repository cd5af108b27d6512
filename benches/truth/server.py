"""The server of which everything is known, and the servers that are real: built, started, asked.

Absent: what is measured on them.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benches.truth.units import Place

from benches import interleave
from benchlab.host import ports
from benchlab.host.processes import Process
from benchlab.model.errors import HostError

SOURCE = Path(__file__).with_name("server.c")
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror")
WORK = 20_000
"""Rounds of arithmetic that make a request some thirty times as dear as a system call."""
PAGE = {"mix": {"page": {"get": "/", "expect": {"status": 200, "body": "right"}}}}
"""The known server's workload."""
LISTEN_S = 10.0


def program(place: Place) -> Path:
    """The known server's program, built where it is not yet. Raises HostError with the reason."""
    path = place.folder / "server"
    if path.exists() and path.stat().st_mtime > SOURCE.stat().st_mtime:
        return path
    log = place.folder / "server.log"
    log.unlink(missing_ok=True)
    compiler = place.leash.start(["cc", *FLAGS, "-o", str(path), str(SOURCE), "-lm"], log=log)
    if compiler.wait(60.0) != 0:
        raise HostError(f"the known server cannot be built: {compiler.log_tail()}")
    return path


def told_file(place: Place, who: str) -> Path:
    """Where a known server tells by its own clock what it did."""
    return place.folder / "told" / f"{place.name}-{who}"


def line(place: Place, port: str, who: str, names: Mapping[str, float]) -> list[str]:
    """The known server's command line; what it tells begins anew."""
    told = told_file(place, who)
    told.parent.mkdir(parents=True, exist_ok=True)
    told.unlink(missing_ok=True)
    given = [f"{name}={value:.9g}" for name, value in names.items()]
    return [str(program(place)), port, *given, f"told={told}"]


def system(place: Place, who: str, **names: float) -> dict[str, Any]:
    """The known server as a system of an experiment."""
    start = " ".join(line(place, "${port}", who, names))
    return {"kind": "command", "start": start, "url": "http://127.0.0.1:${port}/"}


def told(place: Place, who: str) -> list[dict[str, Any]]:
    """What it told, once for each of its lives, and for each freeze."""
    return [json.loads(text) for text in told_file(place, who).read_text().splitlines()]


def sums(place: Place, who: str) -> dict[str, float]:
    """What it did in all its lives."""
    lives = [life for life in told(place, who) if "requests" in life]
    keys = ("requests", "wrong", "own_s", "added_s", "idle_s")
    return {key: sum(life[key] for life in lives) for key in keys}


@contextlib.contextmanager
def known(place: Place, who: str, **names: float) -> Iterator[str]:
    """The known server without a lab: its URL, while it runs on the system's core."""
    port = ports.free()
    with _running(place, line(place, str(port), who, names), port) as process:
        yield f"http://127.0.0.1:{port}/"
        # What it tells is told as it ends.
        process.stop()


@contextlib.contextmanager
def busy(place: Place, cpus: Sequence[int], count: int) -> Iterator[None]:
    """So many processes that do nothing but work, on these cores."""
    command = ["sh", "-c", "while :; do :; done"]
    processes = [place.leash.start(command, cpus=cpus) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()


@contextlib.contextmanager
def nginx(place: Place) -> Iterator[str]:
    """nginx without a lab."""
    port, folder = ports.free(), place.leash.folder("truth")
    configuration = folder / "nginx.conf"
    configuration.write_text(interleave.NGINX.format(folder=folder, port=port))
    command = ["nginx", "-e", "stderr", "-c", str(configuration)]
    with _running(place, command, port) as process:
        yield f"http://127.0.0.1:{port}/"
        process.stop()
    shutil.rmtree(folder)


@contextlib.contextmanager
def _running(place: Place, command: Sequence[str], port: int) -> Iterator[Process]:
    log = place.folder / "said" / f"{place.name}.server"
    log.parent.mkdir(parents=True, exist_ok=True)
    process = place.leash.start(command, cpus=place.cpus.system, log=log)
    try:
        until = time.monotonic() + LISTEN_S
        while not ports.accepts("127.0.0.1", port):
            time.sleep(0.02)
            if process.poll() is not None or time.monotonic() > until:
                raise HostError(f"`{command[0]}` does not listen: {process.log_tail()}")
        yield process
    finally:
        process.kill()
