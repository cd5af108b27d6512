"""The answer in a terminal: complete at every width, without colour and in plain ASCII."""

import io
from dataclasses import replace
from pathlib import Path

import fakes
import pytest
from rich.console import Console

from benchlab.report import terminal
from benchlab.report.material import Material


def shown(material: Material, width: int, *, colour: bool = False, page: Path | None = None) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    terminal.render(material, console, page)
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", fakes.ALL)
def test_nothing_is_wider_than_the_terminal(name: str, width: int) -> None:
    text = shown(fakes.ALL[name](), width, page=Path("benchlab-runs/x/report.html"))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [60, 140])
def test_the_answer_is_first_and_complete(width: int) -> None:
    material = fakes.quickstart()
    text = shown(material, width, page=Path("somewhere/report.html"))
    flat = " ".join(text.split())
    assert flat.index("▲ better") < flat.index("At clients=4, together is")
    assert flat.index("At clients=4, together is") < flat.index("Throughput")
    for case in material.summary.cases:
        assert case.name in flat
    for words in ("2,134/s", "[2,109 … 2,160]", "p99", "· lead", "p 0.008", "✓ holds",
                  "8 sessions × 1 block", "steady unknown", "somewhere/report.html"):  # fmt: skip
        assert words in flat or words.replace("p 0", "0") in flat, words


def test_a_capacity_is_told_with_what_is_left_at_the_peak() -> None:
    flat = " ".join(shown(fakes.sought(), 140).split())
    assert "Capacity of all: 601/s [568 … 636] keeps latency_p99 < 50ms" in flat
    assert "at the usual peak of 240/s 60 % of it is left [58 … 62]" in flat
    assert "8 steps in 3 sessions" in flat


def test_cases_are_a_table_as_long_as_that_fits() -> None:
    material = fakes.quickstart()
    heights = [len(shown(material, width).splitlines()) for width in (120, 80, 60)]
    assert heights == sorted(set(heights)), "each narrower form takes more lines"
    lines = shown(material, 80).splitlines()
    place = lines.index("fetch=each,clients=1")
    assert lines[place + 1].split()[:1] == ["2,134/s"]
    assert lines[place + 2].split()[0] == "[2,109"
    assert "[396 … 406]" in lines[place + 2], "nothing is cut off"


@pytest.mark.parametrize("width", [60, 140])
def test_trouble_is_loud_and_shaded_figures_are_words(width: int) -> None:
    flat = " ".join(shown(fakes.troubled(), width).split())
    for words in ("DIED fetch=each,clients=1", "SKIPPED", "OVERLOADED", "at least 2,5", "withheld",
                  "✕ invalid", "✕ broken", "? cannot be told", "allowed: steal up to 5 %",
                  "head-room invalid", "agent-bound"):  # fmt: skip
        assert words in flat, words


def test_an_inconclusive_answer_says_what_would_settle_it() -> None:
    text = shown(fakes.inconclusive(), 140)
    assert "This would settle it: benchlab run quickstart.yaml --sessions 19" in text
    assert "? inconclusive" in text


def test_shared_cores_stand_beside_the_answer() -> None:
    assert "shared" in shown(fakes.explored(), 80)


def test_names_cannot_drive_the_terminal() -> None:
    text = shown(fakes.hostile(), 100)
    assert "\x1b" not in text
    assert "<script>" in text


def test_colour_adds_nothing_but_colour() -> None:
    import re

    plain = shown(fakes.troubled(), 100)
    coloured = shown(fakes.troubled(), 100, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_terminal_without_unicode_gets_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    terminal.render(fakes.quickstart(), Console(file=stream, width=100))
    stream.flush()
    assert b"2,134/s" in raw.getvalue()
    assert b"us" in raw.getvalue()


@pytest.mark.parametrize(("used", "words"), [(8, "8 sessions"), (6, "6 of 8"), (0, "none of 8")])
def test_it_rests_on_the_sessions_that_gave_a_figure(used: int, words: str) -> None:
    material = fakes.quickstart()
    cases = tuple(
        case.model_copy(
            update={
                "metrics": {
                    name: found.model_copy(update={"sessions": min(used, found.sessions)})
                    for name, found in case.metrics.items()
                }
            }
        )
        for case in material.summary.cases
    )
    summary = material.summary.model_copy(update={"cases": cases})
    assert f"Rests on {words}" in shown(replace(material, summary=summary), 140)


def test_what_the_lab_noted_stands_beside_the_answer() -> None:
    material = fakes.quickstart()
    assert material.record is not None
    record = material.record.model_copy(update={"notes": ("mixed load", "mixed load")})
    assert shown(replace(material, record=record), 140).count("note  mixed load") == 1
