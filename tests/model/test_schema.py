"""The shipped JSON Schema is fresh, takes what the reader takes and refuses what it can see."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from examples import EXAMPLE, STUDIES

from benchlab.model.schema import json_schema, text
from benchlab.model.tree import parse_yaml


def valid(experiment: str) -> None:
    jsonschema.validate(parse_yaml(experiment, "x.yaml").plain(), json_schema())


def test_the_shipped_schema_is_fresh() -> None:
    shipped = files("benchlab.model").joinpath("experiment.schema.json").read_text("utf-8")
    assert shipped == text(), "python -m benchlab.model.schema > …/model/experiment.schema.json"
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped))


@pytest.mark.parametrize(
    "path", sorted(STUDIES.glob("*/experiment.yaml")), ids=lambda p: p.parent.name
)
def test_it_takes_the_studies(path: Path) -> None:
    valid(path.read_text())


def test_every_section_says_what_it_is() -> None:
    properties = json_schema()["properties"]
    assert all("description" in section for section in properties.values())


def test_it_takes_the_example() -> None:
    valid(EXAMPLE)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("question:", "quesiton:"),
        ("duration: 5s", "duration: 5"),
        ("clients: 16", "clients: 0"),
        ("smallest_effect: 3%", "smallest_effect: 3"),
        ("faults: []", "faults: [{at: 5s}]"),
        ("  options: {fetch: each}", "  option: {fetch: each}"),
        ("steal: 5%", "stael: 5%"),
    ],
)
def test_it_refuses(right: str, wrong: str) -> None:
    assert right in EXAMPLE
    with pytest.raises(jsonschema.ValidationError):
        valid(EXAMPLE.replace(right, wrong))
