"""What is shown while a run goes on: how far it is and how precise, no figure before a verdict."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchlab.cli.progress import Display
from benchlab.judge.precision import Outlook
from benchlab.lab import events
from benchlab.lab.budget import TimeEstimate

ESTIMATE = TimeEstimate(
    trials=16,
    sessions=8,
    trials_s=60.0,
    starts_s=8.0,
    null_s=4.0,
    is_guess=False,
    most_sessions=20,
)
STARTED = events.RunStarted(
    path=Path("runs/x"),
    experiment="x",
    cases=("a", "b"),
    sessions=8,
    most_sessions=20,
    sessions_done=0,
    blocks=1,
    estimate=ESTIMATE,
    is_blind=True,
)
GOING = (
    events.TrialStarted(0, 0, "a", 0, 1, 2),
    events.Progress("a", 1, 1234.0, 7, 0.0321),
    events.Progress("a", 2, 0.0, 0, None),
    events.TrialEnded(
        0, 0, "a", 0, "ok", "", True, {"throughput": 1234.0, "latency_p99": 0.0321, "errors": 0.0}
    ),
    events.TrialEnded(0, 0, "a", 1, "failed", "no answer", True, {"throughput": 1234.0}),
    events.SessionEnded(3, 8, Outlook(0.0521, 0.0264)),
    events.SessionEnded(7, 8, Outlook(0.0264, 0.0264)),
)


@pytest.fixture(params=[False, True], ids=["lines", "live"])
def shown(request: pytest.FixtureRequest) -> tuple[Display, io.StringIO]:
    """A display, on a terminal or not, and all that it wrote."""
    written = io.StringIO()
    display = Display()
    display.console = Console(
        file=written, force_terminal=request.param, width=150, highlight=False, color_system=None
    )
    if request.param:
        display = with_live_line(display)
    return display, written


def with_live_line(display: Display) -> Display:
    """The display with a live line that keeps each of its states."""

    class Kept:
        def update(self, text: object) -> None:
            display.console.print(text)

    display.live = Kept()  # type: ignore[assignment]
    return display


def test_no_figure_is_shown_before_the_verdict(shown: tuple[Display, io.StringIO]) -> None:
    display, written = shown
    for event in (STARTED, *GOING):
        display.show(event)
    said = written.getvalue()
    assert "x: 2 cases × 8 to 20 sessions × 1 block, about 72s to 2.9min" in said
    for figure in ("1,23", "123", "1.23", "32.1"):
        assert figure not in said
    assert "trial 1/2, session 1, block 1: a" in said
    assert "failed (no answer)" in said
    now = "session 4/8 counts: intervals are ±5.21 % now, about ±2.64 % at the end; the verdict"
    assert now in said
    assert "session 8/8 counts: intervals are ±2.64 %\n" in said
    if display.live:
        assert "2 s, 7 errors" in said and "3 s, no answers" in said


def test_a_run_without_a_verdict_shows_its_figures(shown: tuple[Display, io.StringIO]) -> None:
    display, written = shown
    for event in (replace(STARTED, is_blind=False), *GOING):
        display.show(event)
    said = written.getvalue()
    assert "1,230/s" in said
    if display.live:
        assert "p99 32.1ms" in said
