"""`benchlab list`: what there is to name."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from benchlab.cli.options import Json


class What(StrEnum):
    """What can be listed."""

    studies = "studies"
    systems = "systems"
    workloads = "workloads"
    drivers = "drivers"
    runs = "runs"


def rows_of(what: What) -> list[dict[str, str]]:
    """What is listed, a row each; the first entry of a row is its name."""
    from benchlab import store
    from benchlab.lab.studies import questions
    from benchlab.load.workloads import BUILT_IN
    from benchlab.model.schemes import SCHEMES
    from benchlab.systems import software

    match what:
        case What.studies:
            return [{"study": name, "question": asked} for name, asked in questions().items()]
        case What.systems:
            rows = [
                {"system": one.kind, "what": one.what, "here": one.why or one.version}
                for one in software.everything()
            ]
            running = "a system that is already running, by its URL"
            return [*rows, {"system": "at:", "what": running, "here": ""}]
        case What.workloads:
            return [
                {"workload": name, "asks": ", ".join(f"{scheme}:" for scheme in built_in.schemes)}
                for name, built_in in BUILT_IN.items()
            ]
        case What.drivers:
            return [{"driver": scheme, "url": f"{scheme}:…"} for scheme in SCHEMES]
        case What.runs:
            return [
                {
                    "run": run.id,
                    "experiment": run.record.experiment,
                    "created": run.record.created_utc,
                    "state": run.record.state,
                    "path": str(run.path),
                }
                for run in store.runs()
            ]


def listing(
    what: Annotated[What, typer.Argument(help="What to list.")] = What.runs,
    as_json: Json = False,
) -> None:
    """List studies, systems, workloads, drivers or runs."""
    rows = rows_of(what)
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        print(f"no {what} yet")
    for row in rows:
        print("  ".join(row.values()))
