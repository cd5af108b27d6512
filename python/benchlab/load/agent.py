"""Runs a Plan on an agent: a process of its own, on its own cores, told of and stopped from here.

The folder holds the Plan before the agent starts and the Measurement as it grows; what was flushed
survives any end. Absent: what the Plan is about and what the Measurement says.
"""

import contextlib
import functools
import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from benchlab import _core
from benchlab.host.processes import Leash, Process
from benchlab.model.errors import EngineBug, HostError, InputError
from benchlab.model.secrets import PASSWORD
from benchlab.store import files

BIN = "BENCHLAB_BIN"
PLAN, MEASUREMENT = "plan.json", "measurement.arrow"
POLL_S = 0.05
SILENT_S = 15.0
STOP_S = 1.5
"""How long an agent has to stop by itself; with the poll, load ends within two seconds."""

_OK, _ASKED_WRONGLY, _HOST, _INTERRUPTED = 0, 2, 4, 130


@dataclass(frozen=True)
class Progress:
    """What happened in one second of a trial; seconds of the warm-up are negative."""

    second: int
    completed: int
    errors: int
    p99_s: float | None


@dataclass(frozen=True)
class Outcome:
    """How an agent ended, and what it told of on its way."""

    state: Literal["complete", "interrupted"]
    told: tuple[Progress, ...]
    """A second may come in several parts, as late answers are counted where they belong."""


def binary(name: str = "agent") -> Path:
    """Where an engine's program is: in `$BENCHLAB_BIN`, or in the package.

    Raises HostError when it was not built.
    """
    folder = Path(os.environ.get(BIN) or Path(__file__).parents[1] / "bin")
    path = folder / name
    if not os.access(path, os.X_OK):
        raise HostError(f"there is no {name} in {folder}: `make build` brings it")
    return path


