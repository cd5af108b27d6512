"""Options that several subcommands share, declared once."""

from typing import Annotated

import typer

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
Full = Annotated[bool, typer.Option("--full", help="The axes of `full:` in the file.")]
