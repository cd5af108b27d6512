"""A real run whose number of sessions is fixed by its first ones, interrupted and gone on with."""

import math
from pathlib import Path

import pytest
from labs import Seen, new_run

from benchlab.judge import precision
from benchlab.judge.run import judge_run
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.records import Calibration
from benchlab.store import machines

GIVEN = """
experiment: staged
systems: {sqlite: {}}
workload: {name: buddies, data: {users: 100}, options: {fetch: each}}
load: {clients: 1, duration: 0.1s, warmup: 0s}
factors: {workload.options.fetch: [each, together]}
compare: {factor: fetch}
sessions: {precision: 0.1%}
blocks: 1
"""


class Stopping(Seen):
    """Asks the lab to stop as the first session of the second stage begins."""

    def __init__(self, stop: StopToken) -> None:
        super().__init__()
        self.stop = stop

    def __call__(self, event: events.Event) -> None:
        super().__call__(event)
        if isinstance(event, events.SessionStarted) and event.session == 8:
            self.stop.ask()


@pytest.mark.real
def test_the_number_is_fixed_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: Calibration
) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(precision, "MOST_STAGED", 9)
    experiment, run = new_run(GIVEN, known=KNOWN)
    stop = StopToken()
    seen = Stopping(stop)
    record = execute(experiment, cases(experiment), run, emit=seen, stop=stop)
    assert (record.state, record.sessions_done, record.sessions) == ("interrupted", 8, 9)
    fixed = record.two_stage
    assert fixed is not None and fixed.comparison == "throughput of together against each"
    assert fixed.needed > 9 and fixed.spread > 0
    (started,) = seen.of(events.RunStarted)
    assert (started.sessions, started.most_sessions) == (8, 20)
    ended = seen.of(events.SessionEnded)
    assert [event.session for event in ended] == list(range(8))
    assert [event.outlook is not None for event in ended] == [False] * 2 + [True] * 6
    assert started.is_blind
    assert [note for note in record.notes if note == precision.sentence(fixed)]

    monkeypatch.setattr(precision, "MOST_STAGED", 12)
    machines.keep(noise.model_copy(update={"fingerprint": record.host["fingerprint"]}))
    record = execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    assert (record.state, record.sessions_done, record.two_stage) == ("complete", 9, fixed)
    assert record.calibration is None, "what was known as it began is kept"
    (found,) = judge_run(experiment, cases(experiment), run).summary.comparisons
    assert found.sessions == 9 and found.low is not None and found.high is not None
    width = math.log1p(found.high) - math.log1p(found.low)
    assert width == pytest.approx(2 * math.log1p(fixed.half_width), rel=1e-6)
