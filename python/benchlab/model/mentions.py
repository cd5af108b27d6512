"""What a file's texts mention in `${…}` beside values, and the texts that are command lines.

Here is how such texts are written, and what is wrong with one where that can be told from the file
alone. Absent: filling anything in, which whoever starts a system does, and whether a variable of
the environment is set.
"""

import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from benchlab.model.grammar import Reading, Text
from benchlab.model.tree import Node, fail, join, nearest

ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_MENTION = re.compile(r"\$\{([^}]*)\}?")


def split(line: str) -> list[str]:
    """Takes a command line apart as a shell would, without being one.

    Raises ValueError where a quote is not closed, or nothing is there.
    """
    argv = shlex.split(line)
    if not argv:
        raise ValueError("no program is named")
    return argv


def variables(text: str) -> Iterator[str]:
    """The names of the environment's variables that a text mentions."""
    return (found[1] for found in ENVIRONMENT.finditer(text))


def check(node: Node, key: str, text: str, names: Collection[str]) -> None:
    """Refuse what a URL or the like mentions beside these names and `${env:NAME}`.

    Raises:
        InputError: with the nearest name.
    """
    for found in _MENTION.finditer(text):
        if found[1] not in names and not ENVIRONMENT.fullmatch(found[0]):
            there = [f"${{{name}}}" for name in (*names, "env:NAME")]
            near = nearest(found[1], names)
            what = f"there is no {found[0]} here; {', '.join(there)} can stand"
            fail(node, key, what, f"${{{near}}}" if near else None)


def _command_line(node: Node, key: str) -> str:
    text = Text().read(node, key)
    try:
        split(text)
    except ValueError as error:
        what = str(error)[0].lower() + str(error)[1:]
        fail(node, key, f"`{text}` is not a command line: {what}")
    return text


def _files(node: Node, key: str) -> dict[str, str]:
    if not isinstance(node.value, dict):
        fail(node, key, f"is {node.kind()}, not a map")
    found = {}
    for name, child in node.value.items():
        below = join(key, name)
        found[name] = Text().read(child, below)
        if "${" in name:
            continue
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            what = "is no file in the system's own folder: give a relative path, such as conf/a.ini"
            fail(child, below, what)
        for other in found:
            if PurePosixPath(other) in path.parents or path in PurePosixPath(other).parents:
                fail(child, below, f"is a file and a folder at once: there is {other!r} too")
    return found


COMMAND_LINE = Reading(_command_line, Text().schema())
FILES = Reading(_files, {"type": "object", "additionalProperties": Text().schema()})
"""Names of files in a system's own folder, and what is in them."""
