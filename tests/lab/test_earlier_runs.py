"""What a new run learns from the store's earlier ones as it begins."""

from pathlib import Path

import pytest
from labs import Seen, new_run

from benchlab.host import fingerprint
from benchlab.lab import history
from benchlab.lab.announcing import showing
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.evidence import Comparison, Pair, Summary
from benchlab.store import Run

MACHINE = "f00d"
TEXT = """
experiment: theirs
systems:
  old: {at: "http://127.0.0.1:1/"RESTART}
  new: {at: "http://127.0.0.1:2/"RESTART}
workload: {mix: {page: {get: /}}}
load: {clients: 2, duration: 1s}
factors: {system: [old, new]}
compare: {factor: system}
"""
LEFT = TEXT.replace("RESTART", "")
RESTARTED = TEXT.replace("RESTART", ", restart: {command: 'true'}")


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path))


def kept(
    text: str, machine: str = MACHINE, scatter: float = 0.01, second: int = 0, pairs: int = 8
) -> Run:
    """A whole run in the store, whose pairs scatter by so much."""
    experiment, run = new_run(text, known=KNOWN)
    host = {"fingerprint": machine}
    done = {
        "state": "complete",
        "sessions_done": 8,
        "host": host,
        "created_utc": f"2026-11-01T00:00:{second:02}Z",
    }
    run.update(run.record.model_copy(update=done))
    one = Comparison(
        metric="throughput",
        baseline="old",
        candidate="new",
        at={},
        counts=True,
        effect=0.0,
        verdict="equivalent",
        pairs=tuple(Pair(session=k, effect=scatter * (-1) ** k) for k in range(pairs)),
    )
    run.write_summary(
        Summary(
            experiment=experiment.name,
            question="",
            state="complete",
            sessions=8,
            answer="",
            cases=(),
            comparisons=(one,),
        )
    )
    return run


def test_what_pairs_scattered_by_is_foretold_from_the_newest_run_that_asked_the_same() -> None:
    experiment, _ = new_run(LEFT, known=KNOWN)
    asked = cases(experiment)
    assert history.scatter(experiment, asked, MACHINE) is None
    kept(LEFT, scatter=0.03)
    newest = kept(LEFT, scatter=0.02, second=1)
    for other in (LEFT.replace("clients: 2", "clients: 3"), LEFT + "blocks: 3\n"):
        kept(other, scatter=0.5, second=2)
    kept(LEFT, machine="another", scatter=0.5, second=3)
    kept(LEFT, scatter=0.5, second=4, pairs=1)
    found = history.scatter(experiment, asked, MACHINE)
    assert found is not None and found.run == newest.id
    assert found.sd == pytest.approx(0.0214, rel=0.01)
    told = showing(experiment, asked, 1)
    assert told is not None and "not known" in told, "it ran on another machine"


def test_what_sessions_show_is_told_from_an_earlier_run_and_kept() -> None:
    first = kept(LEFT, scatter=0.04, machine=fingerprint.take()["fingerprint"])
    experiment, run = new_run(LEFT, known=KNOWN)
    told = showing(experiment, cases(experiment), 1)
    assert told is not None and told.startswith("8 sessions show a difference of 5.32 % in")
    assert f"if pairs scatter as in {first.id}; 3 % needs about" in told
    stop = StopToken()
    stop.ask()
    record = execute(experiment, cases(experiment), run, emit=Seen(), stop=stop)
    assert record.notes[0] == f"said beforehand: {told}"
    again = execute(experiment, cases(experiment), run, emit=Seen(), stop=stop)
    assert again.notes == record.notes, "once, as it began"


def learnt(text: str = LEFT) -> str | None:
    experiment, _ = new_run(text, known=KNOWN)
    found = history.restarts(experiment, cases(experiment), MACHINE)
    return None if found is None else found.run


def test_a_run_with_restarts_tells_what_they_do() -> None:
    assert learnt() is None
    kept(LEFT)
    assert learnt() is None, "its sessions were all of one start"
    told = kept(RESTARTED)
    assert learnt() == told.id
    experiment, _ = new_run(LEFT, known=KNOWN)
    found = history.restarts(experiment, cases(experiment), MACHINE)
    assert found is not None and 0.02 < found.found[0].share < 0.03
    assert learnt(RESTARTED) is None, "which needs no telling"


def test_what_was_another_machine_system_or_question_tells_nothing() -> None:
    kept(RESTARTED, machine="beef")
    kept(RESTARTED.replace("127.0.0.1:2/", "127.0.0.1:3/"))
    kept(RESTARTED.replace("clients: 2", "clients: 3"))
    kept(RESTARTED.replace("experiment: theirs", "experiment: others"))
    assert learnt() is None
