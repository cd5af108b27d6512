"""Cores, ports, probes and fingerprint of the machine the tests run on."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars
import psutil
import pytest

from benchlab.host import cores, fingerprint, ports, programs
from benchlab.host.probes import SLOW_EVERY, Probes, Root
from benchlab.host.processes import Leash
from benchlab.model.errors import InputError
from benchlab.model.records import CpuSets


@pytest.fixture
def leash() -> Iterator[Leash]:
    with Leash() as made:
        yield made


@pytest.fixture
def single_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every logical core a physical one."""
    monkeypatch.setattr(cores, "physical", lambda have: tuple((core,) for core in have))


@pytest.mark.usefixtures("single_threads")
@pytest.mark.parametrize(
    ("placement", "have", "expected"),
    [
        ("own", [0], CpuSets(agent=(0,), system=(0,), shared=True)),
        ("own", [0, 1], CpuSets(agent=(1,), system=(0,))),
        ("own", [0, 1, 2, 3], CpuSets(agent=(3,), system=(0, 1, 2))),
        ("own", list(range(8)), CpuSets(agent=(6, 7), system=tuple(range(6)))),
        ("shared", [0, 1], CpuSets(shared=True)),
        ("1", [0, 1], CpuSets(agent=(0,), system=(1,))),
        ("0-1, 3", [0, 1, 2, 3], CpuSets(agent=(2,), system=(0, 1, 3))),
        ("0-1", [0, 1], CpuSets(agent=(0, 1), system=(0, 1), shared=True)),
    ],
)
def test_cores_are_divided(placement: str, have: list[int], expected: CpuSets) -> None:
    assert cores.divide(placement, have) == expected


def test_threads_of_one_core_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "physical", lambda _: ((0, 2), (1, 3)))
    assert cores.divide("own", [0, 1, 2, 3]) == CpuSets(agent=(1, 3), system=(0, 2))


def test_a_core_that_is_not_there_and_a_word_that_is_no_list_are_refused() -> None:
    with pytest.raises(InputError, match="no core 4095 here"):
        cores.divide("4095")
    with pytest.raises(InputError, match="neither own, shared nor a list"):
        cores.divide("ours")


def test_a_free_port_is_free_and_given_once() -> None:
    given = [ports.free() for _ in range(20)]
    assert len(set(given)) == 20
    with socket.create_server(("127.0.0.1", given[0])):
        assert not ports.is_free(given[0])
        assert ports.holder(given[0]) == os.getpid()


SPENDER = """
import os, sys, time
for _ in range(2):
    if os.fork() == 0:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        os._exit(0)
    os.wait()
held = bytearray(os.urandom(1)) * (50 << 20)
print("spent", flush=True)
time.sleep(600)
"""


BUSY = """
import time
while time.process_time() < 0.5:
    sum(range(100_000))
time.sleep(600)
"""
"""Spends as much on any machine, and goes on."""


def until_sampled(probes: Probes, times: int) -> None:
    """Waits for so many more samples."""
    wanted, deadline = probes.samples + times, time.monotonic() + 20
    while probes.samples < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_probes_see_what_a_tree_spends_ended_children_included(
    leash: Leash, tmp_path: "os.PathLike[str]"
) -> None:
    log = tmp_path / "log"  # type: ignore[operator]
    process = leash.start([sys.executable, "-c", SPENDER], log=log)
    probes = Probes({"system": lambda: {"": Root(process.keeper, is_keeper=True)}})
    probes.start()
    deadline = time.monotonic() + 20
    while "spent" not in process.log_tail():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    seen = probes.stop()
    system = seen.filter(polars.col("source") == "system")

    def last(counter: str) -> float:
        return float(system.filter(polars.col("counter") == counter)["value"][-1])

    assert 0.6 <= last("cpu_user_s") + last("cpu_system_s") < 2.0
    assert 50 << 20 <= last("resident_bytes") < 100 << 20
    assert last("processes") == 1
    assert last("voluntary_switches") > 0
    assert (seen["before_ns"] <= seen["after_ns"]).all()
    busy = seen.filter(polars.col("counter") == "busy_s")
    assert set(busy["member"]) >= {str(core) for core in cores.available()}
    for counter in ("cpu_user_s", "written_bytes", "wall_minus_monotonic_ns"):
        rows = seen.filter((polars.col("counter") == counter) & (polars.col("source") != "agent"))
        assert rows.height == probes.samples


def test_a_sample_costs_little(leash: Leash) -> None:
    process = leash.start(["sleep", "600"])
    keeper = Root(process.keeper, is_keeper=True)
    probes = Probes({"system": lambda: {"": keeper}, "agent": lambda: {"": Root(os.getpid())}})
    probes.start()
    probes.stop()
    assert probes.samples == 2
    assert probes.cpu_s / probes.samples < 0.02


