"""The mix of a workload: named requests with weights, and the values drawn for them.

Short forms (`{zipfian: [1, 100000]}`, `{get: /item}`) are written out here, so that whatever makes
a Plan meets one form only. Whether a driver can ask a request is not known here.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from benchlab.model.experiment import Expect, Operation, Transaction
from benchlab.model.grammar import (
    LATER,
    Count,
    Form,
    ListOf,
    MapOf,
    Number,
    Reading,
    Record,
    Text,
    one_of,
)
from benchlab.model.tree import Node, fail, join, nearest

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_TEMPLATE = re.compile(r"\$\{([^}]*)\}")
_WHOLE = Count(low=-(2**63), high=2**63 - 1)
_ENDS = ListOf(_WHOLE)


def _range(node: Node, key: str) -> dict[str, int]:
    if isinstance(node.value, dict):
        found = Record({"low": _WHOLE, "high": _WHOLE}, required=("low", "high")).read(node, key)
        low, high = found["low"], found["high"]
    else:
        ends = _ENDS.read(node, key)
        if len(ends) != 2:
            fail(node, key, "is written [LEAST, GREATEST], such as [1, 100000]")
        low, high = ends
    if low > high:
        fail(node, key, f"{low} is more than {high}")
    return {"low": low, "high": high}


def _length(node: Node, key: str) -> int | dict[str, int]:
    form = Count(low=0, high=2**32 - 1)
    if node.is_scalar:
        return form.read(node, key)
    for index, child in enumerate(node.items):
        form.read(child, f"{key}[{index}]")
    return _range(node, key)


_LENGTH = Reading(
    _length,
    {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
            {"type": "object"},
        ]
    },
)


def _ranged(**more: Form) -> Form:
    """`[1, 9]`, or the range's ends as keys beside more of them."""
    record = Record({"low": _WHOLE, "high": _WHOLE, **more}, required=("low", "high"))

    def read(node: Node, key: str) -> dict[str, Any]:
        if not isinstance(node.value, dict):
            return _range(node, key)
        found = record.read(node, key)
        if found["low"] > found["high"]:
            fail(node, key, f"{found['low']} is more than {found['high']}")
        return found

    pair = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    return Reading(read, {"anyOf": [pair, record.schema()]})


def _keyed(node: Node, key: str) -> dict[str, Any]:
    if not isinstance(node.value, dict) or "low" in node.entries:
        return {"length": _length(node, key)}
    return Record({"length": _LENGTH, "key": Text()}, required=("length",)).read(node, key)


def _sequence(node: Node, key: str) -> dict[str, int]:
    if node.is_scalar:
        return {"start": _WHOLE.read(node, key)}
    found = Record({"start": _WHOLE, "step": _WHOLE}, required=("start",)).read(node, key)
    return dict(found)


def _choice(node: Node, key: str) -> list[dict[str, Any]]:
    if isinstance(node.value, dict):
        weight = Number(above=True)
        chosen = [
            {"value": name, "weight": weight.read(child, join(key, name))}
            for name, child in node.value.items()
        ]
    else:
        values = ListOf(Reading(_constant, {})).read(node, key)
        chosen = [{"value": value, "weight": 1.0} for value in values]
    if not chosen:
        fail(node, key, "needs something to choose from")
    return chosen


def _constant(node: Node, key: str) -> Any:
    if not node.is_scalar or node.value is None:
        fail(node, key, f"is {node.kind()}, not a number or a text")
    return node.text if isinstance(node.value, bool) else node.value


_share = Number(high=1.0)
GENERATORS: dict[str, Form] = {
    "constant": Reading(_constant, {"type": ["string", "number", "boolean"]}),
    "sequence": Reading(_sequence, {"type": ["integer", "object"]}),
    "uniform": _ranged(),
    "zipfian": _ranged(
        theta=Number(above=True),
        scramble=Reading(lambda node, key: _yes_or_no(node, key), {"type": "boolean"}),
    ),
    "latest": _ranged(),
    "hotspot": Record(
        {"low": _WHOLE, "high": _WHOLE, "set": _share, "share": _share},
        required=("low", "high", "set", "share"),
    ),
    "exponential": _ranged(share=_share, within=_share),
    "text": Reading(_keyed, {"type": ["integer", "array", "object"]}),
    "bytes": Reading(_keyed, {"type": ["integer", "array", "object"]}),
    "choice": Reading(_choice, {"type": ["array", "object"]}),
    "template": Text(),
    "list": _ranged(
        length=_LENGTH,
        distinct=Reading(lambda node, key: _yes_or_no(node, key), {"type": "boolean"}),
    ),
}
"""Generators of values by name, each read into the Plan's form."""


def _yes_or_no(node: Node, key: str) -> bool:
    if not isinstance(node.value, bool):
        fail(node, key, f"is {node.kind()}, not true or false")
    return node.value


def _value(node: Node, key: str) -> dict[str, Any]:
    if node.is_scalar:
        constant = _constant(node, key)
        return {"template" if "${" in str(constant) else "constant": constant}
    if not isinstance(node.value, dict):
        fail(node, key, "is a list; choose from it with {choice: […]}")
    name = one_of(node, key, GENERATORS)
    Record(GENERATORS).check_keys(node, key)
    below = join(key, name)
    found = GENERATORS[name].read(node.entries[name], below)
    if name == "list" and "length" not in found:
        fail(node, below, "length is missing")
    return {name: found}


