"""Recipes that bring one server software to a known state and take it away. Knows no load."""

from benchlab.systems.protocol import Instance, Kind, Place, StoppedError
from benchlab.systems.registry import KINDS, kind_of, own_metrics
from benchlab.systems.sharing import instance_key

__all__ = [
    "KINDS",
    "Instance",
    "Kind",
    "Place",
    "StoppedError",
    "instance_key",
    "kind_of",
    "own_metrics",
]
