"""Thresholds on metrics as people write them: `latency_p99 < 50ms`, `errors < 0.1%`."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from benchlab.model import quantities
from benchlab.model.errors import InputError
from benchlab.model.experiment import Expression
from benchlab.model.grammar import Text
from benchlab.model.metrics import METRICS
from benchlab.model.tree import Node, fail, nearest

_FORM = re.compile(r"\s*([\w.-]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*")


NONE: Mapping[str, str] = MappingProxyType({})


def parse(text: str, counters: Mapping[str, str] = NONE) -> Expression:
    """Read a threshold; `counters` are the systems' own metrics, with their units.

    Raises:
        InputError: when it is not `METRIC < QUANTITY`, or the metric or the unit is unknown.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a threshold: write one like latency_p99 < 50ms")
    name, operator, limit = match.groups()
    unit = METRICS[name].unit if name in METRICS else counters.get(name, "count")
    if name not in METRICS and name not in counters:
        raise InputError(f"unknown metric {name!r}", nearest=nearest(name, [*METRICS, *counters]))
    return Expression.model_validate(
        {
            "text": text.strip(),
            "metric": name,
            "operator": operator,
            "limit": quantities.parse(limit, unit),
        }
    )


def read(node: Node, key: str, counters: Mapping[str, str] = NONE) -> Expression:
    """A threshold of `promises:`, `abort_when:` or `keep:`.

    Raises:
        InputError: with its place.
    """
    try:
        return parse(Text().read(node, key), counters)
    except InputError as error:
        fail(node, key, error.what, error.nearest)


def holds(expression: Expression, figure: float) -> bool:
    """Whether a figure in SI units keeps the threshold."""
    match expression.operator:
        case "<":
            return figure < expression.limit
        case "<=":
            return figure <= expression.limit
        case ">":
            return figure > expression.limit
        case ">=":
            return figure >= expression.limit
