"""Systems that are already running: restarted by their own command, asked at several URLs."""

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from labs import HELLO
from test_guests import opened, ran, right
from theirs import VARIABLE, Theirs

from benchlab.cli.answering import answer
from benchlab.cli.main import outcome
from benchlab.host import ports
from benchlab.host.processes import Leash
from benchlab.lab import events
from benchlab.lab.opening import KNOWN, begin, open_mapping
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.load import agent
from benchlab.load.plan import loading_plan
from benchlab.model.cases import cases
from benchlab.model.errors import HostError
from benchlab.model.reading import read_mapping

pytestmark = pytest.mark.real

LOADING = """
import os, socket, sys, threading, time
if os.fork():
    sys.exit()
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
with open(sys.argv[2], "a") as file:
    file.write(f"{os.getpid()} ")
began = time.monotonic()
def serve(connection):
    while said := connection.recv(65536):
        late = time.monotonic() > began + 0.7
        answer = b"+PONG\\r\\n" if late else b"-LOADING it is\\r\\n"
        connection.sendall(answer * said.count(b"PING"))
while True:
    threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
"""
"""A server that others connect to before it can answer."""
RESTART = """
kill -9 $(cat pids) 2>/dev/null
: > pids
echo once >> restarts
exec {python} loading.py {port} pids < /dev/null > /dev/null 2>&1
"""


@pytest.fixture
def redis(
    program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Theirs]]:
    """Redis servers of somebody else's, with one password."""
    program("redis-server")
    with Leash() as leash:
        monkeypatch.setenv(VARIABLE, "not-for-keeping")

        def start() -> Theirs:
            return Theirs("redis", leash, leash.folder(), password="not-for-keeping")

        yield start


def test_each_session_begins_with_a_restart_and_its_first_right_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    port = ports.free()
    Path("loading.py").write_text(LOADING)
    Path("pids").touch()
    Path("restart").write_text(RESTART.format(python=sys.executable, port=port))
    given = open_mapping(
        {
            "experiment": "restarted",
            "systems": {
                "theirs": {
                    "at": f"redis://127.0.0.1:{port}",
                    "restart": {"command": f"sh -c 'cd {tmp_path} && sh restart'"},
                }
            },
            "workload": {"mix": {"ping": {"command": ["PING"], "expect": {"reply": "PONG"}}}},
            "load": {"clients": 2, "duration": "0.5s", "warmup": 0},
            "sessions": 2,
            "blocks": 1,
        }
    )
    try:
        case, _, _ = ran(given, tmp_path / "run")
        assert case.metrics["errors"].estimate == 0, case
        assert Path("restarts").read_text().split() == ["once", "once"]
    finally:
        for pid in Path("pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)


def test_several_urls_share_the_clients(redis: Callable[[], Theirs], tmp_path: Path) -> None:
    both = [redis(), redis()]

    def asked(there: Theirs) -> int:
        lines = there.client("info commandstats")
        found = [line for line in lines if line.startswith("cmdstat_get:")]
        return int(found[0].split("=")[1].split(",")[0]) if found else 0

    mix = {"mix": {"get": {"command": ["GET", "k"]}}}
    given = opened([there.url for there in both], None, workload=mix)
    case, _, _ = ran(given, tmp_path / "run")
    assert case.state == "ok"
    counts = [asked(there) for there in both]
    assert min(counts) > 100 and max(counts) < 3 * min(counts), counts


def fill(there: Theirs, records: int) -> None:
    """What a workload of so many records expects to find."""
    data = {"name": "records", "data": {"records": records}}
    made = {"experiment": "x", "systems": {there.kind: {}}, "workload": data}
    plan = loading_plan(cases(read_mapping(made, known=KNOWN))[0], urls=there.made.urls, seed=1)
    assert plan is not None
    with Leash() as leash:
        agent.run(plan, leash.folder(), leash=leash, secrets=there.made.secrets)


def test_what_is_there_is_counted_and_stays(redis: Callable[[], Theirs], tmp_path: Path) -> None:
    there = redis()
    fill(there, 2000)
    there.client("set other theirs")
    before = there.holds()
    options = {"read": "80%", "update": "20%"}
    given = opened(there.url, {"existing": True, "records": 2000}, options=options)
    assert right(ran(given, tmp_path / "run")[0])
    assert there.holds() == before
    more = opened(there.url, {"existing": True, "records": 2001}, options=options)
    with pytest.raises(HostError, match="there is no record as it is made of the seed"):
        ran(more, tmp_path / "more")
    assert there.holds() == before


def test_two_sessions_and_nothing_kept_has_the_password(
    redis: Callable[[], Theirs], tmp_path: Path
) -> None:
    there = redis()
    given = opened(there.url, {"into": "guest", "records": 1000})
    assert right(ran(given, tmp_path / "run")[0])
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"not-for-keeping" in path.read_bytes()]


