"""Counters asked of a system that is made up here, on a clock that stands until it is moved."""

from collections.abc import Iterator, Mapping

import polars

from benchlab.host.counters import Counters, Source
from benchlab.host.probes import Probes
from benchlab.host.samples import Meaning, Samples

MEANINGS = {
    "commits": Meaning("counter"),
    "sent": Meaning("counter", "B"),
    "sessions": Meaning("gauge"),
}


class Told:
    """A system that tells what it is given to tell; an exception is raised."""

    def __init__(self, *answers: Mapping[str, float] | Exception) -> None:
        self._answers: Iterator[Mapping[str, float] | Exception] = iter(answers)
        self.connections = self.closed = 0

    def connect(self) -> "Told":
        self.connections += 1
        return self

    def read(self) -> Mapping[str, float]:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1


def asked(told: Told, times: int) -> tuple[Counters, polars.DataFrame]:
    """What comes of asking so often, a second and 20 ns apart."""
    now = iter(range(0, 10**12, 10))
    samples = Samples()
    source = Source("shop", "2", MEANINGS, told.connect)
    counters = Counters(source, samples, clock_ns=lambda: next(now))
    for _ in range(times):
        counters.ask()
    return counters, samples.all()


def test_what_a_system_tells_is_one_tidy_table() -> None:
    told = Told({"commits": 5, "sent": 2.5, "sessions": 3, "of another version": 1}, {"commits": 9})
    counters, frame = asked(told, 2)
    assert frame.rows() == [
        (0, 10, "shop", "2", "commits", "counter", "", 5.0),
        (0, 10, "shop", "2", "sent", "counter", "B", 2.5),
        (0, 10, "shop", "2", "sessions", "gauge", "", 3.0),
        (20, 30, "shop", "2", "commits", "counter", "", 9.0),
    ]
    assert counters.trouble is None
    assert told.connections == 1


def test_a_system_that_does_not_tell_is_told_once_and_asked_again() -> None:
    told = Told(OSError("gone away"), ValueError("still nothing"), {"commits": 1})
    counters, frame = asked(told, 3)
    assert counters.trouble == "OSError: gone away"
    assert (told.connections, told.closed) == (3, 2)
    assert frame["value"].to_list() == [1.0]


def test_the_probes_keep_what_they_see_as_they_go_and_end_with_all_of_it() -> None:
    told = Told(*({"commits": number} for number in range(100)))
    kept: list[polars.DataFrame] = []
    source = Source("shop", "", MEANINGS, told.connect)
    probes = Probes({}, lambda: [source], kept.append)
    probes.start()
    seen = probes.stop()
    own = seen.filter(polars.col("source") == "shop")
    assert own["value"].to_list() == [0.0, 1.0]
    assert told.closed == 1
    assert set(seen["source"]) == {"host", "shop"}
    assert polars.concat(kept).equals(seen)
    assert 0 < probes.counters[0].cpu_s < 0.1


def test_a_system_that_hangs_does_not_hold_up_the_end() -> None:
    import threading

    hangs = threading.Event()

    class Silent(Told):
        def read(self) -> Mapping[str, float]:
            hangs.wait(60)
            return {}

    counters = Counters(Source("shop", "", MEANINGS, Silent().connect), Samples())
    counters.start()
    counters.stop(0.01)
    hangs.set()
