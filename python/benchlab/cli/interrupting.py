"""Ctrl-C where nothing has to be put in order first: one line, and exit code 130.

It is in force from the command's first moment, while the libraries it needs are still coming in,
and raises nothing: an exception in the midst of an import would come out as that module's failure.
Nothing outlives such an end, since whatever a lab starts hangs on its leash. Absent: the time of a
run, whose load and systems are stopped in order (`lab.stopping`); and, for the sake of that first
moment, any import but of what the interpreter has at hand.
"""

import os
import signal
import sys

CODE = 130

_advice: list[str] = []


def take() -> None:
    """Has Ctrl-C end this process from now on. For the main thread alone."""
    signal.signal(signal.SIGINT, _end)


def leave() -> None:
    """Ignores Ctrl-C: the outcome stands, and what is left is the interpreter's own end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Advising:
    """While it is entered, the line says too what to do about what is interrupted."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        _advice.append(self._what)

    def __exit__(self, *_: object) -> None:
        _advice.pop()


def line(as_json: bool) -> tuple[int, str]:
    """The stream (1 or 2) and the line that say it."""
    said = ": ".join(("interrupted", *_advice[-1:]))
    if not as_json:
        return 2, f"benchlab: {said}\n"
    quoted = said.replace("\\", "\\\\").replace('"', '\\"')
    return 1, f'{{"error": "{quoted}", "exit": {CODE}}}\n'


def _end(number: int, frame: object) -> None:
    stream, text = line("--json" in sys.argv)
    # Past the buffers: they may be in use just now, and their reader may be gone.
    try:
        os.write(stream, text.encode("utf-8", "replace"))
    finally:
        os._exit(CODE)
