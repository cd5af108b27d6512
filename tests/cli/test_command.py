"""The command as a user types it: answers, files, messages and exit codes, on real systems."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab import store
from benchlab.cli.main import outcome
from benchlab.lab.opening import Narrowing, begin, open_experiment
from benchlab.load import agent
from benchlab.model.errors import Exit

QUICK = (
    "--set",
    "load.duration=200ms",
    "--set",
    "load.warmup=50ms",
    "--set",
    "workload.data.users=500",
)


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = outcome(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_a_study_is_run_to_an_answer_that_verifies(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "run", "quickstart", "--quiet", *QUICK)
    assert code in (Exit.DONE, Exit.CANNOT_TELL)
    assert "report.html" in out
    run = store.find("last")
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary["format"] == 1
    assert summary["sessions"] == 8
    assert {case["state"] for case in summary["cases"]} == {"ok"}
    counting = [one for one in summary["comparisons"] if one["counts"]]
    assert [one["at"] for one in counting] == [{"clients": "1"}]
    assert counting[0]["verdict"] is not None
    assert all(one["verdict"] is None for one in summary["comparisons"] if not one["counts"])

    assert said(capsys, "verify", "last")[0] == Exit.DONE
    tampered = (run.path / "summary.json").read_text().replace('"sessions": 8', '"sessions": 9', 1)
    (run.path / "summary.json").write_text(tampered)
    code, out, _ = said(capsys, "verify", "last")
    assert code == Exit.BROKEN_PROMISE
    assert "summary.json: sessions is 9, but the raw data give 8" in out

    assert said(capsys, "report", "last", "--plots", "plots", "--csv", "csv")[0] == code - 1
    assert list(Path("plots").glob("*.svg"))
    assert list(Path("csv").glob("*.csv"))
    assert run.id in said(capsys, "list", "runs")[1]
    assert said(capsys, "remove", "last")[0] == Exit.DONE
    assert said(capsys, "list")[1] == "no runs yet\n"


def test_json_is_the_summary_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "run", "quickstart", "--json", "--sessions", "3", *QUICK)
    assert code == Exit.DONE
    assert json.loads(out)["experiment"] == "quickstart"
    assert err == ""


def test_a_broken_promise_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    promise = "promises=[latency_p50 < 1ns]"
    only = ("--only", "fetch=each,clients=1", "--sessions", "3")
    code, out, _ = said(capsys, "run", "quickstart", "--quiet", "--set", promise, *only, *QUICK)
    assert code == Exit.BROKEN_PROMISE
    assert "latency_p50 < 1ns" in out


def test_plan_starts_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = said(capsys, "plan", "rest")
    assert code == Exit.DONE
    assert "system=nginx,clients=64" in out
    assert "4 comparisons that count" in out
    assert not (tmp_path / "runs").exists()
    code, out, _ = said(capsys, "plan", "rest", "--json")
    assert json.loads(out)["trials"] == 80
    code, out, _ = said(capsys, "plan", "rest", "--set", "sessions={precision: 2%}")
    assert "up at a time" not in out
    assert "80 trials or more: 10 cases × 8 to 20 sessions × 1 block, about " in out
    assert "fixed once, from their spread alone, so that intervals are ±2 % or narrower" in out
    code, out, _ = said(capsys, "plan", "rest", "--set", "order=blocks")
    assert "one system up at a time, each started afresh for each block" in out
    code, out, _ = said(capsys, "plan", "feature-cost")
    assert "shop: journal of shop.bundle is 969e06b66a95" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "quickstrat"], "did you mean quickstart?"),
        (["run", "quickstart", "--sessions", "5"], "5 sessions cannot answer 1 comparison"),
        (["plan", "rest", "--sessions", "7"], "take 8 sessions or more"),
        (["run", "quickstart", "--set", "load.clinets=3"], "did you mean"),
        (["plan", "rest", "--set", "order=block"], "did you mean blocks?"),
        (["run", "quickstart", "--set", "load.duration"], "--set takes PATH=VALUE"),
        (["run", "quickstart", "--only", "fetch=eech"], "did you mean fetch=each"),
        (["run"], "name an experiment file or a study"),
        (["report", "nothing"], "no such run"),
        (["try", "no-url"], "is no URL"),
        (["try", "gopher://127.0.0.1/"], "gopher"),
        (["try", "-c", "4", "--rate", "5/s", "http://127.0.0.1/"], "closed or open"),
        (["try", "-H", "Authorization: Bearer x", "http://127.0.0.1/"], "${env:TOKEN}"),
        (["systems", "install", "postgres"], "did you mean postgresql?"),
        (["nonsense"], "nonsense"),
        (["run", "--nonsense"], "--nonsense"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = said(capsys, *arguments)
    assert code == Exit.BAD_INPUT
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("benchlab: ")


def test_errors_are_json_where_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "run", "quickstrat", "--json")
    assert code == Exit.BAD_INPUT
    assert json.loads(out)["exit"] == 2


def test_nothing_listens(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "try", "--quiet", "http://127.0.0.1:9/")
    assert code == Exit.NOTHING_MEASURED
    assert "127.0.0.1:9" in err


def test_try_compares_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    servers = []
    urls = []
    for body in ("one", "other"):
        command = [str(agent.binary("nullserver")), "http", "--body", body]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        servers.append(server)
        assert server.stdout
        urls.append(f"http://{json.loads(server.stdout.readline())['listening']}/")
    try:
        saved = ("--save", "saved.yaml", "-d", "200ms", "--quiet", "--sessions", "8", "--json")
        code, out, _ = said(capsys, "try", f"a={urls[0]}", f"b={urls[1]}", *saved)
        assert code in (Exit.DONE, Exit.CANNOT_TELL)
        summary = json.loads(out)
        assert {case["system"] for case in summary["cases"]} == {"a", "b"}
        assert len(summary["comparisons"]) == 1
        assert "http://127.0.0.1" in Path("saved.yaml").read_text()
        assert said(capsys, "plan", "saved.yaml")[0] == Exit.DONE
    finally:
        for server in servers:
            server.kill()
            server.wait()


def test_ctrl_c_keeps_what_was_measured_and_resumes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from benchlab.cli.main import main; main()"]
    begun = subprocess.Popen(
        [*command, "run", "quickstart", *QUICK],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    deadline = time.monotonic() + 120
    assert begun.stderr
    for line in begun.stderr:
        if "session 2" in line:
            begun.send_signal(signal.SIGINT)
            break
        assert time.monotonic() < deadline
    _, err = begun.communicate(timeout=60)
    assert begun.returncode == Exit.INTERRUPTED
    assert "--resume" in err
    run = store.find("last")
    assert run.record.state == "interrupted"
    done = run.record.sessions_done
    assert 1 <= done < 8
    resumed = subprocess.run(
        [*command, "run", "--resume", str(run.path), "--quiet"], capture_output=True, timeout=200
    )
    assert resumed.returncode in (Exit.DONE, Exit.CANNOT_TELL), resumed.stderr
    assert store.find("last").record.state == "complete"


def test_verify_says_how_to_come_by_an_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = "experiment: lite\nsystems: {sqlite: }\nworkload: {mix: {q: {sql: SELECT 1}}}\n"
    (tmp_path / "lite.yaml").write_text(text)
    opened = open_experiment(str(tmp_path / "lite.yaml"), Narrowing({}))
    begun = begin(opened, ["benchlab"])
    code, _, err = said(capsys, "verify", "last")
    assert code == Exit.BAD_INPUT
    assert f"no session of {begun.path.name} was finished" in err
    assert err.endswith(f"benchlab run --resume {begun.id}\n")
    begun.update(begun.record.model_copy(update={"sessions_done": 1}))
    _, _, err = said(capsys, "verify", begun.id)
    assert err.endswith(f"has no answer to verify yet; make it: benchlab report {begun.id}\n")


def test_doctor_and_lists_speak(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "doctor", "--quick", "--json")
    assert code == Exit.DONE
    looked = json.loads(out)
    assert {need["study"] for need in looked["studies"]} >= {"quickstart", "rest"}
    assert any(finding["name"] == "cores" for finding in looked["findings"])
    kinds = [one["kind"] for one in looked["systems"]]
    assert kinds == [one["kind"] for one in json.loads(said(capsys, "systems", "--json")[1])]
    assert "sqlite" in said(capsys, "systems")[1]
    code, out, _ = said(capsys, "systems", "install", "sqlite", "--dry-run", "--json")
    assert (code, json.loads(out)["packages"]) == (Exit.DONE, [])
    for what, name in (("studies", "rest"), ("systems", "sqlite"), ("workloads", "buddies")):
        assert name in said(capsys, "list", what)[1]
    assert "http" in said(capsys, "list", "drivers")[1]


HANGS = """
import socket, threading
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
def greet(client):
    while client.recv(4096):
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 200\\r\\n\\r\\nhi")
while True:
    threading.Thread(target=greet, args=(listening.accept()[0],), daemon=True).start()
