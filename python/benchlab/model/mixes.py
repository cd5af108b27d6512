"""The mix of a workload: named requests with weights, and the values drawn for them.

Short forms (`{zipfian: [1, 100000]}`, `{get: /item}`) are written out here, so that whatever makes
a Plan meets one form only. Whether a driver can ask a request is not known here.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from benchlab.model.experiment import Block, Expect, Operation, Transaction
from benchlab.model.grammar import (
    Choice,
    Count,
    Form,
    ListOf,
    MapOf,
    Number,
    Quantity,
    Reading,
    Record,
    Text,
    one_of,
)
from benchlab.model.tree import Node, fail, join, nearest, scalars

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


def _yes_or_no(node: Node, key: str) -> bool:
    if not isinstance(node.value, bool):
        fail(node, key, f"is {node.kind()}, not true or false")
    return node.value


_share = Number(high=1.0)
YES_OR_NO = Reading(_yes_or_no, {"type": "boolean"})
_EXPONENTIAL = _ranged(share=_share, within=_share)
_LIST = Record(
    {"low": _WHOLE, "high": _WHOLE, "length": _LENGTH, "distinct": YES_OR_NO},
    required=("low", "high", "length"),
)
_BATCH = Record(
    {"start": _WHOLE, "length": Count(high=2**32 - 1), "last": _WHOLE},
    required=("start", "length", "last"),
)


def _exponential(node: Node, key: str) -> dict[str, Any]:
    found: dict[str, Any] = _EXPONENTIAL.read(node, key)
    share, within = found.get("share", 0.95), found.get("within", 0.8571)
    if not 0 < within < share < 1:
        fail(node, key, f"needs 0 < within ({within:g}) < share ({share:g}) < 1")
    return found


def _list(node: Node, key: str) -> dict[str, Any]:
    found = _LIST.read(node, key)
    low, high, length = found["low"], found["high"], found["length"]
    if low > high:
        fail(node, key, f"{low} is more than {high}")
    most = length["high"] if isinstance(length, dict) else length
    if found.get("distinct") and most > high - low + 1:
        fail(node, key, f"there are not {most} distinct numbers from {low} to {high}")
    return found


def _batch(node: Node, key: str) -> dict[str, Any]:
    found = _BATCH.read(node, key)
    if found["start"] > found["last"]:
        fail(node, key, f"{found['start']} is more than {found['last']}")
    return found


GENERATORS: dict[str, Form] = {
    "constant": Reading(_constant, {"type": ["string", "number", "boolean"]}),
    "sequence": Reading(_sequence, {"type": ["integer", "object"]}),
    "uniform": _ranged(),
    "zipfian": _ranged(
        theta=Number(above=True),
        scramble=YES_OR_NO,
    ),
    "latest": _ranged(),
    "hotspot": Record(
        {"low": _WHOLE, "high": _WHOLE, "set": _share, "share": _share},
        required=("low", "high", "set", "share"),
    ),
    "exponential": Reading(_exponential, _EXPONENTIAL.schema()),
    "text": Reading(_keyed, {"type": ["integer", "array", "object"]}),
    "bytes": Reading(_keyed, {"type": ["integer", "array", "object"]}),
    "choice": Reading(_choice, {"type": ["array", "object"]}),
    "template": Text(),
    "list": Reading(_list, _LIST.schema()),
    "batch": Reading(_batch, _BATCH.schema()),
}
"""Generators of values by name, each read into the Plan's form."""


def _value(node: Node, key: str) -> dict[str, Any]:
    if node.is_scalar:
        constant = _constant(node, key)
        return {"template" if "${" in str(constant) else "constant": constant}
    if not isinstance(node.value, dict):
        fail(node, key, "is a list; choose from it with {choice: […]}")
    name = one_of(node, key, GENERATORS)
    Record(GENERATORS).check_keys(node, key)
    below = join(key, name)
    return {name: GENERATORS[name].read(node.entries[name], below)}


def _values(node: Node, key: str) -> dict[str, Any]:
    for name, child in node.entries.items():
        if not name or re.search(r"[${}]", name):
            fail(child, join(key, name), "a value's name is not empty and has none of $, { and }")
    return _EACH_VALUE.read(node, key)


