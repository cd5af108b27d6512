"""What is written reads back as the same."""

import pytest
from examples import EXAMPLE, KNOWN, read, small
from hypothesis import given
from hypothesis import strategies as st

from benchlab.model.reading import read_experiment, read_mapping
from benchlab.model.tree import from_plain, parse_yaml
from benchlab.model.writing import experiment_text, yaml_text


@pytest.mark.parametrize("full", [False, True])
def test_a_file_reads_back_equal(full: bool) -> None:
    experiment = read(EXAMPLE, full=full, overrides={"load.duration": "2s"})
    assert read_experiment(experiment_text(experiment), file="again", known=KNOWN) == experiment


def test_what_was_put_together_reads_back_equal() -> None:
    body = 'one\ntwo: "x"\n#ü'
    mix = {"page": {"post": "/", "body": body, "headers": {"A": "yes", "B": "1"}}}
    experiment = read_mapping(small(workload={"mix": mix}, load={"rate": "50/s"}))
    assert experiment.workload.mix[0].operations[0].body == body
    assert read_experiment(experiment_text(experiment), file="again") == experiment


def test_numbers_stay_as_they_were_written() -> None:
    written = experiment_text(read(EXAMPLE.replace("cache_size: -2000", "cost: 1.10")))
    assert "cost: 1.10\n" in written
    assert read(written).systems["sqlite"].settings["cost"] == "1.10"


PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.just("\n"))
NAMES = PRINTABLE.filter(lambda name: name != "<<")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | PRINTABLE
)


@given(
    st.dictionaries(
        NAMES,
        st.recursive(
            SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=8
        ),
        min_size=1,
    )
)
def test_any_tree_survives(value: dict[str, object]) -> None:
    node = from_plain(value)
    assert parse_yaml(yaml_text(node), "x.yaml") == node
