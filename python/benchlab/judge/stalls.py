"""Stalls: moments in a trial in which a system stood still, or kept a request waiting for long.

Found on the trial's slots; each with what else was seen at that time (`causes`), on the same clock.
Absent: how often a case stalls (`cases`), and delays that are the generator's own.
"""

from math import ceil, inf
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchlab.judge.causes import candidates
from benchlab.judge.counted import NS, SLOT_S, Counted, Field
from benchlab.judge.probed import Probed
from benchlab.model.evidence import Stall

LOW = 0.1
"""Of the median rate: a bin with less stands still."""
LEAST_BINS = 2
PER_BIN = 20
"""Transactions a bin holds on average at least, so that chance leaves none almost empty."""
TIMES_P99, LEAST_NS = 10.0, 0.05 * NS
"""A response is a stall above so many times the usual p99, and above this length."""
LAG_SHARE = 0.5
"""A response of which lag is this much was not the system's delay."""


def stalls(seen: Counted, resources: Probed, session: int, block: int) -> tuple[Stall, ...]:
    """Every stall of a trial's measured part, in order of time; those that touch are one."""
    still = _still(seen)
    spans = _joined([*still, *_slow(seen)])
    backlog = _backlog(seen)
    found = []
    for begin_s, end_s in spans:
        first, last = int(begin_s / SLOT_S + 1e-6), ceil(end_s / SLOT_S - 1e-6)
        others = [span for span in spans if span != (begin_s, end_s)]
        is_still = any(begin_s <= at < end_s for at, _ in still)
        slowest = seen.peaks[_peak(seen)][first:last].max(initial=0.0)
        found.append(
            Stall(
                session=session,
                block=block,
                at_s=round(begin_s, 3),
                length_s=round(end_s - begin_s, 3),
                stood_still=is_still,
                waiting=round(backlog[first:last].max(initial=0.0)),
                slowest_s=float(slowest) / NS if slowest else None,
                candidates=candidates(
                    seen, resources, (begin_s, end_s), others, stood_still=is_still
                ),
            )
        )
    return tuple(found)


def _peak(seen: Counted) -> str:
    return "max_response_ns" if seen.is_open else "max_service_ns"


def _still(seen: Counted) -> list[tuple[float, float]]:
    """Stretches of two bins or more below a tenth of the median rate while work was due."""
    slots = seen.whole_slots
    done = seen.slots["completed"][:slots]
    if not done.any():
        return []
    width = max(1, ceil(PER_BIN / (float(np.median(done)) or float(done.mean()))))
    bins = slots // width
    if bins < LEAST_BINS:
        return []
    counts = done[: bins * width].reshape(bins, width).sum(axis=1)
    backlog = np.concatenate([[seen.open_at_origin], _backlog(seen)])[: bins * width : width]
    due = seen.slots["due"][: bins * width].reshape(bins, width).sum(axis=1)
    # A load with pauses leaves bins empty in which there was nothing to do.
    lacking = (counts < LOW * np.median(counts)) & (2 * counts < due + np.maximum(backlog, 0.0))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], lacking, [False]]).astype(np.int8)))
    return [
        (begin * width * SLOT_S, end * width * SLOT_S)
        for begin, end in edges.reshape(-1, 2).tolist()
        if end - begin >= LEAST_BINS
    ]


def _slow(seen: Counted) -> list[tuple[float, float]]:
    """From when a transaction was due that took far longer than usual to when it was done."""
    field: Field = "response" if seen.is_open else "service"
    p99s = [q for one in seen.seconds[field] if (q := one.quantile(0.99)) is not None]
    limit = max(TIMES_P99 * (median(p99s) if p99s else inf), LEAST_NS)
    slots = min(seen.whole_slots, seen.peaks[_peak(seen)].size)
    slowest, lag = seen.peaks[_peak(seen)][:slots], seen.peaks["max_lag_ns"][:slots]
    places = np.flatnonzero((slowest > limit) & (lag < LAG_SHARE * slowest))
    ends = [min(seen.length_s, slot * SLOT_S + float(slowest[slot]) / NS) for slot in places]
    return [(slot * SLOT_S, end) for slot, end in zip(places.tolist(), ends, strict=True)]


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans in order, with those that overlap or lie within a slot of each other as one."""
    whole: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if whole and begin <= whole[-1][1] + SLOT_S + 1e-9:
            whole[-1] = whole[-1][0], max(whole[-1][1], end)
        else:
            whole.append((begin, end))
    return whole


def _backlog(seen: Counted) -> NDArray[np.float64]:
    """What was due and had not ended at each slot's end; errors end where they were due."""
    slots = seen.slots
    ended = slots["completed"] + slots["failed"] + slots["timed_out"] + slots["unknown"]
    backlog: NDArray[np.float64] = seen.open_at_origin + np.cumsum(slots["due"] - ended)
    return backlog