_EACH_VALUE = MapOf(
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
VALUES = Reading(_values, _EACH_VALUE.schema())
_WRITTEN = ("host", "content-length", "transfer-encoding", "connection")
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
        if name.lower() in _WRITTEN:
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
_BODY = ("body", "body_file", "chunks")
_BYTES = Quantity("B", high=2**32 - 1)


def _bytes(node: Node, key: str) -> int:
    return round(_BYTES.read(node, key))


def _size(node: Node, key: str) -> int | dict[str, int]:
    if node.is_scalar:
        return round(Quantity("B", zero=True, high=2**32 - 1).read(node, key))
    found = _range(node, key)
    if found["low"] < 0:
        fail(node, key, f"{found['low']} is no size")
    return found


SIZE = Reading(
    _size,
    {
        "anyOf": [
            {"type": ["string", "integer"]},
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        ]
    },
)
EXPECT = Record(
    {
        "status": ListOf(Count(low=100, high=599), single=True, some=True),
        "body": Text(),
        "contains": Text(),
        "headers": MapOf(Text(written=True)),
        "size": SIZE,
        "reply": Text(written=True),
        "rows": Text(written=True),
        "first": Text(written=True),
        "keyed": Text(),
        "intact": YES_OR_NO,
    }
)
SECTOR_BYTES = 512


def _block(node: Node, key: str) -> int:
    size = Quantity("B", high=2.0**26).read(node, key)
    if size % SECTOR_BYTES:
        fail(node, key, f"is {node.text!r}, and must be a multiple of {SECTOR_BYTES}B")
    return int(size)


_BLOCK = Reading(_block, Quantity("B").schema())
_NAMED: dict[str, Form] = {"dn": Text()}
_VALUES = MapOf(ListOf(Text(written=True), single=True))
_SEARCH: dict[str, Form] = {
    "base": Text(),
    "scope": Choice(("base", "one", "sub")),
    "filter": Text(),
    "attributes": ListOf(Text(), single=True),
    "size_limit": Count(low=0, high=2**31 - 1),
}
_CHANGES: dict[str, Form] = {"delete": _VALUES, "add": _VALUES, "replace": _VALUES}
_LDAP: dict[str, Form] = {
    "search": Record(_SEARCH),
    "modify": Record({**_NAMED, **_CHANGES}, required=("dn",)),
    "add": Record({**_NAMED, "attributes": _VALUES}, required=("dn", "attributes")),
    "delete": Record(_NAMED, required=("dn",)),
}


def _ldap(node: Node, key: str) -> dict[str, Any]:
    found = Record(_LDAP).read(node, key)
    kind = one_of(node, key, tuple(_LDAP))
    return {kind: found[kind]}


_REQUEST: dict[str, Form] = {
    **dict.fromkeys(METHODS, PATH),
    "sql": Text(),
    "command": ListOf(Text(written=True), some=True),
    "read": _BLOCK,
    "write": _BLOCK,
    "sync": Choice(("data", "all")),
    "at": Text(written=True),
    "ldap": Reading(_ldap, Record(_LDAP).schema()),
    "headers": HEADERS,
    "body": Text(),
    "body_file": Text(),
    "chunks": Reading(_bytes, _BYTES.schema()),
    "expect": EXPECT,
    "for_each": Text(),
}
_LATER = ("script",)
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


CHECKS = {
    "http": ("status", "body", "contains", "headers", "size"),
    "sql": ("rows", "first", "keyed"),
    "command": ("reply", "contains", "rows"),
    "read": ("intact",),
    "write": (),
    "sync": (),
    "ldap": ("rows", "first", "keyed"),
}
"""What can be expected of an answer, by the request."""
OTHERS = ("sql", "command", "ldap", "read", "write", "sync")
"""What is asked otherwise than over HTTP."""
_BESIDE: dict[str, tuple[str, ...]] = dict.fromkeys(OTHERS, ()) | dict.fromkeys(
    ("read", "write"), ("at",)
)


def _operation(name: str, fields: dict[str, Any], node: Node, key: str) -> Operation:
    ask = one_of(node, key, (*METHODS, *OTHERS))
    expect = Expect.model_validate(fields.get("expect", {}))
    request: dict[str, Any]
    beside = _BESIDE.get(ask, ("headers", *_BODY))
    owners = dict.fromkeys(("headers", *_BODY), "HTTP") | {"at": "a file"}
    for other, owner in owners.items():
        if other in fields and other not in beside:
            fail(node.entries[other], join(key, other), f"belongs to {owner}, not to {ask}")
    if ask in ("read", "write"):
        request = {ask: Block(bytes=fields[ask], at=fields.get("at"))}
    elif ask in OTHERS:
        request = {ask: fields[ask]}
    else:
        if "body" in fields and "body_file" in fields:
            fail(node.entries["body_file"], join(key, "body_file"), "body is given already")
        if "chunks" in fields and not {"body", "body_file"} & set(fields):
            fail(node.entries["chunks"], join(key, "chunks"), "there is no body to send in chunks")
        request = {"method": ask.upper(), "path": fields[ask]}
        request |= {part: fields.get(part) for part in _BODY}
        request["headers"] = tuple(fields.get("headers", {}).items())
    checks = CHECKS.get(ask, CHECKS["http"])
    wrong = [part for part in fields.get("expect", {}) if part not in checks]
    if wrong:
        expected = node.entries["expect"]
        below = join(join(key, "expect"), wrong[0])
        fail(expected.entries[wrong[0]], below, f"cannot be expected of {ask}")
    return Operation(name=name, expect=expect, for_each=fields.get("for_each"), **request)


MIX = MapOf(
    Reading(_entry, {**_ENTRY.schema(), "minProperties": 1}),
    some=True,
)


_ANSWERED = re.compile(r"\.(expect|sql)\b|^workload\.values\b")
_NAMES = re.compile(r"\.(text|bytes)\.key$|\.expect\.keyed$|(?<!headers)\.for_each$")
"""Keys whose value is the name of a value."""


def check_mentions(node: Node, key: str, names: Collection[str]) -> None:
    """Refuse a `${name}` anywhere below a node that is not one of the values.

    Raises:
        InputError: with the nearest name.
    """
    for child, below in scalars(node, key):
        if not isinstance(child.value, str):
            continue
        if re.match(r"workload\.values\.[^.]+\.(constant|choice)\b", below):
            continue
        if _NAMES.search(below) and child.value not in names:
            fail(child, below, f"unknown value {child.value!r}", nearest(child.value, names))
        for name in _mentions(child, below, child.value):
            if name.startswith("env:"):
                # The agent reads it when it starts; in what is kept the mention stays as it is.
                if _ANSWERED.search(below):
                    fail(child, below, f"${{{name}}} can be sent over HTTP alone")
                continue
            if name not in names:
                fail(child, below, f"unknown value ${{{name}}}", nearest(name, names))


def _mentions(node: Node, key: str, text: str) -> Iterator[str]:
    """The names between `${` and `}`; `$${` is the text `${`."""
    for match in re.finditer(r"(\$?)\$\{", text):
        if match[1]:
            continue
        end = text.find("}", match.end())
        if end < 0:
            fail(node, key, "${ is not closed by }; write $${ for the text ${")
        yield text[match.end() : end]
