"""A file as a tree that remembers where each part stands, and paths into it.

Every complaint about an experiment names its line, so what is read keeps its place until it has
been understood. Here are the tree, its paths and how a value is set at one; absent is any knowledge
of which keys there are: `grammar` has that.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from benchlab.model.errors import InputError

Scalar = str | int | float | bool | None
Path = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where something was written: a file (or a command-line option) and a line, counted from 1."""

    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Node:
    """A scalar, a list or a map; two are equal when they say the same, wherever they stand."""

    value: "Scalar | tuple[Node, ...] | dict[str, Node]"
    text: str = ""
    """A scalar as it was written: `1.10`, which as a number is 1.1."""
    place: Place = field(default=Place(), compare=False)

    @property
    def entries(self) -> "dict[str, Node]":
        """The keys of a map; none for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> "tuple[Node, ...]":
        """The elements of a list; none for anything else."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def scalar(self) -> Scalar:
        """The value of a scalar; None for anything else."""
        return None if isinstance(self.value, dict | tuple) else self.value

    @property
    def is_scalar(self) -> bool:
        """Whether it is neither a list nor a map."""
        return not isinstance(self.value, dict | tuple)

    def plain(self) -> Any:
        """The same without places, as Python's own maps, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return self.value

    def kind(self) -> str:
        """What it is, in words for a message."""
        match self.value:
            case dict():
                return "a map"
            case tuple():
                return "a list"
            case None:
                return "nothing"
            case _:
                return repr(self.text)


def fail(node: Node, key: str, what: str, nearest: str | None = None) -> NoReturn:
    """Raise the one-line complaint about a node.

    Raises:
        InputError: always.
    """
    raise InputError(
        what, file=node.place.file, line=node.place.line, key=key or None, nearest=nearest
    )


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice most like a misspelt word, if any is like it at all."""
    found = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return found[0] if found else None


def parse_yaml(text: str, file: str) -> Node:
    """Read one YAML 1.2 document.

    Raises:
        InputError: for what is not YAML, in one line; for a key given twice; for an empty file.
    """
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(
            _yaml_problem(error), file=file, line=None if mark is None else mark.line + 1
        ) from None
    except YAMLError as error:
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", file=file) from None
    if root is None:
        raise InputError("the file is empty; it needs experiment, systems and workload", file=file)
    return _convert(root, file, 1, "", ())


def _yaml_problem(error: MarkedYAMLError) -> str:
    problem = str(error.problem or error.context or "unreadable").splitlines()[0]
    if "'\\t'" in problem:
        return "a tab stands where YAML wants spaces"
    if "'{'" in problem and "flow mapping" in str(error.context):
        return "not YAML: quote a value with ${…} inside braces: {port: '${port}'}"
    if "expected a single document" in str(error.context):
        return "not YAML: a second document begins here; a file holds one experiment"
    return f"not YAML: {problem}"


def _convert(raw: Any, file: str, line: int, key: str, above: tuple[int, ...]) -> Node:
    place = Place(file, line)
    if id(raw) in above:
        raise InputError("an alias holds itself", file=file, line=line, key=key or None)
    above = (*above, id(raw))
    if isinstance(raw, MappingNode):
        entries: dict[str, Node] = {}
        for name_node, child in raw.value:
            at = name_node.start_mark.line + 1
            name = name_node.value
            if not isinstance(name_node, ScalarNode) or not isinstance(name, str):
                raise InputError("a key is a word, not a list or map", file=file, line=at)
            here = join(key, name)
            if name == "<<":
                raise InputError(
                    "merge keys (<<) are not read; write the keys out", file=file, line=at
                )
            if name in entries:
                raise InputError("given twice", file=file, line=at, key=here)
            entries[name] = _convert(child, file, at, here, above)
        return Node(entries, place=place)
    if isinstance(raw, SequenceNode):
        return Node(
            tuple(
                _convert(child, file, child.start_mark.line + 1, f"{key}[{index}]", above)
                for index, child in enumerate(raw.value)
            ),
            place=place,
        )
    value = _scalar(raw.tag, raw.value)
    return Node(value, "" if value is None else raw.value, place)


