"""The compiled module: that its stub describes it, and the arithmetic it offers."""

import ast
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from benchlab import _core

ROOT = Path(__file__).resolve().parents[2]
STUB = ast.parse((ROOT / "python" / "benchlab" / "_core.pyi").read_text())


def described(function: ast.FunctionDef) -> str:
    """A stub's function as the compiled one tells its own: names and defaults, no types."""
    arguments = function.args
    for argument in (*arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg])):
        argument.annotation = None
    return f"({ast.unparse(arguments)})"


def public(module: object) -> set[str]:
    return {name for name in vars(module) if not name.startswith("_")}


def compiled(function: object) -> str:
    """Its text signature, `$self` written as Python does."""
    text = getattr(function, "__text_signature__", None)
    assert isinstance(text, str), f"{function} has no signature"
    return text.replace("$self", "self").replace(" ", "")


def test_the_stub_has_just_what_is_compiled() -> None:
    stubbed = {
        node.name: node for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert public(_core) == set(stubbed)
    for name, node in stubbed.items():
        found = getattr(_core, name)
        if isinstance(node, ast.FunctionDef):
            assert compiled(found) == described(node).replace(" ", ""), name
        elif not issubclass(found, Exception):
            check_class(found, node)


def check_class(found: type, node: ast.ClassDef) -> None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    assert public(found) == {name for name in methods if not name.startswith("_")}, node.name
    for name, method in methods.items():
        where = f"{node.name}.{name}"
        here = inspect.getattr_static(found, name)
        marks = {mark.id for mark in method.decorator_list if isinstance(mark, ast.Name)}
        assert inspect.isdatadescriptor(here) == ("property" in marks), where
        assert isinstance(here, staticmethod) == ("staticmethod" in marks), where
        if name != "__new__" and "property" not in marks:
            expected = described(method).replace(" ", "")
            assert compiled(getattr(found, name)) == expected, where


def test_histograms_add_and_survive_encoding() -> None:
    fast, slow = _core.Histogram(), _core.Histogram()
    for length in range(1, 1_001):
        fast.record(length)
    slow.record(5_000_000, 10)
    fast.add(slow)
    assert (fast.count, fast.min) == (1_010, 1)
    assert fast.quantiles([0.0, 0.5]) == [1, 505]
    assert fast.quantile(1.0) == fast.max == pytest.approx(5_000_000, rel=1e-3)
    assert fast.count_at_or_below(100) == 100
    assert fast.mean == pytest.approx((500_500 + 50_000_000) / 1_010, rel=1e-3)
    again = _core.Histogram.from_v2(fast.to_v2())
    assert again.recorded() == fast.recorded()
    assert again.recorded()[:2] == [(1, 1), (2, 1)]
    again.add(again)
    assert again.count == 2_020


def test_lengths_out_of_range_count_as_the_nearest() -> None:
    histogram = _core.Histogram()
    histogram.record(0)
    histogram.record(2**63)
    assert histogram.min == 1
    assert histogram.max == pytest.approx(3_600_000_000_000, rel=1e-3)


def test_a_plan_is_checked_in_words() -> None:
    with pytest.raises(_core.PlanError, match=r"^version = 99: this build reads version 1$") as one:
        _core.check_plan('{"version": 99}')
    assert one.value.field == "version"
    assert one.value.value == "99"
    assert one.value.nearest is None
    assert "transactions" in json.loads(_core.plan_schema())["$defs"]["Workload"]["properties"]


def simulated() -> dict[str, Any]:
    """A second of 100/s at a simulated server that takes 1 ms, 0.1 ms of network away."""
    get = {"name": "get", "request": {"http": {"method": "GET", "path": "/"}}}
    shape = [{"from_per_second": 100.0, "to_per_second": 100.0, "length_ns": 10**9}]
    return {
        "version": 1,
        "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
        "driver": {"kind": "http", "targets": ["http://simulated:80"]},
        "workload": {"transactions": [{"name": "page", "operations": [get]}]},
        "schedule": {"open": {"arrivals": "constant", "connections": 4, "shape": shape}},
        "stop": {"duration_ns": 10**9},
        "net": "sim",
        "sim": {"service": {"constant_ns": 1_000_000}, "latency_ns": 100_000},
    }


def test_a_plan_runs_in_process(tmp_path: Path) -> None:
    path = tmp_path / "measurement.arrow"
    path.write_bytes(_core.run_plan(json.dumps(simulated())))
    measurement = _core.Measurement.open(path)
    assert json.loads(measurement.parts[0].plan) == simulated()
    assert measurement.parts[0].torn is None
    totals = measurement.totals("transaction", "page", 0, 100)
    assert totals["due"] == totals["ok"] == pytest.approx(100, abs=1)
    service = measurement.histogram("operation", "get", "service", 0, 100)
    assert service.quantile(0.5) == pytest.approx(1_200_000, rel=2e-3)


def test_a_plan_that_cannot_run_is_refused_in_words() -> None:
    plan = simulated() | {"net": "epoll"}
    with pytest.raises(_core.PlanError) as refused:
        _core.run_plan(json.dumps(plan))
    assert refused.value.field
    nowhere = simulated() | {"net": "epoll", "sim": None}
    nowhere["driver"] = {"kind": "http", "targets": ["http://nowhere.invalid:1"]}
    with pytest.raises(_core.HostError, match=r"nowhere\.invalid"):
        _core.run_plan(json.dumps(nowhere), allow_debug=True)


def test_the_build_names_itself() -> None:
    assert set(_core.build()) == {"version", "profile", "target"}
    assert _core.build()["profile"] in {"debug", "release"}
