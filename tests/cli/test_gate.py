"""`benchlab run --gate`: both sides in one run, and what a CI server reads of it."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchlab import store
from benchlab.cli.gating import Gate
from benchlab.cli.main import outcome
from benchlab.model.errors import Exit
from benchlab.model.evidence import Comparison, PromiseResult, Verdict
from benchlab.report.bulletin import Bulletin, junit, markdown

QUICK = ("allow.steal=100%", "load.duration=200ms", "load.warmup=50ms", "workload.data.users=500")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)


def compared(verdict: Verdict | None, metric: str = "throughput", why: str = "") -> Comparison:
    return Comparison(
        metric=metric,
        baseline="main",
        candidate="a|b<i>",
        at={"clients": "8"},
        counts=verdict is not None,
        effect=-0.1,
        low=-0.12,
        high=-0.08,
        p=0.01,
        verdict=verdict,
        why=why,
    )


def test_a_slower_candidate_ends_with_1_and_is_a_failure_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sets = [word for one in (*QUICK, "compare.baseline=together") for word in ("--set", one)]
    files = ("--junit", "out.xml", "--markdown", "out.md")
    code = outcome(["run", "quickstart", "--gate", "--quiet", *sets, *files])
    assert capsys.readouterr().out
    summary = store.find("last").summary()
    assert summary is not None
    (verdict,) = [one.verdict for one in summary.comparisons if one.counts]
    # What a busy machine makes of a short run may be anything but that the slower one is better.
    cannot = {"inconclusive": Exit.CANNOT_TELL, "invalid": Exit.CANNOT_TELL}
    assert code == {"worse": Exit.BROKEN_PROMISE, **cannot}[str(verdict)]
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert suite.get("name") == "benchlab.quickstart"
    assert suite.get("tests") == "5", "a test for each case and for the comparison that counts"
    assert int(suite.get("failures", "")) + int(suite.get("errors", "")) == 1
    page = (tmp_path / "out.md").read_text()
    assert page.startswith("### Benchlab: Is it faster to read")
    assert "| each against together, clients=1 |" in page


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["better", "equivalent", "different-but-small"], Exit.DONE),
        (["better", "worse", "inconclusive"], Exit.BROKEN_PROMISE),
        (["better", "inconclusive"], Exit.CANNOT_TELL),
        (["invalid"], Exit.CANNOT_TELL),
        ([None], Exit.CANNOT_TELL),
    ],
)
def test_the_code_of_a_gate(
    capsys: pytest.CaptureFixture[str], verdicts: list[Verdict | None], code: Exit
) -> None:
    comparisons = [compared(verdict) for verdict in verdicts]
    assert Gate(asks=True).code(comparisons, "") == code
    assert capsys.readouterr().err == ""
    assert Gate(asks=True).code(comparisons, "it is noisy") == Exit.DONE
    assert ("warning" in capsys.readouterr().err) == (code != Exit.DONE)


@pytest.mark.parametrize(
    ("metric", "effect", "code"),
    [
        ("throughput", -0.02, Exit.CANNOT_TELL),
        ("throughput", 0.02, Exit.DONE),
        ("latency_p99", 0.02, Exit.CANNOT_TELL),
        ("latency_p99", -0.02, Exit.DONE),
    ],
)
def test_a_small_difference_for_the_worse_that_may_be_more_cannot_be_told(
    metric: str, effect: float, code: Exit
) -> None:
    small = compared("different-but-small", metric)
    one = small.model_copy(update={"effect": effect, "may_matter": True})
    assert Gate(asks=True).code([one], "") == code
    assert Gate(asks=True).code([one.model_copy(update={"may_matter": False})], "") == Exit.DONE
    (item,) = Bulletin("shop", "", "", (one,), gates=True).items()
    assert item.outcome == ("error" if code else "passed")


def test_what_a_ci_server_reads() -> None:
    bulletin = Bulletin(
        experiment="shop",
        question="Is <b>it</b> slower?",
        answer="It is.",
        comparisons=(
            compared("worse"),
            compared("inconclusive", "latency_p99"),
            compared("better", "errors"),
            compared(None, "latency_p50"),
        ),
        promises=(
            PromiseResult(expression="errors < 1%", case="b", figure=0.5, unit="", holds=False),
            PromiseResult(expression="errors < 2%", case="b", figure=None, unit="", holds=None),
        ),
        gates=True,
    )
    suite = ElementTree.fromstring(junit(bulletin).encode())[0]
    found = [[child.tag for child in case] for case in suite.iter("testcase")]
    assert found == [["failure"], ["error"], ["system-out"], ["failure"], ["skipped"]]
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("2", "1", "1")
    page = markdown(bulletin)
    assert "a\\|b\\<i\\> against main" in page and "\\<b\\>it" in page
    assert "✕ broken" in page and "▼ worse" in page
    assert page.count("\n| ") == 3 + 2 + 2
    plain = Bulletin("shop", "", "It is.", (compared("worse"), compared("inconclusive")))
    tags = [c.tag for c in ElementTree.fromstring(junit(plain).encode()).iter()]
    assert "failure" not in tags and "error" not in tags


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gate", "--sessions", "3"), "3 sessions explore"),
        (("--advisory",), "belongs to --gate"),
        (("--gate", "--junit", "no/out.xml"), "--junit: no/out.xml cannot be written"),
        (("--markdown", "."), "--markdown"),
    ],
)
def test_a_gate_that_could_not_answer_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    assert outcome(["run", "quickstart", *words]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_file_that_compares_nothing_has_no_gate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text(
        "experiment: one\nquestion: How fast?\nsystems: {sqlite: {}}\n"
        "workload: {name: buddies, data: {users: 100}}\nload: {clients: 1, duration: 1s}\n"
        "sessions: 8\n"
    )
    assert outcome(["run", "one.yaml", "--gate"]) == Exit.BAD_INPUT
    assert "has no compare:" in capsys.readouterr().err