def run(
    plan: Mapping[str, Any],
    folder: Path,
    *,
    leash: Leash,
    secrets: Mapping[str, str] | None = None,
    on_started: Callable[[Process], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Runs a Plan to its end, or until `should_stop`; leaves plan.json and measurement.arrow.

    `secrets` are environment variables that the Plan mentions, beside those of the lab.

    Raises InputError when the engine refuses the Plan, HostError when the world is not as needed,
    EngineBug, naming the Plan, when the agent ends as it should not.
    """
    path = folder / PLAN
    files.replace(path, json.dumps(plan, indent=1))
    log = folder / "agent.log"
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(path.open("rb"))
        stream = stack.enter_context((folder / MEASUREMENT).open("wb"))
        told, telling = os.pipe()
        lines = stack.enter_context(os.fdopen(told, "rb", buffering=0))
        with os.fdopen(telling, "wb") as end:
            process = leash.start(
                [str(binary()), "--progress"],
                cpus=plan.get("cpus") or (),
                environment=secrets,
                stdin=given,
                stdout=stream,
                stderr=end,
            )
        listener = _Listener(on_progress)
        timeout_s = plan.get("timeout_ns", 0) / 1e9
        limits = _Limits(SILENT_S + timeout_s, _longest_s(plan, timeout_s))
        try:
            on_started(process)
            was_stopped = _follow(process, lines.fileno(), listener, should_stop, limits)
        except BaseException:
            process.kill()
            raise
    status = process.wait(1.0)
    if listener.other:
        files.replace(log, "\n".join(listener.other) + "\n")
    torn = seal(folder)
    if was_stopped or status == _INTERRUPTED:
        return Outcome("interrupted", tuple(listener.told))
    if status == _OK and torn is None:
        return Outcome("complete", tuple(listener.told))
    raise _error(status, [*listener.other, *([torn] if status == _OK and torn else [])], str(path))


def check(plan: Mapping[str, Any], name: str) -> None:
    """Has the engine look at a Plan without running it.

    Raises InputError, naming the Plan and its field, when it is refused.
    """
    try:
        with _with_a_password():
            _core.check_plan(json.dumps(plan))
    except _core.PlanError as error:
        key = ": ".join(part for part in (name, error.field) if part)
        raise InputError(error.why, key=key, nearest=error.nearest) from error


@contextlib.contextmanager
def _with_a_password() -> Iterator[None]:
    """Has the variable set that holds the password of a server which is still to be made."""
    if PASSWORD in os.environ:
        yield
        return
    os.environ[PASSWORD] = "unknown"
    try:
        yield
    finally:
        del os.environ[PASSWORD]


def build() -> dict[str, str]:
    """Version, profile and target of the engine."""
    return _core.build()


@functools.cache
def digest() -> str:
    """Tells this agent from every other that was built."""
    return blake2b(binary("agent").read_bytes(), digest_size=6).hexdigest()


def seal(folder: Path) -> str | None:
    """Makes the stream a file with a footer, once; what was torn off at its end is left out.

    Returns what was wrong with it: its torn end, or that it is no Measurement at all.
    """
    stream = folder / MEASUREMENT
    if stream.stat().st_size == 0:
        return "the agent wrote nothing"
    with files.writing(stream):
        try:
            return _core.seal(stream, stream)
        except ValueError as error:
            return str(error)


@dataclass(frozen=True)
class _Limits:
    """How long an agent may be silent, and take in all; None where its Plan does not tell."""

    quiet_s: float
    longest_s: float | None

    def broken(self, began: float, heard: float) -> str | None:
        """What an agent that was started and last heard of then has overstepped by now."""
        now = time.monotonic()
        if now > heard + self.quiet_s:
            return f"it was silent for {self.quiet_s:.0f} s"
        if self.longest_s is not None and now > began + self.longest_s:
            return f"it had not ended after {self.longest_s:.0f} s, though its Plan was over"
        return None


def _longest_s(plan: Mapping[str, Any], timeout_s: float) -> float | None:
    """The longest a Plan that ends by time can take: its tail lasts two time-outs at most."""
    if "duration_ns" not in plan["stop"]:
        return None
    planned_ns: int = plan.get("warmup_ns", 0) + plan["stop"]["duration_ns"]
    return planned_ns / 1e9 + 2 * timeout_s + SILENT_S


class _Listener:
    """Takes the agent's lines apart: progress, and anything else."""

    def __init__(self, on_progress: Callable[[Progress], None]) -> None:
        self._on_progress = on_progress
        self._rest = b""
        self.told: list[Progress] = []
        self.other: list[str] = []

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line.decode("utf-8", "replace"))

    def end(self) -> None:
        if self._rest:
            self._line(self._rest.decode("utf-8", "replace"))

    def _line(self, line: str) -> None:
        try:
            found = json.loads(line)
            completed = found["completed"]
            p99_s = found["p99_ns"] / 1e9 if completed else None
            progress = Progress(found["second"], completed, found["errors"], p99_s)
        except (ValueError, KeyError, TypeError):
            self.other = [*self.other[-50:], line]
            return
        self.told.append(progress)
        self._on_progress(progress)


def _follow(
    process: Process,
    told: int,
    listener: _Listener,
    should_stop: Callable[[], bool],
    limits: "_Limits",
) -> bool:
    """Listens until the agent ends; true when it was told to stop.

    An agent tells of every second, so one that is silent for long is stuck, and is killed. So is
    one that goes on when its Plan is long over: seconds pass though its workers may stand still.
    """
    killed_at: float | None = None
    began = heard = time.monotonic()
    while True:
        readable, _, _ = select.select([told], [], [], POLL_S)
        data = os.read(told, 65536) if readable else None
        if data:
            heard = time.monotonic()
            listener.take(data)
        elif data == b"" or process.poll() is not None:
            listener.end()
            return killed_at is not None
        if killed_at is None and should_stop():
            process.send_signal(signal.SIGINT)
            killed_at = time.monotonic() + STOP_S
        elif killed_at is not None and time.monotonic() > killed_at:
            process.kill()
        elif killed_at is None and (why := limits.broken(began, heard)):
            listener.other.append(f"{why} and was killed")
            process.kill()


def _error(status: int | None, said: list[str], plan: str) -> Exception:
    field = None
    message = said[-1] if said else "it said nothing"
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
        told = json.loads(said[-1])
        message, field = str(told["message"]), told.get("field")
        message = message.removeprefix(f"{field}: ")
    if status == _ASKED_WRONGLY:
        return InputError(message, file=plan, key=field)
    if status == _HOST:
        return HostError(message)
    ended = f"by signal {-status}" if status is not None and status < 0 else f"with {status}"
    return EngineBug(
        f"the agent ended {ended}: {message}; `{binary()} < {plan} > /dev/null` shows it again"
    )
