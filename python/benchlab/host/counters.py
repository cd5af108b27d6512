"""Counters that a system keeps of itself, asked of it once a second.

Each source is asked by a thread of its own: one that does not answer holds up neither the others
nor the probes of processes, and a system that cannot be asked is measured all the same. Absent:
how any system is asked, and what its counters mean for a trial.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from benchlab.host.samples import Meaning, Samples

PERIOD_S = 1.0


class Reader(Protocol):
    """A connection over which a system tells its counters."""

    def read(self) -> Mapping[str, float]:
        """What they say now, in SI units; names that are not in the catalogue are passed over.

        Any exception tells that it could not be asked.
        """

    def close(self) -> None:
        """Gives the connection back."""


@dataclass(frozen=True)
class Source:
    """Whose counters are asked, and how."""

    kind: str
    """The kind of system, which is the first part of its metrics' names."""
    member: str
    """Which of several of one kind; empty where there is but one."""
    meanings: Mapping[str, Meaning]
    """The catalogue: every counter that is kept, by the system's own name."""
    connect: Callable[[], Reader]


class Counters:
    """Samples one source until it is stopped."""

    def __init__(
        self, source: Source, samples: Samples, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.source, self._samples, self._clock_ns = source, samples, clock_ns
        self._reader: Reader | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{source.kind} counters")
        self._thread.daemon = True
        self.trouble: str | None = None
        """Why it could not be asked the first time that was so."""
        self.cpu_s = 0.0
        """CPU time the sampling itself has cost the lab."""

    def start(self) -> None:
        """Asks at once, and then every second, in a thread."""
        self._thread.start()

    def ask(self) -> None:
        """Takes one sample; a connection that is lost is made anew the next time."""
        began = time.thread_time()
        try:
            self._sample()
        except Exception as error:
            # Whatever a client library raises: a system that does not tell is measured all the
            # same, and may tell again later, as one that is restarted does.
            self.trouble = self.trouble or f"{type(error).__name__}: {error}".strip(": ")
            self._let_go()
        self.cpu_s += time.thread_time() - began

    def _sample(self) -> None:
        source = self.source
        if self._reader is None:
            self._reader = source.connect()
        before = self._clock_ns()
        told = self._reader.read()
        stamps = before, self._clock_ns()
        figures = {(source.member, n): float(x) for n, x in told.items() if n in source.meanings}
        self._samples.add(stamps, source.kind, figures, source.meanings.__getitem__)

    def stop(self, within_s: float) -> None:
        """Ends the sampling; one that hangs in a question longer than this is left to itself."""
        self._stop.set()
        self._thread.join(within_s)

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            self.ask()
            due = max(due + PERIOD_S, time.monotonic())
            if self._stop.wait(due - time.monotonic()):
                break
        self.ask()
        self._let_go()

    def _let_go(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            with contextlib.suppress(Exception):
                reader.close()
