"""A busy process that comes to the system's core during a comparison, and goes again.

It is there from the fourth session to the sixth, where it takes half of the core from whichever
server is measured. The two are equal.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benches.truth import asking, server
from benches.truth.telling import percent, share
from benches.truth.units import Journal, Lengths, Part, Place, Row, Unit

from benchlab.store import Run

COMES, GOES = 3, 6
"""It is there while so many sessions are done."""
ROUNDS = 5
DIFFERENT = ("better", "worse", "different-but-small")


def measure(place: Place) -> dict[str, Any]:
    """A comparison of two equal servers with a visitor."""
    seen: list[int] = []
    with ExitStack() as visit:

        def beside(folder: Path) -> None:
            done = _sessions_done(folder)
            if COMES <= done < GOES and not seen:
                visit.enter_context(server.busy(place, place.cpus.system, 1))
                seen.append(done)
            elif done >= GOES:
                visit.close()

        one, other = (server.system(place, who, work=server.WORK) for who in ("one", "other"))
        experiment = {**asking.pair(one, other, place), "workload": server.PAGE}
        ran = asking.run(place, experiment, beside=beside)
    asking.tidy(ran)
    rows = Counter(
        f"{row} {verdict}"
        for system in ran.cases
        for row, verdict in ran.rows(system).items()
        if verdict == "invalid"
    )
    stalls = sum(
        case["stalls"]["count"] for case in ran.cases.values() if case["stalls"] is not None
    )
    values = ran.metric("one", "throughput")["values"]
    return {
        **ran.compared(),
        "rows": dict(rows),
        "stalls": stalls,
        "values": values,
        "came": seen,
        "answer": ran.summary["answer"],
    }


def _sessions_done(folder: Path) -> int:
    return Run(folder).record.sessions_done if (folder / "run.json").exists() else 0


def units(lengths: Lengths) -> Sequence[Unit]:
    """So many comparisons."""
    return [Unit(f"neighbour/{number}", lengths.comparison_s, measure) for number in range(ROUNDS)]


def rows(journal: Journal) -> Sequence[Row]:
    """One for all."""
    lines = journal.of("neighbour/")
    setup = "two equal servers, and a busy process on their core in sessions 4 to 6 of 8"
    if not lines:
        return [Row(setup, "no difference", "-", lines, ROUNDS, "")]
    words = Counter(line.found["verdict"] for line in lines)
    different = sum(words[word] for word in DIFFERENT)
    could = [found for line in lines if (found := line.found["detectable"]) is not None]
    dips = [
        statistics.median(known[COMES:GOES]) / statistics.median(known[:COMES] + known[GOES:])
        for line in lines
        if len(known := [value for value in line.found["values"] if value]) > GOES
    ]
    invalid = Counter(row for line in lines for row in line.found["rows"])
    listed = ", ".join(f"{count} {word}" for word, count in words.most_common())
    seen = f"called different: {share(different, len(lines))}; {listed}"
    if dips:
        seen += f"; the rate while it was there: {percent(statistics.median(dips))} of the usual"
    if could:
        seen += f"; could have been shown: {percent(statistics.median(could))} (median)"
    said = ", ".join(f"{row} {count}" for row, count in invalid.items()) or "none"
    seen += f"; rows that are not in order: {said}"
    means = "It is not taken for a difference; the interval is wider for it."
    if different:
        means = "A visitor was taken for a difference."
    return [Row(setup, "no difference", seen, lines, ROUNDS, means)]


ABOUT = __doc__.partition("\n\n")[2].strip()
PART = Part("neighbour", "(f) A noisy neighbour during a run", ABOUT, units, rows)
