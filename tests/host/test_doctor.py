"""What the doctor finds, and says about it."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchlab.host import doctor
from benchlab.host.doctor import Finding, Look
from benchlab.host.leftovers import Left

QUIET = Look(busy=0.01, steal=0.0, greedy=())


@pytest.mark.parametrize(
    ("finding", "verdict", "word"),
    [
        (doctor._cores(1, 1), "unfit", "two cores"),
        (doctor._cores(2, 2), "mind", "four cores"),
        (doctor._cores(8, 4), "fit", ""),
        (doctor._busy(QUIET), "fit", ""),
        (doctor._busy(Look(0.6, 0.0, (("chrome", 7, 0.5),))), "mind", "chrome (7): 50% of a core"),
        (doctor._steal(QUIET), "fit", ""),
        (doctor._steal(Look(0.1, 0.05, ())), "unfit", "allow: {steal"),
        (doctor._governor("performance"), "fit", ""),
        (doctor._governor("powersave"), "mind", "cpupower"),
        (doctor._governor(None), "unknown", ""),
        (doctor._swap(0), "fit", ""),
        (doctor._swap(1 << 30), "mind", "swapoff"),
        (doctor._memory(8 << 30), "fit", ""),
        (doctor._memory(100 << 20), "mind", "ps aux"),
        (doctor._files(1024), "mind", "ulimit -n"),
        (doctor._files(resource.RLIM_INFINITY), "fit", ""),
        (doctor._backlog(128), "mind", "somaxconn=4096"),
        (doctor._backlog(None), "unknown", ""),
        (doctor._ports("32768\t60999\n"), "fit", ""),
        (doctor._ports("60000 60999"), "mind", "ip_local_port_range"),
        (doctor._clock("tsc", 40.0), "fit", ""),
        (doctor._clock("hpet", 900.0), "mind", "clocksource0"),
        (doctor._boost("0"), "fit", ""),
        (doctor._boost("1"), "mind", "cpufreq/boost"),
        (doctor._boost(""), "unknown", ""),
        (doctor._others([]), "fit", ""),
        (doctor._others([9, 4]), "mind", "4 9"),
        (doctor._left([]), "fit", ""),
        (doctor._left([Left(Path("/tmp/x"), "7", 1 << 21, (5,))]), "mind", "/tmp/x (2 MiB) and a"),
    ],
)
def test_each_finding_says_what_it_costs_and_what_mends_it(
    finding: Finding, verdict: str, word: str
) -> None:
    assert finding.verdict == verdict
    assert word in finding.mend
    assert bool(finding.costs) == bool(finding.mend) == (verdict in ("mind", "unfit"))


def test_the_machine_is_looked_at() -> None:
    found = doctor.findings(doctor.look(0.05))
    assert [finding.name for finding in found][:3] == ["cores", "other work", "steal"]
    assert all(finding.as_dict()["figure"] for finding in found)
    unseen = {finding.name for finding in doctor.findings(None) if "--quick" in finding.figure}
    assert unseen == {"other work", "steal"}


def test_what_reading_the_time_costs_is_measured() -> None:
    assert 1.0 < doctor.read_ns() < 1e6
    assert "900 ns" in doctor._clock("hpet", 900.0).costs


def test_a_look_names_who_is_greedy_and_who_began_meanwhile() -> None:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])]
    try:

        def until_they_have_worked(_: float) -> None:
            loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            deadline = time.monotonic() + 30
            for loop in loops:
                before = psutil.Process(loop.pid).cpu_times().user
                while psutil.Process(loop.pid).cpu_times().user < before + 0.5:
                    assert time.monotonic() < deadline

        seen = doctor.look(wait=until_they_have_worked)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert {loop.pid for loop in loops} <= {pid for _, pid, _ in seen.greedy}
    assert 0.0 < seen.busy <= 1.0
    assert 0.0 <= seen.steal <= 1.0
