"""`benchlab doctor`: is this machine fit to measure on, and what would help."""

from typing import Any

from benchlab.cli.options import Json

MARKS = {"fit": "ok", "mind": "mind", "unfit": "UNFIT", "unknown": "?"}


def doctor(as_json: Json = False) -> None:
    """Say whether this machine is fit to measure on, what is installed, and what would help."""
    from benchlab.cli.answering import say
    from benchlab.host.doctor import findings
    from benchlab.lab.needs import needs
    from benchlab.load import agent

    found = findings()
    wanted = needs()
    document: dict[str, Any] = {
        "agent": str(agent.binary()),
        "findings": [finding.as_dict() for finding in found],
        "studies": [need.as_dict() for need in wanted],
    }
    lines = []
    for finding in found:
        lines.append(f"{MARKS[finding.verdict]:>5}  {finding.name}: {finding.figure}")
        if finding.costs:
            lines.append(f"       {finding.costs}")
        if finding.mend:
            lines.append(f"       mend: {finding.mend}")
    lines.append("")
    for need in wanted:
        if need.missing is None:
            lines.append(f"   ok  {need.study}: {need.system} {need.version}".rstrip())
        else:
            lines.append(f"MISSING  {need.study}: {need.system}: {need.missing}")
    say(as_json, document, lines)
