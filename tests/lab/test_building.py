"""Systems from git revisions: each commit checked out clean and built once, and told about."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from labs import HELLO, Seen, new_run
from test_ends import OtherLab, until

from benchlab.host.git import Repository
from benchlab.lab import building, events, preflight
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.errors import HostError, InputError
from benchlab.model.records import RunRecord
from benchlab.store import Run


@pytest.fixture(autouse=True)
def needs_git(program: Callable[[str], str]) -> None:
    """No test here goes without it."""
    program("git")


BUILD = 'sh -c "cp page.txt built.txt && echo ${source} >> ${here}/builds.txt"'
HELLO_HERE = f"{sys.executable} {HELLO} ${{port}}"
SERVE = f'sh -c "cat ${{source}}/built.txt >> ${{here}}/started.txt && exec {HELLO_HERE}"'


def text(revisions: str, *, git: str = ".", build: str = BUILD, start: str = SERVE) -> str:
    """One small service at several revisions."""
    return f"""
experiment: revisions
systems:
  api:
    kind: command
    source: {{git: "{git}"}}
    build: |
      {build}
    start: |
      {start}
    url: http://127.0.0.1:${{port}}/
workload: {{mix: {{page: {{get: /, expect: {{status: 200}}}}}}}}
load: {{clients: 2, duration: 0.2s, warmup: 0.1s}}
factors:
  revision:
    key: systems.api.source.revision
    values: [{revisions}]
sessions: 2
blocks: 1
"""


def git(folder: Path, *words: str) -> str:
    """Runs git as nobody in particular."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: a branch `faster`, and `main` with a tag `v1.10`; what hooks would do."""
    folder = tmp_path / "service"
    folder.mkdir()
    git(folder, "init", "-q", "--template=")
    (folder / "page.txt").write_text("first\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "tag", "-am", "1.10", "v1.10")
    git(folder, "checkout", "-qb", "faster")
    (folder / "page.txt").write_text("second\n")
    git(folder, "commit", "-qam", "second")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {folder}/hooked\n")
        (hooks / name).chmod(0o755)
    return folder


def begun(given: str, here: Path, run: Run | None = None) -> tuple[RunRecord, Seen, Run]:
    """An experiment run from a folder."""
    experiment, made = new_run(given)
    seen = Seen()
    found = run or made
    record = execute(experiment, cases(experiment), found, emit=seen, stop=StopToken(), here=here)
    return record, seen, found


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHLAB_STORE", f"{tmp_path}/store")


@pytest.mark.real
def test_each_commit_is_built_once_and_told(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (git(repository, "rev-parse", name) for name in ("main", "faster"))
    (repository / "page.txt").write_text("not committed\n")
    # As in a hook of git, whose variables lead to its own repository.
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    record, seen, run = begun(text("main, HEAD, faster"), repository)
    assert record.state == "complete"
    assert not (repository / "hooked").exists()
    builds = (repository / "builds.txt").read_text().split()
    assert len(builds) == len(set(builds)) == 2
    assert not any(Path(folder).exists() for folder in builds)
    started = (repository / "started.txt").read_text().split()
    assert sorted(started) == ["first"] * 2 + ["second"] * 4
    made = {one.revision: one.commit for one in run.record.sources}
    assert made == {"main": first, "HEAD": second, "faster": second}
    assert [one.revision for one in seen.of(events.Built)] == ["main", "HEAD"]
    # A shared machine may add why a trial was measured again.
    assert record.notes[:2] == (
        ".: 1 file is not committed as it stands, and not measured",
        f"api: HEAD and faster are the same commit ({second[:10]}): "
        "what differs between them is noise",
    )


@pytest.mark.real
def test_a_resumed_run_goes_on_with_its_commits(repository: Path) -> None:
    given = text("main")
    first = git(repository, "rev-parse", "main")
    _, _, run = begun(given, repository)
    run.update(run.record.model_copy(update={"state": "interrupted", "sessions_done": 1}))
    git(repository, "branch", "-f", "main", "faster")
    record, _, _ = begun(given, repository, run)
    assert [one.commit for one in record.sources] == [first]
    assert (repository / "started.txt").read_text().split() == ["first"] * 3


@pytest.mark.real
def test_a_build_that_fails_says_why_in_its_own_words(repository: Path) -> None:
    broken = 'sh -c "echo shop.c:7: a semicolon is missing; exit 3"'
    with pytest.raises(HostError) as failed:
        begun(text("faster", build=broken), repository)
    commit = git(repository, "rev-parse", "faster")[:10]
    assert str(failed.value).startswith(f"api: faster ({commit}) cannot be built: `sh -c ")
    assert str(failed.value).endswith("ended with status 3: shop.c:7: a semicolon is missing")
    assert not (repository / "started.txt").exists()


@pytest.mark.real
def test_killed_while_it_builds_nothing_is_left(repository: Path, tmp_path: Path) -> None:
    lab = OtherLab(tmp_path, text("main", git=str(repository), build="sleep 600"))
    lab.until_it_says("BuildStarted")
    until(lambda: any("sleep 600" in line for line in lab.left()))
    lab.kill()
    until(lambda: not lab.left() and not list(lab.temporary.iterdir()))


@pytest.mark.parametrize(
    ("revisions", "where", "message"),
    [
        ("main, fastr", ".", "hello.yaml:17: systems.api.source.revision: {here} has no revision "
         "'fastr'; it has faster, main, v1.10 (did you mean faster?)"),
        ("1.10", ".", "hello.yaml:17: systems.api.source.revision: {here} has no revision '1.10'; "
         "it has faster, main, v1.10 (did you mean v1.10?)"),
        ("main", "nowhere", "hello.yaml:6: systems.api.source.git: there is no folder "
         "{here}/nowhere"),
        ("main", "page.txt", "hello.yaml:6: systems.api.source.git: {here}/page.txt is no bundle "
         "of git: "),
        ("main", "..", "hello.yaml:6: systems.api.source.git: {above} is in no git repository: "
         "not a git repository"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told_with_its_place(
    repository: Path, revisions: str, where: str, message: str
) -> None:
    experiment, _ = new_run(text(revisions, git=where))
    with pytest.raises(InputError) as refused:
        preflight.check(experiment, cases(experiment), repository)
    wanted = message.format(here=repository, above=repository.parent)
    assert str(refused.value).startswith(wanted)


def test_a_bundle_serves_as_a_repository(repository: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "service.bundle"
    git(repository, "bundle", "create", "-q", str(bundle), "--all")
    found = Repository(bundle)
    commit = git(repository, "rev-parse", "main")
    assert {found.commit(name) for name in ("main", "refs/heads/main", commit)} == {commit}
    assert found.uncommitted() == 0
    with pytest.raises(InputError, match="did you mean faster"):
        found.commit("fster")
    experiment, _ = new_run(text("main", git=str(bundle)))
    (record,) = building.find(cases(experiment), Path()).records
    assert record.commit == commit
    subprocess.run(shlex.split(found.check_out(commit, tmp_path / "out")), check=True)
    assert (tmp_path / "out" / "page.txt").read_text() == "first\n"
