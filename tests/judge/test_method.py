"""The method's page names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("stats", "judge", "host", "systems", "lab")
NAMED = re.findall(r"`(test_\w+\.py)(?:::(\w+))?`", (ROOT / "docs" / "METHOD.md").read_text())


def test_formulas_name_their_tests() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_is_named_is_there(file: str, name: str) -> None:
    (path,) = [found for room in ROOMS for found in ROOT.glob(f"tests/{room}/{file}")]
    assert not name or f"def {name}(" in path.read_text()
