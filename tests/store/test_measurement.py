"""Measurements kept as files by the engine's own test read as they were counted there."""

import shutil
from pathlib import Path

import pytest

from benchlab import _core
from benchlab.model.errors import HostError
from benchlab.store.measurement import SLOT_NS, Measurement

HERE = Path(__file__).parent
WHOLE, TORN = HERE / "golden-0.arrow", HERE / "golden-1.arrow"
MS = 1_000_000


@pytest.fixture(scope="module")
def one() -> Measurement:
    return Measurement.read(WHOLE)


def test_the_recipe_is_kept(one: Measurement) -> None:
    assert one.plan["part"] == {"index": 0, "of": 2}
    assert one.parts[0].build["profile"] == "test"
    assert one.is_complete
    assert one.torn is None
    assert one.events("start") == ({"origin_monotonic_ns": 7, "workers": 1},)
    assert one.events("end")[0]["reason"] == "complete"


def test_totals_are_of_the_measured_part(one: Measurement) -> None:
    assert one.window_slots == range(15)
    every = one.totals()
    assert every["due"] == 76
    assert every["ok"] == every["completed"] == 67
    assert every["failed"] == 8
    assert one.totals(name="order")["failed"] == 8
    assert one.totals("worker")["in_flight_ns"] == 1_500 * MS
    assert one.totals("worker")["busy_ns"] == 75 * 50_000
    assert one.totals("operation", "get")["bytes_in"] == 75_000
    assert every["max_response_ns"] == 400 * MS


def test_errors_are_counted_together(one: Measurement) -> None:
    (error,) = one.events("error")
    assert error["message"] == "status 500"
    assert error["operation"] == "get"
    assert error["count"] == 8


def test_slots_have_no_gaps(one: Measurement) -> None:
    slots = one.slots()
    assert slots["interval"].to_list() == list(range(15))
    # What was intended from 0.5 s to 0.7 s was done at 0.9 s.
    assert slots["completed"].to_list()[4:10] == [4, 0, 0, 5, 4, 14]
    assert slots["due"].to_list()[4:10] == [5, 5, 5, 5, 5, 5]
    assert set(slots["in_flight_ns"]) == {SLOT_NS}


def test_seconds_tell_the_stall(one: Measurement) -> None:
    seconds = one.seconds()
    assert seconds["second"].to_list() == [0, 1]
    assert seconds["completed"].to_list() == [45, 22]
    assert seconds["errors"].to_list() == [5, 3]
    assert seconds["in_flight"].to_list() == [1.0, 1.0]
    first, second = seconds["response_ns_p99"].to_list()
    assert first == pytest.approx(400 * MS, rel=2e-3)
    assert second == pytest.approx(5 * MS, rel=2e-3)
    assert seconds["service_ns_p50"].to_list() == pytest.approx([4 * MS, 4 * MS], rel=2e-3)


def test_histograms_are_merged_before_quantiles_are_read(one: Measurement) -> None:
    response = one.histogram("response")
    assert response.count == 67
    assert response.quantile(0.5) == pytest.approx(5 * MS, rel=2e-3)
    assert one.histogram("response", "order").count == 0
    assert one.histogram("lag").count == 75
    assert one.histogram("service", "get", kind="operation").count == 67


def test_parts_of_one_trial_are_read_as_one(one: Measurement) -> None:
    both = Measurement.read(TORN, WHOLE)
    assert [part.plan["part"]["index"] for part in both.parts] == [0, 1]
    assert both.torn is not None
    assert not both.is_complete
    torn = Measurement.read(TORN)
    for counter in ("due", "failed", "completed"):
        assert both.totals()[counter] == one.totals()[counter] + torn.totals()[counter]
    assert 45 <= torn.totals()["completed"] < 67
    together = both.histogram("response").count
    assert together == one.histogram("response").count + torn.histogram("response").count


def test_rows_are_all_increments_and_no_events(one: Measurement) -> None:
    pages = one.rows.filter(kind="transaction", name="page")
    assert pages["due"].sum() == 118
    assert set(one.rows["kind"]) == {"transaction", "operation", "worker"}
    decoded = [_core.Histogram.from_v2(b) for b in pages["response"].drop_nulls()]
    assert sum(histogram.count for histogram in decoded) == 117


def test_a_sealed_file_tells_the_same(one: Measurement, tmp_path: Path) -> None:
    path = tmp_path / "measurement.arrow"
    shutil.copy(WHOLE, path)
    assert _core.seal(path, path) is None
    sealed = Measurement.read(path)
    assert sealed.totals() == one.totals()
    assert sealed.events("error") == one.events("error")
    assert path.read_bytes().startswith(b"ARROW1")
    shutil.copy(TORN, path)
    assert "cut" in (_core.seal(path, path) or "")
    assert not Measurement.read(path).is_complete


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot read .*nothing.arrow: No such file"):
        Measurement.read(tmp_path / "nothing.arrow")
    other = tmp_path / "other.arrow"
    other.write_bytes(b"<html>")
    with pytest.raises(HostError, match=r"^not a Measurement: .*other.arrow \(it is cut at byte 0"):
        Measurement.read(other)
    with pytest.raises(ValueError, match="damaged histogram: it is cut"):
        _core.Histogram.from_v2(b"x")
