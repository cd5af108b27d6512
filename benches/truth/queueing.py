"""Queueing theory on a real process: one server, first come, first served, Poisson arrivals.

Requests take a time drawn from an exponential law; what they took in all is counted by the server's
own clock. Theory is of that distribution and of the rate that was completed: the mean wait by
Pollaczek and Khinchine, λE[S²] / 2(1 - λE[S]), and the whole distribution as a geometric number of
residual times of service (Cooper 1981, § 5.8; here by a discrete Fourier transform in steps of a
microsecond). The path between generator and server is not in it; where the server is 2 % busy
almost nobody waits, and what is seen beyond theory is the path alone. In the other lines it is
told how far off the figure is, and how far it is off from theory and this path together. What the
server's clock does not see, such as another guest or the kernel between two requests, counts the
more the busier it is, by 1 / (1 - busy): at 92 % busy one per cent of its core makes the mean
longer by an eighth.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benches.truth import asking, server
from benches.truth.telling import percent, seconds, told_median
from benches.truth.units import Journal, Lengths, Line, Part, Place, Row, Unit

MEAN_S, BEYOND_S = 200e-6, 6.7e-6
"""What is drawn on average, and about what a request takes beyond."""
ALONE = 0.02
"""So busy that almost nobody waits."""
BIN_S = 1e-6
ARRIVALS = {ALONE: 5_000, 0.5: 200_000, 0.7: 400_000, 0.9: 2_000_000}
"""How many, by how busy the server is to be."""
ROUNDS = 2
STEPS = 1 << 18


@dataclass(frozen=True)
class Theory:
    """Times of response of a server of one place with Poisson arrivals."""

    busy: float
    mean_s: float
    p50_s: float
    p99_s: float


def theory(bins: Mapping[int, int], rate: float) -> Theory:
    """Of a server whose times of service, in whole microseconds, were counted so often.

    Raises ValueError where more comes than it can serve.
    """
    lengths = np.array(list(bins), dtype=np.float64) + 0.5
    counts = np.array(list(bins.values()), dtype=np.float64)
    law = np.zeros(STEPS)
    law[np.array(list(bins))] = counts / counts.sum()
    mean, square = ((lengths**power * counts).sum() / counts.sum() for power in (1, 2))
    busy = rate * mean * BIN_S
    if busy >= 1:
        raise ValueError(f"{busy:.3g} busy: there is no steady state")
    residual = (1 - np.cumsum(law)).clip(0) + law / 2
    residual /= residual.sum()
    wait = (1 - busy) / (1 - busy * np.fft.rfft(residual))
    whole = np.cumsum(np.fft.irfft(wait * np.fft.rfft(law), STEPS))
    p50, p99 = (float(np.searchsorted(whole, share) + 0.5) * BIN_S for share in (0.5, 0.99))
    waiting = rate * BIN_S * square / (2 * (1 - busy))
    return Theory(busy, float(mean + waiting) * BIN_S, p50, p99)


def measure(busy: float, place: Place) -> dict[str, Any]:
    """An open load that keeps the server so busy."""
    rate = busy / (MEAN_S + BEYOND_S)
    length_s = 2.0 if place.lengths.is_short else ARRIVALS[busy] / rate
    systems = {"server": server.system(place, "server", mean=MEAN_S, seed=_seed(place))}
    load = {
        "rate": f"{rate:.6g}/s",
        "connections": 512,
        "duration": f"{length_s:.1f}s",
        "warmup": "1s",
        "timeout": "30s",
    }
    experiment = {"systems": systems, "workload": server.PAGE, "load": load}
    seed = {"sessions": 1, "blocks": 1, "seed": _seed(place)}
    ran = asking.run(place, {**experiment, **seed})
    asking.tidy(ran)
    (life,) = [life for life in server.told(place, "server") if life["requests"] > 100]
    reached = ran.metric("server", "throughput")["estimate"]
    true = theory({int(name): count for name, count in life["bins_us"].items()}, reached)
    names = {"mean_s": "response_mean", "p50_s": "response_p50", "p99_s": "response_p99"}
    found = {key: ran.metric("server", name) for key, name in names.items()}
    return {
        "true": true.__dict__,
        "seen": {key: one["estimate"] for key, one in found.items()},
        "resolved": {key: one["resolved"] for key, one in found.items()},
        "requests": reached * length_s,
        "rows": ran.rows("server"),
        "steal": ran.figure("server", "steal"),
    }


def _seed(place: Place) -> int:
    return 1 + sum(place.name.encode())


def units(lengths: Lengths) -> Sequence[Unit]:
    """So many rounds of each."""
    made = []
    for number in range(ROUNDS):
        for busy, arrivals in ARRIVALS.items():
            length_s = arrivals * (MEAN_S + BEYOND_S) / busy
            about_s = (2 if lengths.is_short else length_s) + 15
            made.append(Unit(f"queueing/{busy:g}/{number}", about_s, partial(measure, busy)))
    return made


def rows(journal: Journal) -> Sequence[Row]:
    """One for each."""
    alone = journal.of(f"queueing/{ALONE:g}/")
    beyond_s = [seen - true for seen, true in _pairs(alone, "mean_s")]
    path_s = statistics.median(beyond_s) if beyond_s else None
    return [_row(busy, journal.of(f"queueing/{busy:g}/"), path_s) for busy in ARRIVALS]


def _row(busy: float, lines: Sequence[Line], path_s: float | None) -> Row:
    setup = (
        f"{ARRIVALS[busy]:,} arrivals, the server {percent(busy)} busy, {MEAN_S * 1e6:g} µs each"
    )
    if not lines:
        return Row(setup, "-", "-", lines, ROUNDS, "")

    def median(name: str) -> float:
        return float(statistics.median(line.found["true"][name] for line in lines))

    truth = f"{percent(median('busy'))} busy; mean {seconds(median('mean_s'))}, "
    truth += f"p50 {seconds(median('p50_s'))}, p99 {seconds(median('p99_s'))}"
    said, off, beside = [], [], []
    for name in ("mean_s", "p50_s", "p99_s"):
        given = _pairs(lines, name)
        text = f"{name[:-2]} {told_median(seen for seen, _ in given)}"
        if given:
            off.append(_worst(given, 0.0))
            text += f" (off by {percent(off[-1], signed=True)}"
            if path_s is not None and busy != ALONE:
                beside.append(_worst(given, path_s))
                text += f", with the path by {percent(beside[-1], signed=True)}"
            text += ")"
        if len(given) < len(lines):
            text += f", withheld {len(lines) - len(given)} times"
        said.append(text)
    taken = max(line.found["steal"] or 0.0 for line in lines)
    said.append(f"another guest had up to {percent(taken)} of a core")
    unresolved = sum(not all(line.found["resolved"].values()) for line in lines)
    said.append(
        f"said to be not resolved, as the path costs too much: {unresolved} of {len(lines)}"
    )
    if not off:
        means = "Nothing is said."
    elif busy == ALONE:
        means = f"The path costs {seconds(path_s)}."
    else:
        means = f"Off by at most {percent(max(map(abs, off)))}"
        means += f", with the path by {percent(max(map(abs, beside)))}." if beside else "."
    return Row(setup, truth, "; ".join(said), lines, ROUNDS, means)


def _pairs(lines: Sequence[Line], name: str) -> list[tuple[float, float]]:
    """What was seen, where it was not withheld, and what is true."""
    both = [(line.found["seen"][name], line.found["true"][name]) for line in lines]
    return [(seen, true) for seen, true in both if seen is not None]


def _worst(given: Sequence[tuple[float, float]], path_s: float) -> float:
    """How far the worst is off from theory and the path, as a share."""
    return max((seen / (true + path_s) - 1 for seen, true in given), key=abs)


ABOUT = __doc__.partition("\n\n")[2].strip()
PART = Part("queueing", "(c) Queueing theory", ABOUT, units, rows)
