"""What the path between agent and system costs each figure of times, by the null server.

Its times are in the system's. What they add to a mean is their mean. What they add to a quantile is
seen by adding them once more, as independent ones. That does not tell where long ones among them
make up most of what lies beyond the quantile, since then they do so already; so what half as many
of them exceed counts if it is more. Absent: measuring it (`load.null`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from benchlab.judge.counted import NS
from benchlab.model.metrics import QUANTILES
from benchlab.model.quantities import format as readable
from benchlab.stats.distribution import Distribution, quantile_of_sum
from benchlab.stats.resolution import smallest_size


@dataclass(frozen=True)
class Cost:
    """What it costs one statistic."""

    path_ns: float
    system_ns: float

    @property
    def share(self) -> float:
        """Of what the system shows, which is at most all of it."""
        return min(1.0, self.path_ns / self.system_ns)

    @property
    def words(self) -> str:
        """`the path itself costs 40µs`."""
        return f"the path itself costs {readable(self.path_ns / NS, 's')}"


def costs(null: Distribution | None, system: Distribution) -> Mapping[str, Cost]:
    """By statistic (`mean`, `p50` … `max`); nothing where one of the two has no times.

    Where the null server's run is too short for a quantile, what is below stands in; so p99 does
    for the maximum, which grows with the length of a run.
    """
    path, whole = null and null.mean(), system.mean()
    if null is None or not path or not whole:
        return {}
    cost = Cost(path, whole)
    found = {"mean": cost}
    for label, share in QUANTILES.items():
        beyond = (1 + share) / 2
        of_path, of_system = null.quantile(beyond), system.quantile(share)
        if of_path and of_system and null.total >= smallest_size(beyond):
            added = quantile_of_sum(system, null, share) - of_system
            cost = Cost(max(added, of_path), of_system)
        found[label] = cost
    return found | {"max": found["p99"]}
