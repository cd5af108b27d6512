"""A server that is stopped for a while: what Benchlab, wrk, oha and ab say of it.

Users come evenly. One who comes u seconds after the beginning of a freeze of F waits for F - u, and
for the answers to those who came before: with a share r of the time busy, F - u (1 - r). Those who
come later wait for what is left of the others, until at F/(1 - r) nobody waits any more. Of T
seconds in all, the hundredth part that waits longest waits for more than F - 0.01 T (1 - r).
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benches.truth import asking, server, tools
from benches.truth.telling import seconds, told_median
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit

LENGTHS_S = {0.5: 10.0, 6.0: 16.0}
"""Of each freeze, how long the whole takes."""
AFTER_S = 3.0
RATE = 5000
SESSIONS = 4
"""Of a run, with a freeze each: fewer would not do for a p99 that is made by one event."""
ROUNDS = 2
TIMES = ("p50_s", "p99_s", "max_s")
OPEN, CLOSED = "Benchlab, open", "Benchlab, closed"
OBSERVERS = (OPEN, CLOSED, *tools.TOOLS)


def measure(freeze_s: float, observer: str, place: Place) -> dict[str, Any]:
    """What an observer says of one freeze."""
    length_s, after_s = LENGTHS_S[freeze_s], AFTER_S
    if place.lengths.is_short:
        length_s, after_s = freeze_s + 2, 1.0
    names = {"work": server.WORK, "freeze": freeze_s, "after": after_s}
    if observer in tools.TOOLS:
        with server.known(place, "server", **names) as url:
            said: dict[str, Any] = tools.ask(place, observer, url, length_s)
    else:
        said = _benchlab(observer, length_s, names, place)
    lives = server.told(place, "server")
    return {
        **said,
        "frozen_s": statistics.fmean(life["frozen_s"] for life in lives if "frozen_s" in life),
        "service_s": statistics.fmean(life["usual_s"] for life in lives if "usual_s" in life),
        "length_s": length_s,
    }


def _benchlab(
    observer: str, length_s: float, names: dict[str, float], place: Place
) -> dict[str, Any]:
    load: dict[str, Any] = {"clients": tools.CLIENTS}
    if observer == OPEN:
        load = {"rate": f"{RATE}/s", "connections": 64}
    load |= {"duration": f"{length_s:g}s", "warmup": 0, "timeout": "30s"}
    systems = {"server": server.system(place, "server", **names)}
    experiment = {"systems": systems, "workload": server.PAGE, "load": load}
    ran = asking.run(place, {**experiment, "sessions": SESSIONS, "blocks": 1})
    asking.tidy(ran)
    case = ran.cases["server"]
    times = {f"{name}_s": ran.metric("server", f"latency_{name}") for name in ("p50", "p99", "max")}
    stalls = case["stalls"] or {"found": []}
    return {
        **{name: found["estimate"] for name, found in times.items()},
        "resolved": times["p99_s"]["resolved"],
        "validity": times["p99_s"]["validity"],
        "why": times["p99_s"]["why"],
        "errors": ran.metric("server", "errors")["estimate"],
        "state": case["state"],
        "stalls": [
            {key: one[key] for key in ("at_s", "length_s", "waiting")} for one in stalls["found"]
        ],
    }


def units(lengths: Lengths) -> Sequence[Unit]:
    """Each freeze before each observer, so many times."""
    made = []
    for number in range(ROUNDS):
        for freeze_s, length_s in LENGTHS_S.items():
            for who in OBSERVERS:
                if who in tools.TOOLS and tools.path(who) is None:
                    continue
                about_s = length_s + 1
                if who not in tools.TOOLS:
                    about_s = SESSIONS * about_s + 10
                name = f"freezes/{freeze_s:g}s/{who.replace(', ', '-')}/{number}"
                made.append(Unit(name, about_s, partial(measure, freeze_s, who)))
    return made


def truth_p99_s(line: Line) -> float:
    """What the hundredth that waits longest waits for, when users come evenly."""
    found = line.found
    busy = RATE * found["service_s"]
    return float(found["frozen_s"] - 0.01 * found["length_s"] * (1 - busy))


def rows(journal: Journal) -> Sequence[Row]:
    """One for each freeze and observer."""
    return [
        _row(freeze_s, who, journal.of(f"freezes/{freeze_s:g}s/{who.replace(', ', '-')}/"))
        for freeze_s in LENGTHS_S
        for who in OBSERVERS
    ]


def _row(freeze_s: float, who: str, lines: Sequence[Line]) -> Row:
    setup = f"{who}: stopped for {freeze_s:g} s of {LENGTHS_S[freeze_s]:g} s"
    if who == OPEN:
        setup += f", {RATE}/s at random moments"
    elif who != CLOSED:
        setup += f", {tools.CLIENTS} clients"
    if not lines:
        here = who not in tools.TOOLS or tools.path(who)
        return Row(setup, "-", "-" if here else "not installed", lines, ROUNDS, "")
    true = statistics.median(map(truth_p99_s, lines))
    frozen = statistics.median(line.found["frozen_s"] for line in lines)
    exact = f"users who come evenly: p99 {seconds(true)}, at most {seconds(frozen)}"
    seen = [f"{name[:-2]} {told_median(line.found[name] for line in lines)}" for name in TIMES]
    if who in (OPEN, CLOSED):
        seen += _beside(lines)
    p99s = [line.found["p99_s"] for line in lines]
    told = [p99 for p99 in p99s if p99 is not None]
    means = "It gives no p99."
    if told:
        off = statistics.median(told) / true - 1
        means = f"Its p99 is off by {off * 100:+.2g} %."
        if off < -0.5:
            means = "Its p99 does not show the freeze: who waits does not ask again meanwhile."
    return Row(setup, exact, "; ".join(seen), lines, ROUNDS, means)


def _beside(lines: Sequence[Line]) -> list[str]:
    found = [stall for line in lines for stall in line.found["stalls"]]
    seen = [f"{len(found)} stalls in {SESSIONS * len(lines)} trials"]
    if found:
        lengths_s = sorted(stall["length_s"] for stall in found)
        seen.append(f"of {seconds(lengths_s[0])} to {seconds(lengths_s[-1])}")
    whys = Counter(line.found["why"].partition(" (")[0] for line in lines if line.found["why"])
    return seen + [f"of p99 it says: {why} ({count} times)" for why, count in whys.items()]


ABOUT = __doc__.partition("\n\n")[2].strip()
PART = Part("freezes", "(d) A server that is stopped for a while", ABOUT, units, rows)
