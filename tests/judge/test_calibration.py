"""What two equal systems say of their machine, and what is then no longer claimed."""

from math import log
from typing import Any

import numpy as np
import pytest
from runs import Course, FakeRun, cases_of, experiment_of, run_of, wobble

from benchlab.judge.calibration import calibrated, false_alarms, showable
from benchlab.judge.run import judge_run
from benchlab.model.errors import HostError
from benchlab.model.evidence import Comparison
from benchlab.model.experiment import Case, Compare
from benchlab.model.records import Calibration, RunRecord

PAIR = cases_of("server", ["one", "other"])
COMPARE = Compare(factor="server", baseline="one", metrics=("throughput",))


def calibration_of(ratios: list[float]) -> Calibration:
    """Of a run whose sessions found these ratios between equal servers."""

    def script(case: Case, session: int, block: int) -> Course:
        return Course(
            rate=round(100_000 * (ratios[session] if case.levels["server"] == "other" else 1))
        )

    run: Any = run_of(PAIR, script, sessions=len(ratios), blocks=1)
    record: RunRecord = run.record.model_copy(update={"host": {"fingerprint": "f"}})
    for number, trial in enumerate(run.trials()):
        at = f"2026-01-01T00:{number // 2:02}:00+00:00"
        trial.record = trial.record.model_copy(update={"started_utc": at})
    summary = judge_run(experiment_of(PAIR, compare=COMPARE), PAIR, run).summary
    return calibrated(summary, record, run)


def test_the_spread_is_that_of_the_sessions_log_ratios() -> None:
    ratios = [1.0, 1.02, 0.99, 1.01, 0.97, 1.03, 1.0, 1.0]
    found = calibration_of(ratios)
    assert found.spread["throughput"] == pytest.approx(np.std(np.log(ratios), ddof=1), rel=0.01)
    assert (found.sessions, found.session_s) == (8, 60.0)
    assert (found.called_different, found.comparisons) == (0, 1)


def test_equal_servers_that_are_called_different_are_counted() -> None:
    drifted = [1.02, 1.03, 1.02, 1.03, 1.02, 1.03]
    quiet = [1.0, 1.02, 0.99, 1.01, 0.97, 1.03]
    found = calibration_of([*drifted, *quiet, *drifted])
    assert (found.called_different, found.comparisons) == (2, 3)


@pytest.mark.parametrize("sessions", [1, 5])
def test_few_sessions_tell_nothing_of_noise(sessions: int) -> None:
    with pytest.raises(HostError, match="fewer than 6 sessions could be compared"):
        calibration_of([1.0, 1.01, 0.99, 1.02, 0.98][:sessions])


def test_more_sessions_show_less_and_other_metrics_are_not_known(noise: Calibration) -> None:
    few, many = (showable(noise, "throughput", sessions) for sessions in (8, 32))
    assert few is not None and many is not None
    assert log(1 + many) < log(1 + few) / 2
    assert showable(noise, "errors", 8) is None
    assert showable(None, "throughput", 8) is None
    assert showable(noise, "throughput", 3) is None


def test_the_share_of_false_alarms_has_its_exact_interval(noise: Calibration) -> None:
    low, high = false_alarms(noise)
    # Clopper and Pearson's limits of one in three, from their table.
    assert (low, high) == pytest.approx((0.0084, 0.9057), abs=1e-4)


def compared(calibration: Calibration | None) -> Comparison:
    def script(case: Case, session: int, block: int) -> Course:
        return Course(rate=20_000 * wobble(session, block))

    run: FakeRun = run_of(PAIR, script)
    run.record = run.record.model_copy(update={"calibration": calibration})
    experiment = experiment_of(PAIR, compare=COMPARE)
    return judge_run(experiment, PAIR, run).summary.comparisons[0]  # type: ignore[arg-type]


def test_nothing_is_called_equal_beyond_what_the_machine_can_show(noise: Calibration) -> None:
    assert compared(None).why == "this machine's noise is not calibrated"
    quiet = noise.model_copy(update={"spread": {"throughput": 0.01}})
    assert (compared(quiet).verdict, compared(quiet).why) == ("equivalent", "")
    loud = noise.model_copy(update={"spread": {"throughput": 0.1}})
    found = compared(loud)
    assert found.verdict == "inconclusive" and "to be told apart" in found.why
    other = noise.model_copy(update={"spread": {"latency_p50": 0.1}})
    assert compared(other).why == "this machine's noise is not calibrated"
