"""Asking the lab to stop: once in good order, twice at once.

Absent: what there is to be stopped.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopToken:
    """Whether the lab should stop, and how fast."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._urgent = False
        self._on_urgent: list[Callable[[], None]] = []

    def ask(self) -> None:
        """Asks the lab to stop; asked again, everything is killed."""
        if not self._asked.is_set():
            self._asked.set()
            return
        self._urgent = True
        for kill in list(self._on_urgent):
            kill()

    @property
    def is_set(self) -> bool:
        """Whether it was asked."""
        return self._asked.is_set()

    @property
    def is_urgent(self) -> bool:
        """Whether it was asked twice."""
        return self._urgent

    def pause(self, seconds: float) -> bool:
        """Waits; less, and true, where the lab is asked to stop."""
        return self._asked.wait(seconds)

    @contextlib.contextmanager
    def on_urgent(self, kill: Callable[[], None]) -> Iterator[None]:
        """Has `kill` called when everything must go at once."""
        self._on_urgent.append(kill)
        try:
            yield
        finally:
            self._on_urgent.remove(kill)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Takes Ctrl-C, SIGTERM and a closed terminal as being asked. For the main thread alone."""

        def asked(number: int, frame: FrameType | None) -> None:
            self.ask()

        former = {number: signal.signal(number, asked) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
