"""A second stage of sessions: what fixes their number, and what its comparisons rest on."""

import math

import numpy as np
import pytest
from runs import Course, FakeRun, Script, cases_of, experiment_of, run_of

from benchlab.judge.precision import SoFar, fixed_again, sentence
from benchlab.judge.run import judge_run
from benchlab.model.evidence import Summary
from benchlab.model.experiment import Case, Compare
from benchlab.model.records import TwoStage

PAIR = cases_of("fetch", ["each", "together"])
COMPARE = Compare(factor="fetch", baseline="each", metrics=("throughput",))
EXPERIMENT = experiment_of(PAIR, compare=COMPARE, sessions=8, precision=0.02)


def scattered(by: float, effect: float = 0.0) -> Script:
    """A candidate whose log ratio has this standard deviation over the first eight sessions."""
    steps = np.random.default_rng(5).normal(0, 1, 20)
    first = steps[:8]
    steps = (steps - first.mean()) / first.std(ddof=1) * by

    def script(case: Case, session: int, block: int) -> Course:
        is_candidate = case.levels["fetch"] == "together"
        return Course(rate=20_000 * math.exp(is_candidate * (steps[session] + effect)))

    return script


def so_far(script: Script, done: int = 8) -> SoFar:
    run = run_of(PAIR, script, blocks=1, sessions=max(8, done), done=done)
    return SoFar(EXPERIMENT, PAIR, run)  # type: ignore[arg-type]


def test_the_spread_of_the_first_stage_fixes_the_number() -> None:
    fixed = so_far(scattered(0.03)).fix(0.02, 8)
    assert fixed.spread == pytest.approx(0.03, rel=0.01)
    wanted = math.ceil((2.364624 * fixed.spread / math.log(1.02)) ** 2)
    assert (fixed.sessions, fixed.needed) == (wanted, wanted) == (13, 13)
    assert fixed.freedom == 7 and fixed.level == 0.05
    assert fixed.half_width <= 0.02
    told = sentence(fixed)
    assert told.startswith(
        "after 8 sessions their number was fixed at 13: log ratios of throughput"
    )
    assert (
        "throughput of together against each scatter by 3 %, so that ±2 % (t with 7 degrees" in told
    )


def test_where_the_effect_lies_has_no_part_in_it() -> None:
    here, there = (so_far(scattered(0.03, effect)).fix(0.02, 8) for effect in (0.0, 0.2))
    assert here.sessions == there.sessions


def test_little_spread_needs_no_second_stage() -> None:
    fixed = so_far(scattered(0.01)).fix(0.02, 8)
    assert fixed.sessions == fixed.needed == 8
    assert "scatter by 1 %, and these give ±0.84" in sentence(fixed)
    assert "where ±2 % was asked for" in sentence(fixed)


def test_sessions_that_are_alike_say_nothing_of_precision() -> None:
    assert so_far(scattered(0.0)).outlook() is None


def test_what_twenty_sessions_do_not_give_is_said() -> None:
    fixed = so_far(scattered(0.06)).fix(0.02, 8)
    assert fixed.sessions == 20 and fixed.needed > 40
    assert fixed.half_width > 0.02
    told = sentence(fixed)
    assert f"takes {fixed.needed}, and 20 give ±3." in told and "the most there are" in told


def test_without_pairs_the_first_stage_is_all_there_is() -> None:
    def broken(case: Case, session: int, block: int) -> Course:
        return Course(steal=0.5)

    fixed = so_far(broken).fix(0.02, 8)
    assert (fixed.sessions, fixed.comparison) == (8, "")
    assert "no comparison that counts had a spread to go by" in sentence(fixed)


def test_what_is_known_so_far_is_a_width() -> None:
    assert so_far(scattered(0.03), done=2).outlook() is None
    three, eight = (so_far(scattered(0.03, 0.3), done=done).outlook() for done in (3, 8))
    assert three is not None and eight is not None
    assert eight.now == eight.at_end
    assert eight.now == pytest.approx(math.expm1(2.364624 * 0.03 / math.sqrt(8)), rel=0.01)
    assert three.now > 2 * three.at_end
    # It is the same wherever the effect lies.
    there = so_far(scattered(0.03), done=8).outlook()
    assert there is not None and there.now == pytest.approx(eight.now, rel=0.01)
    fixed = so_far(scattered(0.03)).fix(0.02, 8)
    staged = SoFar(EXPERIMENT, PAIR, staged_run(13, fixed)).outlook()  # type: ignore[arg-type]
    assert staged is not None and staged.now == pytest.approx(fixed.half_width, rel=0.01)


def staged_run(sessions: int, fixed: TwoStage | None) -> FakeRun:
    run = run_of(PAIR, scattered(0.03, 0.08), blocks=1, sessions=sessions)
    changes = {"precision": 0.02, "two_stage": fixed}
    run.record = run.record.model_copy(update=changes)
    return run


def judged(run: FakeRun) -> Summary:
    return judge_run(EXPERIMENT, PAIR, run).summary  # type: ignore[arg-type]


def test_the_comparison_rests_on_all_sessions_and_the_first_stage_s_spread() -> None:
    fixed = so_far(scattered(0.03)).fix(0.02, 8)
    (found,) = judged(staged_run(13, fixed)).comparisons
    assert found.sessions == 13 and len(found.pairs) == 13
    assert found.low is not None and found.high is not None
    logs = [math.log1p(pair.effect) for pair in found.pairs]
    half = 2.364624 * float(np.std(logs[:8], ddof=1)) / math.sqrt(13)
    assert math.log1p(found.high) == pytest.approx(np.mean(logs) + half)
    assert (math.log1p(found.high) - math.log1p(found.low)) / 2 <= math.log(1.02)
    # With the number given the same sessions have an interval of their own spread.
    (given,) = judged(run_of(PAIR, scattered(0.03, 0.08), blocks=1, sessions=13)).comparisons
    assert given.low != found.low


@pytest.mark.parametrize(("spoilt", "left"), [(3, 5), (8, 0)])
def test_a_first_stage_with_too_few_pairs_is_no_answer(spoilt: int, left: int) -> None:
    def poor(case: Case, session: int, block: int) -> Course:
        return Course(rate=20_000 + 10 * session, steal=0.3 if session < spoilt else 0.0)

    run = run_of(PAIR, poor, blocks=1, sessions=13)
    fixed = so_far(scattered(0.03)).fix(0.02, 8)
    run.record = run.record.model_copy(update={"two_stage": fixed})
    (found,) = judged(run).comparisons
    assert found.verdict == "invalid" and f"{left} of 6 sessions needed are usable" in found.why


def test_a_run_that_ended_before_its_number_was_fixed_is_not_whole() -> None:
    run = staged_run(8, None)
    run.record = run.record.model_copy(update={"state": "interrupted"})
    summary = judged(run)
    assert summary.state == "interrupted"
    assert "cut off after 8 of 8 or more sessions" in summary.answer


def test_the_number_is_derived_again_from_the_first_stage() -> None:
    fixed = so_far(scattered(0.03)).fix(0.02, 8)
    claimed = fixed.model_copy(update={"sessions": 16, "spread": 0.04})
    found = fixed_again(EXPERIMENT, PAIR, staged_run(16, claimed))  # type: ignore[arg-type]
    assert found is not None and (found.sessions, found.needed) == (13, 13)
    assert found.spread == pytest.approx(fixed.spread, rel=0.01)
    assert found.half_width == pytest.approx(fixed.half_width, rel=0.01)
    assert fixed_again(EXPERIMENT, PAIR, staged_run(8, None)) is None  # type: ignore[arg-type]
