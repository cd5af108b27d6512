"""Stalls of trials made of numbers: what is one, what is none, and what is seen with it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from runs import Course, cases_of, experiment_of, run_of
from synthetic import MS, counted, plan, probed

from benchlab.judge.causes import SIGNS
from benchlab.judge.counted import Counted
from benchlab.judge.probed import Line, Probed
from benchlab.judge.run import judge_run
from benchlab.judge.stalls import stalls
from benchlab.lab.opening import KNOWN
from benchlab.model.evidence import Stall

STOPPED = range(20, 25)
"""The slots of a trial of five seconds in which nothing is done."""


def stopped(
    slots: range = STOPPED, *, rate: float = 1000.0, open_at: float | None = None
) -> Counted:
    """A trial that stands still in these slots; under a rate, what came due is done after them."""
    seen = counted(rate=rate, open_at=open_at)
    done, due = seen.slots["completed"].copy(), seen.slots["due"].copy()
    peaks = {name: values.copy() for name, values in seen.peaks.items()}
    done[slots.start : slots.stop] = 0.0
    peaks["max_service_ns"][slots.start - 1] = len(slots) * 1e8
    if open_at is None:
        due[slots.start : slots.stop] = 0.0
    else:
        done[slots.stop] += rate / 10 * len(slots)
        peaks["max_response_ns"][slots.start : slots.stop] = 1e8 * np.arange(len(slots), 0, -1)
    changed = {**seen.slots, "completed": done, "due": due}
    return replace(seen, slots=changed, peaks=peaks, open_at_origin=8.0)


def found(seen: Counted, resources: Probed | None = None) -> tuple[Stall, ...]:
    return stalls(seen, resources or probed(), 1, 0)


@pytest.mark.parametrize("open_at", [None, 1000.0])
def test_standing_still_is_found_with_its_length_and_who_waited(open_at: float | None) -> None:
    (one,) = found(stopped(open_at=open_at))
    assert one.stood_still
    assert one.at_s == pytest.approx(2.0 if open_at else 1.9)
    assert one.at_s + one.length_s == pytest.approx(2.5, abs=0.01)
    assert one.waiting == (508 if open_at else 8)
    assert one.slowest_s == pytest.approx(0.5)
    assert (one.session, one.block) == (1, 0)


def test_a_single_empty_bin_is_no_stall() -> None:
    seen = stopped(range(20, 21))
    short = replace(seen, peaks=counted().peaks)
    assert found(short) == ()


def test_what_is_not_asked_for_is_not_missing() -> None:
    seen = counted(open_at=1000.0)
    paused = {name: seen.slots[name].copy() for name in ("due", "completed", "ok")}
    for values in paused.values():
        values[20:30] = 0.0
    assert found(replace(seen, slots={**seen.slots, **paused}, open_at_origin=0.0)) == ()


def test_few_transactions_are_counted_in_wider_bins() -> None:
    # Ten a second by chance: some tenths of a second are empty, no bin of two seconds is.
    seen = counted(rate=10.0, seconds=60)
    done = np.random.default_rng(5).poisson(1.0, 600).astype(np.float64)
    assert (done == 0).sum() > 100
    assert found(replace(seen, slots={**seen.slots, "completed": done})) == ()


@pytest.mark.parametrize(
    ("slowest_ms", "lag_ms", "count"), [(80, 0.01, 1), (80, 60, 0), (45, 0.01, 0), (39, 0.01, 0)]
)
def test_a_response_far_above_the_usual_is_a_stall(
    slowest_ms: float, lag_ms: float, count: int
) -> None:
    seen = counted(service_ns=4 * MS)
    peaks = {name: values.copy() for name, values in seen.peaks.items()}
    peaks["max_service_ns"][30] = slowest_ms * MS
    peaks["max_lag_ns"][30] = lag_ms * MS
    told = found(replace(seen, peaks=peaks))
    assert len(told) == count
    if told:
        assert (told[0].at_s, told[0].length_s, told[0].stood_still) == (3.0, 0.08, False)


def with_lines(
    lines: Mapping[tuple[str, str, str], Line], gauges: Mapping[str, str] | None = None
) -> Probed:
    plain = probed()
    own = {("postgresql", name): ("gauge", unit) for name, unit in (gauges or {}).items()}
    return replace(plain, lines={**plain.lines, **lines}, own=own)  # type: ignore[arg-type]


def test_what_grew_in_a_stall_and_not_elsewhere_is_its_candidate() -> None:
    at_s = np.arange(-0.5, 5.6, 1.0)
    began = np.where(at_s > 2.4, 1.0, 0.0)
    busy = ("postgresql", "checkpoints_req", "")
    plain = ("postgresql", "xact_commit", "")
    vacuum = ("postgresql", "wal_sync", "")
    lines = {busy: Line(at_s, began), plain: Line(at_s, began), vacuum: Line(at_s, at_s * 5)}
    (one,) = found(stopped(), with_lines(lines))
    (checkpoint,) = [c for c in one.candidates if c.cause == "checkpoint"]
    assert checkpoint.sign == "postgresql.checkpoints_req"
    assert (checkpoint.figure, checkpoint.usual, checkpoint.unit) == (1.0, 0.0, "1/s")
    assert not [c for c in one.candidates if "wal_sync" in c.sign or "commit" in c.sign]


def test_a_gauge_speaks_by_its_value() -> None:
    at_s = np.arange(-0.5, 5.6, 0.5)
    inside = (at_s > 1.9) & (at_s < 2.6)
    lines = {("postgresql", "vacuuming", ""): Line(at_s, inside * 1.0)}
    (one,) = found(stopped(), with_lines(lines, {"vacuuming": ""}))
    assert ("vacuum", 1.0, "count") in [(c.cause, c.figure, c.unit) for c in one.candidates]


@pytest.mark.parametrize(
    ("cores", "cause"), [(0.0, "stopped or waiting"), (0.9, "busy with something else")]
)
def test_the_system_s_own_processor_time_tells_stopped_from_busy(cores: float, cause: str) -> None:
    at_s = np.arange(-0.5, 5.55, 0.1)
    rates = np.where((at_s >= 1.95) & (at_s < 2.45), cores, 0.9)
    used = Line(at_s, np.concatenate([[0.0], np.cumsum(rates[:-1] * 0.1)]))
    lines = {("system", "cpu_user_s", ""): used}
    lines["system", "cpu_system_s", ""] = Line(at_s, np.zeros_like(at_s))
    (one,) = found(stopped(), with_lines(lines))
    assert f"the system was {cause}" in [c.cause for c in one.candidates]


def test_a_generator_that_was_late_is_named() -> None:
    seen = stopped()
    seen.peaks["max_lag_ns"][22] = 200 * MS
    (one,) = found(seen)
    assert "the load generator was late" in [c.cause for c in one.candidates]


def test_a_case_says_how_often_with_an_interval() -> None:
    cases = cases_of("server", ["still", "fine"])
    run = run_of(cases, lambda case, *_: Course(stands_still=case is cases[0], seconds=5))
    experiment = experiment_of(cases)
    still, fine = judge_run(experiment, cases, run).summary.cases  # type: ignore[arg-type]
    assert still.stalls is not None and fine.stalls is not None
    assert (still.stalls.count, still.stalls.watched_s) == (16, 80.0)
    assert still.stalls.per_hour == pytest.approx(720)
    # Garwood's interval of 16: 9.145 to 25.983.
    assert (still.stalls.low, still.stalls.high) == pytest.approx((411.5, 1169.2), rel=1e-3)
    assert [one.session for one in still.stalls.found[::2]] == list(range(8))
    assert (fine.stalls.count, fine.stalls.low) == (0, 0.0)
    assert fine.stalls.high == pytest.approx(3.689 / 80 * 3600, rel=1e-3)


def test_the_plan_s_kind_does_not_matter_where_nothing_is_done() -> None:
    seen = counted(the_plan=plan(rate=1000.0))
    none = {**seen.slots, "completed": np.zeros(50)}
    assert not [one for one in found(replace(seen, slots=none)) if one.stood_still]


def test_every_sign_of_a_system_is_in_its_catalogue() -> None:
    systems = set(SIGNS) - {"host", "system"}
    assert systems
    for kind in systems:
        for sign in SIGNS[kind]:
            missing = {c for c in sign.counters if f"{kind}.{c}" not in KNOWN.counters}
            assert not missing, f"{kind}: {sign.cause}"
