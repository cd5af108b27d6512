"""`benchlab history` and gates against it: levels, commits, and two runs before an alarm."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from kept import HOST, SHOP, keep, sessions

from benchlab.cli.main import outcome
from benchlab.model.errors import Exit
from benchlab.model.records import Calibration
from benchlab.store import Run


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)


def days(rates: list[float], first: int = 1) -> list[Run]:
    """A run a day, each of a commit of its own."""
    return [
        keep(day, sessions(rate, day), commit=f"{day:02}c0ffee" + "0" * 32)
        for day, rate in enumerate(rates, first)
    ]


def gated(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = outcome(["gate", "last", "--against", *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    (one,) = found["comparisons"]
    return code, one


def test_a_history_is_told_with_its_commits_and_its_change(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs = days([1000.0] * 8 + [800.0] * 8)
    keep(3, sessions(5000, 3), host=HOST | {"fingerprint": "bb"})
    keep(4, sessions(5000, 4), text=SHOP.replace("clients: 8", "clients: 9"))
    keep(5, sessions(5000, 5), text=SHOP.replace("experiment: shop", "experiment: fair"))
    code = outcome(["history", "throughput", "shop", "--plot", "out.svg"])
    out = capsys.readouterr().out
    assert code == Exit.DONE
    assert re.search(rf"changed by −(19|20).*% at 09c0ffee00 \({runs[8].id}\), 8 runs ago", out)
    assert "16 runs" in out and "left out: runs on other machines (1)" in out
    assert "5,0" not in out
    drawn = (tmp_path / "out.svg").read_text()
    assert "09c0ffee00" in drawn and drawn.count("<circle") == 16
    ElementTree.fromstring(drawn)

    assert outcome(["history", "throughput", "shop", "--json"]) == Exit.DONE
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert [point["run"] for point in series["points"]] == [run.id for run in runs]
    assert [point["is_change"] for point in series["points"]].index(True) == 8
    middle = sorted(sessions(1000, 1))
    assert series["points"][0]["value"] == pytest.approx((middle[3] + middle[4]) / 2)
    assert outcome(["history", "throughput", "--plot", "out.png"]) == Exit.DONE
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_gate_alarms_at_the_second_run_beyond_the_segment_and_not_at_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    days([1000.0] * 10)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.DONE, "equivalent")
    days([800.0], 11)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.CANNOT_TELL, "inconclusive")
    assert "a second one would tell" in str(one["why"])
    for day in (12, 13, 14):
        days([800.0], day)
        code, one = gated(capsys, "history")
        assert (code, one["verdict"]) == (Exit.BROKEN_PROMISE, "worse")
        assert one["effect"] == pytest.approx(-0.2, abs=0.02)
    days([800.0] * 4, 15)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.DONE, "equivalent"), "the new level has come to stay"


def test_a_regression_that_was_repaired_passes(capsys: pytest.CaptureFixture[str]) -> None:
    days([1000.0] * 10 + [800.0] * 4 + [1000.0])
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.DONE, "equivalent")


@pytest.mark.parametrize(
    ("count", "record", "why"),
    [
        (3, {"sessions": 3, "sessions_done": 3}, "3 of 6 sessions needed are usable"),
        (8, {"sessions": 10}, "was cut off"),
    ],
)
def test_a_run_that_claims_nothing_is_no_point(
    capsys: pytest.CaptureFixture[str], count: int, record: dict[str, object], why: str
) -> None:
    days([1000.0] * 8)
    keep(9, sessions(700, 9, count), **record)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.CANNOT_TELL, "invalid")
    assert why in str(one["why"])
    days([1000.0], 10)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.DONE, "equivalent")
    assert str(one["why"]) == "against 8 runs"


def test_a_short_history_cannot_tell(capsys: pytest.CaptureFixture[str]) -> None:
    days([1000.0] * 4)
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.CANNOT_TELL, "invalid")
    assert "its longest level has 3 of the 6 runs needed" in str(one["why"])


def test_a_faster_run_passes_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    days([1000.0] * 10 + [1300.0])
    code, one = gated(capsys, "history")
    assert (code, one["verdict"]) == (Exit.DONE, "better")


def test_what_the_history_knows_of_runs_widens_a_gate_against_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Runs that lie 8 % apart forbid what the sessions of the last two alone would claim."""
    rates = [1000.0, 1120.0, 930.0, 1080.0, 900.0, 1090.0, 950.0, 1050.0]
    runs = days([*rates, 880.0])
    code, one = gated(capsys, runs[7].id)
    assert (code, one["verdict"]) == (Exit.CANNOT_TELL, "inconclusive")
    for run in runs[:7]:
        assert outcome(["remove", run.id]) == Exit.DONE
    capsys.readouterr()
    code, one = gated(capsys, runs[7].id)
    assert (code, one["verdict"]) == (Exit.BROKEN_PROMISE, "worse")


def test_an_advisory_gate_warns_and_tells_a_ci_server(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    a, b = days([1000.0, 700.0])
    files = ("--junit", "gate.xml", "--markdown", "gate.md")
    assert outcome(["gate", b.id, "--against", a.id, *files]) == Exit.BROKEN_PROMISE
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert re.match(r"worse: −(29|30).*\[", str(failure.get("message")))
    page = (tmp_path / "gate.md").read_text()
    assert "▼ worse" in page and "changed: commits.shop" in page
    capsys.readouterr()

    assert outcome(["gate", b.id, "--against", a.id, "--advisory", *files]) == Exit.DONE
    assert "warning: something is worse; the gate is advisory" in capsys.readouterr().err
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_a_gate_is_advisory_where_the_machine_calls_equals_different(
    capsys: pytest.CaptureFixture[str], noise: Calibration
) -> None:
    (a,) = days([1000.0])
    doubtful = noise.model_copy(update={"called_different": 5, "comparisons": 12})
    b = keep(2, sessions(700, 2), calibration=doubtful)
    assert outcome(["gate", b.id, "--against", a.id]) == Exit.DONE
    assert "of equal systems are called different" in capsys.readouterr().err
    keep(3, sessions(700, 3), calibration=doubtful.model_copy(update={"called_different": 1}))
    assert outcome(["gate", "last", "--against", a.id]) == Exit.BROKEN_PROMISE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["history", "throughputs"], "did you mean throughput?"),
        (["history", "throughput", "shopp"], "did you mean shop?"),
        (["history", "throughput", "--plot", "x.pdf"], "must end with .svg or .png"),
        (["gate", "last", "--against", "nothing"], "no such run"),
        (["gate", "last", "--against", "last"], "is the same run; name two"),
        (["gate", "last", "--against", "history", "--junit", "no/x.xml"], "--junit"),
        (["gate", "last"], "against"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    days([1000.0])
    assert outcome(words) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err and err.count("\n") == 1
