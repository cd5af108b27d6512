"""The run of two equal servers, short."""

from pathlib import Path

import pytest
from labs import Seen

from benchlab.judge.calibration import calibrated
from benchlab.judge.run import judge_run
from benchlab.lab.calibration import METRICS, experiment
from benchlab.lab.opening import begin
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.store import machines
from benchlab.store.runs import STORE


@pytest.mark.real
def test_two_equal_servers_tell_of_the_machine_and_later_runs_know_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, str(tmp_path))
    opened = experiment(sessions=6, duration="0.1s")
    run = begin(opened, ["benchlab", "doctor", "--calibrate"])
    execute(opened.experiment, opened.cases, run, emit=Seen(), stop=StopToken(), here=opened.folder)
    assert run.record.calibration is None
    judged = judge_run(opened.experiment, opened.cases, run)
    assert all(case.state == "ok" for case in judged.summary.cases)
    found = calibrated(judged.summary, run.record, run)
    assert set(found.spread) == set(METRICS)
    assert all(sd > 0 for sd in found.spread.values())
    assert found.sessions == 6 and found.session_s > 0.2
    machines.keep(found)
    later = experiment(sessions=1, duration="0.1s")
    again = begin(later, ["benchlab", "run", "again"])
    execute(later.experiment, later.cases, again, emit=Seen(), stop=StopToken(), here=later.folder)
    assert again.record.calibration == found
