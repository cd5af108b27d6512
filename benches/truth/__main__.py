"""Sets Benchlab on systems whose truth is known, unit by unit, and keeps what it says of them.

What was measured is not measured again: go on with the same command after Ctrl-C, an outage, or
`--until`. Parts take turns, so that at any time each is done to about the same share.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from benches.truth import (
    drift,
    equals,
    freezes,
    neighbour,
    queueing,
    slowed,
    starved,
    table,
    units,
    wrong,
)
from benches.truth.units import SHORT, Journal, Lengths, Line, Part, Place, Unit

from benchlab.host.processes import Leash
from benchlab.model.errors import BenchlabError
from benchlab.model.quantities import format as readable
from benchlab.model.quantities import parse

PARTS = tuple(
    each.PART for each in (equals, slowed, queueing, freezes, starved, neighbour, wrong, drift)
)
NAMES = {part.name: part for part in PARTS}
INTERRUPTED = 130


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="benches.truth", description=__doc__)
    named = f"of {', '.join(NAMES)}, by commas, or beginnings of units' names"
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="PARTS", help=named)
    parser.add_argument("--until", metavar="TIME", help="stop in time, as after 45m")
    parser.add_argument("--most", type=int, metavar="N", help="the first of these at most")
    parser.add_argument("--folder", type=Path, default=Path("truth"), help="the work folder")
    parser.add_argument("--short", action="store_true", help="short trials: does it work?")
    parser.add_argument("--list", action="store_true", help="what is left, and how long it takes")
    parser.add_argument("--table", action="store_true", help=f"only write {table.FILE.name}")
    parser.add_argument("--page", type=Path, default=table.FILE, help="where the table goes")
    found = parser.parse_args(arguments)
    if unknown := [each for each in found.only or () if each.partition("/")[0] not in NAMES]:
        parser.error(f"--only: no part {unknown[0]}; there are {', '.join(NAMES)}")
    return found


def order(parts: Sequence[Part], lengths: Lengths) -> list[tuple[Part, Unit]]:
    """All units, so that the parts keep step."""
    ranked = []
    for number, part in enumerate(parts):
        made = part.units(lengths)
        ranked += [((k + 0.5) / len(made), number, part, one) for k, one in enumerate(made)]
    ranked.sort(key=lambda each: each[:2])
    return [(part, unit) for _, _, part, unit in ranked]


def left(found: argparse.Namespace, journal: Journal) -> list[tuple[Part, Unit]]:
    """The units that are asked for and not done."""
    wanted = tuple(found.only or ("",))
    asked = [each for each in order(PARTS, journal.lengths) if each[1].name.startswith(wanted)]
    return [each for each in asked[: found.most] if each[1] not in journal]


def measure(unit: Unit, folder: Path, lengths: Lengths) -> Line:
    """Does a unit; whatever it started is ended with it."""
    utc, begun = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    load, others = os.getloadavg()[0], units.others_at_work()
    with Leash() as leash:
        place = Place(unit.name.replace("/", "-").replace("%", ""), folder, leash, lengths)
        found = unit.measure(place)
    took_s = time.monotonic() - begun
    named = (units.machine()["fingerprint"], _commit(), lengths.is_short)
    return Line(unit.name, utc, took_s, load, others, *named, found)


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def work(found: argparse.Namespace, journal: Journal) -> int:
    """Does what is left; how many units failed."""
    lengths, begun, failed = journal.lengths, time.monotonic(), 0
    limit_s = parse(found.until, "s") if found.until else float("inf")
    todo = left(found, journal)
    for number, (_, unit) in enumerate(todo, 1):
        if time.monotonic() - begun + unit.about_s > limit_s:
            continue
        print(f"{number} of {len(todo)}: {unit.name}", flush=True)
        try:
            line = measure(unit, found.folder.absolute(), lengths)
        except Exception as error:
            # A unit that fails, for whatever reason, does not end a night's work.
            failed += 1
            why = str(error) if isinstance(error, BenchlabError) else repr(error)
            print(f"  failed, and is to be done again: {why}", file=sys.stderr, flush=True)
            continue
        journal.add(line)
        print(f"  {line.took_s:.0f} s, others {line.others:.2f}", flush=True)
    return failed


def tell(todo: Sequence[tuple[Part, Unit]]) -> None:
    """What is left of each part, and of all."""
    for part in (*PARTS, None):
        lengths_s = [unit.about_s for of, unit in todo if part in (of, None)]
        name = part.name if part else "all"
        print(f"{name}: {len(lengths_s)} left, about {readable(sum(lengths_s), 's')}")


def main(arguments: Sequence[str]) -> int:
    """Does what is left, and writes the page."""
    found = options(arguments)
    lengths = SHORT if found.short else Lengths()
    journal = Journal(found.folder.absolute(), lengths)
    if found.list:
        tell(left(found, journal))
        return 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    failed = 0
    try:
        if not found.table:
            failed = work(found, journal)
    except KeyboardInterrupt:
        print("\nwhat has ended is kept; the same command goes on with it", file=sys.stderr)
        return INTERRUPTED
    found.page.write_text(table.make(journal, PARTS))
    print(f"written: {found.page}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
