"""What so many sessions can find is told before they are run."""

from pathlib import Path

import pytest
from labs import new_run, text

from benchlab.host import fingerprint
from benchlab.judge.calibration import showable
from benchlab.lab.announcing import showing
from benchlab.model.cases import cases
from benchlab.model.records import Calibration
from benchlab.store import machines

COMPARED = "compare: {factor: system, metrics: [throughput]}"


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))


def shown(sessions: int, smallest: str = "3%", more: str = COMPARED) -> str | None:
    given = more.replace("]}", f"], smallest_effect: {smallest}}}")
    experiment, _ = new_run(text(more=given).replace("sessions: 2", f"sessions: {sessions}"))
    return showing(experiment, cases(experiment), 1)


def test_a_machine_that_is_not_calibrated_cannot_tell() -> None:
    assert "benchlab doctor --calibrate" in (shown(8) or "")
    assert shown(8, more="") is None, "nothing is compared"
    assert shown(3) is None, "nothing is claimed"


def test_what_the_sessions_show_and_how_many_the_smallest_effect_needs(
    noise: Calibration,
) -> None:
    here = fingerprint.take()["fingerprint"]
    machines.keep(noise.model_copy(update={"fingerprint": here}))
    could = showable(noise, "throughput", 8)
    assert could is not None and 0.02 < could < 0.03
    told = shown(8) or ""
    assert told.startswith(f"8 sessions show a difference of {100 * could:.2f} % in throughput")
    assert "--sessions" not in told
    other = COMPARED.replace("throughput", "errors")
    assert shown(8, more=other) is None, "no calibration is of that"
    finer = shown(8, "1%") or ""
    needed = int(finer.rpartition(" ")[2])
    assert finer.endswith(f"1 % needs about {needed}: --sessions {needed}")
    at_last, before = (showable(noise, "throughput", k) or 1.0 for k in (needed, needed - 1))
    assert at_last <= 0.01 < before
