"""Other load generators, as they are usually called, and what they print.

Absent: Benchlab.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benches.truth.units import Place

from benchlab.host import programs
from benchlab.model.errors import HostError

CLIENTS = 16
UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
Told = dict[str, float]


def path(name: str) -> str | None:
    """A generator's program, where it is installed."""
    everywhere = os.pathsep.join((programs.search_path(), str(Path.home() / ".cargo/bin")))
    return shutil.which(name, path=everywhere)


def ask(place: Place, name: str, url: str, seconds: float) -> Told:
    """What a generator says of so many seconds with sixteen clients.

    Raises:
        HostError: when it failed.
    """
    arguments, read = TOOLS[name]
    found = path(name)
    if found is None:
        raise HostError(f"{name} is not installed")
    out = place.folder / "said" / f"{place.name}.{name}"
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as stdout:
        command = [found, *arguments(seconds), url]
        process = place.leash.start(command, cpus=place.cpus.agent, stdout=stdout, stderr=stdout)
        if process.wait(seconds + 60) != 0:
            raise HostError(f"{name} failed: {out.read_text()}")
    return read(out.read_text())


def rate(place: Place, url: str, seconds: float) -> float:
    """Requests a second, as wrk prints them."""
    return ask(place, "wrk", url, seconds)["rate"]


def _wrk(seconds: float) -> Sequence[str]:
    length = max(1, round(seconds))
    return ("-t1", f"-c{CLIENTS}", f"-d{length}s", "--timeout", "30s", "--latency")


def _read_wrk(text: str) -> Told:
    def time(pattern: str) -> float:
        found = _found(pattern + r"\s+([\d.]+)(us|ms|s|m)\b", text)
        return float(found[1]) * UNITS_S[found[2]]

    deviation = r"Latency\s+\S+\s+\S+"
    return {
        "rate": float(_found(r"Requests/sec:\s+([\d.]+)", text)[1]),
        "p50_s": time(r"50%"),
        "p99_s": time(r"99%"),
        "max_s": time(deviation),
    }


def _oha(seconds: float) -> Sequence[str]:
    return (
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        str(CLIENTS),
        "-z",
        f"{round(seconds * 1e3)}ms",
    )


def _read_oha(text: str) -> Told:
    said = json.loads(text)
    return {
        "rate": said["summary"]["requestsPerSec"],
        "p50_s": said["latencyPercentiles"]["p50"],
        "p99_s": said["latencyPercentiles"]["p99"],
        "max_s": said["summary"]["slowest"],
    }


def _ab(seconds: float) -> Sequence[str]:
    # A time limit alone would also be one of 50,000 requests.
    limits = ("-t", str(max(1, round(seconds))), "-n", "10000000")
    return ("-q", "-k", "-c", str(CLIENTS), *limits)


def _read_ab(text: str) -> Told:
    def time(share: int) -> float:
        return float(_found(rf"\n\s+{share}%\s+(\d+)", text)[1]) / 1e3

    return {
        "rate": float(_found(r"Requests per second:\s+([\d.]+)", text)[1]),
        "p50_s": time(50),
        "p99_s": time(99),
        "max_s": time(100),
    }


def _found(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise HostError(f"no {pattern} in: {text}")
    return found


TOOLS: Mapping[str, tuple[Callable[[float], Sequence[str]], Callable[[str], Told]]] = {
    "wrk": (_wrk, _read_wrk),
    "oha": (_oha, _read_oha),
    "ab": (_ab, _read_ab),
}
"""The arguments of each but the address, and what its output says."""
