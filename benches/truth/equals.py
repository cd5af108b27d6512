"""Equal things: how often they are called different, by Benchlab and by a script.

The script does what people do: it starts nginx, has wrk run several times, starts it anew, has wrk
run as often, and asks Welch's test.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benches.truth import asking, server, tools
from benches.truth.telling import percent, share
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit
from scipy import stats

from benchlab.stats.family import ALPHA

COMPARISONS, SCRIPTS = 100, 50
RUNS = 5
ENOUGH = 20
"""Comparisons, from which on something is said of their share."""
RECORDS = {"name": "records", "options": {"read": "100%"}, "data": {"records": 1000}}
SYSTEMS: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "nginx": ({"kind": "nginx"}, {"name": "page"}, 0),
    "redis": ({"kind": "redis"}, RECORDS, 0),
    "memcached": ({"kind": "memcached"}, RECORDS, 0),
    "postgresql": ({"kind": "postgresql"}, RECORDS, 30),
}
"""Each with its workload, and how much longer a comparison of it takes, in seconds."""
DIFFERENT = ("better", "worse", "different-but-small")


def compare(name: str, place: Place) -> dict[str, Any]:
    """One server against itself."""
    system, workload, _ = SYSTEMS[name]
    ran = asking.run(place, {**asking.pair(system, system, place), "workload": workload})
    found = ran.compared()
    if not found["refused"] and found["verdict"] != "invalid":
        asking.tidy(ran)
    return found


def script(place: Place) -> dict[str, Any]:
    """nginx against nginx, as a script has it."""
    sides: list[list[float]] = []
    for _ in range(2):
        with server.nginx(place) as url:
            seconds = max(1.0, place.lengths.duration_s)
            sides.append([tools.rate(place, url, seconds) for _ in range(RUNS)])
    p = float(stats.ttest_ind(*sides, equal_var=False).pvalue)
    one, other = (statistics.fmean(side) for side in sides)
    return {"sides": sides, "p": p, "effect": other / one - 1, "different": p <= ALPHA}


def units(lengths: Lengths) -> Sequence[Unit]:
    """The comparisons, the servers in turn; then the scripts."""
    kinds = list(SYSTEMS)
    made = []
    for number in range(COMPARISONS):
        name = kinds[number % len(kinds)]
        about_s = lengths.comparison_s + SYSTEMS[name][2]
        made.append(Unit(f"equals/{name}/{number:03}", about_s, partial(compare, name)))
    about_s = 2 * RUNS * (max(1.0, lengths.duration_s) + 0.1) + 1
    made += [Unit(f"equals/script/{n:03}", about_s, script) for n in range(SCRIPTS)]
    return made


def rows(journal: Journal) -> Sequence[Row]:
    """One for all servers, one for each, one for the script."""
    every = [line for name in SYSTEMS for line in journal.of(f"equals/{name}/")]
    made = [_compared("nginx, Redis, memcached and PostgreSQL in turn", every)]
    for name in SYSTEMS:
        of = COMPARISONS // len(SYSTEMS)
        made.append(_compared(name, journal.of(f"equals/{name}/"), of))
    lines = journal.of("equals/script/")
    different = sum(line.found["different"] for line in lines)
    off = [abs(line.found["effect"]) for line in lines]
    seen = f"called different: {share(different, len(lines))}"
    if off:
        seen += f"; median of what they differ by {percent(statistics.median(off))}"
    setup = f"wrk on nginx, {RUNS} runs of 2 s, started anew, {RUNS} runs; Welch's test at 5 %"
    means = _means(different, len(lines), "This script")
    return [*made, Row(setup, "no difference", seen, lines, SCRIPTS, means)]


def _compared(what: str, lines: Sequence[Line], of: int = COMPARISONS) -> Row:
    words = Counter(line.found["verdict"] for line in lines)
    different = sum(words[word] for word in DIFFERENT)
    told = [line.found for line in lines if line.found["verdict"] != "invalid"]
    left_out = sum(bool(found["refused"]) for found in told)
    again = sum(sum(line.found["again"].values()) for line in lines)
    listed = ", ".join(f"{count} {word}" for word, count in words.most_common())
    seen = f"called different: {share(different, len(lines))}; {listed or 'none yet'}; "
    seen += f"trials left out in {left_out}, measured again: {again}"
    means = _means(different, len(lines), "Benchlab")
    return Row(f"{what}, each against itself", "no difference", seen, lines, of, means)


def _means(different: int, count: int, who: str) -> str:
    if count < ENOUGH:
        return "Too few to tell."
    low, high = stats.binomtest(different, count).proportion_ci(method="exact")
    if low > ALPHA:
        return f"{who} finds differences where there are none, oftener than 5 % allows."
    if high < 2 * ALPHA:
        return f"{who}'s false alarms are as rare as 5 % asks, and surely below 10 %."
    return f"{who}'s false alarms agree with 5 %; more comparisons would say how well."


ABOUT = """\
The comparisons differ in nothing, so that every difference is a false alarm. The script is what
people do: it takes the seconds of one start for independent values."""
PART = Part("equals", "(a) Equal servers", ABOUT, units, rows)
