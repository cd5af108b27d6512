"""Kinds that other packages bring: the module that the documentation shows, on a real server."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

DOCUMENT = Path(__file__).parents[2] / "docs" / "SYSTEMS.md"
COMMAND = "from benchlab.cli.main import main; main()"
TWO = """
experiment: brought
systems:
  theirs: {kind: valkey, program: redis-server, settings: {maxmemory: 64mb}}
  other: {kind: broken}
workload: {name: records, data: {records: 1000}}
load: {clients: 2, duration: 3s, warmup: 0.2s}
allow: {steal: 50%}
sessions: 1
blocks: 1
promises: [valkey.total_commands_processed_per_transaction < 10, errors < 1%]
"""


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs the command where a package is installed that is made as the document says."""
    module, project = (
        re.search(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
        for language in ("python", "toml")
    )
    assert module is not None and project is not None
    told = tomllib.loads(project[1])["project"]
    ((group, points),) = told["entry-points"].items()
    (name,) = {point.partition(":")[0] for point in points.values()}
    (tmp_path / f"{name}.py").write_text(module[1])
    folder = tmp_path / f"{name}-{told['version']}.dist-info"
    folder.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    (folder / "METADATA").write_text(metadata)
    lines = [f"{kind} = {point}\n" for kind, point in points.items()]
    lines += [f"broken = {name}:NO_SUCH\n"]
    (folder / "entry_points.txt").write_text("".join([f"[{group}]\n", *lines]))
    (tmp_path / "x.yaml").write_text(TWO)
    path = os.pathsep.join((str(tmp_path), *sys.path))

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_kind_of_another_package_is_measured_like_any_other(
    command: Callable[..., tuple[int, str]], tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("redis-server")
    _, listed = command("systems", "--json")
    listing = json.loads(listed[: listed.rindex("]") + 1])
    (valkey,) = [found for found in listing if found["kind"] == "valkey"]
    assert valkey["what"] == "Valkey, one server"
    code, said = command("run", "x.yaml", "--only", "system=theirs", "--out", "run", "--quiet")
    assert code == 0, said
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (case,) = summary["cases"]
    assert case["state"] == "ok"
    checks = {check["name"]: check["verdict"] for check in case["checks"]}
    assert checks["answers"] == "valid"
    assert case["metrics"]["valkey.total_commands_processed_per_transaction"]["estimate"] > 0.3
    assert [promise["holds"] for promise in summary["promises"]] == [True, True]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "valkey-server" in json.dumps(record), "its version is in the recipe"


def test_one_that_cannot_be_loaded_is_refused_with_its_reason(
    command: Callable[..., tuple[int, str]],
) -> None:
    code, said = command("plan", "x.yaml", "--only", "system=other")
    assert code == 4
    what = "the kind `broken` of benchlab_valkey:NO_SUCH cannot be loaded: AttributeError"
    assert what in " ".join(said.split())
