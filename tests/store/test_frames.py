"""Tables that grow, are torn, and are whole at the end."""

from pathlib import Path

import polars
import pytest

from benchlab.model.errors import HostError
from benchlab.store import frames

BATCHES = [
    polars.DataFrame({"at": [n, n + 1], "who": ["a" * n, "naïve"], "value": [0.5, None]})
    for n in range(20)
]


def test_a_table_that_grows_is_read_to_its_last_whole_batch_wherever_it_is_torn(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.arrow"
    ends = []
    for batch in BATCHES:
        frames.append(path, batch)
        ends.append(path.stat().st_size)
    raw = path.read_bytes()
    for cut in range(ends[0], len(raw) + 1, 7):
        path.write_bytes(raw[:cut])
        whole = sum(end <= cut for end in ends)
        assert frames.read(path).equals(polars.concat(BATCHES[:whole])), cut
    path.write_bytes(raw)
    assert frames.read(path).equals(polars.read_ipc_stream(path))


def test_a_whole_table_takes_the_place_of_the_growing_one(tmp_path: Path) -> None:
    path = tmp_path / "table.arrow"
    frames.append(path, BATCHES[0])
    frames.write(path, polars.concat(BATCHES))
    assert frames.read(path).equals(polars.concat(BATCHES))
    assert polars.read_ipc(path).height == 40


def test_a_batch_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot write"):
        frames.append(tmp_path / "nowhere" / "table.arrow", BATCHES[0])
