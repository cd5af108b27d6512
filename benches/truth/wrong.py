"""A server whose answers are wrong once in so many times, exactly.

Its page has another word in it, with the status and the length that a right one has.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benches.truth import asking, server
from benches.truth.telling import percent
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit

EVERY = (500, 1000, 2000)
ROUNDS = 4
LIMIT = 0.001
"""The share above which a case is failing."""


def measure(every: int, place: Place) -> dict[str, Any]:
    """A run that looks at every answer."""
    lengths = place.lengths
    ran = asking.run(
        place,
        {
            "systems": {"server": server.system(place, "server", wrong=every)},
            "workload": server.PAGE,
            "load": asking.closed(place),
            "sessions": min(3, lengths.sessions),
            "blocks": 1,
        },
    )
    did, errors = server.sums(place, "server"), ran.metric("server", "errors")
    asking.tidy(ran)
    return {
        "true": did["wrong"] / did["requests"],
        "errors": errors["estimate"],
        "low": errors["low"],
        "high": errors["high"],
        "state": ran.cases["server"]["state"],
        "why": ran.cases["server"]["why"],
        "rows": ran.rows("server"),
    }


def units(lengths: Lengths) -> Sequence[Unit]:
    """So many rounds of each share."""
    about_s = 3 * (lengths.duration_s + lengths.warmup_s + 1) + 10
    return [
        Unit(f"wrong/{every}/{number}", about_s, partial(measure, every))
        for number in range(ROUNDS)
        for every in EVERY
    ]


def rows(journal: Journal) -> Sequence[Row]:
    """One for each share."""
    return [_row(every, journal.of(f"wrong/{every}/")) for every in EVERY]


def _row(every: int, lines: Sequence[Line]) -> Row:
    setup = f"one answer in {every} has another word in its page"
    true = f"{100 / every:g} % are wrong"
    shares = [
        (line.found["errors"], line.found["true"])
        for line in lines
        if line.found["errors"] is not None
    ]
    if not shares:
        means = "No share of errors was told." if lines else ""
        return Row(setup, true, "-", lines, ROUNDS, means)
    off = [errors / exact - 1 for errors, exact in shares]
    states = Counter(line.found["state"] for line in lines)
    told = ", ".join(f"{count} {state}" for state, count in states.items())
    seen = f"errors {percent(statistics.fmean(errors for errors, _ in shares))}; "
    seen += f"off by {percent(max(off, key=abs), signed=True)} of it at worst; {told}"
    exact = statistics.fmean(line.found["true"] for line in lines)
    true += f"; by its own count {exact * 100:.4f} %"
    expected = "failing" if 1 / every > LIMIT else "ok"
    means = f"Each wrong answer is counted, and above {percent(LIMIT)} the case is called failing."
    if 1 / every == LIMIT:
        means = (
            f"Each wrong answer is counted; at the limit, {percent(LIMIT)}, it may go either way."
        )
    elif set(states) != {expected}:
        means = f"The case should have been called {expected} each time."
    if max(map(abs, off)) > 0.05:
        means = "The share that is told is off by more than a twentieth of it."
    return Row(setup, true, seen, lines, ROUNDS, means)


ABOUT = """\
The wrong answers have the status and the length of right ones."""
PART = Part("wrong", "(g) Wrong answers", ABOUT, units, rows)
