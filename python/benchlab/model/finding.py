"""`load: {find: highest rate, keep: latency_p99 < 50ms}`: the keys of a search for a capacity.

What may be kept, and what does not go with a rate that is sought. Absent: the search itself.
"""

from collections.abc import Mapping
from typing import Any

from benchlab.model import expressions
from benchlab.model.experiment import Expression
from benchlab.model.grammar import Anything, Choice, Form, ListOf, Quantity
from benchlab.model.metrics import CAPACITY, OVER_PEAK
from benchlab.model.metrics import metric as metric_of
from benchlab.model.tree import Node, fail, join

FIND, KEEP, PEAK = "find", "keep", "peak"
HIGHEST_RATE = "highest rate"
FORMS: Mapping[str, Form] = {
    FIND: Choice((HIGHEST_RATE,)),
    KEEP: ListOf(Anything({"type": "string"}), single=True, some=True),
    PEAK: Quantity("1/s", high=1e9),
}
_EXCLUDED = {
    "clients": "a closed load has no rate to be found",
    "rate": "the rate is what is found; `peak:` names the usual one",
    "shape": "each step of the search keeps one rate",
    "transactions": "each step of the search lasts for a duration",
    "think": "belongs to a closed load (clients)",
}
_NOT_KEPT = {
    "throughput": "is the schedule's at each step of the search",
    "completion_time": "is had of a number of transactions alone",
    CAPACITY: "is what is found",
    OVER_PEAK: "is what is found",
    "lag_p99": "is the load generator's own",
}


def read(
    node: Node, fields: Mapping[str, Any], key: str, counters: Mapping[str, str]
) -> dict[str, Any]:
    """The thresholds of `keep:`, once it is sure that a search is wholly written.

    Args:
        node: The section `load:`.
        fields: It as its forms read it.
        key: Its path, for messages.
        counters: The systems' own metrics with their units.

    Raises:
        InputError: with the place of what is wrong.
    """
    if FIND not in fields:
        for name in (KEEP, PEAK):
            if name in fields:
                what = f"belongs to a search: find: {HIGHEST_RATE}"
                fail(node.entries[name], join(key, name), what)
        return {}
    for name, why in _EXCLUDED.items():
        if name in fields:
            fail(node.entries[name], join(key, name), f"does not go with find: {why}")
    if KEEP not in fields:
        fail(node.entries[FIND], join(key, FIND), "needs keep: …, such as latency_p99 < 50ms")
    at, several = join(key, KEEP), node.entries[KEEP].items
    places = [(child, f"{at}[{index}]") for index, child in enumerate(several)]
    kept = (_threshold(*place, counters) for place in places or [(node.entries[KEEP], at)])
    return {KEEP: tuple(kept)}


def _threshold(node: Node, key: str, counters: Mapping[str, str]) -> Expression:
    found = expressions.read(node, key, counters)
    if why := _NOT_KEPT.get(found.metric):
        fail(node, key, f"{found.metric} {why}; keep a time or errors, as in latency_p99 < 50ms")
    if metric_of(found.metric).better == "down" and found.operator in (">", ">="):
        fail(node, key, f"{found.metric} is the better the lower it is: write {found.metric} < …")
    return found
