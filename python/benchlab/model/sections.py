"""The sections of an experiment file as tables of forms: systems, workload, load and the rest.

What a key is called, what may stand there and what it means when absent is said here, once; reader,
messages and JSON Schema follow. What varies, and over which cases, is `design`'s.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from benchlab.model import finding, mentions, mixes
from benchlab.model.experiment import (
    Command,
    Load,
    Ready,
    Shape,
    Source,
    System,
    Tls,
    Workload,
)
from benchlab.model.grammar import (
    LATER,
    Anything,
    Choice,
    Count,
    Form,
    ListOf,
    MapOf,
    Quantity,
    Reading,
    Record,
    Schema,
    Text,
    one_of,
)
from benchlab.model.schemes import EMBEDDED, ENCRYPTED, SCHEMES, starts_tls
from benchlab.model.tree import Node, fail, from_plain, join, nearest, scalars

CLIENTS = 16
CONNECTIONS = 64
DURATION_S = 5.0
SESSIONS_COMPARED = 8
SESSIONS_EXPLORED = 3
BLOCKS = 2
MOST_MEMBERS = 64
MOST_SESSIONS = 40
"""The exact sign-flip p is quick up to here."""

KINDS: Mapping[str, frozenset[str]] = {
    "sqlite": frozenset({"settings"}),
    "file": frozenset({"settings"}),
    "command": frozenset(
        {"start", "url", "ready", "stop", "files", "environment", "tls", "instances", "before"}
        | {"source", "build"}
    ),
}
"""Kinds of system the lab can start, and the keys each takes beside those of every system."""
_EVERY_KIND = {"kind", "placement", "before_session", "before_trial", "needs", "install"}
_RUNNING = _EVERY_KIND | {"at", "restart", "ready", "tls", "metrics_at"}


@dataclass(frozen=True)
class WorkloadKeys:
    """What a built-in workload takes."""

    options: Record
    data: Record


@dataclass(frozen=True)
class Known:
    """What higher rooms offer, so that a file can be judged by it."""

    kinds: Mapping[str, frozenset[str]] = field(default_factory=lambda: KINDS)
    workloads: Mapping[str, WorkloadKeys] | None = None
    """None: any name and option passes here, and whoever makes the Plan judges them."""
    counters: Mapping[str, str] = field(default_factory=dict)
    """The metrics made of the systems' own counters, with their units."""


def _command(node: Node, key: str) -> Command:
    if node.is_scalar:
        fail(node, key, "is written {command: …}, or {sql: …} beside a database")
    fields = _COMMAND.read(node, key)
    one_of(node, key, ("command", "sql"))
    return Command.model_validate(fields)


def _line(node: Node, key: str) -> Command:
    if node.is_scalar:
        fail(node, key, "is written {command: …}")
    return Command.model_validate(_LINE.read(node, key))


_RUNS: dict[str, Form] = {"command": mentions.COMMAND_LINE, "timeout": Quantity("s")}
_LINE = Record(_RUNS, required=("command",))
_COMMAND = Record({**_RUNS, "sql": Text()})
_RUN = Reading(_command, {**_COMMAND.schema(), "minProperties": 1})


def _ready(node: Node, key: str) -> Ready:
    fields = _READY.read(node, key)
    if fields.keys() != {"timeout"}:
        one_of(node, key, ("port", "url", "log"))
    return Ready.model_validate(fields)


def _port(node: Node, key: str) -> int | str:
    if isinstance(node.value, str) and "${" in node.value:
        mentions.check(node, key, node.value, ("port",))
        if not re.fullmatch(r"\$\{[^}]*\}|\d+", node.value):
            fail(node, key, f"{node.value!r} is no port: write ${{port}} or a number")
        return node.value
    return Count(high=65535).read(node, key)


def _pattern(node: Node, key: str) -> str:
    text = Text().read(node, key)
    try:
        re.compile(text)
    except re.error as error:
        fail(node, key, f"{text!r} is not a regular expression: {error}")
    return text


def _page(node: Node, key: str) -> str:
    text = Text().read(node, key)
    mentions.check(node, key, text, ())
    _check_address(node, key, text, ("http", "https"))
    return text


def _ready_url(node: Node, key: str) -> str:
    text = Text().read(node, key)
    mentions.check(node, key, text, ("port",))
    _check_address(node, key, text, ("http", "https"))
    return text


