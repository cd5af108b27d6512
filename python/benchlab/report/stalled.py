"""Stalls put into words, for the terminal and the page alike.

Absent: how they are found, and where they are drawn.
"""

from collections import Counter

from benchlab.model.evidence import Candidate, CaseResult, Estimate, Stall, Stalls
from benchlab.report import readable


def rate(found: Stalls) -> Estimate:
    """Stalls an hour with their interval, as an estimate that can be shown."""
    return Estimate(unit="1/h", estimate=found.per_hour, low=found.low, high=found.high, sessions=1)


def seen_with(found: Stalls) -> str:
    """The candidates and in how many of the stalls that are told they were seen."""
    counts = Counter(one.cause for stall in found.found for one in stall.candidates)
    return ", ".join(f"{cause} ({times})" for cause, times in counts.most_common())


def place(stall: Stall) -> str:
    """`session 2, block 1, at 3.10 s`."""
    at = readable.amount(stall.at_s, "s")
    return f"session {stall.session + 1}, block {stall.block + 1}, at {at}"


def what(stall: Stall) -> str:
    """What happened: it stood still, or some were slow, and how many waited."""
    if stall.stood_still:
        return f"stood still, {stall.waiting:,} waiting"
    return f"slow, up to {readable.amount(stall.slowest_s, 's')}"


def sign(one: Candidate) -> str:
    """What speaks for a candidate: `postgresql.checkpoints_req 1.00/s, else 0/s`."""
    figure, usual = (readable.amount(x, one.unit) for x in (one.figure, one.usual))
    return f"{one.sign} {figure}, else {usual}"


def longest(case: CaseResult, most: int) -> list[Stall]:
    """A case's longest stalls, in order of time."""
    found = case.stalls.found if case.stalls else ()
    kept = sorted(found, key=lambda stall: -stall.length_s)[:most]
    return sorted(kept, key=lambda stall: (stall.session, stall.block, stall.at_s))
