"""What is wrong is told before anything starts, with the place in the file."""

from pathlib import Path

import pytest

from benchlab.lab import preflight
from benchlab.load.workloads import known
from benchlab.model.cases import cases, placing
from benchlab.model.errors import InputError
from benchlab.model.experiment import Experiment
from benchlab.model.reading import read_experiment
from benchlab.model.sections import Known

API = """\
experiment: api
systems:
  api:
    kind: command
    start: sh -c true
    url: http://127.0.0.1:${port}/
    environment: {PLAIN: x}
workload:
  mix:
    page: {get: /, headers: {Accept: a}}
load: {clients: 2}
"""


def read(text: str) -> Experiment:
    return read_experiment(text, file="x.yaml", known=Known(workloads=known()))


def refused(text: str) -> str:
    experiment = read(text)
    with pytest.raises(InputError) as caught:
        preflight.check(experiment, cases(experiment), Path("/nowhere"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("sh -c true", "sh ${env:NOT_SET_A}", "x.yaml:5: systems.api.start: the environment"
         " variable NOT_SET_A is not set"),
        ("127.0.0.1", "${env:NOT_SET_A}", "x.yaml:6: systems.api.url: the environment variable"
         " NOT_SET_A is not set"),
        ("PLAIN: x", "PLAIN: '${env:HOMEE}'", "x.yaml:7: systems.api.environment.PLAIN: the"
         " environment variable HOMEE is not set (did you mean HOME?)"),
        ("Accept: a", "Accept: '${env:NOT_SET_A}'", "x.yaml:10: workload.mix.page.headers.Accept:"
         " the environment variable NOT_SET_A is not set"),
        ("PLAIN: x}", "PLAIN: x}\n    placement: 4095", "x.yaml:8: systems.api.placement: no core"
         " 4095 here"),
        ("{get: /,", "{post: /, body: '@none.json',", "x.yaml:10: workload.mix.page.body: cannot"
         " read /nowhere/none.json"),
        ("clients: 2", "rate: 100/s, duration: 1s, shape: [{hold: 1s}, {step: 5/s}]", "x.yaml:11:"
         " load.shape: ends in a step"),
    ],
)  # fmt: skip
def test_the_place_in_the_file_is_named(right: str, wrong: str, message: str) -> None:
    assert refused(API.replace(right, wrong)).startswith(message)


def test_a_level_is_blamed_for_what_it_sets() -> None:
    levels = "factors:\n  systems.api.environment.PLAIN:\n    - x\n    - '${env:NOT_SET_A}'\n"
    assert refused(API + levels).startswith("x.yaml:15: systems.api.environment.PLAIN: the env")


def test_what_other_systems_mention_is_not_asked_for() -> None:
    other = "  other: {at: 'http://${env:NOT_SET_A}/'}\nworkload:"
    text = API.replace("workload:", other) + "factors: {system: [api, other]}\n"
    experiment = read(text)
    api, there = cases(experiment)
    preflight.check(experiment, [api], Path())
    with pytest.raises(InputError, match=r"x.yaml:8: systems.other.at: the environment"):
        preflight.check(experiment, [there], Path())


def test_what_the_engine_refuses_stands_where_it_came_from() -> None:
    text = """\
experiment: lite
systems:
  sqlite:
    settings: {jornal_mode: wal}
workload:
  mix:
    fine: {sql: SELECT 1}
    ask: {sql: SELEC 1}
"""
    assert refused(text) == (
        "x.yaml:4: systems.sqlite.settings.jornal_mode: SQLite knows no such pragma "
        "(did you mean journal_mode?)"
    )
    right = text.replace("jornal", "journal")
    assert refused(right).startswith('x.yaml:8: workload.mix.ask: near "SELEC": syntax error')


def test_a_quote_from_the_environment_is_told_with_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QUOTED", "it's")
    experiment = read(API.replace("sh -c true", "sh ${env:QUOTED}"))
    with pytest.raises(InputError, match=r"x.yaml:5: systems.api.start: .*is not a command line"):
        preflight.missing(cases(experiment))


def test_a_complaint_about_a_key_gets_its_line() -> None:
    (case,) = cases(read(API))
    for key, told in [
        ("systems.api.url", "x.yaml:6: systems.api.url: bad"),
        ("systems.api.ready.port", "x.yaml:3: systems.api.ready.port: bad"),
        ("somewhere", "x.yaml: somewhere: bad"),
    ]:
        with pytest.raises(InputError) as caught, placing(case):
            raise InputError("bad", key=key)
        assert str(caught.value) == told
