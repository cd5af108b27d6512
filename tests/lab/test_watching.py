"""Limits watched while a trial runs, stopping, and the order of trials."""

import os
import signal
from itertools import groupby

import pytest

from benchlab.lab.stopping import StopToken
from benchlab.lab.turns import turns
from benchlab.lab.watch import Watch, check
from benchlab.load.agent import Progress
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.expressions import parse
from benchlab.model.reading import read_experiment


def test_errors_are_watched_as_their_share_so_far() -> None:
    watch = Watch([parse("errors > 5%")])
    watch.see(Progress(-1, 100, 4, 0.001))
    assert watch.broken is None
    watch.see(Progress(0, 100, 20, 0.001))
    assert watch.broken == "errors > 5%: 0.1071 in second 0"


def test_speed_is_not_watched_while_it_warms_up() -> None:
    watch = Watch([parse("latency_p99 > 10ms"), parse("throughput < 50/s")])
    watch.see(Progress(-1, 1, 0, 5.0))
    watch.see(Progress(0, 100, 0, None))
    watch.see(Progress(1, 10, 0, 0.001))
    assert watch.broken is None
    watch.see(Progress(2, 100, 0, 0.001))
    assert watch.broken == "throughput < 50/s: 10 in second 1"


def test_parts_of_seconds_are_no_seconds() -> None:
    watch = Watch([parse("throughput < 50/s")])
    for told in (Progress(0, 100, 0, 0.1), Progress(1, 99, 0, 0.1), Progress(0, 1, 0, 0.1)):
        watch.see(told)
    watch.see(Progress(2, 3, 0, 0.1))
    assert watch.broken is None, "second 0 came in two parts, and second 2 is the last"


def test_a_silence_is_as_slow_as_it_is_long() -> None:
    def broken(is_even: bool, *completed: int) -> str | None:
        watch = Watch([parse("latency_p99 > 2s")], is_even=is_even)
        for second, count in enumerate(completed):
            watch.see(Progress(second, count, 0, 0.001 if count else None))
        return watch.broken

    assert broken(True, 100, 0, 0, 0, 0) == "latency_p99 > 2s: 3 in second 3"
    assert broken(True, 100, 0, 0, 100, 0, 0, 100, 100) is None
    assert broken(True, 1, 0, 0, 0, 0, 0, 0) is None, "it was as seldom before"
    assert broken(False, 100, 0, 0, 0, 0) is None, "the load may be what pauses"


def test_what_cannot_be_watched_is_refused_beforehand() -> None:
    with pytest.raises(InputError, match="system_memory is not known while a trial runs"):
        check([parse("system_memory > 1GiB")])


def test_asked_once_then_twice() -> None:
    stop = StopToken()
    killed: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with stop.on_signals(), stop.on_urgent(lambda: killed.append("all")):
        assert not stop.is_set
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.is_set, stop.is_urgent, killed) == (True, False, [])
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.is_urgent, killed) == (True, ["all"])
    assert signal.getsignal(signal.SIGINT) is before


def test_every_block_has_each_case_once_in_an_order_of_its_own() -> None:
    text = (
        "experiment: x\nsystems: {sqlite: {}}\nworkload: {name: buddies}\n"
        "factors: {load.clients: [1, 2, 3, 4, 5, 6]}\n"
    )
    every = cases(read_experiment(text, file="x.yaml"))

    def drawn(seed: int, session: int) -> list[tuple[str, ...]]:
        order = turns(seed, session, 2, every, "resident")
        return [tuple(case.name for number, case in order if number == b) for b in range(2)]

    blocks = [block for session in range(3) for block in drawn(7, session)]
    assert all(sorted(block) == sorted(case.name for case in every) for block in blocks)
    assert len(set(blocks)) > 1
    assert drawn(7, 1)[1] == blocks[3]
    assert drawn(8, 1)[1] != blocks[3]


def test_systems_that_are_up_one_at_a_time_are_started_once_a_block() -> None:
    text = (
        "experiment: x\nsystems: {a: {kind: sqlite}, b: {kind: sqlite}, c: {kind: sqlite}}\n"
        "workload: {name: buddies}\nfactors: {load.clients: [1, 2, 3]}\n"
    )
    every = cases(read_experiment(text, file="x.yaml"))
    firsts = set()
    for session in range(8):
        drawn = turns(7, session, 2, every, "blocks")
        assert [block for block, _ in drawn] == [0] * 9 + [1] * 9
        assert sorted(c.name for b, c in drawn if b == 1) == sorted(c.name for c in every)
        starts = [name for name, _ in groupby((b, c.system_name) for b, c in drawn)]
        assert len(starts) == 6, "its cases come one after the other"
        firsts.add(starts[0][1])
    assert len(firsts) > 1, "in an order that is drawn"
    in_turn = turns(7, 0, 2, every, "sequential")
    starts = [name for name, _ in groupby((c.system_name, b) for b, c in in_turn)]
    assert starts == [(name, block) for name in ("a", "b", "c") for block in (0, 1)]
