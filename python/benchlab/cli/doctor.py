"""`benchlab doctor`: is this machine fit to measure on, and what would help."""

import sys
from typing import Annotated, Any

import typer

from benchlab.cli.options import Json

MARKS = {"fit": "ok", "mind": "mind", "unfit": "UNFIT", "unknown": "?"}


def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not watch the machine for ten seconds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether this machine is fit to measure on, what is installed, and what would help."""
    from benchlab.cli.answering import say
    from benchlab.cli.systems import line
    from benchlab.host.doctor import LOOK_S, findings, look
    from benchlab.lab.needs import needs
    from benchlab.load import agent
    from benchlab.systems import software

    if not quick and sys.stderr.isatty():
        print(f"watching this machine for {LOOK_S:.0f} s …", file=sys.stderr)
    found = findings(None if quick else look())
    installed = software.everything()
    wanted = needs()
    document: dict[str, Any] = {
        "agent": str(agent.binary()),
        "findings": [finding.as_dict() for finding in found],
        "systems": [one.as_dict() for one in installed],
        "studies": [need.as_dict() for need in wanted],
    }
    lines = []
    for finding in found:
        lines.append(f"{MARKS[finding.verdict]:>7}  {finding.name}: {finding.figure}")
        if finding.costs:
            lines.append(f"         {finding.costs}")
        if finding.mend:
            lines.append(f"         mend: {finding.mend}")
    lines += ["", "systems", *map(line, installed), "", "studies"]
    for need in wanted:
        if need.missing is None:
            lines.append(f"     ok  {need.study}: {need.system} {need.version}".rstrip())
        else:
            lines.append(f"MISSING  {need.study}: {need.system}: {need.missing}")
    say(as_json, document, lines)