_READY = Record(
    {
        "port": Reading(_port, {"type": ["integer", "string"]}),
        "url": Reading(_ready_url, Text().schema()),
        "log": Reading(_pattern, Text().schema()),
        "timeout": Quantity("s"),
    }
)


def _tls(node: Node, key: str) -> Tls:
    fields = _TLS.read(node, key)
    if fields.get("verify") is False and len(fields) > 1:
        fail(node, key, "verify: false takes any certificate, so that nothing beside it matters")
    return Tls.model_validate(fields)


_TLS = Record({"verify": mixes.YES_OR_NO, "ca": Text(), "server_name": Text()})


def _source(node: Node, key: str) -> Source:
    fields = _SOURCE.read(node, key)
    git, revision = fields["git"], fields.get("revision", "")
    if "://" in git or re.match(r"[\w.-]+@[\w.-]+:", git):
        fail(node.entries["git"], join(key, "git"), "is not on this machine: clone it first")
    if revision.startswith("-"):
        fail(node.entries["revision"], join(key, "revision"), f"{revision!r} is no revision")
    return Source.model_validate(fields)


_SOURCE = Record({"git": Text(), "revision": Text(written=True)}, required=("git",))


def _placement(node: Node, key: str) -> str:
    text = Text(written=True).read(node, key)
    if text not in ("own", "shared") and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        fail(node, key, f"{text!r} is not own, shared, or cores such as 0-1,3")
    return text


SYSTEM_FORMS: dict[str, Form] = {
    "kind": Text(),
    "program": Text(pattern=r"/.*[^/]|[^/]+", example="a whole path or a name on the PATH"),
    "version": Text(written=True, pattern=r"\d+(\.\w+)*", example="15 or 15.6"),
    "settings": MapOf(Text(written=True)),
    "files": mentions.FILES,
    "environment": MapOf(Text(written=True)),
    "at": ListOf(Text(), single=True, some=True),
    "metrics_at": ListOf(Reading(_page, Text().schema()), single=True, some=True),
    "tls": Reading(_tls, _TLS.schema()),
    "restart": Reading(_line, _LINE.schema()),
    "placement": Reading(_placement, {"type": ["string", "integer"]}),
    "instances": Count(high=MOST_MEMBERS),
    "replicas": Count(low=0, high=MOST_MEMBERS),
    "masters": Count(high=MOST_MEMBERS),
    "ask": Choice(("one", "all")),
    "before_session": ListOf(_RUN, single=True),
    "before_trial": ListOf(_RUN, single=True),
    "start": mentions.COMMAND_LINE,
    "url": Text(),
    "ready": Reading(_ready, {**_READY.schema(), "minProperties": 1}),
    "stop": mentions.COMMAND_LINE,
    "source": Reading(_source, _SOURCE.schema()),
    "build": mentions.COMMAND_LINE,
    "needs": ListOf(Text(), single=True),
    "install": Text(),
}
SYSTEM_FORMS["before"] = Reading(
    lambda node, key: _behind(node, key),
    {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/properties/systems/additionalProperties"},
    },
)
SYSTEM = Record(SYSTEM_FORMS)


def _behind(node: Node, key: str) -> Node:
    """Checks each key of what stands behind a system; it is read with the system's kind."""
    for name, child in MapOf(Anything(), some=True).read(node, key).items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
            what = "is named by a letter, then letters, digits, - and _: others mention it"
            fail(child, join(key, name), what)
        if not (child.is_scalar and child.value is None):
            SYSTEM.read(child, join(key, name))
    return node


def _read_behind(node: Node, name: str, key: str, known: Known) -> dict[str, System]:
    """What stands behind a system, each entry read as a system of its own.

    Raises:
        InputError: with the place of what is wrong, and for a name that stands there twice.
    """
    found, taken = {}, {name}
    for inner, child in node.entries.items():
        below = join(key, inner)
        for other in _OF_A_FRONT:
            if other in child.entries:
                what = "belongs to the system in front, which the driver talks to"
                fail(child.entries[other], join(below, other), what)
        found[inner] = system = read_system(child, inner, below, known)
        if system.kind in EMBEDDED:
            fail(child, below, f"{system.kind} is no server, so that nothing can stand before it")
        names = {inner, *_names(system)}
        if twice := sorted(taken & names):
            fail(child, below, f"two systems of one topology are called {twice[0]}")
        taken |= names
    return found


