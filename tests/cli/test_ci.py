"""The job file of docs/ci, its commands run as a CI server would, on two commits."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

CI = Path(__file__).resolve().parents[2] / "docs" / "ci"
PYTHON = Path(__file__).resolve().parents[2] / "python"
SERVER = """#!{python}
import sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def do_GET(self):
        time.sleep(WAIT)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
QUICK = (
    "--sessions 6 --set blocks=1 --set load.duration=300ms --set load.warmup=100ms "
    "--set load.clients=1 --set allow.steal=100% --quiet"
)


def steps(job: str) -> list[str]:
    """The commands of a job that are not its installation."""
    jobs = YAML(typ="safe").load((CI / "benchmark.yml").read_text())["jobs"]
    runs = [step["run"] for step in jobs[job]["steps"] if "run" in step]
    return [run for run in runs if not run.startswith("pip ")]


@pytest.fixture
def repository(tmp_path: Path, program: Callable[[str], str]) -> Path:
    """A branch whose server takes 10 ms longer than main's."""
    git, folder = program("git"), tmp_path / "repository"
    program("make")
    (folder / "benchmark").mkdir(parents=True)
    (folder / "benchmark" / "gate.yaml").write_text((CI / "gate.yaml").read_text())
    (folder / "Makefile").write_text("server: server.py\n\tinstall -m 755 server.py server\n")

    def run(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run([git, *identity, *words], cwd=folder, check=True, capture_output=True)

    run("init", "--initial-branch=branch")
    for wait in ("0.001", "0.011"):
        text = SERVER.replace("{python}", sys.executable).replace("WAIT", wait)
        (folder / "server.py").write_text(text)
        run("add", "--all")
        run("commit", "--message", f"waits {wait} s")
        if wait == "0.001":
            run("update-ref", "refs/remotes/origin/main", "HEAD")
    return folder


@pytest.fixture
def sh(tmp_path: Path, repository: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a step in the repository, with a `benchlab` whose runs are short."""
    command = tmp_path / "bin" / "benchlab"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\n[ "$1" = run ] && set -- "$@" {QUICK}\n'
        f"exec {sys.executable} -c 'from benchlab.cli.main import main; main()' \"$@\"\n"
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(PYTHON),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    environment.pop("BENCHLAB_STORE", None)

    def run(step: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    return run


def test_the_job_stops_a_branch_that_is_slower(
    repository: Path, tmp_path: Path, sh: Callable[[str], subprocess.CompletedProcess[str]]
) -> None:
    doctor, gate = steps("branch")
    assert sh(doctor).returncode == 0
    ended = sh(gate)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    suite = ElementTree.parse(repository / "gate.xml").getroot()[0]
    (failure,) = suite.iter("failure")
    assert str(failure.get("message")).startswith("worse")
    assert "HEAD against origin/main" in (tmp_path / "summary.md").read_text()
    assert (repository / "gate" / "report.html").exists()


def test_the_job_keeps_a_history(
    repository: Path, tmp_path: Path, sh: Callable[[str], subprocess.CompletedProcess[str]]
) -> None:
    for step in steps("history"):
        ended = sh(step)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "the history cannot tell yet" in (tmp_path / "summary.md").read_text()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert head.stdout[:10] in (repository / "history.svg").read_text()
