"""Whether what was printed is what the raw data say: the kept beside the same derived again.

Absent: the deriving, which is the judge's.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchlab.model.records import TwoStage
from benchlab.report import page
from benchlab.report.material import Material
from benchlab.store.runs import RUN

TOLERANCE = 1e-9
"""Relative; a figure may differ by the last digits of its decimal form and no more."""


@dataclass(frozen=True)
class Verification:
    """What was held against the raw data: how many figures, and those that do not follow."""

    compared: int
    differing: tuple[str, ...]


def verify(
    summary: Path, html: Path, material: Material, staged: TwoStage | None = None
) -> Verification:
    """Holds a run's two kept answers against what its raw data give now.

    Args:
        summary: The kept `summary.json`.
        html: The kept page; one that was taken away is not compared.
        material: What the raw data give.
        staged: The number of sessions, where it was fixed on the way, as the raw data give it.
    """
    kept = json.loads(summary.read_text(encoding="utf-8"))
    derived = json.loads(material.summary.model_dump_json())
    places, differing = _held(summary.name, kept, derived)
    if staged is not None and material.record is not None:
        fixed = material.record.two_stage
        derived = {"two_stage": staged.model_dump(), "sessions": staged.sessions}
        kept = {
            "two_stage": fixed.model_dump() if fixed else {},
            "sessions": material.record.sessions,
        }
        more, wrong = _held(RUN, kept, derived)
        places, differing = places + more, differing + wrong
    printed = 0
    if html.exists():
        printed = len(page.figures(html))
        differing += [f"{html.name}: {text}" for text in page.differences(html, material)]
    return Verification(places + printed, tuple(differing))


def _held(name: str, kept: Any, derived: Any) -> tuple[int, list[str]]:
    """How many values two documents have, and where they differ."""
    left, right = dict(_leaves(kept)), dict(_leaves(derived))
    places = sorted(left.keys() | right.keys())
    differing = [
        f"{name}: {place} is {left.get(place)!r}, but the raw data give {right.get(place)!r}"
        for place in places
        if (place in left) != (place in right) or not _same(left[place], right[place])
    ]
    return len(places), differing


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