def _scalar(tag: str, text: str) -> Scalar:
    match tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            digits = text.replace("_", "")
            return int(digits, 0 if re.match(r"[-+]?0[xob]", digits) else 10)
        case "float":
            word = text.replace("_", "").lower()
            return float(word.replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text


def parse_scalar(text: str, place: Place) -> Node:
    """Read the value of `--set PATH=VALUE`: YAML on one line.

    Raises:
        InputError: for what is not YAML.
    """
    if text == "":
        return Node("", "", place)
    try:
        node = parse_yaml(text, place.file or "")
    except InputError as error:
        raise InputError(error.what, file=place.file, line=place.line) from None
    return _moved(node, place)


def from_plain(value: Any, place: Place = Place()) -> Node:
    """The tree of Python's own maps, lists and scalars."""
    if isinstance(value, Mapping):
        return Node({str(k): from_plain(v, place) for k, v in value.items()}, place=place)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Node(tuple(from_plain(v, place) for v in value), place=place)
    if isinstance(value, bool):
        return Node(value, "true" if value else "false", place)
    if value is None:
        return Node(None, "", place)
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError("neither infinity nor a number that is none stands in an experiment file")
    if isinstance(value, int | float | str):
        return Node(value, str(value), place)
    raise TypeError(f"{type(value).__name__} does not stand in an experiment file")


def _moved(node: Node, place: Place) -> Node:
    if isinstance(node.value, dict):
        return Node({k: _moved(v, place) for k, v in node.value.items()}, place=place)
    if isinstance(node.value, tuple):
        return Node(tuple(_moved(v, place) for v in node.value), place=place)
    return replace(node, place=place)


def join(key: str, name: str) -> str:
    """The written path of a key below another."""
    return f"{key}.{quote(name)}" if key else quote(name)


_BARE = re.compile(r'[^\s."=]+')
_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')


def quote(part: str) -> str:
    """A part of a path as it is written: in quotes where it has a dot or the like."""
    if _BARE.fullmatch(part):
        return part
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_path(path: Path) -> str:
    """A path as it is written in a file."""
    return ".".join(quote(part) for part in path)


def parse_path(text: str) -> Path:
    """The parts of a path such as `systems.db.settings."auto_explain.log_min_duration"`.

    Raises:
        InputError: when a part is empty or a quote is not closed.
    """
    parts: list[str] = []
    at = 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise InputError(f"not a path: {text!r}; write parts with dots, such as load.clients")
        quoted, bare = match.groups()
        parts.append(bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise InputError(f"not a path: {text!r}; a quoted part ends at a dot")
        at += 1


def get(node: Node, path: Path) -> Node | None:
    """What stands at a path, if anything."""
    for part in path:
        child = node.entries.get(part)
        if child is None and node.items and part.isdigit() and int(part) < len(node.items):
            child = node.items[int(part)]
        if child is None:
            return None
        node = child
    return node


def locate(root: Node, key: str) -> Place:
    """Where a written path stands, or as much of it as there is; the file alone for none of it."""
    try:
        path = parse_path(re.sub(r"\[(\d+)\]", r".\1", key))
    except InputError:
        path = ()
    for length in range(len(path), 0, -1):
        if (node := get(root, path[:length])) is not None:
            return node.place
    return Place(root.place.file)


def scalars(node: Node, key: str) -> Iterator[tuple[Node, str]]:
    """Every scalar below a node, with its path."""
    if isinstance(node.value, dict):
        for name, child in node.value.items():
            yield from scalars(child, join(key, name))
    elif isinstance(node.value, tuple):
        for index, child in enumerate(node.value):
            yield from scalars(child, f"{key}[{index}]")
    else:
        yield node, key


def put(node: Node, path: Path, value: Node) -> Node:
    """The tree with a value set at a path; maps on the way are made, and nothing takes a key away.

    Raises:
        InputError: when the path leads through a scalar or beyond a list.
    """
    return _put(node, path, value, ())


def _put(node: Node, path: Path, value: Node, above: Path) -> Node:
    if not path:
        return value
    part, rest = path[0], path[1:]
    here = (*above, part)
    if isinstance(node.value, tuple):
        if not part.isdigit() or int(part) >= len(node.value):
            places = f"0 to {len(node.value) - 1}" if node.value else "none: it is empty"
            fail(value, format_path(here), f"a list's places are {places}")
        index = int(part)
        changed = _put(node.value[index], rest, value, here)
        return replace(node, value=(*node.value[:index], changed, *node.value[index + 1 :]))
    if not isinstance(node.value, dict) and node.value is not None:
        fail(value, format_path(here), f"leads nowhere: {format_path(above)} is {node.kind()}")
    entries = dict(node.entries)
    if not rest and value.is_scalar and value.value is None:
        entries.pop(part, None)
    else:
        below = entries.get(part, Node({}, place=value.place))
        entries[part] = _put(below, rest, value, here)
    return replace(node, value=entries, text="")


def flatten(node: Node, path: Path) -> dict[Path, Node]:
    """The leaves below a path. Setting each of them merges a map into another.

    `workload.values.NAME` and `workload.mix.NAME` are leaves: half a generator makes no sense.
    """
    if node.entries and not (len(path) == 3 and path[:2] in _WHOLE):
        found: dict[Path, Node] = {}
        for name, child in node.entries.items():
            found |= flatten(child, (*path, name))
        return found
    if isinstance(node.value, dict) and not node.entries:
        return {}
    return {path: node}


_WHOLE = (("workload", "values"), ("workload", "mix"))
