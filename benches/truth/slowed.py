"""A server made slower by a known share: how often that is found, and how far off its size is told.

The slower one stays busy, after each request, for that share of the time which the request took by
itself; it carries over by how much it overshoots, so that the shares are exact in the long run. One
core that never idles has then 1/(1 + share) of the rate, as far as a request takes as long by
itself. With short ones it does not: to wake a generator that sleeps for longer makes each answer
dearer by a microsecond. So they are long, and the servers' own books stand beside.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from math import expm1, log1p
from typing import Any

from benches.truth import asking, server
from benches.truth.telling import mean, percent, share
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit

WORK = 8 * server.WORK
AMOUNTS = (0.02, 0.03, 0.05, 0.10)
COMPARISONS = 15
FOUND = ("worse", "different-but-small")
ENOUGH, FEWEST = 0.8, 10
"""The share that is to be found; the comparisons from which on that is judged."""


def compare(amount: float, place: Place) -> dict[str, Any]:
    """The known server against itself, slowed."""
    one = server.system(place, "one", work=WORK)
    other = server.system(place, "other", work=WORK, slow=amount)
    ran = asking.run(place, {**asking.pair(one, other, place), "workload": server.PAGE})
    found = ran.compared()
    if not found["refused"] and found["verdict"] != "invalid":
        asking.tidy(ran)
    one_s, other_s = (_per_request(server.sums(place, who)) for who in ("one", "other"))
    return {**found, "books": one_s / other_s - 1}


def _per_request(did: Mapping[str, float]) -> float:
    """How long a request took, by the server's own books."""
    return (did["own_s"] + did["added_s"]) / did["requests"]


def units(lengths: Lengths) -> Sequence[Unit]:
    """So many comparisons of each amount, the amounts in turn."""
    return [
        Unit(f"slowed/{amount:.0%}/{number:02}", lengths.comparison_s, partial(compare, amount))
        for number in range(COMPARISONS)
        for amount in AMOUNTS
    ]


def truth(amount: float) -> float:
    """The effect on the rate of taking longer by that share."""
    return 1 / (1 + amount) - 1


def rows(journal: Journal) -> Sequence[Row]:
    """One for each amount."""
    return [_row(amount, journal.of(f"slowed/{amount:.0%}/")) for amount in AMOUNTS]


def _row(amount: float, lines: Sequence[Line]) -> Row:
    true = truth(amount)
    words = Counter(line.found["verdict"] for line in lines)
    found = sum(words[word] for word in FOUND)
    told = [line for line in lines if line.found["low"] is not None]
    covered = sum(line.found["low"] <= true <= line.found["high"] for line in told)
    off = [expm1(log1p(line.found["effect"]) - log1p(true)) for line in told]
    listed = ", ".join(f"{count} {word}" for word, count in words.most_common())
    seen = f"found: {share(found, len(lines))}; {listed or 'none yet'}; "
    seen += f"the 95 % interval holds the truth: {share(covered, len(told))}; "
    seen += f"the estimate is off by {mean(off)}"
    setup = f"each request takes {percent(amount)} longer, 8 sessions"
    exact = f"a rate lower by {percent(-true)}"
    if lines:
        books = statistics.fmean(line.found["books"] for line in lines)
        exact += f"; by the servers' own books by {percent(-books)}"
    return Row(setup, exact, seen, lines, COMPARISONS, _means(amount, found, lines, told))


def _means(amount: float, found: int, lines: Sequence[Line], told: Sequence[Line]) -> str:
    if len(told) < FEWEST:
        return "Too few to tell."
    # A comparison that may not answer says nothing of what it could have shown.
    could = [shown for line in told if (shown := line.found["detectable"]) is not None]
    middle = percent(statistics.median(could)) if could else "nothing"
    said = f"Each comparison said what it could have shown: {middle} (median)."
    if found / len(lines) >= ENOUGH:
        return f"A slowdown of {percent(amount)} is found as a rule. {said}"
    return f"A slowdown of {percent(amount)} is not found reliably in 8 sessions of 2 s. {said}"


ABOUT = """\
After each request the slower server stays busy for that share of the time which the request took
by itself, and carries over what it overshoots: its rate is 1/(1 + share) of the other's. What the
servers' own books say, of all that they did, stands beside."""
PART = Part("slowed", "(b) A server slowed by a known share", ABOUT, units, rows)
