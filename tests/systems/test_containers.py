"""Real containers of two clients: followed, driven, disturbed, and gone however the lab ends."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import polars
import pytest
from servers import driven, until

from benchlab.host import cgroups, cores, leftovers, ports
from benchlab.host.probes import Probes, Root
from benchlab.host.processes import Leash
from benchlab.model.cases import cases
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import System
from benchlab.model.reading import read_mapping
from benchlab.systems import Place, container, kind_of
from benchlab.systems.members import Members

pytestmark = pytest.mark.real

SERVER = "/bin/busybox httpd -f -v -p 127.0.0.1:${port} -h /www"
LIMITS = "--ulimit nofile=1024:1024 --ulimit nproc=1024:1024"
LAB = """
import os, sys, time
from benchlab.host.processes import Leash
from benchlab.model.experiment import System
from benchlab.systems import Place, kind_of
leash = Leash()
system = System(kind="command", start=sys.argv[1], url="http://127.0.0.1:${port}/")
made = kind_of("web", system).start("web", system, Place(leash, leash.folder() / "web"))
if sys.argv[2] == "held":
    made.pause("")
print(made.roots[""].pid, made.urls[0], leash._watchdog.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, program: Callable[[str], str]) -> Path:
    """A container's whole file system: one program and one page."""
    root = tmp_path_factory.mktemp("image")
    for folder in ("bin", "www", "proc", "sys", "dev", "tmp", "etc"):
        (root / folder).mkdir()
    shutil.copy2(program("busybox"), root / "bin" / "busybox")
    (root / "www" / "index.html").write_text("hello\n")
    return root


@pytest.fixture(scope="module")
def podman(image: Path, program: Callable[[str], str]) -> list[str]:
    limits = LIMITS.split() if os.geteuid() == 0 else []
    run = [program("podman"), "--runtime", program("runc"), "run", *limits, "--rootfs"]
    true = [*run[:-1], "--network", "host", "--rootfs", str(image), "/bin/busybox", "true"]
    if os.geteuid() and subprocess.run(true, capture_output=True, check=False).returncode:
        pytest.skip("podman does not run containers for this user: it takes root here")
    return run


@pytest.fixture(scope="module")
def docker(image: Path, program: Callable[[str], str]) -> Iterator[list[str]]:
    if os.geteuid() != 0:
        pytest.skip("starting dockerd takes root")
    with tempfile.TemporaryDirectory(prefix="dockerd-") as named:
        folder = Path(named)
        client = [program("docker"), "--host", f"unix://{folder}/socket"]
        places = [f"--{what}={folder}/{what}" for what in ("data-root", "exec-root", "pidfile")]
        daemon = subprocess.Popen(
            [
                *(program("dockerd"), "--iptables=false", "--ip-masq=false", "--bridge=none"),
                *("--storage-driver=vfs", *places, client[1], client[2]),
            ],
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("wb"),
        )
        try:
            up = [*client, "version"]
            until(lambda: not subprocess.run(up, capture_output=True, check=False).returncode)
            packed = subprocess.run(
                ["tar", "--create", "--directory", str(image), "."], capture_output=True, check=True
            ).stdout
            subprocess.run([*client, "import", "-", "web"], input=packed, check=True)
            yield [*client, "run"]
        finally:
            daemon.terminate()
            daemon.wait(30)
            for line in Path("/proc/mounts").read_text().splitlines():
                if named in line:
                    subprocess.run(["umount", "--lazy", line.split()[1]], check=True)


@pytest.fixture(params=["podman", "docker"])
def run(request: pytest.FixtureRequest, image: Path) -> list[str]:
    """The command line of a client up to its own options of `run`."""
    made: list[str] = request.getfixturevalue(request.param)
    return made


def start_line(run: list[str], image: Path, *options: str) -> str:
    number = run.index("run") + 1
    what = [str(image)] if "--rootfs" in run else ["web"]
    words = [*run[:number], "--network", "host", *options, *run[number:], *what, SERVER]
    return " ".join(words)


def listed(run: list[str]) -> str:
    """Ids of all the lab's containers that there are."""
    argv = [*run[: run.index("run")], "ps", "--all", "--quiet", "--filter", "label=benchlab"]
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout


def answer(url: str, timeout_s: float = 10.0) -> str:
    with urllib.request.urlopen(url, timeout=timeout_s) as answered:
        return str(answered.read().decode())


def counted_s(root: Root) -> float:
    """CPU time by the group's own count, which is finer than the one that is probed."""
    if root.cgroup is None:
        # What is forked for each request here is waited for by nobody, and then only a group counts
        # it; an ordinary user's container may have none.
        assert os.geteuid() != 0
        return 0.0
    folder = Path(root.cgroup.folder)
    if (folder / "cpuacct.usage").exists():
        return int((folder / "cpuacct.usage").read_text()) / 1e9
    return int((folder / "cpu.stat").read_text().split()[1]) / 1e6


