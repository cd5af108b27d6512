"""The gate on instruction counts lets nothing grow unseen."""

import sys
from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.fixture
def instructions(bench: Callable[[str], ModuleType]) -> ModuleType:
    """The gate."""
    return bench("instructions")


def test_growth_is_refused_beyond_the_tolerance(instructions: ModuleType) -> None:
    settled = {"a": 1000, "b": 1000}
    assert instructions.wrong({"a": 1030, "b": 500}, settled) == []
    assert instructions.wrong({"a": 1031, "b": 1000}, settled) == ["a: grew from 1000 to 1031"]


def test_each_count_has_a_settled_figure_and_each_figure_a_count(instructions: ModuleType) -> None:
    lines = instructions.wrong({"a": 1, "new": 1}, {"a": 1, "old": 1})
    assert lines == ["new: has no settled figure", "old: is no longer counted"]


def test_what_fell_is_to_be_settled_on_anew(instructions: ModuleType) -> None:
    assert instructions.fallen({"a": 969, "b": 970, "c": 1}, {"a": 1000, "b": 1000}) == ["a"]


def test_without_valgrind_nothing_is_counted_and_that_is_told(
    instructions: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["instructions.py"])
    monkeypatch.setenv("PATH", "")
    for ci, status in ("", 0), ("true", 1):
        monkeypatch.setenv("CI", ci)
        with pytest.raises(SystemExit) as ended:
            instructions.main()
        assert ended.value.code == status
        assert "not counted" in capsys.readouterr().err
