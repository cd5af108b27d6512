"""`benchlab remove`: takes runs out of the store."""

import json
from typing import Annotated

import typer

from benchlab import store


def remove(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Paths, ids or `last`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Say it as JSON.")] = False,
) -> None:
    """Remove runs and all that was measured in them."""
    found = [store.find(name) for name in runs]
    for run in found:
        store.remove(run)
    if as_json:
        print(json.dumps({"removed": [str(run.path) for run in found]}))
    else:
        for run in found:
            print(f"removed {run.path}")
