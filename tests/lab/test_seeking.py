"""A real server whose capacity is known is searched, interrupted and gone on with.

nginx refuses what comes beyond a rate it is told (`limit_req`, a leaky bucket), so that the highest
rate with few errors is that rate and a little more.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import Seen, new_run

from benchlab.judge.run import judge_run
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.report import readable

pytestmark = [pytest.mark.real, pytest.mark.slow]
LIMITED_PER_SECOND = 150
TEXT = f"""
experiment: limited
systems:
  nginx:
    settings:
      limit_req_zone: "$server_port zone=all:1m rate={LIMITED_PER_SECOND}r/s"
      limit_req: zone=all burst=3 nodelay
workload: {{mix: {{page: {{get: /, expect: {{status: 204}}}}}}}}
load: {{find: highest rate, keep: errors < 20%, peak: 90/s, duration: 0.4s, warmup: 0.1s}}
sessions: 2
blocks: 1
allow: {{lag: 1s, steal: 100%, swap: 100000, little: 100%}}
"""


def test_a_limit_that_is_known_is_found_and_a_run_that_goes_on_does_not_search_again(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("nginx")
    experiment, run = new_run(TEXT, tmp_path / "run", KNOWN)
    seen, stop = Seen(), StopToken()

    def emit(event: events.Event) -> None:
        seen(event)
        if isinstance(event, events.SessionStarted) and event.session == 1:
            stop.ask()

    record = execute(experiment, cases(experiment), run, emit=emit, stop=stop)
    assert (record.state, record.sessions_done) == ("interrupted", 1)
    searched = [event for event in seen.of(events.StepEnded) if event.step.share is None]
    assert [event.step.rate for event in searched[:2]] == [100, 200]
    assert [event.outcome for event in searched[:2]] == ["kept", "broken"]
    assert (searched[1].figures["errors"] or 0) > 0.2
    again = Seen()
    record = execute(experiment, cases(experiment), run, emit=again, stop=StopToken())
    assert (record.state, record.sessions_done) == ("complete", 2)
    shares = [event.step.share for event in again.of(events.StepEnded)]
    assert None not in shares and sorted(shares[:3]) == [0.9, 1.0, 1.1]

    summary = judge_run(experiment, cases(experiment), run).summary
    (case,) = summary.cases
    found = case.metrics["capacity"]
    assert found.sessions == 2 and found.validity == "valid"
    # One in five may be refused: what is let through, and a fifth of it more.
    assert found.estimate == pytest.approx(LIMITED_PER_SECOND / 0.8, rel=0.2)
    ended = [*seen.of(events.StepEnded), *again.of(events.StepEnded)]
    assert case.capacity is not None and len(case.capacity.steps) == len(ended)
    assert "limited keeps errors < 20% up to" in summary.answer
    assert "of it is left" in "; ".join(readable.capacity(case))
