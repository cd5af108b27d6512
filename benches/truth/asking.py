"""`benchlab run` of an experiment, as anybody would run it, and what its summary says.

Absent: the experiments themselves.
"""

import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.truth.units import Found, Place

from benchlab.model.errors import HostError

COMMAND = (sys.executable, "-c", "from benchlab.cli.main import main; main()")
STORE = "store"
POLL_S = 0.2
LIMIT_S = 1800.0
NOT_REFUSED = ("steady", "answers")
"""Rows that withhold nothing: what they find is a result."""


@dataclass(frozen=True)
class Ran:
    """A run that came to an answer."""

    summary: Found
    folder: Path

    @property
    def cases(self) -> Mapping[str, Found]:
        """Its cases by their system."""
        return {case["system"]: case for case in self.summary["cases"]}

    def metric(self, system: str, name: str) -> Found:
        """A figure with what may be said of it."""
        found: Found = self.cases[system]["metrics"][name]
        return found

    def rows(self, system: str) -> dict[str, str]:
        """The verdict of each check."""
        return {row["name"]: row["verdict"] for row in self.cases[system]["checks"]}

    def figure(self, system: str, row: str) -> float | None:
        """The figure of a check."""
        (found,) = [each for each in self.cases[system]["checks"] if each["name"] == row]
        value: float | None = found["figure"]
        return value

    def compared(self) -> dict[str, Any]:
        """Its one comparison that counts, and what was refused or measured again."""
        (one,) = [each for each in self.summary["comparisons"] if each["counts"]]
        keys = ("verdict", "effect", "low", "high", "p", "detectable", "sessions", "why")
        return {
            **{key: one[key] for key in keys},
            "pairs": [pair["effect"] for pair in one["pairs"]],
            "rates": {name: self.metric(name, "throughput")["estimate"] for name in self.cases},
            "refused": self.refused(),
            "again": self.again(),
            "notes": json.loads((self.folder / "run.json").read_bytes())["notes"],
        }

    def refused(self) -> list[str]:
        """Figures of throughput that are withheld or bounds, and trials not used, with why."""
        said = [
            f"{name}: throughput {found['validity']}: {found['why']}"
            for name in self.cases
            if (found := self.metric(name, "throughput"))["validity"] != "valid"
        ]
        for name, case in self.cases.items():
            said += [
                f"{name}: {row['name']}: {row['why']}"
                for row in case["checks"]
                if row["name"] not in (*NOT_REFUSED, "floor")
                and (row["verdict"] == "invalid" or "trials" in row["why"])
            ]
        return said

    def again(self) -> dict[str, int]:
        """How many trials were measured again, by why."""
        records = [
            json.loads(file.read_bytes()) for file in self.folder.glob("trials/*/trial.json")
        ]
        return dict(Counter(record["why"] for record in records if not record["used"]))


def run(
    place: Place,
    experiment: Mapping[str, Any],
    *,
    beside: Callable[[Path], None] = lambda folder: None,
) -> Ran:
    """Runs an experiment to its answer; `beside` is called again and again with the run's folder.

    Raises:
        HostError: when there is no answer.
    """
    text = place.folder / "experiments" / f"{place.name}.yaml"
    folder, said = place.folder / "runs" / place.name, place.folder / "said"
    # What the path costs is kept in a store that is there, for all of the work.
    for each in (text, folder, said / "any", place.folder / STORE / "any"):
        each.parent.mkdir(parents=True, exist_ok=True)
    text.write_text(json.dumps({"experiment": place.name, **experiment}, indent=1))
    shutil.rmtree(folder, ignore_errors=True)
    out, log = said / f"{place.name}.json", said / f"{place.name}.log"
    log.unlink(missing_ok=True)
    with out.open("wb") as stdout:
        process = place.leash.start(
            [*COMMAND, "run", str(text), "--json", "--yes", "--out", str(folder)],
            environment={"BENCHLAB_STORE": str(place.folder / STORE)},
            stdout=stdout,
            log=log,
        )
        until = time.monotonic() + LIMIT_S
        while process.wait(POLL_S) is None and time.monotonic() < until:
            beside(folder)
    process.stop()
    try:
        return Ran(json.loads(out.read_bytes()), folder)
    except ValueError:
        raise HostError(f"{place.name} came to no answer: {process.log_tail(5)}") from None


def tidy(ran: Ran) -> None:
    """Leaves a run's recipe and answer, and takes the raw data away."""
    for name in ("trials", "null", "report.html"):
        path = ran.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def pair(one: Mapping[str, Any], other: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """An experiment that compares two systems, but for its workload, by their throughput."""
    lengths = place.lengths
    return {
        "systems": {"one": one, "other": other},
        "load": closed(place),
        "compare": {"factor": "system", "baseline": "one", "metrics": ["throughput"]},
        "sessions": lengths.sessions,
        "blocks": 1,
        # Each comparison has an order of its own, and the same one when it is made again.
        "seed": sum(place.name.encode()) * 1000 + len(place.name),
    }


def closed(place: Place) -> dict[str, Any]:
    """Sixteen clients, for the usual while."""
    lengths = place.lengths
    return {
        "clients": 16,
        "duration": f"{lengths.duration_s:g}s",
        "warmup": f"{lengths.warmup_s:g}s",
    }
