"""Plans that the workbench makes are kept as golden files, which the engine's own tests read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchlab.load.plan import loading_plan, make_plan
from benchlab.load.workloads import known
from benchlab.model.cases import cases
from benchlab.model.reading import read_experiment, read_mapping
from benchlab.model.sections import Known

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Known(workloads=known())


def quickstart(fetch: str) -> dict[str, Any]:
    path = ROOT / "studies/quickstart/experiment.yaml"
    experiment = read_experiment(path.read_text(), file=str(path), known=KNOWN)
    case = next(case for case in cases(experiment) if case.levels["fetch"] == fetch)
    return make_plan(case, urls=["sqlite:x.db"], seed=1, session=0, block=0, cpus=[0])


def quickstart_data() -> dict[str, Any] | None:
    path = ROOT / "studies/quickstart/experiment.yaml"
    experiment = read_experiment(path.read_text(), file=str(path), known=KNOWN)
    return loading_plan(cases(experiment)[0], urls=["sqlite:x.db"], seed=1)


def shop() -> dict[str, Any]:
    mix = {
        "page": {
            "get": "/item/${id}",
            "headers": {"Accept": "text/html"},
            "weight": 9,
            "expect": {"status": [200, 404], "contains": "${id}"},
        },
        "order": {"post": "/orders", "body": '{"item": ${id}, "note": "${note}"}'},
    }
    values = {"id": {"zipfian": [1, 100000]}, "note": {"text": {"length": [1, 80], "key": "id"}}}
    shape = [{"to": "5000/s", "over": "10s"}, {"hold": "30s"}, {"step": "9000/s"}, {"hold": "5s"}]
    data = {
        "experiment": "shop",
        "systems": {"shop": {"at": ["http://127.0.0.1:8080/", "http://[::1]:8081/"]}},
        "workload": {"mix": mix, "values": values},
        "load": {"rate": "1000/s", "shape": shape},
    }
    (case,) = cases(read_mapping(data, known=KNOWN))
    return make_plan(case, urls=case.system.at, seed=7, session=2, block=1, cpus=[0, 1])


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("made-quickstart-each", quickstart("each")),
        ("made-quickstart-together", quickstart("together")),
        ("made-quickstart-data", quickstart_data()),
        ("made-shop", shop()),
    ],
)
def test_a_made_plan_is_the_golden_one(name: str, plan: dict[str, Any]) -> None:
    path = ROOT / f"tests/plans/{name}.json"
    if os.environ.get("UPDATE_PLANS"):
        path.write_text(json.dumps(plan, indent=2) + "\n")
    assert json.loads(path.read_text()) == plan, "rewrite it with UPDATE_PLANS=1"