def _names(system: System) -> Iterator[str]:
    """Of all that stands behind a system."""
    for name, one in system.before.items():
        yield name
        yield from _names(one)


_OF_A_FRONT = ("at", "restart", "tls", "placement", "before_session", "before_trial")
_TOLD = r"\$\{([A-Za-z][\w-]*)\.(urls?|host|port|user|password)\}"


def _check_told(node: Node, key: str, behind: Collection[str]) -> None:
    """Refuse mentions of what does not stand behind a system, and passwords on command lines."""
    for part in ("start", "environment"):
        for child, below in scalars(node.entries.get(part, Node({})), join(key, part)):
            for found in re.finditer(_TOLD, child.text):
                if found[1] not in behind:
                    near = nearest(found[1], behind)
                    fail(child, below, f"no system {found[1]} stands behind this one", near)
                if part == "start" and found[2] in ("url", "urls", "password"):
                    what = f"{found[0]} may hold a password, so that it stands in files and in"
                    fail(child, below, f"{what} `environment:` alone, not on a command line")


def read_system(node: Node, name: str, key: str, known: Known) -> System:
    """One entry of `systems:`; a bare name is a system of that kind.

    Raises:
        InputError: with the place of what is wrong.
    """
    if node.is_scalar and node.value is None:
        node = Node({}, place=node.place)
    fields = SYSTEM.read(node, key)
    if "before" in fields:
        at = node.entries["before"]
        fields["before"] = _read_behind(at, name, join(key, "before"), known)
    _check_told(node, key, fields.get("before", {}))
    for url in fields.get("at", ()):
        _check_url(node.entries["at"], join(key, "at"), url, known, ())
    if len({url.partition(":")[0] for url in fields.get("at", ())}) > 1:
        fail(node.entries["at"], join(key, "at"), "the URLs of one system differ in their scheme")
    scheme = fields["at"][0].partition(":")[0] if "at" in fields else None
    kind = fields.setdefault("kind", scheme or name)
    if kind not in known.kinds and kind != scheme:
        at = node.entries.get("kind", node)
        listed = ", ".join(sorted(known.kinds))
        what = f"the kind {kind!r} {LATER}; it has {listed}, and `at:` a URL"
        fail(at, join(key, "kind"), what, nearest(kind, known.kinds))
    if scheme is not None:
        allowed, what = _RUNNING, "a system that is already running"
    else:
        allowed, what = _EVERY_KIND | known.kinds[kind], f"a system of kind {kind}"
    for other in fields:
        if other not in allowed and other in node.entries:
            fail(node.entries[other], join(key, other), f"does not belong to {what}")
    for other, child in node.entries["ready"].entries.items() if "ready" in fields else ():
        if scheme is not None and other != "timeout":
            what = f"does not belong to {what}: its first right answer is waited for"
            fail(child, join(join(key, "ready"), other), what)
    if kind == "command" and "at" not in fields:
        for needed in ("start", "url"):
            if needed not in fields:
                fail(node, key, f"{needed} is missing")
        _check_url(node.entries["url"], join(key, "url"), fields["url"], known, ("port",))
        _check_source(node, key, fields)
    asked = scheme or fields.get("url", "").partition(":")[0]
    urls = (*fields.get("at", ()), fields.get("url", ""))
    if "tls" in fields and asked not in ENCRYPTED and not any(map(starts_tls, urls)):
        listed = ", ".join(f"{name}:" for name in ENCRYPTED)
        fail(node.entries["tls"], join(key, "tls"), f"{asked}: is not encrypted; {listed} are")
    return System.model_validate(fields)


def _check_source(node: Node, key: str, fields: dict[str, Any]) -> None:
    """Refuse a source that nothing is started from, and what needs a source and has none.

    Raises:
        InputError: with the place of what is wrong.
    """
    if "source" not in fields:
        for name in ("start", "stop", "build"):
            if (name == "build" and name in fields) or "${source}" in fields.get(name, ""):
                what = "needs a source: {git: ., revision: main}"
                fail(node.entries[name], join(key, name), what)
        return
    texts = (*fields.get("files", {}).values(), *fields.get("environment", {}).values())
    if not any("${source}" in text for text in (fields["start"], *texts)):
        what = "nothing of it is started: mention its folder, ${source}, in start"
        fail(node.entries["source"], join(key, "source"), what)


