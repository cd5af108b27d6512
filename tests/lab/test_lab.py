"""Whole runs on real servers: what is measured, what is kept, and how they end."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from labs import HELLO, Seen, new_run, text

from benchlab.host.leftovers import marked
from benchlab.lab import events
from benchlab.lab.run import check_same, execute
from benchlab.lab.stopping import StopToken
from benchlab.load.agent import binary
from benchlab.model.cases import cases
from benchlab.model.errors import HostError, InputError
from benchlab.model.records import RunRecord
from benchlab.store import Run

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))


def run_it(
    experiment_text: str, stop: StopToken | None = None, seen: Seen | None = None
) -> tuple[Run, RunRecord, Seen]:
    """Runs an experiment to its end."""
    experiment, run = new_run(experiment_text)
    seen = Seen() if seen is None else seen
    record = execute(experiment, cases(experiment), run, emit=seen, stop=stop or StopToken())
    assert marked(f"{os.getpid()}-") == []
    return run, record, seen


def test_every_session_starts_every_system_afresh_and_measures_every_case(tmp_path: Path) -> None:
    mark = tmp_path / "starts"
    given = text().replace("${port} --name right", f"${{port}} --name right --mark {mark}")
    run, record, seen = run_it(given)
    assert (record.state, record.sessions_done, record.skipped) == ("complete", 2, ())
    assert run.record == record
    trials = run.trials()
    assert [(t.record.session, t.record.case) for t in trials if t.record.used] == [
        (0, "system=left"),
        (0, "system=right"),
        (1, "system=left"),
        (1, "system=right"),
    ]
    assert len(set(mark.read_text().split())) == 2, "a process for each session"
    for trial in trials:
        assert trial.record.state == "ok"
        assert trial.measurement() is not None
        assert trial.plan()["cpus"] == list(trial.record.cpus.agent)
        sources = set(trial.probes()["source"])
        assert sources == {"host", "system", "agent", "idle"}
    assert record.host["fingerprint"]
    assert set(record.systems) == {"left", "right"}
    order = [event.case for event in seen.of(events.TrialStarted)]
    assert sorted(order[:2]) == ["system=left", "system=right"]
    (started,) = seen.of(events.RunStarted)
    assert started.estimate.trials == 4
    assert len(seen.of(events.SystemStarted)) == 4
    assert [event.state for event in seen.of(events.RunEnded)] == ["complete"]


def test_the_null_server_is_measured_once_for_a_shape_and_a_rate() -> None:
    run, _, _ = run_it(text().replace("sessions: 2", "sessions: 1"))
    folders = {trial.record.ceiling for trial in run.trials() if trial.record.used}
    assert None not in folders
    for folder in folders:
        assert (run.path / str(folder) / "ceiling" / "measurement.arrow").exists()
        assert (run.path / str(folder) / "floor" / "plan.json").exists()
    kept = {path.name for path in (run.path / "null").iterdir()}
    assert {f"null/{name}" for name in kept} == folders
    assert all(trial.ceiling() and trial.floor() for trial in run.trials() if trial.record.used)


def test_a_system_that_dies_is_a_result_and_the_others_go_on() -> None:
    given = text().replace("--name right", "--name right --die-after 8")
    run, record, seen = run_it(given)
    assert record.state == "complete"
    states = {(t.record.case, t.record.state) for t in run.trials() if t.record.used}
    assert states == {("system=left", "ok"), ("system=right", "died")}
    died = next(t for t in run.trials() if t.record.state == "died")
    assert died.record.why == "right ended with status 9"
    assert "out of greetings" in died.log_tail()
    assert [event.system for event in seen.of(events.SystemDied)] == ["right", "right"]


def test_a_system_that_does_not_come_up_is_skipped_loudly() -> None:
    given = text().replace("--name right", "--no-such-flag")
    run, record, seen = run_it(given)
    assert record.state == "complete"
    assert {t.record.case for t in run.trials()} == {"system=left"}
    (skipped,) = record.skipped
    assert skipped.case == "system=right"
    assert "ended with status 2 while starting" in skipped.why
    assert "unrecognized arguments: --no-such-flag" in skipped.why
    assert [event.case for event in seen.of(events.Skipped)] == ["system=right"]


def test_what_is_not_installed_is_skipped_with_how_to_get_it() -> None:
    given = text().replace("right: {kind: command,", "right: {kind: command, needs: [slapd-x],")
    _, record, _ = run_it(given)
    assert record.skipped[0].why == "needs slapd-x: install slapd-x and put it on the PATH"


def test_nothing_measured_is_an_error_with_the_systems_own_words() -> None:
    experiment, run = new_run(text().replace(str(HELLO), "/no/such/file.py"))
    with pytest.raises(HostError, match=r"can't open file '/no/such/file.py'"):
        execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    assert run.record.state == "failed"
    assert marked(f"{os.getpid()}-") == []


def test_a_case_over_its_limit_is_aborted_and_not_tried_again() -> None:
    given = text(
        load="{clients: 2, duration: 3s, warmup: 0.2s}", more="abort_when: [errors > 5%]"
    ).replace("--name right", "--name right --status 404")
    run, record, _ = run_it(given)
    assert record.state == "complete"
    of_right = [t.record for t in run.trials() if t.record.case == "system=right"]
    assert [r.state for r in of_right] == ["aborted"]
    assert "errors > 5%" in of_right[0].why


def test_commands_before_sessions_and_trials_are_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = (
        f"before_session: {{command: \"sh -c 'echo session >> {log}'\"}}, "
        f"before_trial: {{command: \"sh -c 'echo trial >> {log}'\"}}, "
    )
    run_it(text().replace("right: {", "right: {" + commands))
    assert log.read_text().split() == ["session", "trial"] * 2


def test_asked_to_stop_it_keeps_what_it_has_and_goes_on_from_there() -> None:
    stop = StopToken()

    class Stopping(Seen):
        def __call__(self, event: events.Event) -> None:
            super().__call__(event)
            if isinstance(event, events.Progress) and len(ended(self)) == 3 and not stop.is_set:
                stop.ask()

    def ended(seen: Seen) -> list[events.TrialEnded]:
        return [event for event in seen.of(events.TrialEnded) if event.used]

    given = text(load="{clients: 2, duration: 2s, warmup: 0.1s}")
    run, record, _ = run_it(given, stop, Stopping())
    assert (record.state, record.sessions_done) == ("interrupted", 1)
    first = [(t.path, t.record) for t in run.trials() if t.record.session == 0]
    assert sorted(t.record.state for t in run.trials()) == ["interrupted", "ok", "ok", "ok"]
    check_same(run, given)
    with pytest.raises(InputError, match="begun with another experiment file"):
        check_same(run, given + "\n# changed")

    experiment, _ = new_run(given)
    record = execute(experiment, cases(experiment), run, emit=Seen(), stop=StopToken())
    assert (record.state, record.sessions_done) == ("complete", 2)
    assert [(t.path, t.record) for t in run.trials() if t.record.session == 0] == first
    again = [t.record for t in run.trials() if t.record.session == 1]
    assert sorted(r.case for r in again if r.used) == ["system=left", "system=right"]
    assert {r.attempt for r in again if not r.used} == {0}
    assert {r.attempt for r in again if r.used} == {1}
    with pytest.raises(InputError, match="nothing to resume"):
        check_same(run, given)


def test_a_daemon_with_workers_is_measured_and_gone(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    nginx = program("nginx")
    given = f"""
