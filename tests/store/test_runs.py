"""Run folders: made, found, locked, removed; and disks that are full."""

import subprocess
import sys
from pathlib import Path

import polars
import pytest

from benchlab import store
from benchlab.model.errors import HostError, InputError
from benchlab.model.evidence import Summary
from benchlab.model.records import PROBE_COLUMNS, RunRecord, TrialRecord
from benchlab.store import files


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCHLAB_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def record(name: str = "rest", id_: str = "ab12cd34", minute: int = 0) -> RunRecord:
    return RunRecord(
        id=id_,
        experiment=name,
        state="running",
        created_utc=f"2026-11-21T01:{minute:02}:00Z",
        command=("benchlab", "run"),
        seed=1,
        sessions=3,
        blocks=2,
    )


def trial(session: int, block: int, case: str, attempt: int = 0) -> TrialRecord:
    return TrialRecord(
        session=session,
        block=block,
        case=case,
        attempt=attempt,
        state="ok",
        started_utc="2026-11-21T01:00:00Z",
    )


def test_a_run_is_a_folder_that_says_what_it_is(own_store: Path) -> None:
    run = store.create("experiment: rest\n", record())
    assert run.path == own_store / "rest-20261121T010000-ab12cd34"
    assert (own_store / ".gitignore").read_text() == "*\n"
    assert run.experiment_text() == "experiment: rest\n"
    with run.acquire():
        assert run.record == record()
    done = record().model_copy(update={"state": "complete"})
    run.update(done)
    assert run.record == done
    assert not list(run.path.glob("*.new"))


def test_a_run_whose_lab_is_gone_was_interrupted() -> None:
    run = store.create("", record())
    with run.acquire():
        assert run.record.state == "running"
    assert run.record.state == "interrupted"


def test_a_run_is_found_by_path_name_id_beginning_and_last() -> None:
    first = store.create("", record("rest", "ab12cd34", 1))
    second = store.create("", record("rest", "ab98cd34", 2))
    third = store.create("", record("buddies", "ffff0000", 0))
    assert store.find(str(first.path)).path == first.path
    assert store.find(first.path.name).path == first.path
    assert store.find("ab98cd34").path == second.path
    assert store.find("ab9").path == second.path
    assert store.find("budd").path == third.path
    assert store.find("last").path == second.path
    assert [run.path for run in store.runs()] == [third.path, first.path, second.path]
    with pytest.raises(InputError, match=r"several runs: rest-.*, rest-"):
        store.find("rest")
    with pytest.raises(InputError, match="did you mean ab12cd34"):
        store.find("ab12dd34")


def test_an_empty_store_says_so() -> None:
    with pytest.raises(InputError, match=r"no run in .*store yet"):
        store.find("last")


def test_a_record_that_cannot_be_read_is_named_not_listed() -> None:
    run = store.create("", record())
    (run.path / "run.json").write_text('{"id": "x"}')
    assert store.runs() == []
    with pytest.raises(InputError, match=r"run\.json: experiment: Field required"):
        store.find(str(run.path))


def test_out_is_the_folder_itself_and_must_be_empty(tmp_path: Path) -> None:
    run = store.create("", record(), out=tmp_path / "here")
    assert run.path == tmp_path / "here"
    with pytest.raises(InputError, match="not an empty folder"):
        store.create("", record(), out=tmp_path / "here")


def test_trials_keep_their_order_and_their_files() -> None:
    run = store.create("", record())
    cases = ["fetch=each,clients=8", "path=/a b", "x" * 300]
    for session in (10, 2):
        for case in cases:
            run.new_trial(trial(session, 0, case))
    found = run.trials()
    assert [item.record.session for item in found] == [2, 2, 2, 10, 10, 10]
    assert {item.record.case for item in found} == set(cases)
    assert all(len(item.path.name) < 150 for item in found)
    one = found[0]
    one.update(one.record.model_copy(update={"used": False}))
    assert not one.record.used
    frame = polars.DataFrame(
        [(1, 2, "system", "", "cpu_user_s", "counter", "s", 0.5)],
        schema=PROBE_COLUMNS,
        orient="row",
    )
    assert one.probes().schema == frame.schema
    one.write_probes(frame)
    assert one.probes().equals(frame)
    one.write_log_tail("last words")
    assert one.log_tail() == "last words"
    assert found[1].log_tail() == ""


def test_an_attempt_is_never_written_over_but_an_empty_folder_is_taken() -> None:
    run = store.create("", record())
    made = run.new_trial(trial(0, 0, "a"))
    with pytest.raises(InputError, match="made already"):
        run.new_trial(trial(0, 0, "a"))
    (made.path / "trial.json").unlink()
    assert run.new_trial(trial(0, 0, "a")).path == made.path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fetch=each,clients=8", "fetch=each,clients=8"),
        ("a/b c", "a~2fb~20c"),
        ("..", "~2e."),
        ("é", "~c3~a9"),
    ],
)
def test_names_become_file_names(text: str, name: str) -> None:
    assert files.path_name(text) == name


def test_long_names_that_begin_alike_stay_apart() -> None:
    first, second = (files.path_name("x" * 200 + end) for end in "ab")
    assert first != second
    assert len(first) == files.NAME_BYTES


def test_a_running_run_is_not_removed() -> None:
    run = store.create("", record())
    with run.acquire():
        with pytest.raises(InputError, match="worked on by another"):
            store.remove(run)
        assert run.path.exists()
    store.remove(run)
    assert not run.path.exists()


def test_the_answer_is_kept() -> None:
    run = store.create("", record())
    assert run.summary() is None
    answer = Summary(
        experiment="rest", question="?", state="complete", sessions=3, answer="Yes.", cases=()
    )
    run.write_summary(answer)
    assert run.summary() == answer


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    files.replace(path, "finished")
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from benchlab.store import files\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    files.replace(Path(sys.argv[1]), 'x' * 100_000)\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{HostError.__name__} no room to write {path}")
    assert done.stdout.count("\n") == 1
    assert path.read_text() == "finished"
    assert list(tmp_path.iterdir()) == [path]
