"""What a request over HTTP costs the agent, beside wrk, oha and ab.

Each has lines of its own, with what the agent took of as many requests in the same turns. A peer
that is not installed is left out, and so is nginx.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import interleave
from interleave import Cost, pinned, run


def wrk(options: argparse.Namespace, address: str) -> Cost:
    """A run of wrk."""
    asked = ["-t1", f"-c{options.connections}", f"-d{options.seconds:g}s"]
    asked += ["-H", "Connection: close"] if options.new else []
    ran = run(pinned(options.cpus[0], ["wrk", *asked, f"http://{address}/"]))
    counted = re.search(rb"(\d+) requests in", ran.output)
    if counted is None or b"Socket errors" in ran.output or b"Non-2xx" in ran.output:
        sys.exit(f"wrk did not go well:\n{ran.output.decode()}")
    return ran.cost(int(counted[1]))


def oha(options: argparse.Namespace, address: str) -> Cost:
    """A run of oha; what was under way at its end is not an error."""
    asked = [
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        str(options.connections),
        "-z",
        f"{options.seconds:g}s",
    ]
    asked += ["--disable-keepalive"] if options.new else []
    ran = run(pinned(options.cpus[0], ["oha", *asked, f"http://{address}/"]))
    told = json.loads(ran.output)
    if set(told["statusCodeDistribution"]) != {"200"} or not set(told["errorDistribution"]) <= {
        "aborted due to deadline"
    }:
        sys.exit(f"oha did not go well:\n{ran.output.decode()}")
    return ran.cost(told["statusCodeDistribution"]["200"])


def ab(options: argparse.Namespace, address: str) -> Cost:
    """A run of ab, which speaks HTTP/1.0."""
    asked = ["-q", "-c", str(options.connections), "-t", f"{max(1, round(options.seconds))}"]
    # A time-limit alone would also be one of 50,000 requests.
    asked += ["-n", "10000000", *([] if options.new else ["-k"])]
    ran = run(pinned(options.cpus[0], ["ab", *asked, f"http://{address}/"]))
    counted = re.search(rb"Complete requests: +(\d+)", ran.output)
    if (
        counted is None
        or b"Failed requests:        0" not in ran.output
        or b"Non-2xx" in ran.output
    ):
        sys.exit(f"ab did not go well:\n{ran.output.decode()}")
    return ran.cost(int(counted[1]))


PEERS: Mapping[str, tuple[Callable[[argparse.Namespace, str], Cost], str]] = {
    "wrk": (wrk, "apt-get install wrk"),
    "oha": (oha, "cargo install oha --locked --no-default-features --features rustls"),
    "ab": (ab, "apt-get install apache2-utils"),
}
"""A run of each, and how it is had."""


def agent(options: argparse.Namespace, address: str, net: str, peer: Cost) -> Cost:
    """A run of the agent, which asks as often as the peer did."""
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    keys = {
        "driver": {"kind": "http", "targets": [f"http://{address}"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "net": net,
        "connection": "new" if options.new else "kept",
    }
    program, cpu = options.binaries / "agent", options.cpus[0]
    return interleave.agent(program, keys, options.connections, peer.requests, cpu)


@contextlib.contextmanager
def nginx(program: str, cpu: int) -> Iterator[str]:
    """nginx's address, while it runs."""
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder, "nginx.conf")
        configuration.write_text(interleave.NGINX.format(folder=folder, port=port))
        command = [program, "-e", f"{folder}/error.log", "-c", str(configuration)]
        with interleave.server(command, port, cpu) as address:
            yield address


def compare(server: str, address: str, options: argparse.Namespace, peers: list[str]) -> None:
    """Runs the generators in turns and prints their lines."""
    ours = {f"agent, {net}": partial(agent, options, address, net) for net in ("epoll", "uring")}
    for name in peers:
        theirs = partial(PEERS[name][0], options, address)
        interleave.compare(server, options.rounds, (name, theirs), ours)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=64, flags={"new": "a connection a request"})
    os.environ["PATH"] += f":/usr/sbin:{Path.home()}/.cargo/bin"
    for name, (_, how) in PEERS.items():
        if shutil.which(name) is None:
            print(f"{name} is not installed and left out: {how}", file=sys.stderr)
    peers = [name for name in PEERS if shutil.which(name) is not None]
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds")
    for name in peers:
        answers = ["http", "--body", "hello world"]
        # A client of HTTP/1.0 wants to be told that it may keep its connection.
        answers += (
            ["--header", "Connection: keep-alive"] if name == "ab" and not options.new else []
        )
        null = interleave.nullserver(options.binaries / "nullserver", answers, options.cpus[1])
        with null as address:
            compare("null server", address, options, [name])
    installed = shutil.which("nginx")
    if installed is None:
        print("nginx is not installed and left out: apt-get install nginx", file=sys.stderr)
        return
    with nginx(installed, options.cpus[1]) as address:
        compare("nginx", address, options, peers)


if __name__ == "__main__":
    main()
