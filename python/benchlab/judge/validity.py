"""Which figures an invalid check takes away, metric by metric.

A fault of the host or the books withholds all. A generator at its limit withholds times, which are
partly its own, while what the system did reach stands as "at least" and what a transaction cost it
stands as it is. Absent: how a check is decided (`checks`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchlab.model.evidence import Check, Validity
from benchlab.model.metrics import CAPACITY, OVER_PEAK
from benchlab.model.metrics import metric as metric_of

ACCIDENTS = ("lag", "run-delay", "little", "steal", "swap", "clock", "idle")
"""Rows that a repetition may mend."""
LIMITED = "head-room"
"""The row of an agent at its limit, which a repetition mends unless it is there for good."""
GENERATOR = ("lag", "run-delay", LIMITED)
"""Rows in which the generator was late, starved or at its limit."""
_WHOLE = ("little", "steal", "swap", "clock", "cores")
_ALWAYS = ("lag_p99", "errors")
"""Lag is the generator's own figure, and an error is one whoever was late."""


@dataclass(frozen=True)
class Use:
    """How far a figure may be used."""

    validity: Validity = "valid"
    resolved: bool = True
    why: str = ""


def what_bounds(name: str) -> str:
    """What makes a figure of a metric a lower bound, in words that `of` may follow."""
    if name in (CAPACITY, OVER_PEAK):
        return "some session saw no rate break the target"
    return "the agent was the limit"


def is_time(name: str) -> bool:
    """Whether a metric is a length of time of transactions."""
    metric = metric_of(name)
    return metric.histogram is not None or name.startswith("latency_")


def uses(
    checks: Sequence[Check],
    names: Sequence[str],
    *,
    is_paced: bool,
    dear: Mapping[str, str] = MappingProxyType({}),
    nothing_due: str = "",
) -> dict[str, Use]:
    """For each metric, how far these checks let it be used.

    Args:
        checks: A trial's rows.
        names: The metrics it has.
        is_paced: Whether a schedule set the pace and was kept up with, so that an agent at its
            limit did not slow what it measured.
        dear: By statistic of times, what the path costs it where that is too much.
        nothing_due: Why the measured part holds no transaction, where it holds none; no figure
            stands for anything then.
    """
    if nothing_due:
        return {name: Use("withheld", why=nothing_due) for name in names}
    invalid = {check.name: check for check in checks if check.verdict == "invalid"}
    return {name: _use(name, invalid, is_paced, dear) for name in names}


def _use(name: str, invalid: Mapping[str, Check], is_paced: bool, dear: Mapping[str, str]) -> Use:
    whole = next((invalid[row] for row in _WHOLE if row in invalid), None)
    if whole is not None:
        return Use("withheld", why=f"{whole.name}: {whole.why}")
    if name in _ALWAYS:
        return Use()
    late = invalid.get("lag")
    limited = next((invalid[row] for row in GENERATOR if row in invalid), None)
    if limited is not None and name == "throughput":
        return Use("at-least", why=f"{limited.name}: {limited.why}")
    if limited is not None and name == "completion_time":
        return Use("withheld", why=f"{limited.name}: {limited.why}")
    if not is_time(name):
        return Use()
    # An agent at its limit that kept to its schedule was not late, or its lag would say so.
    guilty = late if is_paced else limited
    if guilty is not None:
        return Use("withheld", why=f"{guilty.name}: {guilty.why}")
    statistic = name.rpartition("_")[2]
    if statistic in dear and name != "wait_p99":
        return Use(resolved=False, why=f"not resolved ({dear[statistic]})")
    return Use()
