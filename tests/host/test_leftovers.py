"""What an outage leaves is found and taken away, and nothing else is."""

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_processes import alive, until

from benchlab.host import leftovers, watchdog
from benchlab.host.processes import Leash

LAB = """
import sys
from pathlib import Path
from benchlab.host.processes import Leash
leash = Leash()
folder = leash.folder()
(folder / "data" / "deep").mkdir(parents=True)
(folder / "data" / "deep" / "file").write_bytes(bytes(100_000))
process = leash.start([sys.executable, "-c", "import time; time.sleep(600)"])
print(folder, process.pid, process.keeper, leash._watchdog.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_what_lab_watchdog_and_keeper_leave_together_is_found_and_taken_away() -> None:
    command = [sys.executable, "-c", LAB]
    lab = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    named, *numbers = lab.stdout.readline().split()
    folder = Path(named)
    server, keeper, watching = map(int, numbers)
    assert leftovers.find() == []

    # A keeper that is held still cannot heed what its death signal would have it do.
    os.kill(keeper, signal.SIGSTOP)
    for pid in (watching, keeper, lab.pid):
        os.kill(pid, signal.SIGKILL)
    lab.communicate()
    until(lambda: not alive(watching) and not alive(keeper))
    assert alive(server)

    (left,) = leftovers.find()
    assert (left.folder, left.processes) == (folder, (server,))
    assert left.size > 100_000
    assert str(left).startswith(f"{folder} (0.") and str(left).endswith("MiB) and a process")
    assert leftovers.take_away(left)
    assert not alive(server)
    assert not folder.exists()
    assert leftovers.find() == []


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"boot": "another-boot"}, True),
        ({"processes": [[1 << 22, 5], [os.getpid(), 1]]}, True),
        ({}, False),
        ({"boot": "another-boot", "node": "another-machine"}, False),
        ({"processes": [[1 << 22, 5]], "namespace": "pid:[1]"}, False),
        ({"processes": "nonsense"}, False),
        ({"boot": ""}, False),
    ],
)
def test_only_what_is_provably_left_is_found(
    tmp_path: Path, changed: dict[str, object], found: bool
) -> None:
    folder = tmp_path / "benchlab-x"
    folder.mkdir()
    leftovers.sign(folder, "7-abc", os.getpid())
    file = folder / leftovers.OWNER
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    assert bool(leftovers.find()) == found
    assert folder.exists()


def test_what_is_not_signed_or_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "benchlab-no-owner").mkdir()
    (tmp_path / "elsewhere").mkdir()
    torn = tmp_path / "benchlab-torn"
    torn.mkdir()
    (torn / leftovers.OWNER).write_text('{"leash": "7')
    assert leftovers.find() == []
    with Leash() as leash:
        signed = leash.folder()
        owner = json.loads((signed / leftovers.OWNER).read_text())
        assert owner["leash"] == leash.id
        assert owner["node"] == platform.node()
        assert owner["processes"][0] == [os.getpid(), leftovers.began(os.getpid())]
        (tmp_path / "benchlab-link").symlink_to(signed)
        assert leftovers.find() == []
    assert not signed.exists()


def test_a_process_that_will_not_go_keeps_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "benchlab-x"
    folder.mkdir()
    leftovers.sign(folder, "7-abc", os.getpid())
    monkeypatch.setattr(leftovers, "GONE_S", 0.0)
    monkeypatch.setattr(watchdog, "send_signal", lambda pid, number: None)
    held = leftovers.Left(folder, "7-abc", 0, (os.getpid(),))
    assert not leftovers.take_away(held)
    assert (folder / leftovers.OWNER).exists()


def test_a_folder_that_another_run_has_taken_away_is_gone(tmp_path: Path) -> None:
    assert leftovers.take_away(leftovers.Left(tmp_path / "benchlab-x", "7-abc", 0, ()))
