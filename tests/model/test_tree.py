"""Paths into a file, and setting what stands at one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.model.errors import InputError
from benchlab.model.tree import flatten, format_path, from_plain, get, parse_path, put

PATHS = st.lists(st.text(min_size=1), min_size=1, max_size=5).map(tuple)


@given(PATHS)
def test_a_path_reads_back(path: tuple[str, ...]) -> None:
    assert parse_path(format_path(path)) == path


def test_quoted_parts_keep_their_dots() -> None:
    text = 'systems.db.settings."auto_explain.log_min_duration"'
    assert parse_path(text) == ("systems", "db", "settings", "auto_explain.log_min_duration")
    assert format_path(parse_path(text)) == text


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", '"a', 'a"b"', '"a"b', "a.b."])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(InputError, match="not a path"):
        parse_path(text)


TREES = st.recursive(
    st.integers(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1),
    max_leaves=10,
).filter(lambda tree: isinstance(tree, dict))


@given(TREES, st.lists(st.sampled_from("xyz"), min_size=1, max_size=4).map(tuple))
def test_what_is_put_is_there_and_the_rest_is_as_before(
    tree: dict[str, object], path: tuple[str, ...]
) -> None:
    root = from_plain(tree)
    after = put(root, path, from_plain(7))
    assert get(after, path) == from_plain(7)
    assert {p: n for p, n in flatten(after, ()).items() if p != path} == flatten(root, ())
    assert put(after, path, from_plain(None)).entries.keys() == after.entries.keys() - (
        {path[0]} if len(path) == 1 else set()
    )


@given(TREES)
def test_putting_each_leaf_back_changes_nothing(tree: dict[str, object]) -> None:
    root = from_plain(tree)
    for path, leaf in flatten(root, ()).items():
        assert put(root, path, leaf) == root


def test_a_place_in_a_list() -> None:
    root = from_plain({"shape": [{"hold": "1s"}, {"hold": "2s"}]})
    after = put(root, ("shape", "1", "hold"), from_plain("9s"))
    assert after.plain() == {"shape": [{"hold": "1s"}, {"hold": "9s"}]}
    with pytest.raises(InputError, match=r"shape\.2: a list's places are 0 to 1"):
        put(root, ("shape", "2"), from_plain("9s"))


def test_a_scalar_leads_nowhere() -> None:
    with pytest.raises(InputError, match=r"a\.b: leads nowhere: a is '1'"):
        put(from_plain({"a": 1}), ("a", "b"), from_plain(2))
