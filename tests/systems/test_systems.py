"""Systems brought up and taken away, with real servers."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import GARBAGE, LOUD_DEATH, NGINX, SILENT, SLOW, until

from benchlab.host import ports
from benchlab.host.processes import Leash
from benchlab.model.errors import HostError, InputError
from benchlab.model.experiment import Command, System
from benchlab.systems import Place, instances, kind_of
from benchlab.systems import command as commands
from benchlab.systems.members import TAIL_LINES, Members
from benchlab.systems.sqlite import FILE

URL = "http://127.0.0.1:${port}/"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with Leash() as leash:
        yield Place(leash=leash, folder=tmp_path / "instance", cpus=(0,), pause=lambda _: False)


def python(code: str, **more: object) -> System:
    """A server of a few lines of Python."""
    start = f"{sys.executable} -c '{code}' ${{port}}"
    return System.model_validate({"kind": "command", "start": start, "url": URL, **more})


def served(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def test_the_standard_librarys_server_answers_when_start_returns(place: Place) -> None:
    system = System(
        kind="command",
        start=f"{sys.executable} -m http.server --bind 127.0.0.1 ${{port}}",
        url=URL,
        files={"greeting.txt": "on port ${port}, for ${name}"},
    )
    instance = commands.start("library", system, place)
    (url,) = instance.urls
    port = url.rsplit(":", 1)[1].strip("/")
    assert served(url + "greeting.txt") == f"on port {port}, for ${{name}}"
    assert "GET /greeting.txt" in instance.log_tail()
    assert instance.died() is None
    instance.stop(5)
    assert instance.died() == "was ended by signal 15"
    assert ports.is_free(int(port))


@pytest.mark.parametrize("stop", [None, "nginx -p ${dir} -c ${dir}/nginx.conf -s stop"])
def test_a_daemon_and_its_workers_are_one_system(
    place: Place, stop: str | None, program: Callable[[str], str]
) -> None:
    program("nginx")
    system = System(
        kind="nginx",
        start="nginx -p ${dir} -e ${dir}/error.log -c ${dir}/nginx.conf",
        url="http://127.0.0.1:${port}/hello",
        files={"nginx.conf": NGINX},
        stop=stop,
    )
    instance = kind_of("nginx", system).start("nginx", system, place)
    assert served(instance.urls[0]) == "hello /hello"
    assert isinstance(instance, Members)
    process = instance.members[""].process
    assert process is not None
    assert process.wait(5) == 0, "its first process ends as it becomes a daemon"
    assert len(process.tree()) == 3
    assert instance.died() is None
    instance.restart("")
    assert served(instance.urls[0]) == "hello /hello"
    instance.stop(5)
    assert process.tree() == []


def test_instances_of_a_command_are_members(place: Place) -> None:
    system = python(SLOW, instances=3)
    instance = kind_of("api", system).start("api", system, place)
    assert isinstance(instance, Members)
    assert len(set(instance.urls)) == 3
    assert all("Directory listing" in served(url) for url in instance.urls)
    assert list(instance.roots) == ["1", "2", "3"]
    assert {"kill", "pause", "restart", "add", "remove"} == instance.abilities
    (folder,) = {member.folder.parent.parent for member in instance.members.values()}
    assert folder == place.folder
    instance.kill("2")
    assert instance.died() is None
    assert ports.is_free(instance.members["2"].port)
    urls = instance.urls
    instance.restart("2")
    assert instance.urls == urls
    assert "Directory listing" in served(urls[1])
    assert "2: open for business" in instance.log_tail().splitlines()
    assert instance.add() == "4"
    assert "Directory listing" in served(instance.urls[3])
    third = instance.members["3"].process
    assert third is not None
    third.kill()
    until(lambda: instance.died() == "3 was ended by signal 9")
    instance.stop(5)
    assert all(ports.is_free(member.port) for member in instance.members.values())


def test_each_of_many_members_has_a_line_of_the_log(place: Place) -> None:
    many = Members("api", instances.KIND, python(SLOW, instances=TAIL_LINES + 1), place)
    for member in many.members.values():
        member.log.parent.mkdir(parents=True)
        member.log.write_text("starting\nready\n")
    assert many.log_tail().splitlines() == [f"{name}: ready" for name in many.members]


def test_what_instances_are_wrongly_given_is_told_by_its_key(place: Place) -> None:
    system = python(SLOW, instances=2, files={"../escape": ""})
    with pytest.raises(InputError) as refused:
        kind_of("api", system).start("api", system, place)
    assert refused.value.key == 'systems.api.files."../escape"'


def test_instances_that_want_one_port_are_refused(place: Place) -> None:
    port = ports.free()
    start = f"{sys.executable} -m http.server --bind 127.0.0.1 {port}"
    system = System(kind="command", start=start, url=f"http://127.0.0.1:{port}/", instances=2)
    with pytest.raises(HostError, match=rf"api/2: port {port} is taken .* choose with \${{port}}"):
        kind_of("api", system).start("api", system, place)
    assert ports.is_free(port)


def test_one_that_dies_at_once_shows_its_last_words(place: Place) -> None:
    with pytest.raises(HostError, match="ended with status 3 while starting") as caught:
        commands.start("api", python(LOUD_DEATH), place)
    assert "cannot read my configuration" in str(caught.value)


def test_one_that_speaks_something_else_is_named_and_ended(place: Place) -> None:
    with pytest.raises(HostError, match="answers, but not in HTTP"):
        commands.start("api", python(GARBAGE), place)


def test_one_that_never_answers_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchlab.systems.reach.ANSWER_S", 0.2)
    started = time.monotonic()
    with pytest.raises(HostError, match=r"not ready after 3 s: .* does not answer"):
        commands.start("api", python(SILENT, ready={"timeout": 3}), place)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "ready", [None, {"log": "open for business"}, {"url": URL + "?x"}, {"port": "${port}"}]
)
def test_a_slow_start_is_waited_for(place: Place, ready: dict[str, str] | None) -> None:
    instance = commands.start("api", python(SLOW, ready=ready), place)
    assert "Directory listing" in served(instance.urls[0])


def test_a_port_that_is_taken_is_named_with_its_holder(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        system = System(kind="command", start="sleep 600", url=f"http://127.0.0.1:{port}/")
        with pytest.raises(HostError, match=rf"port {port} is taken by `python.*process \d+"):
            commands.start("api", system, place)


@pytest.mark.parametrize("key", ["url", "ready", "ready.url"])
def test_whoever_is_there_already_is_not_taken_for_the_system(place: Place, key: str) -> None:
    """Even where the system itself gets a port that the lab chose."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        there = f"http://127.0.0.1:{port}/"
        more = {
            "url": {"url": there},
            "ready": {"ready": {"port": port}},
            "ready.url": {"ready": {"url": there}},
        }
        given = python(SLOW).model_dump(exclude_unset=True) | more[key]
        system = System.model_validate(given)
        with pytest.raises(HostError, match=rf"port {port} is taken"):
            commands.start("api", system, place)


