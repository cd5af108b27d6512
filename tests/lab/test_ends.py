"""However a lab ends, nothing of it is left and nothing finished is lost."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labs import HELLO, text

from benchlab.host.leftovers import MARK
from benchlab.model.records import RunRecord
from benchlab.store import Run

pytestmark = pytest.mark.real

LABS = Path(__file__).with_name("labs.py")
LONG = "{clients: 2, duration: 60s, warmup: 0.2s}"


def until(condition: Callable[[], object], timeout_s: float = 15.0) -> None:
    """Polls until something holds; fails after the time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


class OtherLab:
    """A lab in a process group of its own."""

    def __init__(self, folder: Path, experiment_text: str) -> None:
        self.out, self.temporary = folder / "run", folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        file = folder / "hello.yaml"
        file.write_text(experiment_text)
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, str(LABS), str(self.out), str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )

    def until_it_says(self, event: str) -> None:
        """Waits for an event; fails when the lab ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.strip())
            if self.said[-1] == event:
                return
        raise AssertionError(f"ended after {self.said}: {self.errors()}")

    def errors(self) -> str:
        """What it wrote on standard error until its end."""
        return self.process.communicate(timeout=30)[1]

    def kill(self) -> None:
        """SIGKILL to its whole group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def left(self) -> list[str]:
        """Command lines of processes it has started, found by its folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                where = str((entry / "cwd").readlink())
                marked = f"{MARK}={self.process.pid}-".encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if marked or str(self.temporary) in line + where:
                found.append(line)
        return found


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Callable[..., OtherLab]]:
    begun: list[OtherLab] = []

    def begin(experiment_text: str) -> OtherLab:
        begun.append(OtherLab(tmp_path, experiment_text))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.kill()


@pytest.mark.parametrize(
    "moment", ["RunStarted", "SessionStarted", "SystemStarted", "TrialStarted", "Progress"]
)
def test_killed_at_any_moment_nothing_is_left(lab: Callable[[str], OtherLab], moment: str) -> None:
    killed = lab(text(load=LONG))
    killed.until_it_says(moment)
    killed.kill()
    until(lambda: not killed.left())
    until(lambda: not list(killed.temporary.iterdir()))
    until(lambda: '"interrupted"' in (killed.out / "run.json").read_text())
    run = Run(killed.out)
    assert run.record.state == "interrupted"
    assert not run.is_running()
    assert all(trial.record.state == "interrupted" for trial in run.trials())


def test_ctrl_c_stops_the_load_then_the_systems_and_the_run_goes_on_later(
    lab: Callable[[str], OtherLab], tmp_path: Path
) -> None:
    given = text(load=LONG)
    stopped = lab(given)
    stopped.until_it_says("Progress")
    asked = time.monotonic()
    os.killpg(stopped.process.pid, signal.SIGINT)
    stopped.until_it_says("TrialEnded")
    assert time.monotonic() - asked < 2.0
    stopped.until_it_says("state interrupted")
    assert stopped.errors() == ""
    assert stopped.left() == []
    assert list(stopped.temporary.iterdir()) == []
    assert Run(stopped.out).record.state == "interrupted"


STUBBORN = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.argv = [sys.argv[1], *sys.argv[2:]]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""


def test_a_second_ctrl_c_kills_what_will_not_stop(
    lab: Callable[[str], OtherLab], tmp_path: Path
) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    given = text(load=LONG).replace(str(HELLO), f"{tmp_path}/stubborn.py {HELLO}")
    stopped = lab(given)
    stopped.until_it_says("Progress")
    os.killpg(stopped.process.pid, signal.SIGINT)
    stopped.until_it_says("TrialEnded")
    asked = time.monotonic()
    os.killpg(stopped.process.pid, signal.SIGINT)
    stopped.until_it_says("state interrupted")
    assert time.monotonic() - asked < 5.0
    assert stopped.left() == []


def test_a_killed_run_goes_on_with_the_session_it_was_in(
    lab: Callable[[str], OtherLab],
) -> None:
    given = text(load="{clients: 2, duration: 1s, warmup: 0.2s}")
    killed = lab(given)
    killed.until_it_says("SessionEnded")
    killed.until_it_says("TrialEnded")
    killed.kill()
    until(lambda: not killed.left())
    run = Run(killed.out)
    before = {trial.path for trial in run.trials()}
    assert run.record.sessions_done == 1
    again = lab(given)
    again.until_it_says("state complete")
    used = [trial for trial in run.trials() if trial.record.used]
    assert [(t.record.session, t.record.case) for t in used] == [
        (session, case) for session in (0, 1) for case in ("system=left", "system=right")
    ]
    assert before < {trial.path for trial in run.trials()}
    assert {t.record.why for t in run.trials() if not t.record.used} <= {
        "its session is run again",
        "",
    }


def test_two_labs_never_share_a_run(lab: Callable[[str], OtherLab]) -> None:
    first = lab(text(load=LONG))
    first.until_it_says("SystemStarted")
    second = lab(text(load=LONG))
    assert "is being worked on by another benchlab" in second.errors()
    assert first.process.poll() is None


def test_a_full_disk_ends_in_one_line_and_loses_nothing(
    lab: Callable[[str], OtherLab], tmp_path: Path, small_disk: Callable[[Path, str], None]
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    small_disk(out, "8m")
    full = lab(text())
    full.until_it_says("SessionEnded")
    rest = subprocess.run(["dd", "if=/dev/zero", f"of={out}/filler", "bs=4k"], check=False)
    assert rest.returncode != 0
    errors = full.errors()
    assert re.search(r"HostError: no room to write .*make room and resume", errors)
    records = [trial.record for trial in Run(out).trials()]
    assert [record for record in records if record.used and record.state == "ok"]
    assert RunRecord.model_validate_json((out / "run.json").read_bytes())
    assert full.left() == []


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_while_a_system_will_not_come_up_ends_at_once(
    lab: Callable[[str], OtherLab], signals: int
) -> None:
    given = text().replace(f"{HELLO} ${{port}}", "-c 'import time; time.sleep(600)'")
    stopped = lab(given)
    stopped.until_it_says("SessionStarted")
    asked = time.monotonic()
    for _ in range(signals):
        os.killpg(stopped.process.pid, signal.SIGINT)
    stopped.until_it_says("state interrupted")
    assert time.monotonic() - asked < 5.0
    assert stopped.left() == []
