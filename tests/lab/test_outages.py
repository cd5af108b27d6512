"""Labs with real servers, killed while anything may be under way, two at a time, and by nobody."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from test_ends import LABS, OtherLab, until

from benchlab.host import ports, programs
from benchlab.model.experiment import System
from benchlab.store import Run
from benchlab.systems import KINDS
from benchlab.systems.members import ServerKind

pytestmark = pytest.mark.real

LONG = "load: {clients: 2, duration: 60s, warmup: 0.1s}\nsessions: 2\nblocks: 1\n"
SHORT = LONG.replace("60s", "0.3s").replace("sessions: 2", "sessions: 1")
STORES = """
experiment: stores
systems: {postgresql: {}, redis: {}}
workload: {name: records, data: {records: 20000}}
"""
PAGES = """
experiment: pages
systems: {nginx: {}}
workload: {mix: {page: {get: /, expect: {status: 204}}}}
"""
NOBODY = "nobody"


@pytest.fixture(autouse=True)
def installed(program: Callable[[str], str]) -> None:
    """What all of these run."""
    for name in ("postgresql", "redis", "nginx"):
        kind = KINDS[name]
        assert isinstance(kind, ServerKind)
        for need in kind.needs:
            if not programs.look(need).is_there:
                program(need)


def segments() -> set[str]:
    """Numbers of System V's shared memory, which no process needs to be alive for."""
    listed = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in listed}


def segments_of(temporary: Path) -> set[str]:
    """Those of the PostgreSQL servers whose data lie in a folder."""
    lines = [file.read_text().splitlines() for file in temporary.rglob("postmaster.pid")]
    return {line[6].split()[1] for line in lines if len(line) > 6 and line[6].strip()}


def listening(temporary: Path) -> set[int]:
    """Ports of the servers that work in a folder."""
    found = set()
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(str(temporary)):
                at = process.net_connections("tcp")
                found |= {one.laddr.port for one in at if one.status == psutil.CONN_LISTEN}
        except psutil.Error:
            continue
    return found


@pytest.fixture
def lab() -> Iterator[Callable[[str], OtherLab]]:
    """Begins labs in folders that the servers' own users may reach."""
    with tempfile.TemporaryDirectory(prefix="labs-") as open_to_all:
        Path(open_to_all).chmod(0o755)
        begun: list[OtherLab] = []

        def begin(experiment_text: str) -> OtherLab:
            folder = Path(open_to_all, str(len(begun)))
            folder.mkdir()
            begun.append(OtherLab(folder, experiment_text))
            return begun[-1]

        yield begin
        for one in begun:
            if one.process.poll() is None:
                one.kill()
                until(lambda one=one: not one.left())


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        (STORES, "initdb"),
        (STORES, "/postgres -D"),
        (STORES, "redis-server"),
        (STORES, "agent"),
        (STORES, "Progress"),
        (PAGES, "nginx: "),
        (PAGES, "Progress"),
    ],
)
def test_killed_at_any_moment_no_server_is_left(
    lab: Callable[[str], OtherLab], given: str, moment: str
) -> None:
    killed = lab(given + LONG)
    if moment[0].isupper():
        killed.until_it_says(moment)
    else:
        until(lambda: any(moment in line for line in killed.left()), 60.0)
    held, shared = listening(killed.temporary), segments_of(killed.temporary)
    killed.kill()
    until(lambda: not killed.left() and not list(killed.temporary.iterdir()))
    assert all(ports.is_free(port) for port in held)
    assert not shared & segments()
    if moment == "Progress":
        assert held and bool(shared) == (given == STORES)


def test_two_labs_at_once_both_come_to_an_end_and_note_each_other(
    lab: Callable[[str], OtherLab],
) -> None:
    first = lab(STORES + SHORT.replace("0.3s", "2s"))
    first.until_it_says("SystemStarted")
    second = lab(STORES + SHORT)
    for each in (second, first):
        each.until_it_says("state complete")
        assert each.left() == []
    for each, other in ((first, second), (second, first)):
        said = f"another run ({Run(other.out).id}) was under way on this machine"
        assert [note for note in Run(each.out).record.notes if note.startswith(said)]
        cases = {trial.record.case for trial in Run(each.out).trials() if trial.record.used}
        assert cases == {"system=postgresql", "system=redis"}


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A folder of an ordinary user's."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-"))
    try:
        user = pwd.getpwnam(NOBODY)
    except KeyError:
        pytest.skip(f"there is no user {NOBODY}")
    os.chown(folder, user.pw_uid, user.pw_gid)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root")
@pytest.mark.parametrize("given", [STORES, PAGES], ids=["stores", "pages"])
def test_an_ordinary_user_needs_no_root(theirs: Path, given: str) -> None:
    stores = [
        name
        for name in ("postgresql", "redis", "mariadb", "memcached", "openldap")
        if KINDS[name].missing(System(kind=name)) is None
    ]
    text = given.replace("{postgresql: {}, redis: {}}", f"{{{': {}, '.join(stores)}: {{}}}}")
    (theirs / "x.yaml").write_text(text + SHORT)
    (theirs / "temporary").mkdir()
    (theirs / "temporary").chmod(0o777)
    group = pwd.getpwnam(NOBODY).pw_gid
    # The interpreter itself, for the way to it may lead through folders that are root's alone.
    python = os.path.realpath(sys.executable)
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups", python]
    environment = {
        **os.environ,
        "HOME": "/nonexistent",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TMPDIR": str(theirs / "temporary"),
    }
    again = "import benchlab, subprocess, sys; subprocess.run([sys.executable, '-V'], check=True)"
    can = subprocess.run([*become, "-c", again], capture_output=True, env=environment)
    if can.returncode:
        pytest.skip("an ordinary user may not read this folder")
    done = subprocess.run(
        [*become, str(LABS), str(theirs / "run"), str(theirs / "x.yaml")],
        capture_output=True,
        text=True,
        env=environment,
        cwd=theirs,
        timeout=250,
    )
    assert "state complete" in done.stdout, done.stdout + done.stderr
    record = json.loads((theirs / "run" / "run.json").read_text())
    assert record["skipped"] == []
    trials = [trial.record for trial in Run(theirs / "run").trials() if trial.record.used]
    assert {trial.state for trial in trials} == {"ok"}
    asked = {trial.case for trial in trials}
    assert len(asked) == (len(stores) if given == STORES else 1)
    assert list((theirs / "temporary").iterdir()) == []
    lines = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if str(theirs) in line]
