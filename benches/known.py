"""How far the agent's p50 and p99 are off where the true ones are known.

*Delays*: a server keeps each request for a random while and notes by its own clock for how long.
*Freeze*: the null server is stopped for half a second of ten. What was due meanwhile waits for the
rest of it, so that of requests that come evenly all but the longest-waiting hundredth of all wait
for less than the freeze without a hundredth of the trial; how long the server then takes to catch
up is not known and stands in the error. Each line is the median of the rounds.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import interleave

MEAN_S = 0.05
RATE = 500
FREEZE_S, FREEZE_AFTER_S, FROZEN_TRIAL_S = 0.5, 3.0, 10.0
FROZEN_RATE, FROZEN_CONNECTIONS = 5000, 32
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FIGURES = ("p50", "p99")


class Keeping(asyncio.Protocol):
    """Answers each request after an exponentially distributed while."""

    def __init__(self, law: random.Random, kept_s: list[float]) -> None:
        self._law, self._kept_s = law, kept_s
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Its answers go there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, _data: bytes) -> None:
        """A request: the agent sends each in one piece, and the next after the answer."""
        begun = time.perf_counter()
        loop = asyncio.get_running_loop()
        loop.call_later(self._law.expovariate(1 / MEAN_S), self._answer, begun)

    def _answer(self, begun: float) -> None:
        self._kept_s.append(time.perf_counter() - begun)
        self._transport.write(ANSWER)


def serve(pipe: Connection, cpu: int) -> None:
    """Says its port; asked for it, how long it kept each request."""
    os.sched_setaffinity(0, {cpu})
    kept_s: list[float] = []
    law = random.Random(1)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Keeping(law, kept_s), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        asked = asyncio.Event()
        loop.add_reader(pipe.fileno(), asked.set)
        await asked.wait()

    asyncio.run(run())
    pipe.send(kept_s)


@contextmanager
def keeping(cpu: int) -> Iterator[tuple[str, Callable[[], list[float]]]]:
    """The address of a server that keeps requests, and what asks it for how long it kept them."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(theirs, cpu), daemon=True)
    process.start()

    def told() -> list[float]:
        ours.send(None)
        kept_s: list[float] = ours.recv()
        return kept_s

    try:
        yield f"127.0.0.1:{ours.recv()}", told
    finally:
        process.kill()
        process.join()


def delays(options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """True and measured seconds of each figure, from one trial."""
    own, other = options.cpus
    with keeping(other) as (address, told):
        plan = interleave.open_plan(address, options.connections, RATE, options.seconds, own)
        measurement, _ = interleave.measure(options.binaries / "agent", plan)
        kept_s = sorted(told())
    interleave.all_right(measurement, len(kept_s))
    response = measurement.histogram("response")
    true = statistics.quantiles(kept_s, n=100)
    return {
        "p50": (true[49], response.quantile(0.5) / 1e9),
        "p99": (true[98], response.quantile(0.99) / 1e9),
    }


def freeze(options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """The same of a server that is stopped for a while."""
    own, other = options.cpus
    frozen_s: list[float] = []

    def stop(pid: int) -> None:
        time.sleep(FREEZE_AFTER_S)
        os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        time.sleep(FREEZE_S)
        os.kill(pid, signal.SIGCONT)
        frozen_s.append(time.monotonic() - begun)

    answers = ["http", "--body", "hello world"]
    with interleave.null_process(options.binaries / "nullserver", answers, other) as (address, pid):
        stopping = threading.Thread(target=stop, args=(pid,))
        stopping.start()
        length = (FROZEN_RATE, FROZEN_TRIAL_S, own)
        plan = interleave.open_plan(address, FROZEN_CONNECTIONS, *length)
        measurement, _ = interleave.measure(options.binaries / "agent", plan)
        stopping.join()
    measured = measurement.histogram("response").quantile(0.99) / 1e9
    return {"p99": (frozen_s[0] - 0.01 * FROZEN_TRIAL_S, measured)}


def row(what: str, rounds: list[dict[str, tuple[float, float]]]) -> str:
    """A line of the table: of each figure the medians, and the median and the worst error."""
    cells = []
    for figure in FIGURES:
        pairs = [seen[figure] for seen in rounds if figure in seen]
        if not pairs:
            cells += ["", "", ""]
            continue
        off = [measured / true - 1 for true, measured in pairs]
        true, measured = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
        worst = max(off, key=abs)
        cells += [f"{true:.2f}", f"{measured:.2f}"]
        cells.append(f"{statistics.median(off):+.2%} ({worst:+.2%})")
    return f"| {what} | {' | '.join(cells)} |"


def main() -> None:
    """Prints a Markdown table."""
    options = interleave.options(__doc__, connections=256)
    columns = " | ".join(f"{each} ms | measured | off (worst)" for each in FIGURES)
    print(f"{options.rounds} rounds, Linux {os.uname().release}\n\n| known | {columns} |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    kept = f"delays of {MEAN_S * 1e3:g} ms on average, {RATE:,}/s"
    print(row(kept, [delays(options) for _ in range(options.rounds)]), flush=True)
    stopped = f"a freeze of {FREEZE_S:g} s in {FROZEN_TRIAL_S:g} s, {FROZEN_RATE:,}/s"
    print(row(stopped, [freeze(options) for _ in range(options.rounds)]))


if __name__ == "__main__":
    main()
