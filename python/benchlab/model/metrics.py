"""The metrics: their names, units, good direction and how they are compared.

The same names serve `compare:`, `promises:`, `keep:` and `abort_when:`.
"""

from typing import Literal

from benchlab.model.evidence import Frozen

Histogram = Literal["response", "service", "wait", "lag"]
Direction = Literal["up", "down", "none"]


CAPACITY, OVER_PEAK = "capacity", "capacity_over_peak"
"""Of a case whose rate is sought: the highest that keeps its target; that by its usual peak."""


class Metric(Frozen):
    """A figure of a trial."""

    name: str
    unit: str
    better: Direction
    kind: Literal["rate", "mean", "quantile", "maximum", "share", "gauge"]
    quantile: float | None = None
    histogram: Histogram | None = None
    """None for `latency_*`, which is response under an open load and service under a closed one."""


QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Of times, as metrics are named by them."""


def _metrics() -> dict[str, Metric]:
    found = [
        Metric(name="throughput", unit="1/s", better="up", kind="rate"),
        Metric(name="completion_time", unit="s", better="down", kind="mean"),
        Metric(name=CAPACITY, unit="1/s", better="up", kind="rate"),
        Metric(name=OVER_PEAK, unit="", better="up", kind="rate"),
        Metric(name="errors", unit="", better="down", kind="share"),
        Metric(name="bytes_per_transaction", unit="B", better="down", kind="mean"),
        Metric(name="system_cpu", unit="cores", better="down", kind="mean"),
        Metric(name="system_cpu_per_transaction", unit="s", better="down", kind="mean"),
        Metric(name="system_memory", unit="B", better="down", kind="gauge"),
        Metric(name="system_memory_peak", unit="B", better="down", kind="gauge"),
        Metric(name="system_read_per_transaction", unit="B", better="down", kind="mean"),
        Metric(name="system_written_per_transaction", unit="B", better="down", kind="mean"),
        Metric(name="agent_cpu_per_transaction", unit="s", better="down", kind="mean"),
    ]
    latencies: dict[str, Histogram | None] = {
        "latency": None,
        "response": "response",
        "service": "service",
    }
    for prefix, histogram in latencies.items():
        for label, q in QUANTILES.items():
            found.append(
                Metric(
                    name=f"{prefix}_{label}",
                    unit="s",
                    better="down",
                    kind="quantile",
                    quantile=q,
                    histogram=histogram,
                )
            )
        found.append(
            Metric(
                name=f"{prefix}_max", unit="s", better="down", kind="maximum", histogram=histogram
            )
        )
        found.append(
            Metric(name=f"{prefix}_mean", unit="s", better="down", kind="mean", histogram=histogram)
        )
    others: tuple[Histogram, ...] = ("wait", "lag")
    for name in others:
        found.append(
            Metric(
                name=f"{name}_p99",
                unit="s",
                better="down",
                kind="quantile",
                quantile=0.99,
                histogram=name,
            )
        )
    return {metric.name: metric for metric in found}


METRICS: dict[str, Metric] = _metrics()
"""Every metric by name; those made of a system's own counters come beside these (`made_of`)."""
HEADLINES = (
    CAPACITY,
    OVER_PEAK,
    "throughput",
    "completion_time",
    "latency_p50",
    "latency_p99",
    "errors",
    "system_cpu_per_transaction",
    "system_memory",
)
"""The metrics of a compact table, as far as they exist."""
PER_TRANSACTION = "_per_transaction"
_RATES = {"": "1/s", "B": "B/s", "s": "cores"}
"""Units of rates: a counter of seconds grows by so many at once, as with cores or sessions."""


def made_of(
    kind: str, counter: str, what: Literal["counter", "gauge"], unit: str
) -> tuple[Metric, ...]:
    """The metrics made of a counter or gauge of a kind of system.

    `postgresql.wal_bytes` is the rate of a counter, `postgresql.wal_bytes_per_transaction` what one
    transaction took of it; a gauge such as `postgresql.numbackends` has its mean alone.
    """
    name, plain = f"{kind}.{counter}", unit or "count"
    if what == "gauge":
        return (_own(name, plain),)
    return _own(name, _RATES.get(unit, unit)), _own(name + PER_TRANSACTION, plain)


def metric(name: str, unit: str = "") -> Metric:
    """A metric by its name; one of a system's own counters has the unit that is given.

    What a transaction takes is the better the less it is, but for what a cache has answered; a rate
    follows from how much was asked, and most gauges are good neither high nor low.
    """
    return METRICS[name] if name in METRICS else _own(name, unit)


def _own(name: str, unit: str) -> Metric:
    better: Direction = "none"
    if name.endswith(PER_TRANSACTION):
        better = "up" if "hit" in name else "down"
    return Metric(name=name, unit=unit, better=better, kind="mean")
