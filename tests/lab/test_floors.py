"""What the path costs is measured once for a machine, and again where that takes a figure away."""

import os
from pathlib import Path

import pytest
from labs import Seen, new_run, text

from benchlab.lab import events, floors
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.load import null
from benchlab.model.cases import cases
from benchlab.store import Run

pytestmark = pytest.mark.real

EVEN = "{rate: 28/s, arrivals: constant, connections: 2, duration: 0.5s, warmup: 0.1s}"
"""In the middle of a step of rates that share a floor."""


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders for which the null server was run."""
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))
    folders: list[Path] = []
    really = null.measure

    def noted(plan: dict[str, object], folder: Path, **options: object) -> bool:
        folders.append(folder)
        return really(plan, folder, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(null, "measure", noted)
    return folders


def run_it(out: Path | None = None, floor: str = "100%") -> tuple[Run, Seen]:
    given = text(load=EVEN, more=f"allow: {{floor: {floor}}}")
    experiment, run = new_run(given.replace("sessions: 2", "sessions: 1"), out)
    seen = Seen()
    execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    return run, seen


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "store/floors").glob("*/*"))


def notes(seen: Seen) -> str:
    return " ".join(note.text for note in seen.of(events.Note))


def test_the_next_run_takes_over_what_was_measured(tmp_path: Path, measured: list[Path]) -> None:
    first, seen = run_it()
    assert len(measured) == 1, "both systems were asked alike"
    assert "earlier run" not in notes(seen)
    second, seen = run_it()
    assert len(measured) == 1
    assert notes(seen).count("earlier run") == 1
    folder = measured[0].relative_to(first.path)
    for file in ("floor/measurement.arrow", "ceiling/measurement.arrow", "floor/plan.json"):
        here = (second.path / folder / file).read_bytes()
        assert here == (first.path / folder / file).read_bytes()
    assert {trial.record.ceiling for trial in second.trials()} == {str(folder)}
    (old,) = kept(tmp_path)
    of_another = old.parent.with_name("another-engine") / "x-1"
    of_another.mkdir(parents=True)
    for folder in (old, of_another):
        os.utime(folder, (0, 0))
    run_it()
    assert len(measured) == 2, "it was too old"
    assert kept(tmp_path) == [old], "and what is too old is not kept for ever"


def test_one_that_takes_a_figure_away_is_measured_anew(
    tmp_path: Path, measured: list[Path]
) -> None:
    first, _ = run_it()
    (of_machine,) = kept(tmp_path)
    before = (of_machine / "floor/measurement.arrow").read_bytes()
    second, _ = run_it(floor="0.1%")
    assert [folder.parent.parent for folder in measured] == [first.path, second.path]
    anew = (second.path / "null" / of_machine.name / "floor/measurement.arrow").read_bytes()
    assert before != anew == (of_machine / "floor/measurement.arrow").read_bytes()


def test_without_a_store_nothing_is_kept(tmp_path: Path, measured: list[Path]) -> None:
    run_it(tmp_path / "out")
    assert len(measured) == 1
    assert not (tmp_path / "store").exists()
    assert measured[0].parent.name == floors.FOLDER
