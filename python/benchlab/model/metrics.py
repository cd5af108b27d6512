"""The metrics: their names, units, good direction and how they are compared.

The same names serve `compare:`, `promises:`, `keep:` and `abort_when:`.
"""

from typing import Literal

from benchlab.model.evidence import Frozen

Histogram = Literal["response", "service", "wait", "lag"]
Direction = Literal["up", "down", "none"]


class Metric(Frozen):
    """A figure of a trial."""

    name: str
    unit: str
    better: Direction
    kind: Literal["rate", "mean", "quantile", "maximum", "share", "gauge"]
    quantile: float | None = None
    histogram: Histogram | None = None
    """None for `latency_*`, which is response under an open load and service under a closed one."""


def _metrics() -> dict[str, Metric]:
    quantiles = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    found = [
        Metric(name="throughput", unit="1/s", better="up", kind="rate"),
        Metric(name="completion_time", unit="s", better="down", kind="mean"),
        Metric(name="errors", unit="", better="down", kind="share"),
        Metric(name="bytes_per_transaction", unit="B", better="down", kind="mean"),
        Metric(name="system_cpu", unit="cores", better="down", kind="mean"),
        Metric(name="system_cpu_per_transaction", unit="s", better="down", kind="mean"),
        Metric(name="system_memory", unit="B", better="down", kind="gauge"),
        Metric(name="system_memory_peak", unit="B", better="down", kind="gauge"),
        Metric(name="agent_cpu_per_transaction", unit="s", better="down", kind="mean"),
    ]
    latencies: dict[str, Histogram | None] = {
        "latency": None,
        "response": "response",
        "service": "service",
    }
    for prefix, histogram in latencies.items():
        for label, q in quantiles.items():
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
"""Every metric by name; a system's own counters come beside these under their own names."""
