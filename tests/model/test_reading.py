"""A good file is read as it was meant, with what it leaves out filled in."""

import pytest
from examples import EXAMPLE, SEARCH, STUDIES, read, small

from benchlab.lab.opening import KNOWN as ALL
from benchlab.model.cases import cases, select
from benchlab.model.errors import InputError
from benchlab.model.reading import read_experiment, read_mapping


def test_the_whole_example() -> None:
    experiment = read(EXAMPLE)
    found = cases(experiment)
    assert len(found) == 2 * 3 * 2 * 2 - 6
    assert found[0].name == "fetch=each,clients=1,system=sqlite,config=stock"
    tuned = next(case for case in found if case.levels["config"] == "tuned")
    assert tuned.system.settings == {
        "cache_size": "-2000",
        "journal_mode": "wal",
        "synchronous": "off",
    }
    assert found[0].system.settings == {"cache_size": "-2000"}
    assert found[-1].system_name == "staging"
    assert found[-1].system.at == ("sqlite:/srv/app.db",)
    assert found[-1].load.clients == 64
    assert found[-1].workload.options == {"fetch": "together"}
    assert experiment.compare is not None
    assert experiment.compare.smallest_effect == pytest.approx(0.03)
    assert [(p.metric, p.operator, p.limit) for p in experiment.promises] == [
        ("latency_p99", "<", pytest.approx(0.05)),
        ("errors", "<", pytest.approx(0.001)),
    ]
    assert experiment.allow == {"steal": pytest.approx(0.05)}
    assert len(cases(read(EXAMPLE, full=True))) == 8 * 6


def test_defaults() -> None:
    experiment = read_mapping(small())
    load = experiment.load
    assert (load.clients, load.duration, load.warmup, load.timeout) == (16, 5.0, 1.0, 5.0)
    assert (experiment.sessions, experiment.blocks, experiment.seed) == (3, 2, 1)
    assert [case.name for case in cases(experiment)] == ["small"]


def test_defaults_of_an_open_load() -> None:
    experiment = read_mapping(
        small(load={"rate": "5000/s"}, factors={"load.rate": ["1000/s", "5000/s"]})
        | {"compare": {"factor": "rate"}}
    )
    assert experiment.load.is_open
    assert (experiment.load.connections, experiment.load.clients) == (64, None)
    assert experiment.compare is not None
    assert experiment.compare.metrics == ("latency_p99",)
    assert experiment.compare.baseline == "1000/s"
    assert experiment.sessions == 8


def test_a_rate_that_is_sought() -> None:
    experiment = read(SEARCH)
    load = experiment.load
    assert load.is_open and load.rate is None and load.connections == 16
    assert [one.text for one in load.keep] == ["latency_p99 < 50ms", "errors < 1%"]
    assert (load.peak, load.duration) == (400.0, 5.0)
    at = load.at(250.0, 8.0)
    assert (at.find, at.rate, at.duration, at.peak, at.keep) == (None, 250.0, 8.0, None, load.keep)
    alone = read(SEARCH.replace("  metrics: [capacity]\n", ""))
    assert alone.compare is not None and alone.compare.metrics == ("capacity",)


def test_a_capacity_needs_a_rate_that_is_sought() -> None:
    with pytest.raises(InputError) as error:
        read(EXAMPLE.replace("[throughput]", "[capacity]"))
    assert "capacity is had where the rate is sought" in str(error.value)


def test_several_systems_are_a_factor_of_themselves() -> None:
    data = small(factors={"load.clients": [1, 2]})
    data["systems"]["other"] = {"at": "http://127.0.0.1:8081/"}
    names = [case.name for case in cases(read_mapping(data))]
    assert names == [
        "system=shop,clients=1",
        "system=shop,clients=2",
        "system=other,clients=1",
        "system=other,clients=2",
    ]


def test_a_level_may_take_a_key_away() -> None:
    levels = {"closed": {"load.clients": 4}, "open": {"load": {"rate": "50/s", "clients": None}}}
    data = small(load={"clients": 2}, factors={"load": levels})
    closed, opened = cases(read_mapping(data))
    assert (closed.load.clients, closed.load.rate) == (4, None)
    assert (opened.load.clients, opened.load.rate) == (None, 50.0)


def test_ambiguous_last_parts_get_longer() -> None:
    data = small(factors={"systems.a.settings.size": [1, 2], "systems.b.settings.size": [1, 2]})
    data["systems"] = {"a": {"kind": "sqlite"}, "b": {"kind": "sqlite"}}
    data["workload"] = {"mix": {"one": {"sql": "SELECT 1"}}}
    assert cases(read_mapping(data))[0].name == "system=a,a.settings.size=1,b.settings.size=1"


def test_a_factor_with_key_and_values() -> None:
    pool = {"key": "load.clients", "values": [4, 8]}
    named = {"key": "load.timeout", "values": {"short": "1s", "long": "10s"}}
    found = cases(read_mapping(small(factors={"pool": pool, "patience": named})))
    assert [case.name for case in found][:2] == ["pool=4,patience=short", "pool=4,patience=long"]
    assert found[1].load.timeout == 10.0


def test_the_command_line_sets_keys() -> None:
    experiment = read(
        EXAMPLE,
        overrides={"load.duration": "2s", "workload.data.users": "500", "blocks": "1"},
        sessions=10,
    )
    assert experiment.load.duration == 2.0
    assert experiment.workload.data == {"users": 500}
    assert (experiment.blocks, experiment.sessions) == (1, 10)
    fewer = read(EXAMPLE, overrides={'factors."load.clients"': "[64]"})
    assert len(cases(fewer)) == 2 * 3


def test_choosing_cases() -> None:
    found = cases(read(EXAMPLE))
    assert select(found, []) == found
    assert len(select(found, ["fetch=each"])) == len(found) // 2
    assert len(select(found, ["clients=1,each", "clients=8,each"])) == 6
    assert select(found, [found[3].name]) == (found[3],)
    with pytest.raises(InputError, match=r"--only clients=65: .*did you mean clients=64\?"):
        select(found, ["clients=65"])


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("study", sorted(path.parent.name for path in STUDIES.glob("*/*.yaml")))
def test_the_studies_are_read(study: str, full: bool) -> None:
    path = STUDIES / study / "experiment.yaml"
    experiment = read_experiment(path.read_text(), file=str(path), full=full, known=ALL)
    assert experiment.name == study
    assert cases(experiment)


def test_a_precision_takes_a_second_stage_of_sessions() -> None:
    staged = read(EXAMPLE.replace("sessions: 8", "sessions: {precision: 2%}"))
    assert (staged.sessions, staged.precision) == (8, 0.02)
    given = read_experiment(
        EXAMPLE.replace("sessions: 8", "sessions: {precision: 2%}"),
        file="x.yaml",
        sessions=10,
        known=ALL,
    )
    assert (given.sessions, given.precision) == (10, None)
    with pytest.raises(InputError, match="nothing is: it needs compare"):
        read(
            "experiment: x\nsystems: {sqlite: {}}\nworkload: {name: buddies}\n"
            "sessions: {precision: 2%}\n"
        )
