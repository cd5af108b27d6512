"""The walls between the rooms: who may depend on whom, and that the map lists just what is built.

The Python floors are kept by import-linter (`.importlinter`); what it cannot see is kept here.
"""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python" / "benchlab"

MAY_USE = {
    "base": set(),
    "wire": {"base"},
    "tally": {"base"},
    "engine": {"base", "wire", "tally"},
    "pyext": {"base", "tally", "engine"},
    "codecs": {"wire"},
}
MAY_NAME_PYO3 = {"pyext"}
MAY_IMPORT_CORE = {"load", "store", "stats"}


def cargo_packages() -> dict[str, set[str]]:
    """Direct dependencies of each crate of the workspace, dev-dependencies left out."""
    listing = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {
        package["name"]: {
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency["kind"] != "dev"
        }
        for package in json.loads(listing)["packages"]
    }


def imported_modules(path: Path) -> set[str]:
    """Modules a Python file imports, dotted."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_crates_depend_only_downwards() -> None:
    packages = cargo_packages()
    assert set(packages) == set(MAY_USE)
    for name, dependencies in packages.items():
        assert dependencies & set(MAY_USE) <= MAY_USE[name], name


def test_only_pyext_names_pyo3() -> None:
    assert {name for name, uses in cargo_packages().items() if "pyo3" in uses} == MAY_NAME_PYO3
    binding = ROOT / "crates" / "pyext" / "src"
    assert sum(len(path.read_text().splitlines()) for path in binding.rglob("*.rs")) < 400


def test_only_load_store_and_stats_touch_the_engine() -> None:
    users = {
        path.relative_to(PYTHON).parts[0]
        for path in PYTHON.rglob("*.py")
        if any(name.startswith("benchlab._core") for name in imported_modules(path))
    }
    assert users <= MAY_IMPORT_CORE
    assert users, "nothing imports the engine: this wall guards nothing"


def test_the_map_lists_just_the_rooms_that_are_built() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    layout = text.split("## Layout", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^  (\w+)/", layout, flags=re.MULTILINE)
    crates = {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}
    rooms = {path.parent.name for path in PYTHON.glob("*/__init__.py")}
    assert sorted(listed) == sorted(crates | rooms)


@pytest.mark.parametrize("room", sorted(p.parent.name for p in PYTHON.glob("*/__init__.py")))
def test_each_room_says_what_it_is(room: str) -> None:
    doc = ast.get_docstring(ast.parse((PYTHON / room / "__init__.py").read_text()))
    assert doc and len(doc.split()) >= 8
