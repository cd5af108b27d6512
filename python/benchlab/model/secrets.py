"""Passwords stay out of what is kept: found in files and refused, masked in command lines.

Absent: fetching them from the environment, which whoever starts a system does.
"""

import re

from benchlab.model.tree import Node, fail, join

PASSWORD = "BENCHLAB_PASSWORD"
"""The environment variable in which the agent finds the password of a server that the lab made."""
MENTION = f"${{env:{PASSWORD}}}"

_URL = re.compile(r"(\b[\w+.-]+://[^/?#\s:@]*:)([^/?#\s]+)(@)")
_KEY = re.compile(r"(.*[_.-]|)(password|passwd|pwd)|rediscli_auth|requirepass|masterauth", re.I)
_BEHIND = re.compile(r"\$\{[A-Za-z][\w-]*\.password\}")
"""The mention of the password of a system that stands behind another."""
_ENV = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"(proxy-)?authorization|x-api-key", re.I)
_SWITCHES = {"on", "off", "true", "false", "0", "1", ""}


def is_mention(text: str) -> bool:
    """Whether a text names an environment variable, `${env:NAME}`, and nothing else."""
    return _ENV.fullmatch(text) is not None


def refuse(node: Node, key: str = "") -> None:
    """Refuse a literal password anywhere in a file; `${env:NAME}` is none, nor `${db.password}`.

    Raises:
        InputError: that says how to write it.
    """
    for name, child in node.entries.items():
        below = join(key, name)
        if child.is_scalar and _KEY.fullmatch(name) and child.value is not None:
            text = _written(child.text)
            if text.lower() not in _SWITCHES:
                fail(child, below, "a password does not belong in a file; write ${env:NAME}")
        if child.is_scalar and _HEADER.fullmatch(name) and not _ENV.search(child.text):
            what = "a credential does not belong in a file; write e.g. 'Bearer ${env:TOKEN}'"
            fail(child, below, what)
        refuse(child, below)
    for index, child in enumerate(node.items):
        refuse(child, f"{key}[{index}]")
    if isinstance(node.value, str):
        for match in _URL.finditer(node.value):
            if _written(match[2]) != "":
                what = "a password does not belong in a URL in a file; write ${env:NAME} for it"
                fail(node, key, what)


def _written(text: str) -> str:
    """What is left of a text without the mentions that stand for a password."""
    return _BEHIND.sub("", _ENV.sub("", text))


def mask(text: str) -> str:
    """A text that may be kept: `***` for the password of each URL and for `Authorization:`."""
    text = _URL.sub(r"\1***\3", text)
    return re.sub(r"(?i)((?:proxy-)?authorization\s*[:=]\s*).+", r"\1***", text)
