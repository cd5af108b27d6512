"""The harness of known truths: it works, keeps what it found, and leaves nothing behind."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benches.truth import __main__ as truth  # noqa: E402
from benches.truth.units import SHORT, Journal, Line  # noqa: E402

LINE = Line("wrong/500/0", "2026-11-21T00:00:00", 1.0, 0.5, 0.0, "abcd", "1234", True, {})


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """The harness on short trials."""
    page = folder / "TRUTH.md"
    command = [sys.executable, "-m", "benches.truth", "--short", "--folder", str(folder / "work")]
    return subprocess.Popen(
        [*command, "--page", str(page), *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'python'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.real
@pytest.mark.slow
def test_a_unit_is_measured_once_and_stands_in_the_table(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("cc")
    for number in range(2):
        harness = started(tmp_path, "--only", "wrong", "--most", "1")
        said, _ = harness.communicate(timeout=120)
        assert harness.returncode == 0, said
        assert ("1 of 1: wrong/500/0" in said) == (number == 0)
    (row,) = [line for line in (tmp_path / "TRUTH.md").read_text().splitlines() if "500" in line]
    assert "1 failing | 1 of 4" in row


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    Journal(tmp_path, SHORT).add(LINE)
    Journal(tmp_path, SHORT).add(dataclasses.replace(LINE, unit="wrong/500/1"))
    file = tmp_path / "short.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    kept = Journal(tmp_path, SHORT)
    assert [line.unit for line in kept] == ["wrong/500/0"]
    kept.add(dataclasses.replace(LINE, unit="wrong/500/1"))
    assert [line.unit for line in Journal(tmp_path, SHORT)] == ["wrong/500/0", "wrong/500/1"]


def test_parts_keep_step_and_no_two_units_have_one_name() -> None:
    units = truth.order(truth.PARTS, SHORT, None)
    assert len({unit.name for _, unit in units}) == len(units)
    half = [part.name for part, _ in units[: len(units) // 2]]
    for part in truth.PARTS:
        all_of = len(part.units(SHORT))
        assert abs(half.count(part.name) - all_of / 2) <= 1


def test_every_unit_stands_in_a_row_of_the_table(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SHORT)
    for part in truth.PARTS:
        rows = part.rows(journal)
        assert sum(row.of for row in rows) >= len(part.units(SHORT)), part.name
        assert not any(row.done for row in rows)
