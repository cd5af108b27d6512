"""The time told beforehand, and made to fit."""

import pytest

from benchlab.lab import budget
from benchlab.model.cases import cases
from benchlab.model.experiment import Case, Experiment
from benchlab.model.reading import read_experiment

TEXT = """
experiment: rest
systems:
  a: {kind: command, start: "a ${port}", url: "http://127.0.0.1:${port}/"}
  b: {kind: command, start: "b ${port}", url: "http://127.0.0.1:${port}/"}
workload: {mix: {page: {get: /}}}
load: {clients: 4, duration: 10s, warmup: 1s}
factors: {load.clients: [1, 4], system: [a, b]}
sessions: 3
blocks: 2
"""


@pytest.fixture
def read() -> tuple[Experiment, tuple[Case, ...]]:
    experiment = read_experiment(TEXT, file="x.yaml")
    return experiment, cases(experiment)


def test_the_time_is_trials_starts_and_null_runs(
    read: tuple[Experiment, tuple[Case, ...]],
) -> None:
    experiment, every = read
    told = budget.estimate_time(experiment, every)
    assert told.trials == 4 * 3 * 2
    assert told.trials_s == pytest.approx(24 * (10 + 1 + budget.TRIAL_S))
    assert told.starts_s == pytest.approx(2 * 3 * budget.START_S)
    # One client and four are two shapes, whatever the system.
    assert told.null_s == pytest.approx(2 * (6.0 + budget.TRIAL_S))
    assert told.total_s == told.trials_s + told.starts_s + told.null_s
    assert not told.is_guess


def test_what_may_come_on_top_is_told_too(read: tuple[Experiment, tuple[Case, ...]]) -> None:
    experiment, every = read
    once = budget.estimate_time(experiment, every)
    assert (once.most_sessions, once.most_s) == (3, once.total_s)
    staged = experiment.model_copy(update={"sessions": 8, "precision": 0.02})
    told = budget.estimate_time(staged, every)
    assert told.most_sessions == 20
    assert told.most_s - told.null_s == pytest.approx(2.5 * (told.total_s - told.null_s))
    afresh = experiment.model_copy(update={"order": "blocks"})
    assert budget.estimate_time(afresh, every).starts_s == 2 * once.starts_s


def test_trials_that_end_by_count_make_it_a_guess() -> None:
    text = TEXT.replace("duration: 10s", "transactions: 1000")
    experiment = read_experiment(text, file="x.yaml")
    assert budget.estimate_time(experiment, cases(experiment)).is_guess


def test_enough_time_changes_nothing(read: tuple[Experiment, tuple[Case, ...]]) -> None:
    experiment, every = read
    fitted = budget.fit(experiment, every, 10_000)
    assert (fitted.experiment, fitted.cases, fitted.notes) == (experiment, every, ())


@pytest.mark.parametrize(
    ("seconds", "left", "blocks", "words"),
    [
        (200.0, 4, 2, ["duration lowered to"]),
        (60.0, 4, 1, ["duration lowered to 1 s", "blocks lowered to 1"]),
        (
            45.0,
            3,
            1,
            ["duration lowered to 1 s", "blocks lowered to 1", "left out: clients=4,system=b"],
        ),
    ],
)
def test_duration_then_blocks_then_cases_give_way(
    read: tuple[Experiment, tuple[Case, ...]],
    seconds: float,
    left: int,
    blocks: int,
    words: list[str],
) -> None:
    experiment, every = read
    fitted = budget.fit(experiment, every, seconds)
    assert len(fitted.cases) == left
    assert fitted.experiment.blocks == blocks
    assert fitted.experiment.sessions == 3
    assert budget.estimate_time(fitted.experiment, fitted.cases).total_s <= seconds
    assert len(fitted.notes) == len(words)
    for note, word in zip(fitted.notes, words, strict=True):
        assert word in note


def test_what_cannot_fit_is_said(read: tuple[Experiment, tuple[Case, ...]]) -> None:
    fitted = budget.fit(*read, 1.0)
    assert len(fitted.cases) == 1
    assert "over the budget: 3 sessions stay" in fitted.notes[-1]
