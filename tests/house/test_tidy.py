"""Tidiness as a test that only tightens: sizes, names and words.

The lists of exceptions below may shrink; a new entry needs a reason beside it.
"""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINE = 100
FUNCTION = 70
FILE = 800
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|todo!|unimplemented!)")

LONG_FUNCTIONS: dict[str, int] = {}
"""`file::function` to the lines it has today; a function may not grow past what stands here."""


def tracked(*endings: str) -> list[Path]:
    """Files under version control with one of the endings, and those about to be."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / line for line in listing.splitlines())
    return [path for path in paths if path.suffix in endings and path.is_file()]


def python_functions(path: Path) -> dict[str, int]:
    """Lines of each function of a Python file."""
    return {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def rust_functions(path: Path) -> dict[str, int]:
    """Lines of each function of a formatted Rust file: from `fn` to the brace at its indent."""
    found: dict[str, int] = {}
    opened: tuple[str, str, int] | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        start = re.match(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?fn (\w+)", line)
        if opened is None and start and not line.rstrip().endswith((";", "}")):
            opened = (start[1], start[2], number)
        elif opened and line == f"{opened[0]}}}":
            found[opened[1]] = number - opened[2] + 1
            opened = None
    return found


def test_lines_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked(".py", ".rs")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LINE
    ]
    assert not long


def test_functions_are_short() -> None:
    found = {}
    for path in tracked(".py", ".rs"):
        functions = python_functions(path) if path.suffix == ".py" else rust_functions(path)
        for name, lines in functions.items():
            key = f"{path.relative_to(ROOT)}::{name}"
            if lines > LONG_FUNCTIONS.get(key, FUNCTION):
                found[key] = lines
    assert not found
    assert all(lines > FUNCTION for lines in LONG_FUNCTIONS.values()), "an exception is not needed"


def test_files_have_one_subject() -> None:
    sizes = {path: len(path.read_text().splitlines()) for path in tracked(".py", ".rs")}
    assert not [str(path.relative_to(ROOT)) for path, lines in sizes.items() if lines > FILE]


def test_names_say_something() -> None:
    paths = tracked(".py", ".rs")
    assert len(paths) > 20
    parts = {
        (part, path) for path in paths for part in path.relative_to(ROOT).with_suffix("").parts
    }
    assert not [str(path) for part, path in parts if part.lower() in VAGUE]


def test_no_two_test_files_have_one_name() -> None:
    # Each folder of tests is on the path of imports, and a module is known by its name alone.
    tests = [path for path in tracked(".py") if path.is_relative_to(ROOT / "tests")]
    names = [path.name for path in tests if path.name != "conftest.py"]
    assert not {name for name in names if names.count(name) > 1}


def test_nothing_is_left_open() -> None:
    here = Path(__file__)
    assert not [
        str(path.relative_to(ROOT))
        for path in tracked(".py", ".rs")
        if path != here and UNFINISHED.search(path.read_text())
    ]


def test_locks_carry_no_addresses() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text, lock.name
