"""Forms: what may stand at a place of a file, said once for reader, message and JSON Schema.

A form reads a node into a value in SI units or says in one line what is wrong with it. The sections
of the experiment are tables of forms; absent is what any particular key means.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchlab.model import quantities
from benchlab.model.errors import InputError
from benchlab.model.tree import Node, fail, join, nearest

Schema = dict[str, Any]
LATER = "is not available in this version"


class Form(Protocol):
    """What may stand at a place."""

    def read(self, node: Node, key: str) -> Any:
        """The value of a node; `key` is its path, for messages.

        Raises:
            InputError: when the node is not of this form.
        """

    def schema(self) -> Schema:
        """The form as JSON Schema."""


@dataclass(frozen=True)
class Text:
    """A text; with `written`, a number or a yes-or-no too, exactly as it was written."""

    written: bool = False
    pattern: str | None = None
    example: str = ""

    def read(self, node: Node, key: str) -> str:
        if not node.is_scalar or node.value is None:
            fail(node, key, f"is {node.kind()}, not a text")
        if not isinstance(node.value, str) and not self.written:
            fail(node, key, f"is {node.kind()}, not a text: put it in quotes")
        text = node.value if isinstance(node.value, str) else node.text
        if self.pattern and not re.fullmatch(self.pattern, text):
            fail(node, key, f"{text!r} is not of the form {self.example}")
        return text

    def schema(self) -> Schema:
        kinds: Any = ["string", "number", "boolean"] if self.written else "string"
        return {"type": kinds} | ({"pattern": f"^({self.pattern})$"} if self.pattern else {})


@dataclass(frozen=True)
class Count:
    """A whole number within bounds."""

    low: int = 1
    high: int | None = None

    def read(self, node: Node, key: str) -> int:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int):
            fail(node, key, f"is {node.kind()}, not a whole number")
        if value < self.low:
            fail(node, key, f"is {value}, and must be at least {self.low}")
        if self.high is not None and value > self.high:
            fail(node, key, f"is {value}, and must be at most {self.high}")
        return value

    def schema(self) -> Schema:
        high = {} if self.high is None else {"maximum": self.high}
        return {"type": "integer", "minimum": self.low} | high


@dataclass(frozen=True)
class Number:
    """Any number within bounds."""

    low: float = 0.0
    high: float | None = None
    above: bool = False
    """Whether the lower bound itself is excluded."""

    def read(self, node: Node, key: str) -> float:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            fail(node, key, f"is {node.kind()}, not a number")
        if value < self.low or (self.above and value == self.low):
            bound = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
            fail(node, key, f"is {node.text}, and must be {bound}")
        if self.high is not None and value > self.high:
            fail(node, key, f"is {node.text}, and must be at most {self.high:g}")
        return float(value)

    def schema(self) -> Schema:
        low = "exclusiveMinimum" if self.above else "minimum"
        high = {} if self.high is None else {"maximum": self.high}
        return {"type": "number", low: self.low} | high


@dataclass(frozen=True)
class Quantity:
    """A number with a unit, in SI; zero only where it makes sense."""

    unit: quantities.Unit
    zero: bool = False
    high: float | None = None

    def read(self, node: Node, key: str) -> float:
        if not node.is_scalar or node.value is None or isinstance(node.value, bool):
            example = quantities.EXAMPLES[self.unit]
            fail(node, key, f"is {node.kind()}, and is written like {example}")
        try:
            figure = quantities.parse(node.text, self.unit)
        except InputError as error:
            fail(node, key, error.what)
        if figure < 0 or (figure == 0 and not self.zero):
            fail(node, key, f"is {node.text!r}, and must be above zero")
        if self.high is not None and figure > self.high:
            high = quantities.format(self.high, self.unit)
            fail(node, key, f"is {node.text!r}, and must be at most {high}")
        return figure

    def schema(self) -> Schema:
        text = {"type": "string", "pattern": quantities.pattern(self.unit)}
        return {"anyOf": [text, {"const": 0}]} if self.zero else text


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    def read(self, node: Node, key: str) -> str:
        text = node.text if node.is_scalar else ""
        if text not in self.words:
            listed = ", ".join(self.words)
            fail(node, key, f"is {node.kind()}, not one of: {listed}", nearest(text, self.words))
        return text

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class ListOf:
    """Several of a form; where `single`, one alone may stand without brackets."""

    form: Form
    single: bool = False
    some: bool = False
    """Whether it must not be empty."""

    def read(self, node: Node, key: str) -> tuple[Any, ...]:
        if not isinstance(node.value, tuple):
            if self.single and node.value is not None:
                return (self.form.read(node, key),)
            fail(node, key, f"is {node.kind()}, not a list")
        if self.some and not node.value:
            fail(node, key, "is an empty list")
        return tuple(
            self.form.read(child, f"{key}[{index}]") for index, child in enumerate(node.value)
        )

    def schema(self) -> Schema:
        form = self.form.schema()
        several: Schema = {"type": "array", "items": form} | ({"minItems": 1} if self.some else {})
        return {"anyOf": [form, several]} if self.single else several


@dataclass(frozen=True)
class MapOf:
    """Names of the writer's choice, each with the same form."""

    form: Form
    some: bool = False

    def read(self, node: Node, key: str) -> dict[str, Any]:
        if not isinstance(node.value, dict):
            fail(node, key, f"is {node.kind()}, not a map")
        if self.some and not node.value:
            fail(node, key, "is empty")
        return {name: self.form.read(child, join(key, name)) for name, child in node.value.items()}

    def schema(self) -> Schema:
        some = {"minProperties": 1} if self.some else {}
        return {"type": "object", "additionalProperties": self.form.schema()} | some


