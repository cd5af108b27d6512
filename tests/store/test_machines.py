"""A machine's calibrations: kept, found by its fingerprint, and their comparisons added up."""

from pathlib import Path

import pytest

from benchlab.model.errors import InputError
from benchlab.model.records import Calibration
from benchlab.store import machines
from benchlab.store.runs import STORE


def calibration(run: str, fingerprint: str, called_different: int) -> Calibration:
    return Calibration(
        run=run,
        fingerprint=fingerprint,
        created_utc="2026-01-01T00:00:00Z",
        sessions=20,
        session_s=8.0,
        spread={"throughput": 0.01},
        called_different=called_different,
        comparisons=3,
    )


def test_the_newest_is_found_with_the_comparisons_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path))
    assert machines.calibration("ab12") is None
    machines.keep(calibration("first", "ab12", 1))
    machines.keep(calibration("other", "cd34", 3))
    machines.keep(calibration("second", "ab12", 0))
    found = machines.calibration("ab12")
    assert found is not None
    assert (found.run, found.called_different, found.comparisons) == ("second", 1, 6)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path))
    machines.keep(calibration("first", "ab12", 1))
    for broken in ("[", '[{"run": "x"}]'):
        (tmp_path / machines.FOLDER / "ab12.json").write_text(broken)
        with pytest.raises(InputError, match="remove it, and calibrate anew"):
            machines.calibration("ab12")
