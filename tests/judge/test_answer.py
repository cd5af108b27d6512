"""The sentence: what each verdict is said as, and what it ends with."""

from collections.abc import Sequence

import pytest
from runs import Course, cases_of, experiment_of, run_of

from benchlab.judge.answer import answer, command, label
from benchlab.judge.run import judge_run
from benchlab.model.evidence import Comparison
from benchlab.model.experiment import Compare
from benchlab.model.metrics import METRICS

CASES = cases_of("fetch", ["each", "together"])
RUN = run_of(CASES, lambda *_: Course(), sessions=1)
RECORD = RUN.record.model_copy(update={"sessions": 8, "sessions_done": 8})


def said(*comparisons: Comparison) -> str:
    compare = Compare(factor="fetch", baseline="each", metrics=("throughput",))
    experiment = experiment_of(CASES, compare=compare)
    judged = judge_run(experiment, CASES, RUN).cases  # type: ignore[arg-type]
    return answer(experiment, RECORD, judged, comparisons).replace("\u00a0", " ")


def compared(**given: object) -> Comparison:
    plain = {
        "metric": "throughput",
        "baseline": "each",
        "candidate": "together",
        "at": {},
        "counts": True,
        "effect": 1.31,
        "low": 1.2,
        "high": 1.43,
        "p": 0.0078,
        "sessions": 8,
        "detectable": 0.051,
        "sessions_needed": 21,
        "verdict": "better",
    }
    return Comparison.model_validate(plain | given)


SLOWER = {"effect": -0.38, "low": -0.41, "high": -0.35}
SMALL = {"effect": 0.012, "low": 0.008, "high": 0.016}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {},
            "together is 2.31× as fast as each in logins/s (+131 %, 95 % interval +120 … +143 %).",
        ),
        (
            SLOWER | {"verdict": "worse"},
            "together is only 0.62× as fast as each in logins/s "
            "(-38 %, 95 % interval -41 … -35 %).",
        ),
        (
            SLOWER | {"metric": "latency_p99"},
            "together has 0.62× the p99 latency of each, which is better "
            "(-38 %, 95 % interval -41 … -35 %).",
        ),
        (
            {"metric": "errors", "by": "difference", "effect": 0.01, "low": 0.008, "high": 0.012}
            | {"verdict": "worse"},
            "together has a larger share of errors than each, which is worse "
            "(+1%, 95 % interval +0.8% … +1.2%).",
        ),
        (
            SMALL | {"verdict": "different-but-small"},
            "together differs from each in logins/s, but by less than the 3 % that matter "
            "(+1.2 %, 95 % interval +0.8 … +1.6 %).",
        ),
        (
            SMALL | {"high": 0.034, "verdict": "different-but-small", "may_matter": True},
            "together differs from each in logins/s, seen at less than the 3 % that matter, though "
            "it may be more (+1.2 %, 95 % interval +0.8 … +3.4 %).",
        ),
        (
            SMALL | {"low": -0.004, "verdict": "equivalent"},
            "together and each are equal in logins/s to within 3 % "
            "(+1.2 %, 95 % interval -0.4 … +1.6 %).",
        ),
        (
            {"effect": 0.02, "low": -0.03, "high": 0.07, "verdict": "inconclusive"},
            "It cannot be told whether together differs from each in logins/s "
            "(+2 %, 95 % interval -3 … +7 %; 8 sessions would have shown 5.1 %). "
            "This would settle it: benchlab run buddies.yaml --sessions 21",
        ),
        (
            {"verdict": "invalid", "why": "5 of 6 sessions needed are usable on both sides"},
            "No valid answer: 5 of 6 sessions needed are usable on both sides.",
        ),
        (
            {"why": "at least: the agent was the limit of the faster side"},
            "together is 2.31× as fast as each in logins/s "
            "(+131 %, 95 % interval +120 … +143 %, at least).",
        ),
    ],
)
def test_each_verdict_in_words(given: dict[str, object], sentence: str) -> None:
    assert said(compared(**given)) == sentence


def test_several_comparisons_share_a_sentence() -> None:
    lazy = compared(candidate="lazy", verdict="worse", **SLOWER)
    found = said(compared(at={"clients": "8"}), lazy.model_copy(update={"at": {"clients": "8"}}))
    assert found.startswith("At clients=8, together is 2.31× as fast as each")
    assert "; lazy is only 0.62× as fast as each" in found


def test_an_invalid_one_among_others_says_which_it_is() -> None:
    lazy = compared(candidate="lazy", verdict="invalid", why="lazy was skipped.")
    assert said(compared(), lazy).endswith(
        "; no valid answer on lazy against each in logins/s: lazy was skipped."
    )


def test_cells_that_differ_are_named_each() -> None:
    found = said(compared(at={"clients": "1"}), compared(at={"clients": "8"}))
    assert "(at clients=1)" in found and "(at clients=8)" in found


def test_many_comparisons_are_counted_and_the_largest_told() -> None:
    many: Sequence[Comparison] = [compared(candidate=f"c{k}", effect=k / 10) for k in range(1, 9)]
    found = said(*many)
    assert found.startswith("Of 8 comparisons 8 better; the largest: c8 is 1.8× as fast as each")


def test_an_answer_near_delta_asks_for_twice_the_sessions() -> None:
    near = compared(effect=0.02, low=-0.001, high=0.04, verdict="inconclusive", sessions_needed=6)
    assert said(near).endswith("--sessions 16")


def test_what_no_number_of_sessions_settles_says_so() -> None:
    near = compared(effect=0.02, low=-0.2, high=0.3, verdict="inconclusive", sessions_needed=400)
    assert "Not even 40 sessions" in said(near)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("benchlab", "run", "b.yaml"), "benchlab run b.yaml --sessions 12"),
        (("benchlab", "run", "b.yaml", "--sessions", "8"), "benchlab run b.yaml --sessions 12"),
        (("benchlab", "run", "--sessions=8", "b.yaml"), "benchlab run b.yaml --sessions 12"),
        (("benchlab", "run", "a b.yaml"), "benchlab run 'a b.yaml' --sessions 12"),
        (
            ("benchlab", "run", "b.yaml", "--resume", "last", "--yes"),
            "benchlab run b.yaml --yes --sessions 12",
        ),
        ((), "benchlab run buddies --sessions 12"),
    ],
)
def test_the_command_is_the_run_s_own(given: tuple[str, ...], expected: str) -> None:
    assert command(RECORD.model_copy(update={"command": given}), 12) == expected


def test_every_metric_has_a_name_in_words() -> None:
    words = [label(name) for name in METRICS]
    assert len(set(words)) == len(words)
    assert not any("_" in word for word in words)
    assert (
        label("latency_p999") == "p99.9 latency" and label("service_p50") == "median service time"
    )
