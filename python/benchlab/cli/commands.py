"""Puts the subcommands together and turns errors into one line and a code."""

import errno
import json
import os
import sys
from collections.abc import Sequence
from typing import cast

import typer

from benchlab import __version__
from benchlab.cli import (
    compare,
    doctor,
    first_minute,
    gate,
    history,
    listing,
    plan,
    query,
    remove,
    report,
    run,
    systems,
    verify,
)
from benchlab.model.errors import BenchlabError, Exit

UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])
"""What typer raises for a command line it cannot read; it exports none but the subclass."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Find out how fast a backend system really is, why, and how sure one may be.",
)
app.command("run")(run.run)
app.command("try")(first_minute.first_minute)
app.command("plan")(plan.plan)
app.command("report")(report.report)
app.command("verify")(verify.verify)
app.command("compare")(compare.compare)
app.command("gate")(gate.gate)
app.command("history")(history.history)
app.command("query")(query.query)
app.command("list")(listing.listing)
app.command("remove")(remove.remove)
app.command("doctor")(doctor.doctor)
app.add_typer(systems.app, name="systems")


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and end."),
) -> None:
    """Find out how fast a backend system really is, why, and how sure one may be."""
    if version:
        print(f"benchlab {__version__}")
        raise typer.Exit(Exit.DONE)
    if context.invoked_subcommand is None:
        print(context.get_help())


def complain(code: Exit, message: str, as_json: bool) -> Exit:
    """One line on standard error, or an object on standard output where JSON was asked for."""
    if as_json:
        print(json.dumps({"error": message, "exit": int(code)}))
    else:
        print(f"benchlab: {message}", file=sys.stderr)
    return code


def outcome(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    as_json = "--json" in arguments
    try:
        code = app(args=list(arguments), standalone_mode=False, prog_name="benchlab")
    except BenchlabError as error:
        return complain(error.exit, str(error), as_json)
    except UsageError as error:
        what = " ".join(str(error).split())
        return complain(Exit.BAD_INPUT, f"{what} (see benchlab --help)", as_json)
    except typer.Abort:
        return complain(Exit.INTERRUPTED, "interrupted", as_json)
    except BrokenPipeError:
        # The reader has gone, which is its right; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except OSError as error:
        hint = "; free some space, then resume" if error.errno == errno.ENOSPC else ""
        return complain(Exit.NOTHING_MEASURED, f"{error}{hint}", as_json)
    return int(code) if isinstance(code, int) else Exit.DONE