"""


@contextlib.contextmanager
def serving(*command: str) -> Iterator[str]:
    """The first line of a server that is there meanwhile."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # Collected as soon as it ends: one that is dead and not collected still has its process id.
    threading.Thread(target=server.wait, daemon=True).start()
    try:
        assert server.stdout
        yield server.stdout.readline()
    finally:
        server.kill()
        server.communicate()


def test_answers_that_never_end_are_no_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("-d", "200ms", "-c", "2", "--quiet", "--sessions", "1")
    with serving(sys.executable, "-c", HANGS) as port:
        code, out, _ = said(capsys, "try", f"http://127.0.0.1:{port.strip()}/", *quick)
    flat = " ".join(out.split())
    assert code == Exit.NOTHING_MEASURED
    assert "nothing came due in the measured part (of 2 transactions of the warm-up" in flat
    assert "Throughput 0/s" not in flat and "rate:" not in flat
    assert "Rests on none of 1 session" in flat
    assert "timed out, such as: no answer within the time-out" in flat


def test_a_redirect_is_told_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("-d", "200ms", "-c", "2", "--quiet", "--sessions", "1")
    command = (str(agent.binary("nullserver")), "http", "--status", "302")
    with serving(*command) as line:
        url = f"http://{json.loads(line)['listening']}/"
        code, out, _ = said(capsys, "try", url, *quick)
    assert code == Exit.DONE
    assert "GET /: status 302: redirects are counted as answers" in " ".join(out.split())
    assert "status 302" in (store.find("last").path / "report.html").read_text()


DIES = """
import http.server, os
class Hello(http.server.BaseHTTPRequestHandler):
    left = 50
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        Hello.left -= 1
        if not Hello.left:
            os._exit(9)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_a_system_that_dies_at_once_is_nothing_measured(capsys: pytest.CaptureFixture[str]) -> None:
    quick = ("-d", "2s", "-c", "2", "--quiet", "--sessions", "3")
    with serving(sys.executable, "-c", DIES) as port:
        code, out, _ = said(capsys, "try", f"s=http://127.0.0.1:{port.strip()}/", *quick)
    flat = " ".join(out.split())
    assert code == Exit.NOTHING_MEASURED
    assert re.search(
        r"Nothing could be measured \(try died: s ended: its process \d+ is gone", flat
    )
    assert "Rests on none of 3 sessions" in flat