def told_alike(root: Root) -> None:
    """Both versions of groups tell the same, as far as the machine has them."""
    if root.cgroup is None:
        return
    name = Path(root.cgroup.folder).name
    both = [cgroups.called(name, root.pid, [version]) for version in (1, 2)]
    there = [group for group in both if group is not None]
    assert root.cgroup == there[0]
    for group in there:
        assert group.members() == root.members()
        spent = sum(group.spent_s(Path(group.cpu).read_bytes()))
        assert spent == pytest.approx(counted_s(root), abs=0.04)
    assert cgroups.called("no-such-group", root.pid) is None


def is_gone(root: Root, url: str) -> bool:
    return not Path(f"/proc/{root.pid}").exists() and ports.is_free(int(url.split(":")[2][:-1]))


@pytest.mark.parametrize("options", [(), ("--detach", "--rm")])
def test_a_container_is_followed_driven_disturbed_and_gone(
    run: list[str],
    image: Path,
    options: tuple[str, ...],
    leash: Leash,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    keys = {"kind": "command", "start": start_line(run, image, *options)}
    keys["url"] = "http://127.0.0.1:${port}/"
    load = {"clients": 2, "transactions": 500, "warmup": 0}
    mix = {"page": {"get": "/", "expect": {"status": 200}}}
    text = {"experiment": "x", "systems": {"web": keys}, "workload": {"mix": mix}, "load": load}
    case = cases(read_mapping(text))[0]
    core = cores.available()[-1]
    place = Place(leash, leash.folder() / "web", cpus=(core,))
    web = kind_of("web", case.system).start("web", case.system, place)
    assert isinstance(web, Members)
    (root,) = web.roots.values()
    assert os.sched_getaffinity(root.pid) == {core}
    assert list(tmp_path.glob("*/container.json"))

    probes = Probes({"system": lambda: web.roots})
    before = counted_s(root)
    probes.start()
    assert driven(case, web, leash, tmp_path / "load") == 500
    seen = probes.stop().filter(polars.col("source") == "system")
    counted = counted_s(root) - before

    def grown(counter: str) -> float:
        told = seen.filter(polars.col("counter") == counter)["value"]
        return float(told[-1] - told[0])

    if os.geteuid() == 0:
        assert counted > 0.05
        assert grown("cpu_user_s") + grown("cpu_system_s") == pytest.approx(counted, abs=0.04)
    assert seen.filter(polars.col("counter") == "memory_bytes")["value"][-1] > 10_000
    assert seen.filter(polars.col("counter") == "written_bytes").height > 0
    assert "response:200" in web.log_tail()

    told_alike(root)

    web.pause("")
    with pytest.raises((TimeoutError, urllib.error.URLError)):
        answer(web.urls[0], 0.3)
    web.resume("")
    assert answer(web.urls[0]) == "hello\n"
    web.kill("")
    assert web.died() is None, "who was ended on purpose has not died"
    assert is_gone(root, web.urls[0]) and not listed(run)
    web.restart("")
    assert answer(web.urls[0]) == "hello\n"
    (again,) = web.roots.values()
    os.kill(again.pid, signal.SIGKILL)
    until(web.died)
    assert web.died() in ("was ended by signal 9", "ended")
    web.restart("")
    (last,) = web.roots.values()
    # The first process of a container heeds no SIGTERM unless it asks for it.
    web.stop(0.2)
    assert is_gone(last, web.urls[0]) and not listed(run)
    assert not list(tmp_path.glob("*/container.json"))


@pytest.mark.parametrize("state", ["up", "held"])
def test_a_lab_that_is_killed_leaves_no_container(
    run: list[str], image: Path, state: str, tmp_path: Path
) -> None:
    with other_lab(start_line(run, image), state, tmp_path) as (lab, root, url, _):
        assert listed(run)
        os.killpg(lab.pid, signal.SIGKILL)
        lab.wait()
        until(lambda: not list(tmp_path.iterdir()))
        assert is_gone(root, url)
        assert not listed(run)


def test_a_container_that_an_outage_left_is_taken_away_by_the_next_run(
    docker: list[str], image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with other_lab(start_line(docker, image), "up", tmp_path) as (lab, root, url, watching):
        os.kill(watching, signal.SIGKILL)
        os.killpg(lab.pid, signal.SIGKILL)
        lab.wait()
        until(lambda: len(leftovers.find()) == 2)
        assert answer(url) == "hello\n"
        (left,) = [left for left in leftovers.find() if left.is_of_container]
        assert str(left).startswith(f"{left.folder} of a container (")
        for each in leftovers.find():
            assert leftovers.take_away(each)
        assert is_gone(root, url)
        assert not listed(docker)
        assert not list(tmp_path.iterdir())


@contextlib.contextmanager
def other_lab(
    line: str, state: str, temporary: Path
) -> Iterator[tuple[subprocess.Popen[str], Root, str, int]]:
    """A lab with a container, in a process group of its own; its watchdog comes last."""
    lab = subprocess.Popen(
        [sys.executable, "-c", LAB, line, state],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        assert lab.stdout is not None
        pid, url, watching = lab.stdout.readline().split()
        yield lab, Root(int(pid)), url, int(watching)
    finally:
        if lab.poll() is None:
            lab.kill()
        lab.communicate()


def test_what_ends_a_container_early_is_told_in_its_own_words(
    run: list[str], image: Path, leash: Leash
) -> None:
    line = start_line(run, image).replace(SERVER, "/bin/busybox ls /no/such/place/${port}")
    system = System(kind="command", start=line, url="http://127.0.0.1:${port}/")
    with pytest.raises(HostError, match=r"(?s)web ended with status 1 .*No such file"):
        kind_of("web", system).start("web", system, Place(leash, leash.folder() / "web"))
    assert not listed(run)


def test_whoever_runs_no_containers_is_told_in_a_line(
    leash: Leash, program: Callable[[str], str]
) -> None:
    line = f"{program('docker')} --host unix:///no/such/socket run web {SERVER}"
    system = System(kind="command", start=line, url="http://127.0.0.1:${port}/")
    began = time.monotonic()
    with pytest.raises(HostError, match=r"(?i)web: `.*` failed: .*cannot connect") as refused:
        kind_of("web", system).start("web", system, Place(leash, leash.folder() / "web"))
    assert "\n" not in str(refused.value)
    assert time.monotonic() - began < 10


def test_cores_are_given_by_the_lab_alone(leash: Leash) -> None:
    taken = container.taken_apart(["docker", "run", "--cpuset-cpus=0", "web"])
    assert taken is not None
    place = Place(leash, Path("web"), cpus=(0,))
    with pytest.raises(InputError, match="leave --cpuset-cpus out"):
        container.Container(taken, place, {}, "systems.web.start")
    assert "--cpuset-cpus=0" in container.Container(taken, Place(leash, Path()), {}, "x").argv


def test_cores_that_are_given_are_told_before_anything_is_started() -> None:
    system = System(kind="command", start="docker run --cpuset-cpus 0 web", url="http://[::1]:1/")
    with pytest.raises(InputError, match="leave --cpuset-cpus out"):
        kind_of("web", system).missing(system)


@pytest.mark.parametrize(
    ("line", "client", "rest"),
    [
        ("docker run -d web x", ["docker"], ["-d", "web", "x"]),
        ("docker container run web", ["docker"], ["web"]),
        ("/usr/bin/podman --runtime runc run web", ["/usr/bin/podman", "--runtime", "runc"], None),
        ("docker -D -H unix:///x run web", ["docker", "-D", "-H", "unix:///x"], ["web"]),
        ("docker --host=unix:///x run web", ["docker", "--host=unix:///x"], ["web"]),
        ("nerdctl --debug-full run web", ["nerdctl", "--debug-full"], ["web"]),
        ("docker compose run web", None, None),
        ("docker -D compose run web", None, None),
        ("docker start run", None, None),
        ("docker", None, None),
        ("run docker run web", None, None),
        ("sleep 600", None, None),
    ],
)
def test_a_command_line_that_runs_a_container_is_known(
    line: str, client: list[str] | None, rest: list[str] | None
) -> None:
    taken = container.taken_apart(line.split())
    assert (taken and list(taken.client)) == client
    if taken is not None:
        assert list(taken.rest) == (rest or ["web"])


def test_what_tells_the_watchdog_of_a_container_is_for_the_labs_user_alone(
    leash: Leash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = tmp_path / "podman"
    asked.write_text("#!/bin/sh\n")
    asked.chmod(0o755)
    taken = container.taken_apart([str(asked), "run", "-e", "DB_PASSWORD", "web"])
    assert taken is not None
    given = {"DB_PASSWORD": "s3cret", "DOCKER_HOST": "unix:///x"}
    made = container.Container(taken, Place(leash, Path()), given, "x")
    made.guard()
    (record,) = tmp_path.glob("*/container.json")
    assert record.stat().st_mode & 0o777 == 0o600
    told = json.loads(record.read_text())
    assert told["environment"]["DOCKER_HOST"] == "unix:///x"
    assert "s3cret" not in record.read_text()
    made.kill()
    assert not record.exists()
