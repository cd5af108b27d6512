"""Options that several subcommands share, declared once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchlab.model.errors import InputError

if TYPE_CHECKING:
    from benchlab.lab.opening import Narrowing

Json = Annotated[bool, typer.Option("--json", help="Say it as JSON, for machines.")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A path, an id or its beginning, or `last`.")
]
Target = Annotated[
    str, typer.Argument(metavar="FILE|STUDY", help="An experiment file, or a study by name.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a key of the file."),
]
Sessions = Annotated[
    int | None, typer.Option("--sessions", metavar="N", help="Fresh starts of every system.")
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CASE", help="Just the cases with this name or level."),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="Fit into this time, e.g. 10m."),
]
Advisory = Annotated[
    bool, typer.Option("--advisory", help="A gate that says no warns, and ends with 0.")
]
JUnit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also the verdicts, as JUnit's XML.")
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Also the answer, as Markdown.")
]
Full = Annotated[bool, typer.Option("--full", help="The axes of `full:` in the file.")]


def narrowing(
    assignments: list[str] | None,
    sessions: int | None,
    only: list[str] | None,
    full: bool,
    budget: str | None,
) -> "Narrowing":
    """What the command line changes in the file; `InputError` where it is written wrongly."""
    from benchlab.lab.opening import Narrowing
    from benchlab.model import quantities

    found: dict[str, str] = {}
    for assignment in assignments or ():
        path, equals, value = assignment.partition("=")
        if not equals or not path:
            raise InputError(f"--set takes PATH=VALUE, e.g. --set load.duration=2s: {assignment}")
        found[path] = value
    budget_s = None if budget is None else quantities.parse(budget, "s")
    return Narrowing(found, sessions, tuple(only or ()), full, budget_s)
