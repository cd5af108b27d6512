"""The workload of records: what is asked of which store, and that real stores answer it."""

from typing import Any

import pytest

from benchlab.load.plan import loading_plan, make_plan
from benchlab.load.workloads import known
from benchlab.load.workloads.records import YCSB
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.experiment import Case
from benchlab.model.reading import read_mapping
from benchlab.model.schemes import SCHEMES
from benchlab.model.sections import Known

KNOWN = Known(workloads=known())
DATABASE = ["sqlite:/data/x.db"]


def case(options: dict[str, Any], data: dict[str, Any] | None = None, **more: Any) -> Case:
    workload = {"name": "records", "options": options, "data": data or {"records": 2500}}
    experiment = {"experiment": "x", "systems": {"sqlite": {}}, "workload": workload, **more}
    return cases(read_mapping(experiment, known=KNOWN))[0]


def transactions(found: Case, urls: list[str] = DATABASE) -> dict[str, Any]:
    plan = make_plan(found, urls=urls, seed=1, session=0, block=0)
    return {each["name"]: each for each in plan["workload"]["transactions"]}


@pytest.mark.parametrize("driver", sorted({scheme.driver for scheme in SCHEMES.values()}))
def test_every_store_is_asked_in_its_own_way(driver: str) -> None:
    if driver in ("http", "file"):
        with pytest.raises(InputError, match="records asks sqlite:, "):
            transactions(case({}), ["http://h/" if driver == "http" else "file:/h"])
        return
    found = case({"ycsb": "F", "read_many": "5%", "insert": "5%", "read_modify_write": "90%"})
    asked = transactions(found, [f"{driver}://h" if driver != "sqlite" else "sqlite:x"])
    speaks = SCHEMES[driver].speaks
    requests = [operation["request"] for each in asked.values() for operation in each["operations"]]
    assert len(requests) == 4 and all(list(request) == [speaks] for request in requests)


def test_what_a_store_cannot_do_is_said() -> None:
    with pytest.raises(InputError, match=r"workload\.options\.scan: redis: has no scan"):
        transactions(case({"ycsb": "E"}), ["redis://h/1"])


@pytest.mark.parametrize("letter", YCSB)
def test_a_workload_of_ycsb_is_a_setting(letter: str) -> None:
    shares = YCSB[letter][0]
    found = transactions(case({"ycsb": letter}))
    assert {name: each["weight"] for name, each in found.items()} == shares
    assert sum(shares.values()) == pytest.approx(1)


def test_shares_of_ones_own_replace_those_of_ycsb() -> None:
    found = transactions(case({"ycsb": "A", "read_many": "30%", "scan": "10%"}))
    assert {name: each["weight"] for name, each in found.items()} == {"read_many": 0.3, "scan": 0.1}


def test_every_answer_is_checked() -> None:
    for letter in YCSB:
        for each in transactions(case({"ycsb": letter, "scan": "5%"})).values():
            for operation in each["operations"]:
                expect = operation["expect"]
                checked = operation["name"] == "insert" or expect["rows"] or expect["keyed"]
                assert checked, (letter, operation)


def test_no_two_cases_insert_the_same_records() -> None:
    factors = {"load.clients": [1, 2]}
    workload = {"name": "records", "options": {"insert": "100%"}}
    experiment = {
        "experiment": "x",
        "systems": {"sqlite": {}},
        "workload": workload,
        "factors": factors,
    }
    names = set()
    for found in cases(read_mapping(experiment, known=KNOWN)):
        plan = make_plan(found, urls=DATABASE, seed=1, session=0, block=0)
        (insert,) = plan["workload"]["transactions"][0]["operations"]
        names.add(insert["request"]["sql"])
    assert len(names) == 2


def test_a_store_is_loaded_with_all_records() -> None:
    plan = loading_plan(case({}), urls=DATABASE, seed=1)
    assert plan is not None
    assert plan["stop"] == {"transactions": 3}
    assert plan["workload"]["values"]["id"]["batch"]["last"] == 2500


def test_a_server_is_loaded_by_many_rows_at_once_or_by_many_clients() -> None:
    def loading(url: str, length: int = 100) -> dict[str, Any]:
        found = case({}, {"records": 2500, "length": length})
        plan = loading_plan(found, urls=[url], seed=1)
        assert plan is not None
        return plan

    rows = {"copy": {"into": "records (id, value)", "row": ["${id}", "${value}"]}}
    for url in ("postgresql://h", "mysql://h"):
        schema, insert = loading(url)["workload"]["transactions"][0]["operations"]
        assert (list(schema["request"]), insert["request"]) == (["sql"], rows)
        assert (insert["for_each"], insert["expect"]["rows"]) == ("id", "${id}")
        # A thousand long ones are more than a server takes at once.
        _, insert = loading(url, 100_000)["workload"]["transactions"][0]["operations"]
        assert (list(insert["request"]), insert["for_each"]) == (["sql"], "id")
    for url in ("redis://h", "memcached://h"):
        plan = loading(url)
        assert (plan["schedule"], plan["pipeline"]) == ({"closed": {"clients": 256}}, 64)


def test_too_short_a_record_is_refused_with_its_key() -> None:
    with pytest.raises(InputError, match=r"workload\.data\.length"):
        case({}, {"records": 1000, "length": 21})
