"""Every system through its whole life, as `benches/soak.py` does it many times over."""

import importlib.util
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from servers import until

from benchlab.systems import kind_of

pytestmark = pytest.mark.real

FILE = Path(__file__).resolve().parents[2] / "benches" / "soak.py"
SPEC = importlib.util.spec_from_file_location("soak", FILE)
assert SPEC and SPEC.loader
soak = sys.modules["soak"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(soak)
LISTENER = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); input()"
SEGMENT = "import ctypes; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))"
REMOVE = "import ctypes, sys; ctypes.CDLL(None).shmctl(int(sys.argv[1]), 0, None)"
Run = Callable[..., tuple[int, list[list[str]]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls the program in its short form: how it ended, and the cells of its last table."""

    def call(*names: str) -> tuple[int, list[list[str]]]:
        chosen = [word for name in names for word in ("--only", name)]
        short = ["--rounds", "1", "--seconds", "0.5", "--records", "1000"]
        monkeypatch.setattr(sys, "argv", ["soak.py", *short, *chosen])
        monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
        monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
        code = 0
        try:
            soak.main()
        except SystemExit as ended:
            code = int(str(ended.code))
        table = capsys.readouterr().out.rpartition("\n\n")[2].splitlines()[2:]
        return code, [[cell.strip() for cell in line.split("|")[1:]] for line in table]

    return call


@pytest.mark.parametrize("name", soak.SYSTEMS)
def test_a_system_lives_is_killed_lives_again_and_is_gone(
    name: str, run: Run, program: Callable[[str], str]
) -> None:
    options = soak.argparse.Namespace(seconds=1, records=1000)
    system = soak._case(name, options).system
    if why := kind_of(name, system).missing(system):
        program(why.split()[1].rstrip(":"))
    code, ((kind, rounds, records, operations, errors, _, left, why),) = run(name)
    assert (code, kind, rounds, errors, left, why) == (0, name, "1", "0", "nothing", "")
    loads = 2 if system.kind in soak.FORGETFUL else 1
    assert int(records) == (1000 * (loads + 1) if name not in soak.PAGES else 0)
    assert int(operations) > 0


def test_after_a_failure_the_next_kind_is_gone_through(
    run: Run, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    program("redis-server")
    wrong = {"kind": "redis", "settings": {"maxmemry": "1gb"}}
    monkeypatch.setitem(soak.STORES, "redis", wrong)
    monkeypatch.setitem(soak.SYSTEMS, "redis", wrong)
    code, rows = run("redis", "sqlite")
    assert code == 1
    assert [row[0] for row in rows if row and row[0] in ("redis", "sqlite")] == ["redis", "sqlite"]
    assert "failed: redis" in rows[0][7]
    assert rows[-1][7] == ""
    assert int(rows[-1][3]) > 0


def test_what_is_left_over_is_seen(tmp_path: Path) -> None:
    before = soak.World.now(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here = [sys.executable, "-c"]
    left = subprocess.run([*here, SEGMENT], capture_output=True, text=True, check=True)
    (tmp_path / "left").mkdir()
    with subprocess.Popen(
        [*here, LISTENER, str(port)], cwd=tmp_path / "left", stdin=subprocess.PIPE
    ) as process:
        try:
            watched = frozenset([port])
            until(lambda: soak.World.now(tmp_path, watched).ports)
            found = soak.World.now(tmp_path, watched).beyond(before)
            assert found["ports"] == [port]
            assert found["processes"] == [process.pid]
            assert found["folders"] == ["left"]
            assert left.stdout.strip() in found["segments"]
        finally:
            process.kill()
            subprocess.run([*here, REMOVE, left.stdout.strip()], check=True)
    (tmp_path / "left").rmdir()
    assert soak.World.now(tmp_path, watched).beyond(before) == {}
