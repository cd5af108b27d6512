"""What is made of a case is a Plan by the engine's own schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchlab.lab.opening import KNOWN
from benchlab.lab.seeking import as_begun
from benchlab.load.plan import loading_plan, make_plan
from benchlab.model.cases import cases
from benchlab.model.reading import read_experiment, read_mapping
from benchlab.systems import kind_of

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/plan.schema.json").read_text()))
VALUES: dict[str, Any] = {
    "zipfian": {"zipfian": {"low": 1, "high": 9, "theta": 0.5, "scramble": True}},
    "uniform": {"uniform": [1, 5]},
    "latest": {"latest": [1, 4]},
    "hotspot": {"hotspot": {"low": 1, "high": 9, "set": 0.1, "share": 0.9}},
    "exponential": {"exponential": [1, 5]},
    "text": {"text": {"length": [1, 4], "key": "zipfian"}},
    "bytes": {"bytes": 4},
    "weighted": {"choice": {"a": 1, "b": 2}},
    "choice": {"choice": [1, "x", 1.5]},
    "from": {"sequence": 4},
    "odd": {"sequence": {"start": 1, "step": 2}},
    "constant": "word",
    "number": 1.5,
    "template": "${constant}x",
    "list": {"list": {"low": 1, "high": 4, "length": 2, "distinct": True}},
    "batch": {"batch": {"start": 1, "length": 2, "last": 8}},
}


def refused(plan: Any) -> list[str]:
    return [error.message for error in SCHEMA.iter_errors(plan)]


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("studies/*/experiment.yaml")), ids=lambda path: path.parent.name
)
def test_every_case_of_the_studies(path: Path) -> None:
    experiment = read_experiment(path.read_text(), file=str(path), full=True, known=KNOWN)
    for case in cases(experiment):
        urls = kind_of(case.system_name, case.system).expected_urls(case.system)
        first = as_begun(case)
        plan = make_plan(first, urls=urls, seed=experiment.seed, session=0, block=0, cpus=[0])
        loading = loading_plan(case, urls=urls, seed=experiment.seed)
        assert not refused(plan)
        assert loading is None or not refused(loading)


@pytest.mark.parametrize(
    "load",
    [
        {"clients": 3, "think": "1ms", "transactions": "4 per client", "connection": "new"},
        {"rate": "5/s", "shape": [{"to": "9/s", "over": "1s"}, {"step": "2/s"}], "duration": "4s"},
        {"rate": "5/s", "arrivals": "constant", "transactions": 9},
    ],
)
def test_every_kind_of_value_and_load(load: dict[str, Any]) -> None:
    all_values = "".join(f"${{{name}}}" for name in VALUES)
    mix = {
        "one": {"get": f"/{all_values}", "expect": {"status": [200], "headers": {"A": "${text}"}}},
        "several": {"put": "/${list}", "for_each": "list", "headers": {"B": "${odd}"}},
    }
    data = {
        "experiment": "x",
        "systems": {"shop": {"at": "http://h/"}},
        "workload": {"mix": mix, "values": VALUES},
        "load": load,
    }
    (case,) = cases(read_mapping(data, known=KNOWN))
    plan = make_plan(case, urls=case.system.at, seed=1, session=0, block=0)
    assert not refused(plan)
    assert set(plan["workload"]["values"]) == set(VALUES)
    assert refused(plan | {"speed": 1}), "the schema refuses what it does not know"
