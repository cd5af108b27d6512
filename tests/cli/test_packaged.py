"""The studies from where a wheel puts them: inside the package, which may not be written to."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.model.errors import Exit

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "from benchlab.cli.main import main; main()"


@pytest.fixture
def benchlab(tmp_path: Path) -> Callable[..., str]:
    """The command of a package as a wheel lays it out, in an empty folder; what it prints."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    package = site / "benchlab"
    # Links spare copying the engine; a module is where the link to it is.
    cached = shutil.ignore_patterns("__pycache__", "studies")
    shutil.copytree(ROOT / "python/benchlab", package, ignore=cached, copy_function=os.symlink)
    shutil.copytree(ROOT / "studies", package / "studies")
    for folder, _, _ in os.walk(site):
        Path(folder).chmod(0o555)
    empty.mkdir()
    keep = {name: value for name, value in os.environ.items() if name != "BENCHLAB_STORE"}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-B", "-c", COMMAND, *arguments]
        environment = keep | {"PYTHONPATH": str(site)}
        ran = subprocess.run(
            command, cwd=empty, env=environment, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode in (Exit.DONE, Exit.CANNOT_TELL), ran.stdout + ran.stderr
        return ran.stdout

    return run


def test_each_study_is_listed_and_planned(benchlab: Callable[..., str]) -> None:
    named = [line.split()[0] for line in benchlab("list", "studies").splitlines()]
    assert named == sorted(path.parent.name for path in ROOT.glob("studies/*/experiment.yaml"))
    assert "main of shop.bundle is " in benchlab("plan", "feature-cost")


@pytest.mark.real
def test_the_bundle_s_commits_are_built_and_measured(
    benchlab: Callable[..., str], program: Callable[[str], str], tmp_path: Path
) -> None:
    for need in ("git", "make", "gcc"):
        program(need)
    short = ("load.duration=200ms", "load.warmup=50ms", "sessions=3", "blocks=1", "compare=null")
    options = [word for each in short for word in ("--set", each)]
    benchlab("run", "feature-cost", "--quiet", *options)
    (written,) = (tmp_path / "empty" / "benchlab-runs").glob("*/summary.json")
    cases = json.loads(written.read_text())["cases"]
    assert {case["name"]: case["state"] for case in cases} == {
        f"revision={each}": "ok" for each in ("main", "journal", "related")
    }
