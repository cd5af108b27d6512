"""An agent run from here: told of, stopped, and how its ends are told apart."""

import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.host.processes import Leash
from benchlab.load import agent, null
from benchlab.model.errors import EngineBug, HostError, InputError

PLAN = {
    "version": 1,
    "seeds": {"keys": 1, "values": 2, "arrivals": 3, "faults": 4},
    "driver": {"kind": "http", "targets": ["http://127.0.0.1:1/"]},
    "workload": {
        "transactions": [
            {
                "name": "page",
                "operations": [
                    {
                        "name": "page",
                        "request": {"http": {"method": "GET", "path": "/"}},
                        "expect": {"status": [201, 204], "body": "${id}"},
                    }
                ],
            }
        ]
    },
    "schedule": {"closed": {"clients": 8}},
    "warmup_ns": 1_000_000_000,
    "stop": {"duration_ns": 5_000_000_000},
    "connection": "kept",
    "workers": 1,
    "cpus": [],
}


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as made:
        yield made


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose agent is a shell script, to be written by the test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("BENCHLAB_BIN", str(folder))
    return folder / "agent"


def script(path: Path, lines: str) -> None:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_one_that_was_not_built_says_what_brings_it(broken: Path) -> None:
    with pytest.raises(HostError, match=r"there is no agent in .*`make build` brings it"):
        agent.binary()


def test_a_crash_is_a_bug_that_names_its_plan(broken: Path, leash: Leash, tmp_path: Path) -> None:
    script(broken, "echo thread panicked at worker.rs >&2; kill -SEGV $$")
    with pytest.raises(EngineBug, match=r"by signal 11: thread panicked.*plan\.json"):
        agent.run(PLAN, tmp_path, leash=leash)
    assert json.loads((tmp_path / "plan.json").read_text()) == PLAN
    assert "panicked" in (tmp_path / "agent.log").read_text()


@pytest.mark.parametrize(("status", "kind"), [(2, InputError), (4, HostError), (70, EngineBug)])
def test_the_ways_to_fail_are_told_apart(
    broken: Path, leash: Leash, tmp_path: Path, status: int, kind: type[Exception]
) -> None:
    line = json.dumps({"error": "x", "field": "cpus", "message": "core 9 is not there"})
    script(broken, f"echo '{line}' >&2; exit {status}")
    with pytest.raises(kind, match="core 9 is not there") as caught:
        agent.run(PLAN, tmp_path, leash=leash)
    if isinstance(caught.value, InputError):
        assert caught.value.key == "cpus"


def test_one_that_ends_well_without_a_measurement_is_a_bug(
    broken: Path, leash: Leash, tmp_path: Path
) -> None:
    script(broken, "cat > /dev/null")
    with pytest.raises(EngineBug, match="wrote nothing"):
        agent.run(PLAN, tmp_path, leash=leash)
    script(broken, "cat > /dev/null; echo what is this")
    with pytest.raises(EngineBug, match=r"no Measurement|not a|damaged"):
        agent.run(PLAN, tmp_path, leash=leash)


def test_one_that_does_not_heed_is_killed_within_two_seconds(
    broken: Path, leash: Leash, tmp_path: Path
) -> None:
    script(
        broken,
        "trap '' INT\n"
        'echo \'{"second": 0, "completed": 7, "errors": 1, "p99_ns": 2000000}\' >&2\n'
        "while :; do sleep 0.1; done",
    )
    told: list[agent.Progress] = []
    began = time.monotonic()
    outcome = agent.run(
        PLAN,
        tmp_path,
        leash=leash,
        on_progress=told.append,
        should_stop=lambda: bool(told),
    )
    assert outcome.state == "interrupted"
    assert told == [agent.Progress(0, 7, 1, 0.002)]
    assert outcome.told == tuple(told)
    assert time.monotonic() - began < 5.0


def test_one_that_falls_silent_is_killed_and_is_a_bug(
    broken: Path, leash: Leash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "SILENT_S", 0.3)
    script(broken, "exec sleep 600")
    with pytest.raises(EngineBug, match="silent for 0 s and was killed"):
        agent.run(PLAN, tmp_path, leash=leash)


def test_one_that_speaks_on_when_its_plan_is_over_is_killed_and_is_a_bug(
    broken: Path, leash: Leash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "SILENT_S", 1.0)
    line = '{"second": 0, "completed": 0, "errors": 0, "p99_ns": 0}'
    script(broken, f"while :; do echo '{line}' >&2; sleep 0.1; done")
    short = {**PLAN, "warmup_ns": 0, "stop": {"duration_ns": 200_000_000}}
    with pytest.raises(EngineBug, match="not ended after 1 s, though its Plan was over"):
        agent.run(short, tmp_path, leash=leash)


def test_the_null_plans_keep_the_shape_and_drop_what_a_null_server_cannot_say() -> None:
    reply = null.answer(PLAN, bytes_in=350.0)
    assert reply == null.Answer(status=201, body_bytes=252)
    assert reply == null.answer(PLAN, bytes_in=355.0), "about as much is the same to the path"
    assert null.answer(PLAN, bytes_in=90.0).body_bytes == 0
    ceiling = null.ceiling_plan(PLAN, "http://127.0.0.1:9")
    assert ceiling["schedule"] == {"closed": {"clients": 8}}
    assert ceiling["driver"]["targets"] == ["http://127.0.0.1:9"]
    (operation,) = ceiling["workload"]["transactions"][0]["operations"]
    assert operation["expect"] == {"status": [201, 204]}
    floor = null.floor_plan(PLAN, "http://127.0.0.1:9", 1234.5)
    assert floor["schedule"]["open"]["connections"] == 8
    assert floor["schedule"]["open"]["shape"][0]["from_per_second"] == 1234.5
    assert PLAN["schedule"] == {"closed": {"clients": 8}}, "the Plan itself stays as it was"


def test_null_runs_are_shared_by_plans_of_one_shape_and_about_one_rate() -> None:
    reply = null.Answer(200, 5)
    other_seeds = {**PLAN, "seeds": {**PLAN["seeds"], "keys": 99}}
    more_clients = {**PLAN, "schedule": {"closed": {"clients": 9}}}
    assert null.key(PLAN, reply, 1000) == null.key(other_seeds, reply, 1030)
    assert null.key(PLAN, reply, 1000) != null.key(PLAN, reply, 2000)
    assert null.shape_key(PLAN, reply) != null.shape_key(more_clients, reply)
    assert null.shape_key(PLAN, reply) != null.shape_key(PLAN, null.Answer(200, 6))
    assert null.has_null(PLAN)
    assert not null.has_null({"driver": {"kind": "sqlite"}})
