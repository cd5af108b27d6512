"""`benchlab doctor`: is this machine fit to measure on, and what would help."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchlab.cli.options import Json
from benchlab.model.errors import Exit

if TYPE_CHECKING:
    from benchlab.model.records import Calibration

SHOWN_SESSIONS = (8, 20, 40)
MARKS = {"fit": "ok", "mind": "mind", "unfit": "UNFIT", "unknown": "?"}


def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not watch the machine for ten seconds.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Measure how much equal systems differ here: about three minutes."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether this machine is fit to measure on, what is installed, and what would help."""
    if calibrate:
        _calibrate(as_json)
        return
    from benchlab.cli.answering import say
    from benchlab.cli.systems import line
    from benchlab.host import fingerprint
    from benchlab.host.doctor import LOOK_S, findings, look
    from benchlab.lab.needs import needs
    from benchlab.load import agent
    from benchlab.store import machines
    from benchlab.systems import software

    if not quick and sys.stderr.isatty():
        print(f"watching this machine for {LOOK_S:.0f} s …", file=sys.stderr)
    found = findings(None if quick else look())
    installed = software.everything()
    wanted = needs()
    known = machines.calibration(fingerprint.take()["fingerprint"])
    document: dict[str, Any] = {
        "agent": str(agent.binary()),
        "findings": [finding.as_dict() for finding in found],
        "systems": [one.as_dict() for one in installed],
        "studies": [need.as_dict() for need in wanted],
        "calibration": None if known is None else known.model_dump(),
    }
    lines = []
    for finding in found:
        lines.append(f"{MARKS[finding.verdict]:>7}  {finding.name}: {finding.figure}")
        if finding.costs:
            lines.append(f"         {finding.costs}")
        if finding.mend:
            lines.append(f"         mend: {finding.mend}")
    lines += ["", "this machine's own noise", *_noise(known)]
    lines += ["", "systems", *map(line, installed), "", "studies"]
    for need in wanted:
        if need.missing is None:
            lines.append(f"     ok  {need.study}: {need.system} {need.version}".rstrip())
        else:
            lines.append(f"MISSING  {need.study}: {need.system}: {need.missing}")
    say(as_json, document, lines)


def _calibrate(as_json: bool) -> None:
    from benchlab.cli.answering import say
    from benchlab.cli.running import measure
    from benchlab.judge.calibration import calibrated
    from benchlab.judge.run import judge_run
    from benchlab.lab.calibration import experiment
    from benchlab.store import machines

    opened = experiment()
    run = measure(opened, quiet=as_json, yes=True)
    if run.record.state != "complete":
        print("benchlab: an interrupted calibration is not kept; begin anew", file=sys.stderr)
        raise typer.Exit(Exit.INTERRUPTED)
    judgement = judge_run(opened.experiment, opened.cases, run)
    run.write_summary(judgement.summary)
    machines.keep(calibrated(judgement.summary, run.record, run))
    known = machines.calibration(run.record.host["fingerprint"])
    assert known is not None
    say(as_json, known.model_dump(), [*_noise(known), f"its trials: benchlab report {known.run}"])


def _noise(known: "Calibration | None") -> list[str]:
    """What a machine's noise lets one find, in lines."""
    from benchlab.judge.answer import label
    from benchlab.judge.calibration import false_alarms, showable
    from benchlab.model.quantities import format as readable
    from benchlab.model.quantities import significant

    if known is None:
        return ["      ?  not calibrated", "         mend: benchlab doctor --calibrate"]
    low, high = (100 * end for end in false_alarms(known))
    lines = [
        f"     ok  calibrated on {known.created_utc[:10]}, {known.sessions} sessions of two equal "
        f"servers; called different {known.called_different} of {known.comparisons} times "
        f"[{low:.0f} ... {high:.0f} %]"
    ]
    for metric, sd in known.spread.items():
        finds = [
            f"{significant(100 * effect)} % in {sessions} sessions "
            f"({readable(sessions * known.session_s, 's')})"
            for sessions in SHOWN_SESSIONS
            if (effect := showable(known, metric, sessions)) is not None
        ]
        said = f"scatters by {significant(100 * sd)} % a session and shows {', '.join(finds)}"
        lines.append(f"         {label(metric)} {said}")
    return lines