@dataclass(frozen=True)
class Record:
    """Known keys, each with its form; what is not given is absent from what is read."""

    forms: Mapping[str, Form]
    required: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    """Keys that a later version reads; they are refused rather than passed over."""

    def read(self, node: Node, key: str) -> dict[str, Any]:
        if not isinstance(node.value, dict):
            fail(node, key, f"is {node.kind()}, not a map")
        self.check_keys(node, key)
        found = {}
        for name, child in node.value.items():
            if child.is_scalar and child.value is None:
                fail(child, join(key, name), "has no value")
            found[name] = self.forms[name].read(child, join(key, name))
        return found

    def check_keys(self, node: Node, key: str) -> None:
        """Refuse keys that are unknown, of a later version, or missing."""
        for name, child in node.entries.items():
            if name in self.later and name not in self.forms:
                fail(child, join(key, name), LATER)
            if name not in self.forms:
                fail(child, join(key, name), "unknown key", nearest(name, self.forms))
        for name in self.required:
            if name not in node.entries:
                fail(node, key, f"{name} is missing")

    def schema(self) -> Schema:
        required = {"required": list(self.required)} if self.required else {}
        return {
            "type": "object",
            "properties": {name: form.schema() for name, form in self.forms.items()},
            "additionalProperties": False,
        } | required


@dataclass(frozen=True)
class Anything:
    """Whatever stands there, as a tree; something else looks into it."""

    described: Schema = field(default_factory=dict)

    def read(self, node: Node, key: str) -> Node:
        return node

    def schema(self) -> Schema:
        return self.described


@dataclass(frozen=True)
class Reading:
    """A form with a function of its own."""

    function: Callable[[Node, str], Any]
    described: Schema

    def read(self, node: Node, key: str) -> Any:
        return self.function(node, key)

    def schema(self) -> Schema:
        return self.described


def one_of(node: Node, key: str, names: Collection[str]) -> str:
    """The only key of these that a map has.

    Raises:
        InputError: when it has none or several.
    """
    found = [name for name in node.entries if name in names]
    if len(found) == 1:
        return found[0]
    if found:
        fail(node.entries[found[1]], key, f"{found[0]} and {found[1]} exclude each other")
    at, near = node, None
    for name, child in node.entries.items():
        if near is None and (near := nearest(name, names)) is not None:
            at = child
    return fail(at, key, f"needs one of: {', '.join(names)}", near)