def test_a_password_on_the_command_line_is_kept_nowhere(
    redis: Callable[[], Theirs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = f"redis://:not-for-keeping@127.0.0.1:{redis().server.port}"
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("TRY_PASSWORD", "")
    words = ["try", url, "-d", "300ms", "--sessions", "2", "--save", str(tmp_path / "saved.yaml")]
    monkeypatch.setattr(sys, "argv", ["benchlab", *words])
    assert outcome(words) == 0
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > 5
    assert not [path for path in kept if b"not-for-keeping" in path.read_bytes()]
    assert "${env:TRY_PASSWORD}" in (tmp_path / "saved.yaml").read_text()
    said = capsys.readouterr()
    assert "not-for-keeping" not in said.out + said.err


def test_a_missing_password_is_told_with_where_it_is_looked_for(
    redis: Callable[[], Theirs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDISCLI_AUTH", raising=False)
    url = f"redis://127.0.0.1:{redis().server.port}"
    for data in ({"into": "guest"}, {"existing": True}):
        with pytest.raises(HostError, match=r"NOAUTH .* \(give its password by REDISCLI_AUTH"):
            ran(opened(url, data), tmp_path / str(data.get("into")))
    mix: dict[str, Any] = {"mix": {"get": {"command": ["GET", "k"]}}}
    case, _, _ = ran(opened(url, None, workload=mix), tmp_path / "mix")
    answers = next(check for check in case.checks if check.name == "answers")
    assert "NOAUTH" in answers.why and "by REDISCLI_AUTH" in answers.why
    monkeypatch.setenv("REDISCLI_AUTH", "not-for-keeping")
    assert right(ran(opened(url, {"into": "guest", "records": 1000}), tmp_path / "let-in")[0])


def test_an_aborted_case_ends_soon_and_is_told_as_such(tmp_path: Path) -> None:
    start = f"{sys.executable} {HELLO} ${{port}} --status 404"
    given = open_mapping(
        {
            "experiment": "aborted",
            "systems": {
                "bad": {"kind": "command", "start": start, "url": "http://127.0.0.1:${port}/"}
            },
            "workload": {"mix": {"page": {"get": "/", "expect": {"status": 200}}}},
            "load": {"clients": 2, "duration": "60s", "warmup": 0},
            "abort_when": ["errors > 5%"],
            "sessions": 2,
        }
    )
    run, times = begin(given, ["benchlab", "run"], tmp_path / "run"), dict[type, float]()
    execute(
        given.experiment,
        given.cases,
        run,
        emit=lambda event: times.update({type(event): time.monotonic()}),
        stop=StopToken(),
    )
    assert times[events.TrialEnded] - times[events.TrialStarted] < 6.0
    with pytest.raises(typer.Exit):
        answer(run)
    (case,) = json.loads((tmp_path / "run" / "summary.json").read_text())["cases"]
    assert case["state"] == "aborted" and case["why"].startswith("errors > 5%: 1 in second 0")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "was aborted: errors &gt; 5%: 1 in second 0" in page
    assert len(run.trials()) == 1


def test_writes_are_announced_and_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}"
        file = tmp_path / "writes.yaml"
        file.write_text(
            f"experiment: w\nsystems: {{theirs: {{at: '{url}'}}}}\n"
            "workload: {name: records, options: {ycsb: A}, data: existing}\n"
        )
        assert outcome(["plan", str(file)]) == 0
        told = f"theirs ({url}): what is there is written to, by update; it is not put back"
        assert told in capsys.readouterr().out
        monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))
        for stream in (sys.stdin, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
        assert outcome(["run", str(file)]) == 0
        assert told in capsys.readouterr().err
        assert not (tmp_path / "store").exists()
