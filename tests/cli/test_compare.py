"""`benchlab compare`: what two runs at two times may say, and which are not compared."""

import json
from pathlib import Path

import pytest
from kept import HOST, SHOP, keep, sessions

from benchlab.cli.main import outcome
from benchlab.model.errors import Exit


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


def compared(capsys: pytest.CaptureFixture[str], *names: str) -> tuple[int, dict[str, object]]:
    code = outcome(["compare", *names, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return code, found


def test_a_slower_run_is_worse_and_said_not_to_be_interleaved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    latencies = [0.010, 0.011, 0.010, 0.0105, 0.010, 0.011, 0.0104, 0.0101]
    a = keep(1, {"throughput": sessions(1000, 1), "latency_p99": latencies}, commit="a" * 40)
    b = keep(2, {"throughput": sessions(800, 2), "latency_p99": latencies}, commit="b" * 40)
    code, found = compared(capsys, a.id, b.id)
    assert code == Exit.DONE
    assert (found["baseline"], found["candidate"]) == (a.id, b.id)
    assert found["interleaved"] is False
    comparisons = found["comparisons"]
    assert isinstance(comparisons, list)
    first, second = comparisons
    assert (first["metric"], first["verdict"], first["counts"]) == ("throughput", "worse", True)
    assert first["effect"] == pytest.approx(-0.2, abs=0.02)
    assert first["low"] < first["effect"] < first["high"] < -0.1
    assert (second["metric"], second["verdict"]) == ("latency_p99", None)
    assert found["changed"] == [f"commits.shop at HEAD: {'a' * 10} → {'b' * 10}"]

    assert outcome(["compare", a.id, b.id]) == Exit.DONE
    said = capsys.readouterr().out
    assert "▼ worse" in said
    assert "The runs were not interleaved" in " ".join(said.split())
    assert f"{b.id} against {a.id}" in said


def test_a_few_per_cent_between_two_runs_cannot_be_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Welch's test calls this difference of 2 % sure at p = 0.001; a run's hour may make it."""
    a, b = keep(1, sessions(1000, 1)), keep(2, sessions(980, 2))
    code, found = compared(capsys, a.id, b.id)
    assert code == Exit.DONE
    assert found["comparisons"][0]["verdict"] == "inconclusive"  # type: ignore[index]
    assert "taken for one session more" in str(found["answer"])


def test_what_counts_is_what_the_file_declared(capsys: pytest.CaptureFixture[str]) -> None:
    text = SHOP + (
        "factors: {load.clients: [1, 8], workload.options.body: [x, y]}\n"
        "compare: {factor: body, baseline: x, metrics: [latency_p99], at: {clients: 8}}\n"
    )
    text = text.replace("{name: page}", "{name: page, options: {method: POST, body: x}}")
    values = {"throughput": sessions(1000, 1), "latency_p99": sessions(0.01, 1)}
    a, b = (keep(day, values, text=text) for day in (1, 2))
    found = compared(capsys, a.id, b.id)[1]["comparisons"]
    assert isinstance(found, list)
    counting = {(one["metric"], one["at"]["clients"], one["at"]["body"]) for one in found[:2]}
    assert counting == {("latency_p99", "8", "x"), ("latency_p99", "8", "y")}
    assert [one["counts"] for one in found] == [True] * 2 + [False] * 6


def test_a_rate_that_is_sought_counts_where_nothing_was_declared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = "{find: highest rate, keep: latency_p99 < 50ms, duration: 1s}"
    text = SHOP.replace("{clients: 8, duration: 1s}", load)
    a, b = (
        keep(day, {"capacity": sessions(rate, day), "latency_p99": sessions(0.02, day)}, text=text)
        for day, rate in ((1, 1000), (2, 700))
    )
    found = compared(capsys, a.id, b.id)[1]["comparisons"]
    assert isinstance(found, list)
    first, *rest = found
    assert (first["metric"], first["counts"], first["verdict"]) == ("capacity", True, "worse")
    assert rest and not any(one["counts"] for one in rest)


def test_too_few_sessions_are_invalid_and_explorations_claim_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a = keep(1, sessions(1000, 1))
    cut = keep(2, sessions(900, 2, 4), sessions_done=4)
    code, found = compared(capsys, a.id, cut.id)
    assert code == Exit.CANNOT_TELL
    assert "4 of 6 sessions needed" in str(found["answer"])
    late = keep(2, sessions(900, 2, 7), sessions_done=7)
    code, found = compared(capsys, a.id, late.id)
    assert code == Exit.CANNOT_TELL
    assert f"no valid answer: {late.id} was cut off." in str(found["answer"])
    few = keep(3, sessions(900, 3, 3), sessions=3, sessions_done=3)
    code, found = compared(capsys, a.id, few.id)
    assert code == Exit.DONE
    assert "without a claim" in str(found["answer"])
    assert found["comparisons"][0]["verdict"] is None  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"host": HOST | {"kernel": "6.2", "fingerprint": "bb"}}, "(kernel 6.1 and 6.2)"),
        ({"host": {}}, "does not say which machine it was measured on"),
        ({"text": SHOP.replace("experiment: shop", "experiment: fair")}, "one of fair"),
        ({"text": SHOP.replace("clients: 8", "clients: 9")}, "load.clients was 8 and is 9"),
        ({"text": SHOP + "factors: {load.clients: [1, 2]}\n"}, "has no case in common"),
        ({"sessions_done": 0}, "no session was finished"),
    ],
)
def test_runs_that_are_not_alike_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], change: dict[str, object], message: str
) -> None:
    a = keep(1, sessions(1000, 1))
    b = keep(2, sessions(1000, 2), **change)  # type: ignore[arg-type]
    assert outcome(["compare", a.id, b.id]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err and err.count("\n") == 1


def test_a_run_is_not_compared_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    a = keep(1, sessions(1000, 1))
    assert outcome(["compare", a.id, "last"]) == Exit.BAD_INPUT
    assert "is the same run; name two" in capsys.readouterr().err