def test_only_names_of_the_lab_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3")
    names = {"port": "1", "dir": "/d"}
    assert commands.fill("${port} ${dir}/x ${env:TOKEN} ${uri} $port", names) == (
        "1 /d/x s3 ${uri} $port"
    )
    with pytest.raises(InputError, match="NOWHERE is not set"):
        commands.fill("${env:NOWHERE}", names)


def test_a_command_line_is_taken_apart_without_a_shell() -> None:
    assert commands.split("a 'b c' $HOME;", "start") == ["a", "b c", "$HOME;"]
    with pytest.raises(InputError, match="not a command line"):
        commands.split("a 'b", "start")


def test_files_stay_in_the_systems_folder(place: Place) -> None:
    system = System(kind="command", start="sleep 1", url=URL, files={"../escape": ""})
    with pytest.raises(InputError, match="relative path"):
        commands.start("api", system, place)


def test_what_is_missing_is_told_with_how_to_get_it() -> None:
    absent = System(kind="command", start="redis-srv-x --port 1", url=URL, needs=("slapd-x",))
    assert commands.missing(absent) == "needs slapd-x: install slapd-x and put it on the PATH"
    alone = absent.model_copy(update={"needs": ()})
    assert (
        commands.missing(alone) == "needs redis-srv-x: install redis-srv-x and put it on the PATH"
    )
    for start, what in [
        ("/no/such/server -p 1", "there is no file /no/such/server"),
        (f"{__file__} x", f"{__file__} may not be executed: chmod +x {__file__}"),
        ("/etc x", "/etc is a folder, not a program"),
        (
            "./serve",
            "it starts in a folder of its own, so give the whole path, or one from ${here}",
        ),
    ]:
        told = commands.missing(alone.model_copy(update={"start": start}))
        assert told == f"needs {start.split()[0]}: {what}"
    module = python(SLOW, needs=[f"{sys.executable}:no_such"], install="pip install it")
    assert commands.missing(module) == f"needs {sys.executable}:no_such: pip install it"
    assert commands.missing(python(SLOW, needs=[f"{sys.executable}:pytest"])) is None


