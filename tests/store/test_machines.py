"""A machine's calibrations: kept, found by its fingerprint, and their comparisons added up."""

from pathlib import Path

import pytest

from benchlab.model.errors import InputError
from benchlab.model.records import Calibration
from benchlab.store import machines
from benchlab.store.runs import STORE


def test_the_newest_is_found_with_the_comparisons_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: Calibration
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path))
    assert machines.calibration("ab12") is None
    for run, fingerprint, different in (("1", "ab12", 1), ("2", "cd34", 3), ("3", "ab12", 0)):
        told = {"run": run, "fingerprint": fingerprint, "called_different": different}
        machines.keep(noise.model_copy(update=told))
    found = machines.calibration("ab12")
    assert found is not None
    assert (found.run, found.called_different, found.comparisons) == ("3", 1, 6)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: Calibration
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path))
    machines.keep(noise.model_copy(update={"fingerprint": "ab12"}))
    for broken in ("[", '[{"run": "x"}]'):
        (tmp_path / machines.FOLDER / "ab12.json").write_text(broken)
        with pytest.raises(InputError, match="remove it, and calibrate anew"):
            machines.calibration("ab12")
