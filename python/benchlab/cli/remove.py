"""`benchlab remove`: takes runs out of the store."""

import json
from typing import Annotated

import typer

from benchlab import store
from benchlab.cli.options import Json


def remove(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Paths, ids or `last`.")],
    as_json: Json = False,
) -> None:
    """Remove runs and all that was measured in them."""
    found = {run.path: run for run in map(store.find, runs)}
    for run in found.values():
        store.remove(run)
    if as_json:
        print(json.dumps({"removed": [str(path) for path in found]}))
    else:
        for path in found:
            print(f"removed {path}")
