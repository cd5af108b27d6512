"""`benchlab verify`: derives every printed number again from the raw data."""

import json

import typer

from benchlab import store
from benchlab.cli.options import Json, RunName
from benchlab.model.errors import Exit


def verify(run: RunName, as_json: Json = False) -> None:
    """Derive every printed number again from the raw data; exit 1 if one differs."""
    from benchlab.judge.run import judge_run
    from benchlab.lab.opening import reopen
    from benchlab.report.verification import differences

    found = store.find(run)
    opened = reopen(found)
    judgement = judge_run(opened.experiment, opened.cases, found)
    compared, differing = differences(found, judgement)
    if as_json:
        rows = [difference.as_json() for difference in differing]
        print(json.dumps({"run": str(found.path), "compared": compared, "differing": rows}))
    else:
        for difference in differing:
            print(difference)
        print(f"{compared} figures compared, {len(differing)} differ: {found.path}")
    raise typer.Exit(Exit.BROKEN_PROMISE if differing else Exit.DONE)
