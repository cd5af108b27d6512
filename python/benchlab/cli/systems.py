"""`benchlab systems`: which kinds of system there are, what they lack, and having it installed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchlab.cli.options import Json

if TYPE_CHECKING:
    from benchlab.systems.software import Software

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def systems(context: typer.Context, as_json: Json = False) -> None:
    """List the kinds of system, with what is installed of them and what is missing."""
    from benchlab.cli.answering import say
    from benchlab.systems import software

    if context.invoked_subcommand is not None:
        return
    found = software.everything()
    say(as_json, [one.as_dict() for one in found], map(line, found))


@app.command("install")
def install(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Kinds of system.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which packages, and the command.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Install the Debian packages that kinds of system need; needs root, or sudo."""
    from benchlab.cli.answering import say
    from benchlab.systems import software

    found = [software.look(name) for name in dict.fromkeys(names)]
    packages = list(dict.fromkeys(package for one in found for package in one.packages))
    command = software.command(packages) if packages else []
    document: dict[str, Any] = {"packages": packages, "command": command}
    if not dry_run:
        software.install(found)
        found = [software.look(one.kind) for one in found]
    lines = [" ".join(command)] if packages else []
    say(
        as_json,
        {**document, "systems": [one.as_dict() for one in found]},
        [*lines, *map(line, found)],
    )


def line(one: "Software") -> str:
    """A kind in a line."""
    if one.why is not None:
        return f"MISSING  {one.kind}: {one.what}: {one.why}"
    version = f" {one.version}" if one.version else ""
    return f"     ok  {one.kind}{version}: {one.what}"
