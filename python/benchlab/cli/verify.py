"""`benchlab verify`: derives every printed number again from the raw data."""

import json
from typing import Annotated

import typer

from benchlab import store
from benchlab.model.errors import Exit
from benchlab.report.verification import differences


def verify(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A path, an id or `last`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Say it as JSON.")] = False,
) -> None:
    """Derive every printed number again from the raw data; exit 1 if one differs."""
    found = store.find(run)
    compared, differing = differences(found)
    if as_json:
        rows = [difference.as_json() for difference in differing]
        print(json.dumps({"run": str(found.path), "compared": compared, "differing": rows}))
    else:
        for difference in differing:
            print(difference)
        print(f"{compared} figures compared, {len(differing)} differ: {found.path}")
    raise typer.Exit(Exit.BROKEN_PROMISE if differing else Exit.DONE)
