"""Each check: what keeps it, what breaks it, and what widens it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import MS, counted, evidence, plan, probed

from benchlab.judge.checks import (
    Evidence,
    answers,
    check_all,
    clock,
    cores,
    floor,
    head_room,
    idle,
    lag,
    little,
    run_delay,
    steady,
    steal,
    swap,
)
from benchlab.judge.counted import Counted
from benchlab.judge.probed import Line, Probed
from benchlab.model.records import CpuSets

TABLE = [
    "lag",
    "run-delay",
    "head-room",
    "floor",
    "little",
    "answers",
    "steal",
    "swap",
    "clock",
    "cores",
    "idle",
    "steady",
]


def test_a_trial_in_good_order_has_every_row_and_no_fault() -> None:
    rows = check_all(evidence())
    assert [row.name for row in rows] == TABLE
    words = {row.name: row.verdict for row in rows}
    assert words.pop("idle") == "not-applicable"
    assert set(words.values()) == {"valid"}


@pytest.mark.parametrize(
    ("lag_ns", "service_ns", "verdict"),
    [
        (900_000, 1 * MS, "valid"),
        (1_100_000, 1 * MS, "invalid"),
        (1_900_000, 20 * MS, "valid"),
        (2_100_000, 20 * MS, "invalid"),
    ],
)
def test_lag_is_held_against_a_millisecond_or_a_tenth_of_service(
    lag_ns: int, service_ns: int, verdict: str
) -> None:
    assert lag(evidence(counted(lag_ns=lag_ns, service_ns=service_ns))).verdict == verdict


def test_lag_can_be_widened() -> None:
    seen = counted(lag_ns=3 * MS, service_ns=1 * MS)
    assert lag(evidence(seen, allow={"lag": 0.005})).verdict == "valid"
    assert lag(evidence(seen, allow={"lag": 0.002})).verdict == "invalid"


def test_a_schedule_that_was_not_followed_is_the_generator_s_fault() -> None:
    row = lag(evidence(counted(rate=900, open_at=1000.0)))
    assert row.verdict == "invalid" and "the schedule has 5000" in row.why
    assert lag(evidence(counted(rate=1000, open_at=1000.0))).verdict == "valid"


def test_an_agent_that_waited_for_its_core_is_starved_unless_the_system_was_full() -> None:
    assert run_delay(evidence(resources=probed(run_delay=0.049))).verdict == "valid"
    row = run_delay(evidence(resources=probed(run_delay=0.4)))
    assert row.verdict == "invalid" and row.figure == pytest.approx(0.4)
    assert "starved" in row.why and row.limit == 0.05
    others = probed(run_delay=0.4, system_cores=0.5, core_busy={0: 1.0, 1: 1.0})
    assert run_delay(evidence(resources=others)).verdict == "invalid"
    full = probed(run_delay=0.4, system_cores=0.93)
    row = run_delay(evidence(resources=full))
    assert row.verdict == "valid" and "it was the limit" in row.why
    widened = evidence(resources=probed(run_delay=0.4), allow={"run-delay": 0.5})
    assert run_delay(widened).verdict == "valid"
    both = CpuSets(agent=(0,), system=(0,), shared=True)
    shared = evidence(resources=probed(run_delay=0.4), cpus=both)
    assert run_delay(shared).verdict == "not-applicable"
    two = {**plan(), "workers": 2}
    halved = evidence(counted(the_plan=two), probed(run_delay=0.08))
    assert run_delay(halved).figure == pytest.approx(0.04), "each worker waited for half of it"


def busy(share: float, **given: object) -> Evidence:
    return evidence(counted(busy=share), **given)  # type: ignore[arg-type]


def test_head_room_by_any_of_three() -> None:
    assert head_room(busy(0.89, ceiling=None)).verdict == "valid"
    assert head_room(busy(0.95, ceiling=2000.0)).verdict == "valid"
    assert head_room(busy(0.95, ceiling=1900.0)).verdict == "invalid"
    full = probed(core_busy={0: 1.0, 1: 0.93})
    row = head_room(busy(0.95, ceiling=1900.0, resources=full))
    assert row.verdict == "valid" and "it was the limit" in row.why


def test_an_agent_bound_trial_proposes_a_rate() -> None:
    row = head_room(busy(0.99, ceiling=1900.0))
    assert row.figure == pytest.approx(0.99) and row.limit == 0.9
    assert "agent-bound" in row.why and "`rate: 950/s`, half of the ceiling" in row.why
    assert "`rate: 500/s`" in head_room(busy(0.99, ceiling=None)).why
    assert head_room(busy(0.99, ceiling=1900.0, allow={"head-room": 1.0})).verdict == "valid"


def test_a_shared_core_full_of_the_agent_is_not_the_system_s_limit() -> None:
    both = CpuSets(agent=(0,), system=(0,), shared=True)
    resources = probed(core_busy={0: 1.0}, system_cores=0.05)
    assert head_room(busy(0.95, ceiling=1900.0, resources=resources, cpus=both)).verdict == (
        "invalid"
    )


def test_floor() -> None:
    dear = {900_000: 10_000}
    row = floor(evidence(path=dear))
    assert row.verdict == "invalid" and row.figure == pytest.approx(0.225)
    assert row.why == "the path itself costs 900µs of mean, and too much of p50, p95, p99, p999"
    assert floor(evidence(path={700_000: 10_000})).verdict == "valid"
    assert floor(evidence(path=None)).verdict == floor(evidence(path={})).verdict == "unknown"
    assert floor(evidence(path=dear, allow={"floor": 0.3})).verdict == "valid"


def test_floor_of_a_path_that_is_dear_now_and_then() -> None:
    # Three in two hundred take 2 ms: too much of the quantiles above, and not of the others.
    row = floor(asked := evidence(path={40_000: 9850, 2 * MS: 150}))
    assert row.figure == pytest.approx(0.5) and row.why.endswith(
        "costs 2ms of p99, and too much of p999"
    )
    assert set(asked.dear) == {"p99", "p999", "max"}


def test_little() -> None:
    assert little(evidence(counted(in_flight=4.1))).verdict == "valid"
    row = little(evidence(counted(in_flight=4.5)))
    assert row.verdict == "invalid" and row.figure == pytest.approx(0.5 / 4.5)
    assert little(evidence(counted(in_flight=0.0))).verdict == "unknown"
    assert little(evidence(counted(failed=0.01))).verdict == "unknown"


def test_answers() -> None:
    assert answers(evidence()).verdict == "valid"
    message = [{"outcome": "failed", "message": "status 500"}]
    row = answers(evidence(counted(failed=0.02, errors=message)))
    assert row.verdict == "invalid" and row.figure == pytest.approx(0.02)
    assert "status 500" in row.why
    assert answers(evidence(counted(failed=0.02), allow={"errors": 0.05})).verdict == "valid"


def ended(ok: float, timed_out: float, unknown: float, errors: Sequence[Any] = ()) -> Counted:
    """A trial whose transactions ended in these shares."""
    seen = counted(errors=errors)
    due = seen.slots["due"]
    shares = {"ok": ok, "completed": ok, "timed_out": timed_out, "unknown": unknown}
    return replace(seen, slots={**seen.slots, **{name: due * s for name, s in shares.items()}})


def test_every_bad_end_is_told_with_its_most_frequent_reason() -> None:
    errors = [
        {"outcome": "timed_out", "message": "no answer", "count": 3000},
        {"outcome": "unknown", "message": "reset by peer", "count": 2},
        {"outcome": "unknown", "message": "closed early", "count": 1998},
    ]
    row = answers(evidence(ended(0.0, 0.6, 0.4, errors)))
    assert row.verdict == "invalid" and row.figure == pytest.approx(1.0)
    assert row.why == ("3000 timed out, such as: no answer; 2000 lost, such as: closed early")


def test_where_nothing_was_answered_the_warm_up_s_reason_is_told() -> None:
    errors = [{"outcome": "timed_out", "message": "no answer", "count": 4}]
    silent = replace(counted(rate=0, errors=errors), operations={})
    row = answers(evidence(silent))
    assert row.verdict == "unknown"
    assert row.why == "nothing was answered; in the warm-up: timed out, such as: no answer"


def test_without_a_rate_there_is_no_head_room_to_speak_of() -> None:
    seen = replace(ended(0.0, 1.0, 0.0), busy_ns={"0": 7e9})
    row = head_room(evidence(seen))
    assert row.verdict == "unknown" and row.figure is None and "rate:" not in row.why


@pytest.mark.parametrize(("expect", "verdict"), [({}, "unknown"), ({"rows": "1"}, "valid")])
def test_answers_nobody_looked_at_are_unknown(expect: dict[str, str], verdict: str) -> None:
    seen = counted(the_plan=plan(kind="sqlite", expect=expect))
    assert answers(evidence(seen)).verdict == verdict


def test_steal_counts_on_the_cores_that_were_used() -> None:
    resources = probed(steal=0.03)
    assert steal(evidence(resources=resources)).verdict == "invalid"
    assert steal(evidence(resources=resources, allow={"steal": 0.1})).verdict == "valid"
    other = CpuSets(agent=(0,), system=(2,))
    assert steal(evidence(resources=resources, cpus=other)).verdict == "valid"


def test_swap_and_clock() -> None:
    assert swap(evidence(resources=probed(swapped=1))).verdict == "invalid"
    assert swap(evidence(resources=probed(swapped=1), allow={"swap": 4})).verdict == "valid"
    assert clock(evidence(resources=probed(clock_step_ns=20e6))).verdict == "invalid"
    assert clock(evidence(resources=probed(clock_step_ns=1e6))).verdict == "valid"


def test_without_probes_the_host_s_rows_are_unknown() -> None:
    nothing = evidence(resources=Probed({}, 5.0))
    assert [row(nothing).verdict for row in (steal, swap, clock)] == ["unknown"] * 3


@pytest.mark.parametrize(
    ("cpus", "placement", "verdict", "why"),
    [
        (CpuSets(agent=(0,), system=(1,)), "own", "valid", ""),
        (CpuSets(agent=(0, 1), system=(1,)), "own", "invalid", "both on core 1"),
        (CpuSets(agent=(0,), system=(0,), shared=True), "own", "valid", "shared"),
        (CpuSets(agent=(0,), system=(0,)), "shared", "valid", "shared"),
        (CpuSets(agent=(0,)), "own", "valid", "shared"),
        (CpuSets(), "own", "unknown", "nothing was pinned"),
    ],
)
def test_cores(cpus: CpuSets, placement: str, verdict: str, why: str) -> None:
    row = cores(evidence(cpus=cpus, placement=placement))
    assert row.verdict == verdict and why in row.why


def test_embedded_systems_have_no_path_and_no_cores_of_their_own() -> None:
    seen = replace(counted(busy=1.0), plan=plan(kind="sqlite"))
    rows = {row.name: row.verdict for row in check_all(evidence(seen))}
    assert [rows[name] for name in ("head-room", "floor", "cores")] == ["not-applicable"] * 3
    assert rows["lag"] == "valid"


def going(rates: Sequence[float], **given: Any) -> Counted:
    """A trial of so many transactions in each slot, the first ten of them its warm-up."""
    seen = counted(seconds=(len(rates) - 10) // 10, **given)
    done = np.array(rates, dtype=np.float64)
    noise = np.random.default_rng(3).normal(1, 0.03, done.size)
    whole = np.round(done * noise)
    return replace(seen, warmup=whole[:10], slots={**seen.slots, "completed": whole[10:]})


def test_a_rate_that_keeps_its_level_is_steady() -> None:
    row = steady(evidence(going([0.0] * 3 + [1000.0] * 57)))
    assert (row.verdict, row.figure, row.limit) == ("valid", 0.0, 0.02)


def test_a_warm_up_that_was_too_short_is_told_with_its_length() -> None:
    row = steady(evidence(going([500.0] * 20 + [1000.0] * 60)))
    assert row.verdict == "invalid" and "steady after 1s" in row.why
    assert row.figure is not None and 0.3 < row.figure < 0.5 * 8 / 6


def test_a_rate_that_drops_for_good_is_no_steady_state() -> None:
    row = steady(evidence(going([1000.0] * 40 + [700.0] * 30)))
    assert row.verdict == "invalid"
    assert row.why.startswith("no steady state: from 3s on the rate was lower by 3")
    assert steady(evidence(going([1000.0] * 40 + [700.0] * 30), allow={"steady": 0.5})).why == ""


def test_what_cannot_be_steady_is_not_asked_to_be() -> None:
    drop = [1000.0] * 40 + [500.0] * 20
    rises = plan(rate=1000.0)
    rises["schedule"]["open"]["shape"][0]["to_per_second"] = 2000.0
    by_count = plan(stop={"transactions": 1000})
    for given in (rises, by_count):
        assert steady(evidence(going(drop, the_plan=given))).verdict == "not-applicable"
    assert steady(evidence(going(drop[20:]))).why == "trials under 5 s are not examined"
    assert steady(evidence(going([0.0] * 60))).verdict == "unknown"


@pytest.mark.parametrize(
    ("cores_used", "written_per_s", "verdict"),
    [(0.003, 0.0, "valid"), (0.013, 0.0, "valid"), (0.016, 0.0, "invalid"), (0.0, 2e6, "invalid")],
)
def test_systems_that_nobody_asks_are_to_keep_quiet(
    cores_used: float, written_per_s: float, verdict: str
) -> None:
    row = idle(evidence(resources=resting(cores_used, written_per_s)))
    assert row.verdict == verdict
    certain = max(0.0, cores_used - 0.02 / 5)
    assert row.figure == pytest.approx(max(certain, written_per_s / 1e8))
    assert row.limit == 0.01
    assert (row.why == "") == (verdict == "valid")
    if verdict == "invalid":
        assert "most of it right" in row.why
    widened = idle(evidence(resources=resting(cores_used, written_per_s), allow={"idle": 0.1}))
    assert widened.verdict == "valid"


def test_where_no_other_system_is_up_none_can_disturb() -> None:
    assert idle(evidence()).verdict == "not-applicable"
    short = Probed(resting(0.0, 0.0).lines, 60.0)
    assert idle(evidence(resources=short)).verdict == "unknown"


def resting(cores_used: float, written_per_s: float) -> Probed:
    """Two systems that nobody asks, looked at once a second; the right one does it all."""
    at_s = np.arange(-1.0, 6.6, 1.0)
    grows = at_s - at_s[0]
    lines = dict(probed().lines)
    for who, share in (("", 1.0), ("left", 0.0), ("right", 1.0)):
        cpu = grows * cores_used / 2 * share
        lines["idle", "cpu_user_s", who] = lines["idle", "cpu_system_s", who] = Line(at_s, cpu)
        lines["idle", "written_bytes", who] = Line(at_s, grows * written_per_s * share)
    return Probed(lines, 5.0)
