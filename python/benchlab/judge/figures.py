"""The metrics of one trial, in SI units, by the names of `model.metrics`.

A quantile that lies among the transactions that never ended well is infinite. Absent: whether a
figure may be used (`checks`), and any figure over several trials (`cases`).
"""

from collections.abc import Mapping
from math import inf

from benchlab.judge.counted import NS, Counted, Field
from benchlab.judge.own import own
from benchlab.judge.probed import Probed, memory
from benchlab.model.metrics import METRICS, Metric
from benchlab.stats.distribution import Distribution

_MAXIMA: Mapping[Field, str] = {"response": "max_response_ns", "service": "max_service_ns"}


def figures(seen: Counted, resources: Probed) -> dict[str, float]:
    """Every metric this trial has, by name; infinite where what it asks for never came."""
    found = _rates(seen) | _times(seen) | _resources(seen, resources)
    return {name: found[name] for name in METRICS if name in found} | own(seen, resources)


def distribution(metric: Metric, seen: Counted) -> Distribution:
    """The distribution that a quantile, mean or maximum of times is read from."""
    return seen.merged[field_of(metric, seen)].with_infinite(infinite(metric, seen))


def field_of(metric: Metric, seen: Counted) -> Field:
    """The histogram of a metric of times: latency is response under an open load, else service."""
    return metric.histogram or ("response" if seen.is_open else "service")


def infinite(metric: Metric, seen: Counted) -> int:
    """How many count as infinitely slow: in what a user sees, all that did not end well."""
    return seen.never_ok if metric.histogram is None else 0


def _rates(seen: Counted) -> dict[str, float]:
    completed, due = seen.during("completed"), seen.total("due")
    found = {"throughput": seen.throughput} if seen.counted_s > 0 else {}
    if seen.ends_by_count:
        found["completion_time"] = seen.length_s
    if due > 0:
        found["errors"] = seen.failures / due
    if completed > 0:
        moved = seen.during("bytes_out") + seen.during("bytes_in")
        found["bytes_per_transaction"] = moved / completed
    return found


def _times(seen: Counted) -> dict[str, float]:
    found = {}
    for name, metric in METRICS.items():
        if metric.histogram is None and not name.startswith("latency_"):
            continue
        times = distribution(metric, seen)
        figure = times.mean() if metric.kind == "mean" else times.quantile(metric.quantile or 1.0)
        if figure is None:
            continue
        if metric.kind == "maximum" and figure < inf:
            # Kept to the nanosecond beside the histogram, which rounds.
            figure = seen.maxima[_MAXIMA[field_of(metric, seen)]]
        found[name] = figure / NS
    return found


def _resources(seen: Counted, resources: Probed) -> dict[str, float]:
    found: dict[str, float] = {}
    completed = seen.during("completed")
    source = "agent" if seen.is_embedded else "system"
    used_s = agent_cpu_s(seen) if seen.is_embedded else cpu_s(resources, source)
    if used_s is not None and seen.length_s > 0:
        found["system_cpu"] = used_s / seen.length_s
        if completed > 0:
            # Work and time of the same stretch: the tail's slots are in neither.
            found["system_cpu_per_transaction"] = found["system_cpu"] / seen.throughput
    for name in ("read", "written"):
        moved = None if seen.is_embedded else resources.increase(source, f"{name}_bytes")
        if moved is not None and completed > 0:
            found[f"system_{name}_per_transaction"] = moved / seen.length_s / seen.throughput
    if (line := memory(resources, source)) is not None:
        # It is told once a second at most; what was there as a shorter trial began is there still.
        known = line.values[line.at_s <= seen.length_s]
        inside = int((line.at_s[: known.size] >= 0).sum()) or 1
        if known.size:
            found["system_memory"] = float(known[-1])
            found["system_memory_peak"] = float(known[-inside:].max())
    agent_s = agent_cpu_s(seen)
    if agent_s is not None and completed > 0 and not seen.is_embedded:
        found["agent_cpu_per_transaction"] = agent_s / seen.length_s / seen.throughput
    return found


def cpu_s(resources: Probed, source: str) -> float | None:
    """CPU time a source's processes spent in the measured part."""
    parts = [resources.increase(source, name) for name in ("cpu_user_s", "cpu_system_s")]
    return None if None in parts else sum(part for part in parts if part is not None)


def agent_cpu_s(seen: Counted) -> float | None:
    """CPU time the agent's process spent in the measured part."""
    if "user_cpu_ns" not in seen.end or "system_cpu_ns" not in seen.end or seen.length_s <= 0:
        return None
    return float(seen.end["user_cpu_ns"] + seen.end["system_cpu_ns"]) / NS
