"""Whether what was printed is what the raw data say: kept figures beside the same derived again.

Absent: the deriving, which is the judge's.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9
"""Relative; a figure may differ by the last digits of its decimal form and no more."""


@dataclass(frozen=True)
class Difference:
    """A figure that does not follow from the raw data."""

    file: str
    figure: str
    kept: Any
    derived: Any

    def __str__(self) -> str:
        return f"{self.file}: {self.figure}: says {self.kept!r}, the raw data say {self.derived!r}"

    def as_json(self) -> dict[str, Any]:
        """The same as an object."""
        return asdict(self)


def compare(file: Path, kept: Any, derived: Any) -> tuple[int, list[Difference]]:
    """How many values were compared, and those that differ, of one document."""
    left, right = dict(_leaves(kept)), dict(_leaves(derived))
    places = sorted(left.keys() | right.keys())
    missing = "nothing"
    found = [
        Difference(file.name, place, left.get(place, missing), right.get(place, missing))
        for place in places
        if not _same(left.get(place, missing), right.get(place, missing))
    ]
    return len(places), found


def _leaves(document: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a JSON document under its path."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from _leaves(value, f"{place}.{key}" if place else str(key))
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            yield from _leaves(value, f"{place}[{index}]")
    else:
        yield place, document


def _same(left: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return math.isclose(left, right, rel_tol=TOLERANCE)
    return bool(left == right)


def read_json(path: Path) -> Any:
    """A kept document; raises `ValueError` where it is no JSON."""
    return json.loads(path.read_text(encoding="utf-8"))
