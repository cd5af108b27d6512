"""Writes an experiment as the YAML file that reads back equal to it: the reverse of `reading`."""

import io
import re

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as Written

from benchlab.model.experiment import Experiment
from benchlab.model.tree import Node

_TAG = "tag:yaml.org,2002:"
_PLAIN = re.compile(r"[A-Za-z0-9_./$-][A-Za-z0-9_./:;%+=@~${}<>()'\"&*?!\u00a1-\uffff -]*")
"""Texts that may stand without quotes, where the writer agrees; others are always quoted."""


def experiment_text(experiment: Experiment) -> str:
    """The file that an experiment was read or put together from, with what was set in it."""
    return yaml_text(experiment.source)


def yaml_text(node: Node) -> str:
    """A tree as YAML 1.2, numbers as they were written."""
    yaml = YAML()
    yaml.width = 100
    out = io.StringIO()
    yaml.serialize(_written(node), out)
    return out.getvalue()


def _written(node: Node) -> Written:
    if isinstance(node.value, dict):
        pairs = [(_scalar("str", name), _written(child)) for name, child in node.value.items()]
        return MappingNode(_TAG + "map", pairs, flow_style=not pairs)
    if isinstance(node.value, tuple):
        flat = all(child.is_scalar and "\n" not in child.text for child in node.value)
        return SequenceNode(_TAG + "seq", [_written(c) for c in node.value], flow_style=flat)
    match node.value:
        case None:
            return _scalar("null", "null")
        case bool():
            return _scalar("bool", node.text)
        case int():
            return _scalar("int", node.text)
        case float():
            return _scalar("float", node.text)
        case _:
            return _scalar("str", node.value)


def _scalar(kind: str, text: str) -> ScalarNode:
    style = None
    if kind == "str" and text.count("\n") > 1:
        style = "|"
    elif kind == "str" and not _PLAIN.fullmatch(text):
        style = '"' if "\n" in text else "'"
    return ScalarNode(_TAG + kind, text, style=style)
