"""What a Redis command costs the agent, beside redis-benchmark: GET of 100 bytes, one at a time and
sixteen at a time on each connection.

Needs redis-server and redis-benchmark.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial

import interleave
from interleave import Cost, pinned, run

VALUE = "v" * 100
BY_SECOND = {1: 80_000, 16: 700_000}
"""About how many commands a second redis-benchmark sends, by the pipeline: it is told a number."""
COALESCE = {"coalesce": {"answers": 8, "window_ns": 200_000}}


def redis_benchmark(options: argparse.Namespace, port: int, pipeline: int) -> Cost:
    """A run of redis-benchmark."""
    requests = int(BY_SECOND[pipeline] * options.seconds)
    numbers = {"-p": port, "-c": options.connections, "-n": requests, "-P": pipeline}
    flags = [str(word) for pair in numbers.items() for word in pair]
    command = ["redis-benchmark", *flags, "GET", "bench"]
    ran = run(pinned(options.cpus[0], command))
    if not re.search(rb"throughput summary", ran.output) or b"rror" in ran.output:
        sys.exit(f"redis-benchmark did not go well:\n{ran.output.decode()}")
    return ran.cost(requests)


def agent(options: argparse.Namespace, port: int, pipeline: int, wait: object, peer: Cost) -> Cost:
    """A run of the agent, which looks at every value."""
    get = {"name": "get", "request": {"command": ["GET", "bench"]}, "expect": {"reply": VALUE}}
    keys = {
        "driver": {"kind": "redis", "targets": [f"redis://127.0.0.1:{port}"]},
        "workload": {"transactions": [{"name": "get", "operations": [get]}]},
        "pipeline": pipeline,
        "wait": wait,
    }
    clients = options.connections * pipeline
    program, cpu = options.binaries / "agent", options.cpus[0]
    return interleave.agent(program, keys, clients, peer.requests, cpu)


def main() -> None:
    """Prints the comparison as a Markdown table."""
    options = interleave.options(__doc__, connections=50)
    for program in ("redis-server", "redis-benchmark"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not installed: apt-get install redis-server redis-tools")
    interleave.heading(f"{options.connections} connections, {options.rounds} rounds", "command")
    port = interleave.free_port()
    with tempfile.TemporaryDirectory() as folder:
        files = ["--dir", folder, "--save", "", "--logfile", f"{folder}/log"]
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", *files]
        with interleave.server(command, port, options.cpus[1]):
            subprocess.run(
                ["redis-cli", "-p", str(port), "SET", "bench", VALUE],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            for pipeline in BY_SECOND:
                peer = partial(redis_benchmark, options, port, pipeline)
                waits = {"agent": "auto", "agent, coalescing": COALESCE}
                ours = {
                    name: partial(agent, options, port, pipeline, wait)
                    for name, wait in waits.items()
                }
                server = f"Redis, pipeline {pipeline}"
                interleave.compare(server, options.rounds, ("redis-benchmark", peer), ours)


if __name__ == "__main__":
    main()
