"""Bad files: each is refused with one line that names file, line, key and the nearest choice.

The tables stand in text files, three lines a mistake: what the good file says, what it says
instead (`~`: nothing), and the message after the file's name.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import EXAMPLE, FARM, KNOWN, SEARCH, SHOP, read

from benchlab.model.errors import InputError
from benchlab.model.reading import read_experiment
from benchlab.model.tree import Node, from_plain, parse_yaml, put
from benchlab.model.writing import yaml_text

HERE = Path(__file__).parent


def table(name: str) -> list[tuple[str, str, str]]:
    text = (HERE / name).read_text()
    rows = []
    for block in text.strip("\n").split("\n\n"):
        parts = [
            line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
            for line in block.split("\n")
        ]
        right, wrong, message = parts
        rows.append((right, "" if wrong == "~" else wrong, message))
    return rows


ROWS = [(EXAMPLE, *row) for row in table("bad_examples.txt")]
ROWS += [(SHOP, *row) for row in table("bad_shops.txt")]
ROWS += [(FARM, *row) for row in table("bad_farms.txt")]
ROWS += [(SEARCH, *row) for row in table("bad_searches.txt")]


@pytest.mark.parametrize(("good", "right", "wrong", "message"), ROWS)
def test_one_mistake_one_line(good: str, right: str, wrong: str, message: str) -> None:
    assert right in good
    read(good)
    with pytest.raises(InputError) as error:
        read(good.replace(right, wrong, 1))
    assert str(error.value) == f"x.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.yaml: the file is empty; it needs experiment, systems and workload"),
        ("a", "x.yaml:1: is 'a', not a map"),
        ("- 1", "x.yaml:1: is a list, not a map"),
        ("experiment: x", "x.yaml:1: systems is missing"),
        ("experiment: x\nsystems: {}\nworkload: {}", "x.yaml:2: systems: is empty"),
        ("a: *b", "x.yaml:1: not YAML: found undefined alias 'b'"),
        ("a: &x [*x]", "x.yaml:1: a[0]: an alias holds itself"),
        ("a: 1\n---\nb: 2", "x.yaml:2: not YAML: a second document begins here; a file holds one"
         " experiment"),
        ("a:\n  <<: {b: 1}", "x.yaml:2: merge keys (<<) are not read; write the keys out"),
        ("[a]: 1", "x.yaml:1: a key is a word, not a list or map"),
        ("a: {port: ${port}}", "x.yaml:1: not YAML: quote a value with ${…} inside braces: {port:"
         " '${port}'}"),
    ],
)  # fmt: skip
def test_what_is_no_experiment_at_all(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("load.cleints", "3", "load.cleints: unknown key (did you mean clients?)"),
        ("sessoins", "3", "leads nowhere in the file (did you mean sessions?)"),
        ("load..x", "3", "not a path: 'load..x'; write parts with dots, such as load.clients"),
        ("load.duration", "[1", "not YAML: expected ',' or ']', but got '<stream end>'"),
        ("load.duration.x", "1", "load.duration.x: leads nowhere: load.duration is '5s'"),
        ("systems.sqltie.kind", "a", "there is no system 'sqltie' (did you mean sqlite?)"),
        ("load.duration", "3", "load.duration: '3' has no unit: a time is written like 10s, 1.5ms"
         " or 2m"),
        ("load.clients", "3", 'is a factor here: set factors."load.clients", or choose cases with'
         " --only"),
    ],
)  # fmt: skip
def test_what_the_command_line_sets(path: str, value: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(EXAMPLE, overrides={path: value})
    assert str(error.value) == f"--set {path}: {message}"


def test_too_few_sessions_on_the_command_line() -> None:
    with pytest.raises(InputError) as error:
        read(EXAMPLE, sessions=0)
    assert str(error.value) == "--sessions: sessions: is 0, and must be at least 1"


def test_too_many_cases() -> None:
    many = EXAMPLE.replace("[1, 8, 64]", str(list(range(1, 600))))
    with pytest.raises(InputError, match="make 4792 cases; at most 2000"):
        read(many)


JUNK = (
    *(None, 3, 0, -1.5, True, "x", "", "a.b", "${x}", "5s", "5%", "1" * 4000),
    *([], {}, [1], ["x", "x"], [None], [[1]], [{}], {"a": 1}, {"": 1}, {"a": None}),
    *({"key": "load.clients"}, {"key": "load.clients", "values": []}, {"get": "/"}, {"sql": 1}),
)


def paths(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, child in node.entries.items():
        yield from paths(child, (*path, name))
    for index, child in enumerate(node.items):
        yield from paths(child, (*path, str(index)))


@pytest.mark.parametrize("good", [EXAMPLE, SHOP], ids=["example", "shop"])
def test_junk_anywhere_is_read_or_refused_in_one_line(good: str) -> None:
    root = parse_yaml(good, "x.yaml")
    every = [(path, junk) for path in paths(root) for junk in JUNK]
    refused = 0
    for path, junk in random.Random(1).sample(every, 300):
        text = yaml_text(put(root, path, from_plain(junk)))
        try:
            read_experiment(text, file="x.yaml", known=KNOWN)
        except InputError as error:
            refused += 1
            assert str(error).startswith("x.yaml")
            assert "\n" not in str(error)
    assert refused > 200