experiment: nginx
systems:
  nginx:
    kind: command
    start: {nginx} -p ${{dir}} -e ${{dir}}/error.log -c ${{dir}}/nginx.conf
    url: http://127.0.0.1:${{port}}/
    files:
      nginx.conf: |
        pid ${{dir}}/nginx.pid;
        events {{ worker_connections 64; }}
        http {{
          access_log off;
          client_body_temp_path ${{dir}}/body;
          proxy_temp_path ${{dir}}/proxy;
          fastcgi_temp_path ${{dir}}/fastcgi;
          uwsgi_temp_path ${{dir}}/uwsgi;
          scgi_temp_path ${{dir}}/scgi;
          server {{ listen 127.0.0.1:${{port}}; location / {{ return 200 'hello'; }} }}
        }}
workload: {{mix: {{page: {{get: /, expect: {{status: 200}}}}}}}}
load: {{clients: 2, duration: 1s, warmup: 0.2s}}
sessions: 1
blocks: 1
"""
    run, record, _ = run_it(given)
    assert record.state == "complete"
    (trial,) = (t for t in run.trials() if t.record.used)
    probes = trial.probes()
    processes = probes.filter((probes["source"] == "system") & (probes["counter"] == "processes"))
    assert processes["value"].to_list()[-1] == 2
    assert str(record.systems["nginx"]["versions"][nginx])


CUT = """
import socket, sys, threading
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
answers = {
    "garbage": b"\\x00\\x01 what is this\\r\\n\\r\\n",
    "cut": b"HTTP/1.1 200 OK\\r\\nContent-Length: 99\\r\\n\\r\\nhalf",
    "nothing": b"",
}
def serve(connection):
    with connection:
        while connection.recv(65536):
            connection.sendall(answers[sys.argv[2]])
            if sys.argv[2] != "garbage":
                return
while True:
    threading.Thread(target=serve, args=[server.accept()[0]], daemon=True).start()