def _check_url(node: Node, key: str, url: str, known: Known, names: tuple[str, ...]) -> None:
    scheme, colon, rest = url.partition(":")
    if not colon or not rest.strip("/"):
        fail(node, key, f"{url!r} is no URL, such as http://127.0.0.1:8080/")
    if scheme not in SCHEMES:
        listed = ", ".join(f"{name}:" for name in SCHEMES)
        what = f"a driver for {scheme}: {LATER}, which speaks {listed}"
        fail(node, key, what, nearest(scheme, SCHEMES))
    mentions.check(node, key, url, names)
    _check_address(node, key, url, (), needs_host=SCHEMES[scheme].port is not None)
    if SCHEMES[scheme].driver == "http" and "@" in url.partition("://")[2].partition("/")[0]:
        fail(node, key, f"a user in an {scheme}: URL is not sent; use a header `Authorization`")


def _check_address(
    node: Node, key: str, url: str, schemes: tuple[str, ...], *, needs_host: bool = True
) -> None:
    """Refuse a URL without a host and a port that can be; a scheme of these, where some are given.

    Raises:
        InputError: with the place of the URL.
    """
    try:
        # What is filled in when the system starts is any number here.
        parts = urlsplit(re.sub(r"\$\{[^}]*\}", "1", url))
        sound = parts.port != 0 and (not needs_host or bool(parts.hostname))
        sound = sound and (not schemes or parts.scheme in schemes)
    except ValueError:
        sound = False
    if not sound:
        fail(node, key, f"{url!r} is no URL with a host and a port such as http://127.0.0.1:8080/")


EXISTING, INTO = "existing", "into"
"""Keys of `data:` that say where the data are at a system that is already running."""
_NAME = Text(pattern=r"[a-z][a-z0-9_]{0,30}", example="bench_1, in small letters")
_PLACED: dict[str, Form] = {EXISTING: mixes.YES_OR_NO, INTO: _NAME}

_LATER_WORKLOAD = ("script", "scripts")
WORKLOAD_FORMS: dict[str, Form] = {
    "name": Text(),
    "data": Anything({"anyOf": [{"type": "object"}, {"const": EXISTING}]}),
    "options": Anything({"type": "object"}),
    "mix": mixes.MIX,
    "values": mixes.VALUES,
}
WORKLOAD = Record(WORKLOAD_FORMS, later=_LATER_WORKLOAD)


def read_workload(node: Node, known: Known, key: str = "workload") -> Workload:
    """The section `workload:`.

    Raises:
        InputError: with the place of what is wrong.
    """
    fields = WORKLOAD.read(node, key)
    if one_of(node, key, ("name", "mix")) == "mix":
        existing = "data" in fields and fields["data"].value == EXISTING
        for other in ("options",) if existing else ("data", "options"):
            if other in fields:
                fail(fields[other], join(key, other), "belongs to a built-in workload, not a mix")
        mixes.check_mentions(node, key, fields.get("values", {}))
        mix, values = tuple(fields["mix"].values()), fields.get("values", {})
        return Workload(mix=mix, values=values, existing=existing)
    if "values" in fields:
        fail(node.entries["values"], join(key, "values"), "belongs to a mix")
    return _built_in(node, fields, known, key)


def _built_in(node: Node, fields: dict[str, Any], known: Known, key: str) -> Workload:
    name = fields["name"]
    given = {part: fields.get(part, from_plain({}, node.place)) for part in ("options", "data")}
    given["data"], placed = _split_data(given["data"], join(key, "data"))
    if known.workloads is None:
        for part, child in given.items():
            MapOf(Anything()).read(child, join(key, part))
    elif name not in known.workloads:
        listed = ", ".join(sorted(known.workloads))
        what = f"no workload {name!r}; there is {listed}"
        fail(node.entries["name"], join(key, "name"), what, nearest(name, known.workloads))
    else:
        keys = known.workloads[name]
        keys.options.read(given["options"], join(key, "options"))
        keys.data.read(given["data"], join(key, "data"))
    options, data = given["options"].plain(), given["data"].plain()
    return Workload(name=name, options=options, data=data, **placed)


