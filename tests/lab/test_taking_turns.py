"""How systems take turns on a real machine: all up at once, one for each block, or in turn."""

import sys
from pathlib import Path

import pytest
from labs import HELLO, Seen, new_run, text

from benchlab.judge.run import judge_run
from benchlab.lab import events
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.store import Run, Trial

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))


def ran(given: str) -> tuple[Run, Seen]:
    experiment, run = new_run(given)
    seen = Seen()
    record = execute(experiment, cases(experiment), run, emit=seen, stop=StopToken())
    assert record.state == "complete"
    return run, seen


def given(order: str) -> str:
    """One session of two blocks, with trials that are as short as can be."""
    short = text(load="{clients: 1, duration: 0.2s, warmup: 0s}", more=f"order: {order}")
    return short.replace("sessions: 2", "sessions: 1").replace("blocks: 1", "blocks: 2")


def idle_rows(run: Run) -> dict[str, str]:
    """The row `idle` of each trial that is used, by what it says."""
    experiment, _ = new_run(run.experiment_text())
    judged = judge_run(experiment, cases(experiment), run)
    return {
        f"{trial.record.case} {trial.record.block}": row.verdict
        for one in judged.cases.values()
        for trial in one.trials
        for row in trial.checks
        if row.name == "idle"
    }


def test_resident_systems_are_watched_while_they_are_idle() -> None:
    run, seen = ran(given("resident"))
    assert len(seen.of(events.SystemStarted)) == 2
    assert (run.record.order, run.record.blocks_from) == ("resident", None)
    assert set(idle_rows(run).values()) == {"valid"}
    members = {trial.record.case: set(idle(trial)) for trial in run.trials()}
    assert members == {"system=left": {"", "right"}, "system=right": {"", "left"}}


def idle(trial: Trial) -> list[str]:
    """Whose idle work was read during a trial."""
    probes = trial.probes()
    members: list[str] = probes.filter(probes["source"] == "idle")["member"].unique().to_list()
    return members


def test_blocks_start_each_system_afresh() -> None:
    run, seen = ran(given("blocks"))
    started = [event.system for event in seen.of(events.SystemStarted)]
    assert len(started) == 4 and sorted(started[:2]) == sorted(started[2:]) == ["left", "right"]
    assert set(idle_rows(run).values()) == {"not-applicable"}


class StoppedAtOnce(StopToken):
    """Is asked to stop as soon as something is waited for."""

    def pause(self, seconds: float) -> bool:
        if not self.is_set:
            self.ask()
        return super().pause(seconds)


def test_asked_to_stop_as_a_system_starts_in_its_turn_a_run_ends_in_order() -> None:
    experiment, run = new_run(given("blocks"))
    seen = Seen()
    record = execute(experiment, cases(experiment), run, emit=seen, stop=StoppedAtOnce())
    assert (record.state, record.sessions_done) == ("interrupted", 0)
    assert not seen.of(events.TrialStarted)


def test_in_turn_each_system_is_started_once_and_the_answer_says_so() -> None:
    run, seen = ran(given("sequential"))
    assert [event.system for event in seen.of(events.SystemStarted)] == ["left", "right"]
    order = dict.fromkeys((event.case, event.block) for event in seen.of(events.TrialStarted))
    assert [case for case, _ in order] == ["system=left"] * 2 + ["system=right"] * 2
    experiment, _ = new_run(given("sequential"))
    judged = judge_run(experiment, cases(experiment), run)
    assert "one after the other in each session" in judged.summary.answer
    assert any("sequential" in label for label in judged.labels)


def test_an_idle_system_that_works_is_ended_for_the_others_trials() -> None:
    start = f"{sys.executable} {HELLO} ${{port}} --name right"
    noisy = f"sh -c 'timeout 60 yes > /dev/null & exec {start}'"
    changed = given("resident").replace(start, noisy).replace("duration: 0.2s", "duration: 0.5s")
    changed = changed.replace("blocks: 2", "blocks: 1")
    run, seen = ran(changed.replace("sessions: 1", "sessions: 2"))
    assert run.record.blocks_from == 0
    first = [t.record for t in run.trials() if (t.record.session, t.record.block) == (0, 0)]
    of_left = [(r.attempt, r.used) for r in first if r.case == "system=left"]
    assert of_left == [(0, False), (1, False), (2, True)]
    assert set(idle_rows(run).values()) <= {"valid", "not-applicable"}
    (told,) = [note for note in run.record.notes if "one system is up at a time" in note]
    assert told.startswith("session 1: idle: systems that nobody asked used")
    assert "most of it right" in told
    # In the second session nothing is tried again: no system is started before its turn.
    kinds = [type(event) for event in seen.all]
    second = len(kinds) - 1 - kinds[::-1].index(events.SessionStarted)
    begun = [k for k in kinds[second:] if k in (events.SystemStarted, events.TrialStarted)]
    assert begun[:2] == [events.SystemStarted, events.TrialStarted]
    assert begun.count(events.SystemStarted) == 2
