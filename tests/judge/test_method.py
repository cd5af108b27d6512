"""The method's page names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"`(test_\w+\.py)(?:::(\w+))?`", (ROOT / "docs" / "METHOD.md").read_text())


def test_formulas_name_their_tests() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_is_named_is_there(file: str, name: str) -> None:
    (path,) = [*ROOT.glob(f"tests/stats/{file}"), *ROOT.glob(f"tests/judge/{file}")]
    assert not name or f"def {name}(" in path.read_text()
