"""`benchlab query`: what is kept can be asked for in SQL, and nothing else can be reached."""

import csv
import json
import re
from pathlib import Path

import pytest
from kept import keep, sessions

from benchlab.cli.main import outcome
from benchlab.model.errors import Exit
from benchlab.store.tables import COLUMNS

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "FORMATS.md"
QUICK = ("load.duration=300ms", "load.warmup=50ms", "workload.data.users=500", "blocks=1")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)


def asked(capsys: pytest.CaptureFixture[str], sql: str) -> list[dict[str, object]]:
    code = outcome(["query", sql, "--json"])
    out = capsys.readouterr().out
    assert code == Exit.DONE, out
    found = json.loads(out)
    assert isinstance(found, list)
    return found


def test_figures_of_several_runs_are_laid_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    first = keep(1, sessions(1000, 1), commit="a" * 40)
    second = keep(2, sessions(800, 2), commit="b" * 40)
    rows = asked(
        capsys,
        "SELECT run, commit, estimate, low < estimate AND estimate < high AS inside "
        "FROM figures JOIN sources USING (run) JOIN runs USING (run) "
        "WHERE metric = 'throughput' ORDER BY created",
    )
    assert [(row["run"], row["commit"], row["inside"]) for row in rows] == [
        (first.id, "a" * 40, True),
        (second.id, "b" * 40, True),
    ]
    assert rows[1]["estimate"] == pytest.approx(800, rel=0.02)
    values = asked(capsys, f"SELECT value FROM sessions WHERE run = '{first.id}' ORDER BY session")
    assert [row["value"] for row in values] == pytest.approx(sessions(1000, 1))


def test_raw_series_are_those_of_the_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    sets = [word for one in QUICK for word in ("--set", one)]
    only = ("--only", "fetch=each,clients=4", "--sessions", "1", "--quiet")
    assert outcome(["run", "quickstart", *only, *sets]) == Exit.DONE
    capsys.readouterr()
    (trial,) = asked(capsys, "SELECT * FROM trials")
    assert (trial["case_name"], trial["used"]) == ("fetch=each,clients=4", True)
    (seconds,) = asked(capsys, "SELECT sum(completed) AS n, sum(errors) AS bad FROM seconds")
    (slots,) = asked(capsys, "SELECT sum(completed) AS n, count(*) AS slots FROM slots")
    (figure,) = asked(
        capsys,
        "SELECT estimate FROM figures WHERE metric = 'throughput' AND operation IS NULL",
    )
    assert seconds == {"n": slots["n"], "bad": 0}
    assert slots["slots"] == 3
    assert figure["estimate"] == pytest.approx(float(str(slots["n"])) / 0.3)
    (probed,) = asked(capsys, "SELECT count(DISTINCT counter) AS n FROM probes")
    assert int(str(probed["n"])) > 3
    assert asked(capsys, "SELECT * FROM errors") == []


def test_every_column_is_named_without_quotes_and_documented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep(1, sessions(1000, 1))
    text = FORMATS.read_text()
    for name, columns in COLUMNS.items():
        asked(capsys, f"SELECT {', '.join(columns)} FROM {name}")
        listed = re.search(rf"^\| `{name}` \| (.*?) \|", text, flags=re.MULTILINE)
        assert listed, f"docs/FORMATS.md does not have the table {name}"
        assert re.findall(r"`(\w+)`", listed[1]) == list(columns), name
    tables = asked(capsys, "SHOW TABLES")
    assert {row["name"] for row in tables} == set(COLUMNS)


def test_the_answer_as_a_table_and_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    keep(1, sessions(1000, 1))
    sql = "SELECT 'a' AS word, 1.5 AS number, 'nan'::DOUBLE AS none UNION ALL SELECT 'b', 20, 1"
    assert outcome(["query", sql]) == Exit.DONE
    assert capsys.readouterr().out.splitlines() == [
        "word  number  none",
        "a        1.5   nan",
        "b       20.0     1",
        "(2 rows)",
    ]
    assert outcome(["query", sql, "--csv"]) == Exit.DONE
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert rows[:2] == [["word", "number", "none"], ["a", "1.5", "nan"]]
    assert asked(capsys, sql)[0]["none"] is None


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM figure", "did you mean figures?"),
        ("SELECT estimat FROM figures", '"estimat"'),
        ("SELECT FROM", "syntax error"),
        ("SELECT 1; SELECT 2", "takes one statement, not 2"),
        ("", "takes one statement, not 0"),
        ("DROP TABLE runs", "only reads"),
        ("CREATE TABLE x AS SELECT 1", "only reads"),
        ("SET enable_external_access = true", "only reads"),
        ("ATTACH 'x.db'", "only reads"),
        ("COPY runs TO 'x.csv'", "only reads"),
        ("SELECT * FROM read_text('secret')", "file system operations are disabled"),
        ("SELECT * FROM 'secret.csv'", "file system operations are disabled"),
        ("SELECT * FROM glob('*')", "file system operations are disabled"),
        ("SELECT now()", "cast it"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sql: str, message: str
) -> None:
    keep(1, sessions(1000, 1))
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "secret.csv").write_text("a,secret\n")
    before = sorted(tmp_path.rglob("*"))
    assert outcome(["query", sql]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_an_answer_that_cannot_be_read_names_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    run = keep(1, sessions(1000, 1))
    (run.path / "summary.json").write_text("{}")
    assert outcome(["query", "SELECT * FROM figures"]) == Exit.BAD_INPUT
    assert f"make it again: benchlab report {run.id}" in capsys.readouterr().err