def _split_data(node: Node, key: str) -> tuple[Node, dict[str, Any]]:
    """The workload's own keys of `data:`, and those that say where the data are."""
    if node.value == EXISTING:
        return from_plain({}, node.place), {EXISTING: True}
    if not isinstance(node.value, dict):
        return node, {}
    own = {name: child for name, child in node.entries.items() if name not in _PLACED}
    placed = {name: child for name, child in node.entries.items() if name in _PLACED}
    found = Record(_PLACED).read(Node(placed, place=node.place), key)
    if found.get(EXISTING) and INTO in found:
        fail(placed[INTO], join(key, INTO), "data that are there already are not put anywhere")
    return Node(own, place=node.place), found


_RATE = Quantity("1/s", zero=True, high=1e9)
_SHAPE = Record(
    {"to": _RATE, "over": Quantity("s"), "hold": Quantity("s"), "step": _RATE},
)


def _segment(node: Node, key: str) -> Shape:
    fields = _SHAPE.read(node, key)
    what = one_of(node, key, ("to", "hold", "step"))
    if ("over" in fields) != (what == "to"):
        fail(node, key, "a ramp is written {to: 5000/s, over: 10s}")
    return Shape.model_validate(fields)


def _transactions(node: Node, key: str) -> dict[str, int]:
    match = re.fullmatch(r"\s*([\d_]+)\s+per\s+client\s*", node.text) if node.is_scalar else None
    if match is None:
        if isinstance(node.value, str):
            fail(node, key, f"{node.text!r} is not of the form 60000 or 600 per client")
        return {"transactions": Count().read(node, key)}
    per_client = Count().read(Node(int(match[1]), match[1], node.place), key)
    return {"per_client": per_client}


LOAD = Record(
    {
        "clients": Count(high=1_000_000),
        "rate": Quantity("1/s", high=1e9),
        **finding.FORMS,
        "arrivals": Choice(("poisson", "constant")),
        "connections": Count(high=1_000_000),
        "shape": ListOf(Reading(_segment, {**_SHAPE.schema(), "minProperties": 1}), some=True),
        "duration": Quantity("s", high=7 * 86400),
        "transactions": Reading(_transactions, {"type": ["integer", "string"]}),
        "warmup": Quantity("s", zero=True, high=86400),
        "timeout": Quantity("s", high=3600),
        "think": Quantity("s", zero=True, high=3600),
        "connection": Choice(("kept", "new")),
        "pipeline": Count(high=1024),
        "cookies": Choice(("ignore", "keep")),
        "redirects": Choice(("leave", "follow")),
    }
)
_OPEN_ALONE = ("arrivals", "connections", "shape")


def read_load(node: Node, known: Known, key: str = "load") -> Load:
    """The section `load:`, with what it leaves out filled in.

    Raises:
        InputError: with the place of what is wrong.
    """
    fields = LOAD.read(node, key)

    def refuse(name: str, what: str) -> None:
        if name in fields:
            fail(node.entries[name], join(key, name), what)

    fields |= finding.read(node, fields, key, known.counters)
    if "find" in fields:
        fields.setdefault("connections", CONNECTIONS)
    elif "rate" in fields:
        refuse("clients", "clients (a closed load) and rate (an open one) exclude each other")
        refuse("think", "belongs to a closed load (clients), not to a rate")
        fields.setdefault("connections", CONNECTIONS)
    else:
        for name in _OPEN_ALONE:
            refuse(name, "belongs to an open load, which needs rate:")
        fields.setdefault("clients", CLIENTS)
    pipeline = fields.get("pipeline", 1)
    if pipeline > 1 and fields.get("connection") == "new":
        refuse("pipeline", "a connection for each transaction carries one at a time")
    if pipeline > 1 and fields.get("redirects") == "follow":
        refuse("pipeline", "behind requests sent already no redirect can be followed")
    if fields.get("clients", pipeline) % pipeline:
        what = f"{fields['clients']} clients cannot share connections in groups of {pipeline}"
        refuse("pipeline", what)
    fields |= fields.pop("transactions", {})
    if "transactions" in fields or "per_client" in fields:
        at = node.entries["transactions"]
        if "duration" in fields:
            what = "transactions and duration exclude each other"
            fail(at, join(key, "transactions"), what)
        if "rate" in fields and "per_client" in fields:
            fail(at, join(key, "transactions"), "an open load has no clients to count them for")
        if "shape" in fields:
            refuse("shape", "needs a duration, not a number of transactions")
    else:
        shape = sum((part.over or 0) + (part.hold or 0) for part in fields.get("shape", ()))
        if shape > fields.setdefault("duration", shape or DURATION_S) * (1 + 1e-9):
            at = node.entries["shape"]
            fail(at, join(key, "shape"), f"takes {shape:g}s, longer than the duration")
    return Load.model_validate(fields)


