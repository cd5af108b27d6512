"""A load generator that is kept from its core: its figures must not be taken for the system's.

Busy processes share the agent's core from before the run to its end. The same run without them says
what the system does by itself.
"""

import contextlib
import statistics
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benches.truth import asking, server
from benches.truth.telling import percent, seconds
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit

BUSY = 8
"""Processes that share the agent's core."""
ROUNDS = 4
LOADS: dict[str, dict[str, Any]] = {
    "closed": {"clients": 16},
    "open": {"rate": "5000/s", "connections": 64},
}
METRICS = ("throughput", "latency_p50", "latency_p99", "latency_max")
ROWS = ("lag", "head-room", "floor", "little")


def measure(load: str, is_starved: bool, place: Place) -> dict[str, Any]:
    """A run beside them, or without."""
    lengths = place.lengths
    times = {"duration": f"{lengths.duration_s:g}s", "warmup": f"{lengths.warmup_s:g}s"}
    experiment = {
        "systems": {"server": server.system(place, "server", work=server.WORK)},
        "workload": server.PAGE,
        "load": LOADS[load] | times,
        "sessions": 3,
        "blocks": 1,
    }
    with contextlib.ExitStack() as stack:
        if is_starved:
            stack.enter_context(server.busy(place, place.cpus.agent, BUSY))
        ran = asking.run(place, experiment)
    asking.tidy(ran)
    keys = ("estimate", "validity", "resolved", "why")
    metrics = {name: ran.metric("server", name) for name in METRICS}
    return {
        "metrics": {name: {key: one[key] for key in keys} for name, one in metrics.items()},
        "state": ran.cases["server"]["state"],
        "rows": ran.rows("server"),
        "again": ran.again(),
    }


def units(lengths: Lengths) -> Sequence[Unit]:
    """So many rounds of each load, with them and without."""
    about_s = 6 * (lengths.duration_s + lengths.warmup_s + 1) + 10
    return [
        Unit(f"starved/{load}/{name}/{number}", about_s, partial(measure, load, name == "beside"))
        for number in range(ROUNDS)
        for load in LOADS
        for name in ("alone", "beside")
    ]


def rows(journal: Journal) -> Sequence[Row]:
    """Two for each load."""
    return [_row(load, name, journal) for load in LOADS for name in ("alone", "beside")]


def _row(load: str, name: str, journal: Journal) -> Row:
    lines = journal.of(f"starved/{load}/{name}/")
    alone = journal.of(f"starved/{load}/alone/")
    setup = f"{load} load, {BUSY} busy processes on the generator's core"
    truth = "as without them, the line above"
    if name == "alone":
        setup, truth = f"{load} load, nothing beside it", "what the system does by itself"
    if not lines:
        return Row(setup, truth, "-", lines, ROUNDS, "")
    seen = [_told(lines, metric) for metric in METRICS]
    invalid = Counter(
        row for line in lines for row in ROWS if line.found["rows"].get(row) == "invalid"
    )
    if invalid:
        seen.append("invalid: " + ", ".join(f"{row} {count}" for row, count in invalid.items()))
    return Row(setup, truth, "; ".join(seen), lines, ROUNDS, _means(name, lines, alone))


def _told(lines: Sequence[Line], metric: str) -> str:
    found = [line.found["metrics"][metric] for line in lines]
    given = [one["estimate"] for one in found if one["estimate"] is not None]
    said = Counter("valid" if _is_taken(one) else _refusal(one) for one in found)
    figure = "-"
    if given:
        middle = statistics.median(given)
        figure = f"{middle:,.0f}/s" if metric == "throughput" else seconds(middle)
    return f"{metric} {figure} ({', '.join(f'{count} {word}' for word, count in said.items())})"


def _is_taken(one: dict[str, Any]) -> bool:
    return bool(one["validity"] == "valid" and one["resolved"])


def _refusal(one: dict[str, Any]) -> str:
    return "not resolved" if one["validity"] == "valid" else str(one["validity"])


def _means(name: str, lines: Sequence[Line], alone: Sequence[Line]) -> str:
    """Whether a figure that is taken for the system's is not what the system does by itself."""
    if name == "alone":
        return "-"
    if not alone:
        return "What the system does by itself is not known yet."
    wrong = []
    for metric in METRICS[:-1]:
        own = [one["estimate"] for line in alone if _is_taken(one := line.found["metrics"][metric])]
        for line in lines:
            one = line.found["metrics"][metric]
            if own and _is_taken(one):
                off = one["estimate"] / statistics.median(own) - 1
                wrong += [f"{metric} {percent(off, signed=True)}"] if abs(off) > 0.1 else []
    if wrong:
        return f"Taken for the system's, and off by more than a tenth: {', '.join(wrong)}."
    return "No figure that the busy processes made is taken for the system's."


ABOUT = __doc__.partition("\n\n")[2].strip()
PART = Part("starved", "(e) A load generator that is kept from its core", ABOUT, units, rows)
