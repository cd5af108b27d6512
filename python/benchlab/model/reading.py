"""Reads the experiment file: a text in, a checked experiment out, or one line that says why not.

The parts are elsewhere: `tree` keeps places, `sections` knows the keys, `design` what varies. Here
they are put together, with what the command line changes. Absent: any file; text is handed in.
"""

from collections.abc import Mapping
from typing import Any

from benchlab.model import expressions, secrets
from benchlab.model.design import (
    nearest_path,
    parse_at,
    read_cases,
    read_compare,
    read_design,
    read_skip,
    read_systems,
)
from benchlab.model.errors import InputError
from benchlab.model.experiment import Experiment
from benchlab.model.sections import (
    BLOCKS,
    SESSIONS_COMPARED,
    SESSIONS_EXPLORED,
    TOP,
    Known,
    check_sections,
)
from benchlab.model.tree import (
    Node,
    Path,
    Place,
    fail,
    format_path,
    from_plain,
    join,
    nearest,
    parse_scalar,
    parse_yaml,
    put,
)

_DEFAULT = Known()


def read_experiment(
    text: str,
    *,
    file: str,
    overrides: Mapping[str, str] | None = None,
    sessions: int | None = None,
    full: bool = False,
    known: Known = _DEFAULT,
) -> Experiment:
    """Read an experiment file.

    Args:
        text: The file's content.
        file: Its name, for messages.
        overrides: `--set`: paths into the file and values, as written.
        sessions: `--sessions`, in place of the file's.
        full: Whether the axes of `full:` take the place of the file's.
        known: The kinds of system, workloads and drivers there are.

    Raises:
        InputError: naming file, line, key and the nearest valid choice.
    """
    root = parse_yaml(text, file)
    return _read(root, overrides or {}, sessions, full, known)


def read_mapping(
    data: Mapping[str, Any], *, file: str = "the experiment", known: Known = _DEFAULT
) -> Experiment:
    """Read an experiment that was put together rather than written in a file.

    Raises:
        InputError: as for a file, without lines.
    """
    return _read(from_plain(data, Place(file)), {}, None, False, known)


def _read(
    root: Node, overrides: Mapping[str, str], sessions: int | None, full: bool, known: Known
) -> Experiment:
    TOP.read(root, "")
    for path, value in overrides.items():
        root = _override(root, path, value)
    if sessions is not None:
        place = Place("--sessions")
        root = put(root, ("sessions",), Node(sessions, str(sessions), place))
    secrets.refuse(root)
    experiment = _build(root, known)
    fuller = _with_full_axes(root)
    if fuller == root:
        return experiment
    # A mistake in the axes of --full is found before somebody waits for them.
    try:
        whole = _build(fuller, known)
    except InputError as error:
        raise InputError(
            f"with --full: {error.what}",
            file=error.file,
            line=error.line,
            key=error.key,
            nearest=error.nearest,
        ) from None
    return whole if full else experiment


def _build(root: Node, known: Known) -> Experiment:
    fields = TOP.read(root, "")
    check_sections(root, known)
    design = read_design(root)
    skip = read_skip(design)
    cases = read_cases(design, fields["experiment"], skip, known)
    compare = read_compare(design, cases, known)
    sessions: dict[str, Any] = fields.get(
        "sessions", {"sessions": SESSIONS_COMPARED if compare else SESSIONS_EXPLORED}
    )
    if "precision" in sessions and compare is None:
        at, key = root.entries["sessions"], "sessions.precision"
        fail(at, key, "is of what is compared, and nothing is: it needs compare")
    thresholds: dict[str, Any] = {
        section: tuple(
            expressions.read(node, f"{section}[{index}]", known.counters)
            for index, node in enumerate(fields.get(section, ()))
        )
        for section in ("promises", "abort_when")
    }
    return Experiment(
        experiment=fields["experiment"],
        question=fields.get("question", ""),
        systems=read_systems(root, known),
        workload=cases[0].workload,
        load=cases[0].load,
        factors=design.typed(),
        skip=skip,
        compare=compare,
        **sessions,
        blocks=fields.get("blocks", BLOCKS),
        order=fields.get("order", "resident"),
        seed=fields.get("seed", 1),
        full={axis: node.plain() for axis, node in fields.get("full", {}).items()},
        allow=fields.get("allow", {}),
        source=root,
        design=cases,
        **thresholds,
    )


def _override(root: Node, text: str, value: str) -> Node:
    option = Place(f"--set {text}")
    at = from_plain("", option)
    path = parse_at(at, "", text)
    _refuse_unknown(root, path, at)
    written = root.entries.get("factors", from_plain({})).entries
    if text in written or any(_is_key_of(node, path) for node in written.values()):
        what = f"is a factor here: set factors.{join('', text)}, or choose cases with --only"
        raise InputError(what, file=option.file)
    return put(root, path, parse_scalar(value, option))


def _is_key_of(node: Node, path: Path) -> bool:
    key = node.entries.get("key")
    return key is not None and key.text == format_path(path)


def _refuse_unknown(root: Node, path: Path, at: Node) -> None:
    if path[0] not in TOP.forms:
        near = nearest(path[0], TOP.forms) if len(path) == 1 else None
        fail(at, "", "leads nowhere in the file", near or nearest_path(root, path))
    systems = root.entries["systems"].entries
    if path[0] == "systems" and len(path) > 1 and path[1] not in systems:
        fail(at, "", f"there is no system {path[1]!r}", nearest(path[1], systems))


def _with_full_axes(root: Node) -> Node:
    """The file with the axes of `full:` in place of its own; a single value sets a key."""
    section = root.entries.get("full")
    if section is None:
        return root
    for name, node in section.entries.items():
        key = join("full", name)
        if not node.is_scalar:
            root = put(root, ("factors", name), node)
            continue
        path = parse_at(node, key, name)
        if path[0] not in TOP.forms:
            fail(node, key, "leads nowhere in the file", nearest_path(root, path))
        root = put(root, path, node)
    return root
