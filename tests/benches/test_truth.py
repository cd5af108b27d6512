"""The harness of known truths: it works, keeps what it found, and leaves nothing behind."""

import contextlib
import dataclasses
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benches.truth import __main__ as truth  # noqa: E402
from benches.truth import drift, queueing, starved, table  # noqa: E402
from benches.truth.units import SHORT, Found, Journal, Lengths, Line, Part, Row  # noqa: E402

QUICK = {
    "slowed/10%/00": ("each request takes 10 %", "found: "),
    "freezes/0.5s/wrk/0": ("wrk: stopped for 0.5 s", "; max 5"),
    "wrong/500/0": ("one answer in 500", "1 failing | 1 of 4"),
}
"""A unit of each part that takes no time, with what its row begins with, and says."""
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
    for name in ("cc", "wrk"):
        program(name)
    for number in range(2):
        harness = started(tmp_path, "--only", ",".join(QUICK))
        said, _ = harness.communicate(timeout=200)
        assert harness.returncode == 0, said
        assert [name for name in QUICK if f": {name}\n" in said] == ([] if number else [*QUICK])
    page = (tmp_path / "TRUTH.md").read_text()
    for begins, told in QUICK.values():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {begins}")]
        assert told in row


@pytest.mark.real
def test_stopped_in_the_midst_it_leaves_no_process_and_goes_on(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("cc")
    harness = started(tmp_path, "--only", "wrong/500", "--most", "1")
    until = time.monotonic() + 60
    while not (about := knowing(tmp_path / "work" / "server")) and time.monotonic() < until:
        time.sleep(0.02)
    assert about, "the known server was never started"
    harness.send_signal(signal.SIGINT)
    said, _ = harness.communicate(timeout=60)
    assert harness.returncode == truth.INTERRUPTED, said
    assert "goes on" in said
    assert not knowing(tmp_path)
    assert not list(Journal(tmp_path / "work", SHORT))


def knowing(path: Path) -> list[str]:
    """Command lines of processes that mention a path, but for this one's."""
    lines = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return [line for line in lines if str(path) in line and "pytest" not in line.split()[:3]]


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
    units = truth.order(truth.PARTS, SHORT)
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


def row_of(part: Part, tmp_path: Path, beginning: str, unit: str, found: Found) -> Row:
    """The row that begins so, where one unit was done that found this."""
    journal = Journal(tmp_path, SHORT)
    journal.add(dataclasses.replace(LINE, unit=unit, found=found))
    (row,) = [row for row in part.rows(journal) if row.setup.startswith(beginning)]
    return row


def test_without_a_line_to_compare_with_nothing_is_said_of_a_starved_generator(
    tmp_path: Path,
) -> None:
    metric = {"estimate": 5000.0, "validity": "valid", "resolved": True, "why": ""}
    found = {"metrics": dict.fromkeys(starved.METRICS, metric), "rows": {}}
    setup = f"closed load, {starved.BUSY} busy"
    row = row_of(starved.PART, tmp_path, setup, "starved/closed/beside/0", found)
    assert row.means == "What the system does by itself is not known yet."


def test_a_comparison_that_gave_no_effect_stands_in_the_table(tmp_path: Path) -> None:
    found = {"verdict": "invalid", "effect": None, "drifted": 0.1}
    row = row_of(drift.PART, tmp_path, "Benchlab, both", "drift/pairs/0", found)
    assert row.seen.endswith("the effect told: -")


def test_what_is_kept_of_the_units_makes_the_page(tmp_path: Path) -> None:
    shutil.copy(ROOT / "benches" / "truth" / "units.jsonl", tmp_path)
    made = table.make(Journal(tmp_path, Lengths()), truth.PARTS)
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    page = table.FILE.read_text().splitlines()
    assert rows == [line for line in page if line.startswith("| ")]


def test_theory_of_an_exponential_law_is_that_of_the_textbook() -> None:
    # M/M/1: the response is exponential with a mean of S / (1 - busy) (Kleinrock 1975, § 3.2).
    service_us, busy = 200.0, 0.9
    ends = np.exp(-np.arange(20_001) / service_us)
    bins = {us: int(share * 1e9) for us, share in enumerate(ends[:-1] - ends[1:])}
    found = queueing.theory(bins, busy / service_us * 1e6)
    mean_s = service_us * 1e-6 / (1 - busy)
    assert found.busy == pytest.approx(busy, rel=1e-3)
    assert found.mean_s == pytest.approx(mean_s, rel=0.005)
    assert found.p50_s == pytest.approx(math.log(2) * mean_s, rel=0.005)
    assert found.p99_s == pytest.approx(math.log(100) * mean_s, rel=0.005)
    with pytest.raises(ValueError, match="no steady state"):
        queueing.theory(bins, 1.01 / service_us * 1e6)