def check_sections(root: Node, known: Known) -> None:
    """Check each key of the file as it stands, those too that a factor sets in every case.

    Raises:
        InputError: with the place of what is wrong.
    """
    for name, node in root.entries["systems"].entries.items():
        if not (node.is_scalar and node.value is None):
            SYSTEM.read(node, join("systems", name))
    workload = root.entries["workload"]
    fields = WORKLOAD.read(workload, "workload")
    if known.workloads is not None and fields.get("name") in known.workloads:
        keys = known.workloads[fields["name"]]
        if "options" in fields:
            keys.options.read(fields["options"], "workload.options")
    if "load" in root.entries:
        LOAD.read(root.entries["load"], "load")


ALLOWED: dict[str, Form] = {
    "steal": Quantity("", zero=True, high=1.0),
    "run-delay": Quantity("", zero=True, high=1.0),
    "head-room": Quantity("", zero=True, high=1.0),
    "floor": Quantity("", zero=True, high=1.0),
    "little": Quantity("", zero=True, high=1.0),
    "errors": Quantity("", zero=True, high=1.0),
    "lag": Quantity("s", zero=True),
    "swap": Count(low=0),
    "steady": Quantity("", zero=True, high=1.0),
    "idle": Quantity("", zero=True, high=1.0),
}
"""Validity rows a file may widen; `errors` is the share above which a case is failing."""
COMPARE = Record(
    {
        "factor": Text(written=True),
        "baseline": Text(written=True),
        "metrics": ListOf(Text(), single=True, some=True),
        "at": MapOf(Text(written=True)),
        "smallest_effect": Quantity("", high=1.0),
    },
    required=("factor",),
)


def _no_faults(node: Node, key: str) -> None:
    if node.items or not isinstance(node.value, tuple):
        fail(node, key, f"{LATER} (an empty list is)")


def _sessions(node: Node, key: str) -> dict[str, Any]:
    if isinstance(node.value, dict):
        return {"sessions": SESSIONS_COMPARED} | _STAGED.read(node, key)
    if isinstance(node.value, str) and node.text.endswith("%"):
        fail(node, key, f"a precision is written {{precision: {node.text}}}")
    return {"sessions": _SESSIONS.read(node, key)}


_SESSIONS = Count(high=MOST_SESSIONS)
_STAGED = Record({"precision": Quantity("", high=1.0)}, required=("precision",))
_FACTOR_LEVELS: Schema = {"type": ["array", "object"], "minItems": 1, "minProperties": 1}
TOP = Record(
    {
        "experiment": Text(pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*", example="my-experiment"),
        "question": Text(),
        "systems": MapOf(
            Reading(lambda node, key: node, {"anyOf": [SYSTEM.schema(), {"type": "null"}]}),
            some=True,
        ),
        "workload": Anything(WORKLOAD.schema()),
        "load": Anything(LOAD.schema()),
        "factors": Anything({"type": "object", "additionalProperties": _FACTOR_LEVELS}),
        "skip": ListOf(MapOf(Text(written=True), some=True)),
        "compare": Anything(COMPARE.schema()),
        "sessions": Reading(_sessions, {"anyOf": [_SESSIONS.schema(), _STAGED.schema()]}),
        "blocks": Count(high=100),
        "order": Choice(("resident", "blocks", "sequential")),
        "seed": Count(low=0, high=2**63 - 1),
        "promises": ListOf(Anything({"type": "string"})),
        "full": MapOf(Anything()),
        "abort_when": ListOf(Anything({"type": "string"})),
        "allow": Record(ALLOWED),
        "faults": Reading(_no_faults, {"type": "array", "maxItems": 0}),
    },
    required=("experiment", "systems", "workload"),
    later=("keep", "sources", "instances", "scripts", "script"),
)
