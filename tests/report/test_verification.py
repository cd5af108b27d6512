"""What was printed beside what the raw data give."""

from dataclasses import replace
from pathlib import Path

import fakes

from benchlab.model.records import TwoStage
from benchlab.report.verification import verify


def test_the_number_of_sessions_and_what_it_was_made_of_are_held_too(tmp_path: Path) -> None:
    fixed = TwoStage(
        precision=0.02, first=8, sessions=13, needed=13, half_width=0.019, spread=0.03, level=0.05
    )
    material = fakes.explored()
    assert material.record is not None
    record = material.record.model_copy(update={"two_stage": fixed, "sessions": 13})
    material = replace(material, record=record)
    summary, page = tmp_path / "summary.json", tmp_path / "report.html"
    summary.write_text(material.summary.model_dump_json(), encoding="utf-8")
    alone, both = verify(summary, page, material), verify(summary, page, material, fixed)
    assert both.compared > alone.compared and both.differing == alone.differing == ()
    found = fixed.model_copy(update={"spread": 0.04})
    (told,) = verify(summary, page, material, found).differing
    assert told == "run.json: two_stage.spread is 0.03, but the raw data give 0.04"
    longer = replace(material, record=record.model_copy(update={"sessions": 14}))
    (told,) = verify(summary, page, longer, fixed).differing
    assert told == "run.json: sessions is 14, but the raw data give 13"