VALUES = MapOf(
    Reading(
        _value,
        {
            "anyOf": [
                {"type": ["string", "number", "boolean"]},
                {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "properties": {name: form.schema() for name, form in GENERATORS.items()},
                    "additionalProperties": False,
                },
            ]
        },
    )
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _headers(node: Node, key: str) -> dict[str, str]:
    """Headers by name; the engine writes those that say where a message goes and ends."""
    found: dict[str, str] = MapOf(Text(written=True)).read(node, key)
    for name, value in found.items():
        child, below = node.entries[name], join(key, name)
        if not _TOKEN.fullmatch(name):
            fail(child, below, "is not the name of a header")
        if re.search(r"[\r\n\0]", value):
            fail(child, below, "a header's value stands on one line")
        if name.lower() in ("content-length", "transfer-encoding", "connection"):
            fail(child, below, "is written by the driver")
    return found


def _path(node: Node, key: str) -> str:
    text = Text().read(node, key)
    if not text.startswith("/"):
        fail(node, key, f"{text!r} is no path: it starts with /")
    if re.search(r"[\s\0]", _TEMPLATE.sub("", text)):
        fail(node, key, f"{text!r} is no path: write %20 for a space")
    return text


HEADERS = Reading(_headers, MapOf(Text(written=True)).schema())
PATH = Reading(_path, {"type": "string", "pattern": "^/"})
EXPECT = Record(
    {
        "status": ListOf(Count(low=100, high=599), single=True, some=True),
        "body": Text(),
        "contains": Text(),
        "headers": MapOf(Text(written=True)),
        "rows": Text(written=True),
        "first": Text(written=True),
    }
)
_REQUEST: dict[str, Form] = {
    **dict.fromkeys(METHODS, PATH),
    "sql": Text(),
    "headers": HEADERS,
    "body": Text(),
    "expect": EXPECT,
    "for_each": Text(),
}
_LATER = ("command", "script")
_STEP = Record({**_REQUEST, "name": Text()}, later=_LATER)


def _steps(node: Node, key: str) -> tuple[Operation, ...]:
    name = key.split(".")[-2] if "." in key else key
    steps = ListOf(Reading(lambda child, _: child, {}), some=True).read(node, key)
    found = []
    for index, child in enumerate(steps):
        fields = _STEP.read(child, f"{key}[{index}]")
        called = fields.pop("name", f"{name}.{index + 1}")
        found.append(_operation(called, fields, child, f"{key}[{index}]"))
    names = [operation.name for operation in found]
    for index, called in enumerate(names):
        if called in names[:index]:
            fail(steps[index], f"{key}[{index}]", f"the name {called!r} is taken")
    return tuple(found)


_ENTRY = Record(
    {
        **_REQUEST,
        "weight": Number(above=True),
        "transaction": Reading(_steps, {"type": "array", "items": _STEP.schema()}),
    },
    later=_LATER,
)


def _entry(node: Node, key: str) -> Transaction:
    fields = _ENTRY.read(node, key)
    name = node_name(key)
    weight = fields.pop("weight", 1.0)
    operations = fields.pop("transaction", None)
    if operations is None:
        operations = (_operation(name, fields, node, key),)
    elif fields:
        other = next(iter(fields))
        fail(node.entries[other], join(key, other), "stands in each step of the transaction")
    return Transaction(name=name, weight=weight, operations=operations)


def node_name(key: str) -> str:
    """The last part of a written path."""
    quoted = re.search(r'"((?:[^"\\]|\\.)*)"$', key)
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else key.rpartition(".")[2]


def _operation(name: str, fields: dict[str, Any], node: Node, key: str) -> Operation:
    ask = one_of(node, key, (*METHODS, "sql"))
    expect = Expect.model_validate(fields.get("expect", {}))
    if ask == "sql":
        for other in ("headers", "body"):
            if other in fields:
                fail(node.entries[other], join(key, other), "belongs to HTTP, not to sql")
        wrong = [
            part for part in ("status", "body", "contains", "headers") if getattr(expect, part)
        ]
        request: dict[str, Any] = {"sql": fields["sql"]}
    else:
        wrong = [part for part in ("rows", "first") if getattr(expect, part)]
        request = {"method": ask.upper(), "path": fields[ask], "body": fields.get("body")}
        request["headers"] = tuple(fields.get("headers", {}).items())
    if wrong:
        expected = node.entries["expect"]
        below = join(join(key, "expect"), wrong[0])
        fail(expected.entries[wrong[0]], below, f"cannot be expected of {ask}")
    return Operation(name=name, expect=expect, for_each=fields.get("for_each"), **request)


MIX = MapOf(
    Reading(_entry, {**_ENTRY.schema(), "minProperties": 1}),
    some=True,
)


def check_mentions(node: Node, key: str, names: Collection[str]) -> None:
    """Refuse a `${name}` anywhere below a node that is not one of the values.

    Raises:
        InputError: with the nearest name.
    """
    for child, below in _scalars(node, key):
        if not isinstance(child.value, str):
            continue
        if re.search(r"\.(constant|choice)\b", below):
            continue
        if (
            re.search(r"\.(text|bytes)\.key$|(?<!headers)\.for_each$", below)
            and child.value not in names
        ):
            fail(child, below, f"unknown value {child.value!r}", nearest(child.value, names))
        for name in _TEMPLATE.findall(child.value):
            if name.startswith("env:"):
                fail(child, below, f"${{{name}}} in a workload {LATER}")
            if name not in names:
                fail(child, below, f"unknown value ${{{name}}}", nearest(name, names))


def _scalars(node: Node, key: str) -> Iterator[tuple[Node, str]]:
    if isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from _scalars(child, join(key, name))
    elif isinstance(node.value, tuple):
        for index, child in enumerate(node.value):
            yield from _scalars(child, f"{key}[{index}]")
    else:
        yield node, key
