"""This machine's own noise: what two equal systems differ by, and what that lets one find.

A run of two equal systems is judged like any other; what its pairs scatter by is nobody's doing but
the machine's. Absent: the run itself (`lab.calibration`) and where it is kept (`store.machines`).
"""

from collections.abc import Sequence
from datetime import datetime
from math import expm1, log1p

from benchlab.model.errors import HostError
from benchlab.model.evidence import Summary
from benchlab.model.quantities import significant
from benchlab.model.records import Calibration, RunRecord
from benchlab.stats.estimates import share_interval, spread
from benchlab.stats.family import ALPHA, FEWEST_COUNTING
from benchlab.stats.paired import Paired
from benchlab.stats.power import detectable
from benchlab.stats.verdicts import decide
from benchlab.store import Run

PRIMARY = "throughput"


def calibrated(summary: Summary, record: RunRecord, run: Run) -> Calibration:
    """What a finished run of two equal systems says of its machine.

    The sessions, in their order, are also taken six at a time as if each six had been a comparison.
    Those that are called different are false alarms. Raises HostError where fewer than six sessions
    have a pair.
    """
    differences = {
        one.metric: [log1p(pair.effect) for pair in one.pairs]
        for one in summary.comparisons
        if one.by == "ratio" and len(one.pairs) >= FEWEST_COUNTING
    }
    if PRIMARY not in differences:
        raise HostError(
            f"this machine is not calibrated: fewer than {FEWEST_COUNTING} sessions could be "
            f"compared; why: benchlab report {record.id}"
        )
    sixes = _sixes(differences[PRIMARY])
    return Calibration(
        run=record.id,
        fingerprint=record.host["fingerprint"],
        created_utc=record.created_utc,
        sessions=record.sessions_done,
        session_s=_session_s(run),
        spread={metric: spread(values).sd for metric, values in differences.items()},
        called_different=sum(map(_is_called_different, sixes)),
        comparisons=len(sixes),
    )


def showable(
    calibration: Calibration | None, metric: str, sessions: int, comparisons: int = 1
) -> float | None:
    """The smallest effect that so many sessions show on this machine in 80 % of runs.

    As a share of one. None where the machine is not calibrated for the metric, and where there are
    too few sessions.
    """
    if calibration is None or metric not in calibration.spread:
        return None
    could = detectable(calibration.spread[metric], sessions, ALPHA / comparisons)
    return None if could is None else expm1(could)


def false_alarms(calibration: Calibration) -> tuple[float, float]:
    """The exact 95 % interval of the share of equal systems that are called different here."""
    return share_interval(calibration.called_different, calibration.comparisons)


def gate_doubt(calibration: Calibration | None) -> str:
    """Why no gate should stop anybody on this machine; empty where it may, or none can tell."""
    if calibration is None:
        return ""
    low, _ = false_alarms(calibration)
    if low <= ALPHA:
        return ""
    share = f"{significant(low * 100)} %"
    return f"on this machine at least {share} of equal systems are called different"


def _sixes(values: Sequence[float]) -> list[Sequence[float]]:
    whole = len(values) // FEWEST_COUNTING
    return [values[FEWEST_COUNTING * n : FEWEST_COUNTING * (n + 1)] for n in range(whole)]


def _is_called_different(differences: Sequence[float]) -> bool:
    (found,) = decide([Paired("ratio", tuple(differences), 1.0)], ["up"], 0.0)
    return found is not None and found.excludes_zero


def _session_s(run: Run) -> float:
    """From one session's first trial to the next one's, on average."""
    first: dict[int, datetime] = {}
    for trial in run.trials():
        started = datetime.fromisoformat(trial.record.started_utc)
        session = trial.record.session
        first[session] = min(started, first.get(session, started))
    begun = [first[session] for session in sorted(first)]
    return (begun[-1] - begun[0]).total_seconds() / (len(begun) - 1)