"""


@pytest.mark.parametrize("deed", ["garbage", "cut", "nothing"])
def test_a_server_that_misbehaves_is_measured_as_failing(tmp_path: Path, deed: str) -> None:
    server = tmp_path / "server.py"
    server.write_text(CUT.replace("\\\\", "\\"))
    ready = "ready: {port: '${port}'}, "
    given = text().replace("right: {", "right: {" + ready)
    given = given.replace(f"{HELLO} ${{port}} --name right", f"{server} ${{port}} {deed}")
    run, record, _ = run_it(given.replace("sessions: 2", "sessions: 1"))
    assert record.state == "complete"
    by_case = {t.record.case: t for t in run.trials() if t.record.used}
    assert {case: t.record.state for case, t in by_case.items()} == {
        "system=left": "ok",
        "system=right": "ok",
    }
    rows = by_case["system=right"].measurement().rows
    measured = rows.filter((rows["kind"] == "transaction") & (rows["interval"] >= 0))
    assert measured["ok"].sum() == 0
    assert measured["failed"].sum() + measured["unknown"].sum() > 0
    assert by_case["system=right"].measurement().events("error")


def test_the_null_server_itself_can_be_a_system() -> None:
    given = text(load="{clients: 4, duration: 1s, warmup: 0.2s}").replace(
        "sessions: 2", "sessions: 1"
    )
    given = given.replace(
        f"{sys.executable} {HELLO} ${{port}} --name right",
        # It ends when its standard input does.
        f"sh -c 'sleep 600 | {binary('nullserver')} http --listen 127.0.0.1:${{port}}'",
    )
    _, record, seen = run_it(given)
    assert record.state == "complete"
    rates = {e.case: e.figures["throughput"] for e in seen.of(events.TrialEnded) if e.used}
    assert (rates["system=right"] or 0) > (rates["system=left"] or 0) > 0


def test_a_database_is_loaded_once_and_every_session_begins_from_the_same() -> None:
    given = """
experiment: buddies
systems: {sqlite: {}}
workload: {name: buddies, data: {users: 200}, options: {fetch: each}}
load: {clients: 1, duration: 1s, warmup: 0.1s}
factors: {workload.options.fetch: [each, together]}
sessions: 2
blocks: 1
"""
    run, record, seen = run_it(given)
    assert record.state == "complete"
    used = [trial for trial in run.trials() if trial.record.used]
    assert len(used) == 4
    paths = {trial.plan()["driver"]["path"] for trial in used}
    assert len(paths) == 2, "a database for each session, shared by the cases"
    assert all(trial.record.cpus.agent == () for trial in used)
    assert all(trial.record.ceiling is None for trial in used)
    for ended in seen.of(events.TrialEnded):
        assert ended.figures["errors"] == 0.0
        assert (ended.figures["throughput"] or 0) > 0


def test_a_file_is_laid_out_in_each_session_and_read_intact(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    given = f"""
experiment: disk
systems: {{disk: {{kind: file, settings: {{size: 1MiB, folder: {place}}}}}}}
workload:
  mix:
    page: {{read: 4KiB, at: "${{n}}", expect: {{intact: true}}}}
    log: {{transaction: [{{write: 4KiB}}, {{sync: data}}], weight: 0.1}}
  values: {{n: {{uniform: [0, 255]}}}}
load: {{duration: 1s, warmup: 0.1s}}
factors: {{load.clients: [1, 4]}}
sessions: 2
blocks: 1
"""
    run, record, seen = run_it(given)
    assert record.state == "complete"
    used = [trial for trial in run.trials() if trial.record.used]
    assert len({trial.plan()["driver"]["path"] for trial in used}) == 2
    assert [trial.record.ceiling for trial in used] == [None] * 4
    for ended in seen.of(events.TrialEnded):
        assert (ended.figures["throughput"] or 0) > 0
        # A read through the cache may meet the half of what another client writes.
        assert (ended.figures["errors"] or 0) < 0.01
    assert list(place.iterdir()) == [], "nothing is left on the disk"


def test_a_trial_spoilt_by_the_agent_is_measured_once_more() -> None:
    given = text(more="allow: {little: 0.0000001%}").replace("sessions: 2", "sessions: 1")
    run, _, seen = run_it(given)
    attempts = [(t.record.case, t.record.attempt, t.record.used) for t in run.trials()]
    assert attempts == [
        ("system=left", 0, False),
        ("system=left", 1, True),
        ("system=right", 0, False),
        ("system=right", 1, True),
    ]
    notes = [note.text for note in seen.of(events.Note)]
    assert len(notes) == 2
    assert all("is measured again" in note for note in notes)


def test_a_file_the_engine_refuses_is_told_before_anything_starts(tmp_path: Path) -> None:
    mark = tmp_path / "starts"
    given = text().replace("--name right", f"--name right --mark {mark}")
    experiment, run = new_run(given)
    nobody = [
        case.model_copy(update={"load": case.load.model_copy(update={"clients": 0})})
        for case in cases(experiment)
    ]
    with pytest.raises(InputError, match=r"hello.yaml:7: load.clients: .*client is needed"):
        execute(experiment, nobody, run, emit=Seen(), stop=StopToken())
    assert not mark.exists()
    assert run.trials() == ()
