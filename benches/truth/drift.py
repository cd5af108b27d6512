"""Servers that become slower while they are measured, by a known share in a second.

Two equal ones become slower alike, by the same clock: a tenth over a whole comparison. A script
that measures the one and then the other sees half of it as a difference. And one becomes slower
within each trial, by two hundredths a second.
"""

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benches.truth import asking, server, tools
from benches.truth.telling import mean, percent, share
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit
from scipy import stats

from benchlab.stats.family import ALPHA

SHARE = 0.1
WITHIN, TRIAL_S = 0.02, 6.0
"""A second, and for how long."""
RUNS = 5
ROUNDS, TRIALS = 5, 3
DIFFERENT = ("better", "worse", "different-but-small")


def pairs(place: Place) -> dict[str, Any]:
    """A comparison of two equal servers that drift."""
    names = _drifting(SHARE / place.lengths.comparison_s)
    one, other = (server.system(place, who, **names) for who in ("one", "other"))
    begun = time.monotonic()
    ran = asking.run(place, {**asking.pair(one, other, place), "workload": server.PAGE})
    asking.tidy(ran)
    return {**ran.compared(), "drifted": names["drift"] * (time.monotonic() - begun)}


def script(place: Place) -> dict[str, Any]:
    """Several runs of wrk on the one, then on the other; both drift by the same clock."""
    seconds = max(1.0, place.lengths.duration_s)
    names = _drifting(SHARE / (2 * RUNS * seconds))
    begun, sides = time.monotonic(), []
    for who in ("one", "other"):
        with server.known(place, who, **names) as url:
            sides.append([tools.rate(place, url, seconds) for _ in range(RUNS)])
    one, other = (statistics.fmean(side) for side in sides)
    p = float(stats.ttest_ind(*sides, equal_var=False).pvalue)
    drifted = names["drift"] * (time.monotonic() - begun)
    return {"effect": other / one - 1, "p": p, "different": p <= ALPHA, "drifted": drifted}


def _drifting(a_second: float) -> dict[str, float]:
    return {"work": server.WORK, "drift": a_second, "from": time.monotonic()}


def within(a_second: float, place: Place) -> dict[str, Any]:
    """One that drifts from its start, or does not, in trials that are long enough to see it."""
    length_s = 1.0 if place.lengths.is_short else TRIAL_S
    names = {"work": server.WORK, "drift": a_second}
    experiment = {
        "systems": {"server": server.system(place, "server", **names)},
        "workload": server.PAGE,
        "load": {"clients": 16, "duration": f"{length_s:g}s", "warmup": "0.3s"},
        "sessions": 3,
        "blocks": 1,
    }
    ran = asking.run(place, experiment)
    asking.tidy(ran)
    (row,) = [row for row in ran.cases["server"]["checks"] if row["name"] == "steady"]
    return {**row, "again": ran.again()}


def units(lengths: Lengths) -> Sequence[Unit]:
    """Comparisons, scripts and trials."""
    made = [Unit(f"drift/pairs/{n}", lengths.comparison_s, pairs) for n in range(ROUNDS)]
    about_s = 2 * RUNS * (max(1.0, lengths.duration_s) + 0.1) + 1
    made += [Unit(f"drift/script/{n}", about_s, script) for n in range(ROUNDS)]
    for name, a_second in (("within", WITHIN), ("even", 0.0)):
        again = 2 if a_second else 1
        about_s = 3 * again * (TRIAL_S + 1) + 12
        ask = partial(within, a_second)
        made += [Unit(f"drift/{name}/{n}", about_s, ask) for n in range(TRIALS)]
    return made


def rows(journal: Journal) -> Sequence[Row]:
    """One for each."""
    made = []
    for name, who in (
        ("pairs", "Benchlab, both in turns"),
        ("script", "wrk, the one, then the other"),
    ):
        made.append(_compared(name, who, journal.of(f"drift/{name}/")))
    for name, a_second in (("within", WITHIN), ("even", 0.0)):
        made.append(_steady(a_second, journal.of(f"drift/{name}/")))
    return made


def _compared(name: str, who: str, lines: Sequence[Line]) -> Row:
    setup = f"{who}: two equal servers that become slower by {percent(SHARE)} meanwhile"
    truth = "no difference"
    if not lines:
        return Row(setup, truth, "-", lines, ROUNDS, "")
    drifted = statistics.fmean(line.found["drifted"] for line in lines)
    truth += f"; both became slower by {percent(drifted)}"
    different = sum(
        line.found["different"] if name == "script" else line.found["verdict"] in DIFFERENT
        for line in lines
    )
    seen = f"called different: {share(different, len(lines))}; "
    told = [effect for line in lines if (effect := line.found["effect"]) is not None]
    seen += f"the effect told: {mean(told)}"
    means = "What both have in common goes away between them."
    if different:
        means = "What changes over the hours is taken for a difference."
    return Row(setup, truth, seen, lines, ROUNDS, means)


def _steady(a_second: float, lines: Sequence[Line]) -> Row:
    setup = (
        f"three trials of {TRIAL_S:g} s of one that becomes slower by {percent(a_second)} a second"
    )
    true = 1 - 1 / (1 + a_second * TRIAL_S)
    truth = f"the rate falls by {percent(true)} in a trial" if a_second else "nothing changes"
    if not lines:
        return Row(setup, truth, "-", lines, TRIALS, "")
    words = Counter(line.found["verdict"] for line in lines)
    said = Counter(line.found["why"] for line in lines if line.found["why"]).most_common(1)
    seen = "the row `steady`: " + ", ".join(f"{count} {word}" for word, count in words.items())
    figures = [line.found["figure"] for line in lines if line.found["figure"] is not None]
    if figures:
        seen += f"; a change beyond doubt of {percent(statistics.median(figures))} (median)"
    seen += f"; as “{said[0][0]}”" if said else ""
    expected = "invalid" if a_second else "valid"
    means = "It is said." if a_second else "Nothing is said."
    if set(words) != {expected}:
        means = f"The row should have been {expected} each time."
    return Row(setup, truth, seen, lines, TRIALS, means)


ABOUT = __doc__.partition("\n\n")[2].strip()
PART = Part("drift", "(h) Known drift", ABOUT, units, rows)
