"""What is drawn, taken from judged runs: complete, condensed, and let go of."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from runs import Course, FakeRun, cases_of, experiment_of, run_of, wobble
from synthetic import MS

from benchlab.judge.run import Judgement, judge_run
from benchlab.model.experiment import Case, Compare
from benchlab.report import page, terminal
from benchlab.report.gathering import gather, summarised
from benchlab.report.material import POINTS

FETCH = cases_of("fetch", ["each", "together"])


def judged(
    seconds: int = 5, effect: float = 1.3, *, failed: float = 0.02, stands_still: bool = False
) -> Judgement:
    def script(case: Case, session: int, block: int) -> Course:
        is_candidate = case.levels["fetch"] == "together"
        rate = 2000.0 * wobble(session, block, int(is_candidate)) * (1 + effect * is_candidate)
        fails = failed if is_candidate and session == 2 else 0.0
        stands = stands_still and is_candidate
        course = Course(rate=rate, failed=fails, seconds=seconds, slow_ns=9 * MS, counted=3.0)
        return replace(course, stands_still=stands)

    compare = Compare(factor="fetch", baseline="each", metrics=("throughput",))
    experiment = experiment_of(FETCH, compare=compare)
    return judge_run(experiment, FETCH, run_of(FETCH, script))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeRun, "experiment_text", lambda self: "experiment: x", raising=False)


def clock_rate(judgement: Judgement) -> float:
    """The rate of the first trial that is drawn."""
    return judgement.cases["fetch=each"].trials[0].figures["throughput"]


def test_every_trial_has_its_clock_and_every_case_its_curves() -> None:
    judgement = judged()
    material = gather(judgement)
    assert len(material.clocks) == 2 * 8 * 2
    assert {(c.case, c.kind) for c in material.curves} == {
        (case.name, kind) for case in FETCH for kind in ("service", "response")
    } | {("fetch=together", "user-seen")}
    clock = material.clocks_of("fetch=each")[0]
    rates = [value for _, value in clock.rate.known()]
    assert len(rates) == 50
    assert sum(rates) / 50 == pytest.approx(
        judgement.cases["fetch=each"].trials[0].figures["throughput"]
    )
    assert len(clock.latency_p99.known()) == 5
    assert clock.latency_p99.values[0] == pytest.approx(9e-3, rel=0.01)
    asked = [value for _, value in clock.own["shop.asked"].known()]
    assert asked == pytest.approx([3.0 * clock_rate(judgement)] * 5, rel=0.01)
    assert clock.cpu_user.known() and clock.cpu_system.known() and clock.memory.known()


def test_errors_are_on_the_clock_of_the_trial_that_had_them() -> None:
    material = gather(judged())
    bad = {(c.case, c.session) for c in material.clocks if any(v for _, v in c.errors.known())}
    assert bad == {("fetch=together", 2)}


def test_a_curve_is_the_merged_distribution_as_far_as_it_was_seen() -> None:
    (curve, *_) = [c for c in gather(judged()).curves if c.kind == "service"]
    values = dict(curve.points)
    low, high = min(values), max(values)
    assert values[low] == pytest.approx(4e-3, rel=0.01)
    assert values[high] == pytest.approx(9e-3, rel=0.01)
    assert high < 1
    assert list(values) == sorted(values)


def test_what_users_saw_leaves_for_infinity_where_the_failures_begin() -> None:
    material = gather(judged())
    curves = {(c.case, c.kind): c for c in material.curves}
    seen, served = (curves["fetch=together", kind] for kind in ("user-seen", "service"))
    # 2 % of one session of eight.
    assert seen.endless == pytest.approx(1 - 0.02 / 8, abs=2e-4)
    assert max(q for q, _ in seen.points) <= seen.endless < max(q for q, _ in served.points)
    text = page.html(material)
    assert re.search("fetch=together: to users 0.2[45]\\d?\u00a0% never ended well", text)
    assert "it leaves at ∞" in text
    assert "∞" not in page.html(gather(judged(failed=0.0)))


def test_what_is_drawn_does_not_grow_with_the_length_of_a_trial() -> None:
    for clock in gather(judged(seconds=150)).clocks:
        for line in (clock.rate, clock.latency_p99, clock.errors, clock.memory):
            assert 0 < len(line.values) <= POINTS


def test_raw_data_are_let_go_of() -> None:
    judgement = judged()
    gather(judgement)
    for case in judgement.cases.values():
        assert not any({"seen", "resources"} & trial.__dict__.keys() for trial in case.trials)


def test_the_summary_alone_reads_no_raw_data() -> None:
    judgement = judged()
    material = summarised(judgement)
    assert material.summary == judgement.summary and not material.clocks
    assert [c.rate for c in material.ceilings] == [10_000.0, 10_000.0]
    for case in judgement.cases.values():
        assert not any("seen" in trial.__dict__ for trial in case.trials)


def test_a_judged_run_makes_a_page_that_holds(tmp_path: Path) -> None:
    material = gather(judged())
    path = tmp_path / "report.html"
    page.write(material, path)
    assert page.differences(path, gather(judged())) == []
    assert page.differences(path, gather(judged(effect=1.2)))
    assert material.claim.split(" (")[0] in path.read_text()


def test_stalls_are_on_the_page_in_the_terminal_and_on_their_trials_clocks(tmp_path: Path) -> None:
    material = gather(judged(stands_still=True))
    marked = {clock.case for clock in material.clocks if clock.stalls}
    assert marked == {"fetch=together"}
    path = tmp_path / "report.html"
    page.write(material, path)
    text = path.read_text()
    assert text.count('class="stall"') == 16
    figures = page.figures(path)
    assert figures["cases/fetch=together/stalls/count"] == 16
    assert figures["cases/fetch=together/stalls/per_hour/estimate"] == pytest.approx(720)
    assert figures["cases/fetch=each/stalls/per_hour/high"] == pytest.approx(166.0, rel=1e-3)
    assert "cases/fetch=together/stalls/3/1/1.2/length" in figures
    assert any("stalls" in line for line in page.differences(path, gather(judged())))
    stream = io.StringIO()
    terminal.render(material, Console(file=stream, width=140))
    said = " ".join(stream.getvalue().split())
    assert "16 stalls of fetch=together: 720/h [412 … 1,169], the longest" in said
    assert gather(judged()).watched == ()


def test_an_answer_that_is_open_says_what_would_settle_it() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        shift = 0.08 * (-1) ** session * (case.levels["fetch"] == "together")
        return Course(rate=2000.0 * wobble(session, block) * (1 + shift))

    compare = Compare(factor="fetch", baseline="each", metrics=("throughput",))
    experiment = experiment_of(FETCH, compare=compare)
    run = run_of(FETCH, script)
    material = summarised(judge_run(experiment, FETCH, run))  # type: ignore[arg-type]
    assert material.counting[0].verdict == "inconclusive"
    if material.settle:
        assert material.settle.split()[-2] == "--sessions"
        assert "settle" not in material.claim + material.shades
    else:
        assert "Not even" in material.shades