def test_a_command_beside_a_system_is_run_and_its_failure_told(place: Place) -> None:
    instance = commands.start("api", python(SLOW), place)
    instance.run(Command(command="touch ${dir}/been-here"))
    assert (instance.folder / "been-here").exists()
    with pytest.raises(HostError, match="ended with status 2: ls: cannot access"):
        instance.run(Command(command="ls ${dir}/nothing"))
    with pytest.raises(HostError, match=r"took longer than 0\.1 s"):
        instance.run(Command(command="sleep 600", timeout=0.1))


def test_what_already_runs_is_reached_and_left_alone(place: Place) -> None:
    server = commands.start("api", python(SLOW), place)
    system = System(kind="anything", at=server.urls)
    paused: list[float] = []
    there = Place(
        place.leash, place.folder / "at", seed="7/0", pause=lambda s: bool(paused.append(s))
    )
    instance = kind_of("staging", system).start("staging", system, there)
    assert instance.urls == server.urls
    assert server.process is not None
    assert instance.roots[""].pid == server.process.pid
    instance.stop(1)
    assert server.died() is None
    assert len(paused) == 1
    kind_of("staging", system).start("staging", system, there)
    assert paused[0] == paused[1], "the pause is drawn from the seed"
    server.stop(5)
    assert "is gone" in (instance.died() or "")
    with pytest.raises(HostError, match="cannot be measured: nobody answers"):
        kind_of("staging", system).start("staging", system, there)


def test_one_that_ended_is_gone_though_nobody_asked_yet_how(place: Place) -> None:
    port = ports.free()
    listening = f"import socket; s = socket.create_server(('127.0.0.1', {port})); input()"
    child = subprocess.Popen([sys.executable, "-c", listening], stdin=subprocess.PIPE)
    try:
        system = System(kind="x", at=(f"redis://127.0.0.1:{port}",))
        until(lambda: ports.accepts("127.0.0.1", port))
        instance = kind_of("x", system).start("x", system, place)
        assert instance.died() is None
        child.kill()
        until(lambda: instance.died() == f"ended: its process {child.pid} is gone")
        assert child.returncode is None
    finally:
        child.kill()
        child.communicate()


def test_a_restart_command_begins_a_session(place: Place) -> None:
    server = commands.start("api", python(SLOW), place)
    mark = place.folder / "restarted"
    system = System(kind="x", at=server.urls, restart=Command(command=f"touch {mark}"))
    there = Place(place.leash, place.folder / "at")
    kind_of("staging", system).start("staging", system, there)
    assert mark.exists()
    broken = system.model_copy(update={"restart": Command(command="ls /no/such/place")})
    with pytest.raises(HostError, match="ended with status 2: ls: cannot access"):
        kind_of("staging", broken).start("staging", broken, there)
    slow = system.model_copy(update={"restart": Command(command="sleep 600", timeout=0.1)})
    patient = Place(place.leash, place.folder / "at")
    with pytest.raises(HostError, match=r"took longer than 0\.1 s"):
        kind_of("staging", slow).start("staging", slow, patient)


def test_what_a_restart_starts_outlives_the_lab(tmp_path: Path) -> None:
    script = tmp_path / "restart"
    script.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/pid\n")
    script.chmod(0o755)
    with Leash() as leash:
        place = Place(leash, tmp_path / "server")
        server = commands.start("api", python(SLOW), place)
        system = System(kind="x", at=server.urls, restart=Command(command=str(script)))
        kind_of("staging", system).start("staging", system, Place(leash, tmp_path / "at"))
    started = int((tmp_path / "pid").read_text())
    os.kill(started, 0)
    os.kill(started, signal.SIGKILL)


def test_a_database_goes_back_to_its_snapshot(place: Place, tmp_path: Path) -> None:
    system = System(kind="sqlite")
    instance = kind_of("sqlite", system).start("sqlite", system, place)
    file = place.folder / FILE
    assert instance.urls == (f"sqlite:{file}",)
    file.write_bytes(b"loaded")
    assert instance.keep(tmp_path / "snapshot")
    file.write_bytes(b"written to")
    (place.folder / (FILE + "-wal")).write_bytes(b"more")
    instance.restore(tmp_path / "snapshot")
    assert file.read_bytes() == b"loaded"
    assert not (place.folder / (FILE + "-wal")).exists()
    instance.stop(1)
    assert not place.folder.exists()


def test_a_file_larger_than_its_disk_is_refused_before_any_of_it_is_written(place: Place) -> None:
    place.folder.mkdir()
    system = System(kind="file", settings={"size": "100000TB", "folder": str(place.folder)})
    with pytest.raises(HostError, match=r"^disk: a file of .+ does not fit: .+ are free in "):
        kind_of("disk", system).start("disk", system, place)
    assert list(place.folder.iterdir()) == []


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean sqlite"):
        kind_of("db", System(kind="sqlit"))
