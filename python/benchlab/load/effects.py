"""Which operations change what is there, told from a Plan before anything is asked.

What cannot be told counts as a change. Over HTTP nothing is known: a method says little of data.
Absent: changes that a function or trigger makes behind a question.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_ASKS = re.compile(
    r"\s*(select|values|explain|pragma|show|table|set|begin|start|commit|end|rollback)\b", re.I
)
_CHANGES = re.compile(r"\b(insert|update|delete|merge|replace)\b", re.I)
_READS = re.compile(
    r"m?get|gets|mg|mn|exists|ping|p?ttl|type|strlen|getrange|getbit|bitcount|scan|echo|time"
    r"|h(get|mget|getall|keys|vals|len|exists|scan)|l(range|len|index)|dbsize|info|keys|version"
    r"|s(members|ismember|card|randmember|scan)|x(range|len|read)|stats|geodist|geosearch"
    r"|z(range|rangebyscore|revrange|score|card|count|rank|scan)"
)
"""Commands of Redis and memcached that change nothing."""


def changing(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the operations of a Plan that change what is there."""
    return tuple(dict.fromkeys(_changing(plan)))


def _changing(plan: Mapping[str, Any]) -> Iterator[str]:
    for transaction in plan["workload"]["transactions"]:
        for operation in transaction["operations"]:
            ((kind, asked),) = operation["request"].items()
            if _changes(kind, asked):
                yield str(operation["name"])


def _changes(kind: str, asked: Any) -> bool:
    match kind:
        case "sql":
            common = re.match(r"\s*with\b", asked, re.I) and not _CHANGES.search(asked)
            return not common and _ASKS.match(asked) is None
        case "command":
            return _READS.fullmatch(str(asked[0]).lower()) is None
        case "ldap":
            return "search" not in asked
        case "file":
            return "write" in asked
        case _:
            return False