def test_a_tree_that_is_gone_ends_its_probes_quietly(leash: Leash) -> None:
    process = leash.start(["sleep", "600"])
    probes = Probes({"system": lambda: {"": Root(process.keeper, is_keeper=True)}})
    probes.start()
    process.kill()
    seen = probes.stop()
    counts = seen.filter(polars.col("counter") == "processes")["value"].to_list()
    assert counts == [1.0, 0.0]


def test_members_are_probed_each_and_together_and_count_on_when_started_again(
    leash: Leash,
) -> None:
    roots = {name: leash.start([sys.executable, "-c", BUSY]) for name in ("one", "two")}
    probes = Probes(
        {"system": lambda: {n: Root(p.keeper, is_keeper=True) for n, p in roots.items()}}
    )
    probes.start()
    deadline = time.monotonic() + 20
    while min(psutil.Process(p.pid).cpu_times().user for p in roots.values()) < 0.3:
        assert time.monotonic() < deadline
        leash.listen(0.01)
    until_sampled(probes, 2)
    roots["two"].kill()
    roots["two"] = leash.start(["sleep", "600"])
    seen = probes.stop()

    def last(member: str, counter: str) -> float:
        rows = seen.filter((polars.col("member") == member) & (polars.col("counter") == counter))
        return float(rows["value"][-1])

    assert last("two", "cpu_user_s") >= 0.3, "what the first one spent stays counted"
    assert last("", "cpu_user_s") == pytest.approx(
        last("one", "cpu_user_s") + last("two", "cpu_user_s")
    )
    assert last("", "processes") == 2


def test_the_fingerprint_is_the_same_twice_and_names_the_machine() -> None:
    first, second = fingerprint.take(), fingerprint.take()
    assert first == second
    assert first["cores"] == len(cores.available())
    assert first["memory_bytes"] > 1 << 28
    assert first["cpu"]


def test_programs_are_found_with_version_and_package() -> None:
    here = programs.look(sys.executable)
    assert here.is_there
    assert here.version == ".".join(map(str, sys.version_info[:3]))
    module = programs.look(f"{sys.executable}:pytest")
    assert module.version == pytest.__version__
    absent = programs.look("slapd-of-another-name")
    assert not absent.is_there
    assert "PATH" in programs.how_to_get(absent)
    assert programs.how_to_get(programs.Program("slapd", None, None, "slapd")) == (
        "apt-get install slapd"
    )


SHARING = """
import mmap, os, time
shared, own = mmap.mmap(-1, 40 << 20), None
for offset in range(0, len(shared), 4096):
    shared[offset] = 1
children = [os.fork() for _ in range(2)]
for offset in range(0, len(shared), 4096):
    shared[offset]
if all(children):
    own = os.urandom(1) * (30 << 20)
print("held", flush=True)
time.sleep(600)
"""


def test_memory_that_processes_share_is_counted_once(leash: Leash, tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = leash.start([sys.executable, "-c", SHARING], log=log)
    probes = Probes({"system": lambda: {"": Root(process.keeper, is_keeper=True)}})
    deadline = time.monotonic() + 20
    while process.log_tail().count("held") < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    probes.start()
    seen = probes.stop()
    system = seen.filter(polars.col("source") == "system")

    def last(counter: str) -> float:
        return float(system.filter(polars.col("counter") == counter)["value"][-1]) / (1 << 20)

    # Four processes: the parent, its children and a child's child.
    assert last("processes") * (1 << 20) == 4
    assert last("resident_bytes") > 4 * 40 + 30
    assert 40 + 30 < last("memory_bytes") < 40 + 30 + 30
    told = system.filter(polars.col("counter") == "memory_bytes")
    assert set(told["unit"]) == {"B"} and set(told["kind"]) == {"gauge"}


def test_memory_is_read_as_often_as_it_costs_little(
    leash: Leash, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = leash.start(["sleep", "600"])

    def told() -> int:
        probes = Probes({"system": lambda: {"": Root(process.keeper, is_keeper=True)}})
        probes.start()
        until_sampled(probes, 5 * SLOW_EVERY)
        seen = probes.stop().filter(polars.col("source") == "system")
        names = ("memory_bytes", "voluntary_switches")
        memory, switches = (seen.filter(polars.col("counter") == name).height for name in names)
        assert switches == 2
        return memory

    monkeypatch.setattr("benchlab.host.probes.PERIOD_S", 0.002)
    monkeypatch.setattr("benchlab.host.probes.MEMORY_SHARE", 1e6)
    assert told() >= 5
    monkeypatch.setattr("benchlab.host.probes.MEMORY_SHARE", 1e-9)
    assert told() == 2, "as it begins and as it ends"
