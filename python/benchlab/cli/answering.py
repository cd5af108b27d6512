"""The end of every run and report: judge it, keep the answer, show it, pick the exit code."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import typer
from rich.console import Console

from benchlab.cli.gating import NO_GATE, Gate
from benchlab.model.errors import ORDER, Exit
from benchlab.model.evidence import Summary
from benchlab.store import Run

PAGE = "report.html"


def answer(
    run: Run,
    *,
    as_json: bool = False,
    plots: Path | None = None,
    csv: Path | None = None,
    open_page: bool = False,
    gate: Gate = NO_GATE,
) -> None:
    """Judge a run from its folder and give the answer.

    Raises:
        typer.Exit: always, with the code that CONTRACT's order gives.
    """
    from benchlab.judge.run import judge_run
    from benchlab.lab.opening import reopen
    from benchlab.report import exports, page, terminal
    from benchlab.report.bulletin import Bulletin
    from benchlab.report.gathering import gather

    opened = reopen(run)
    judgement = judge_run(opened.experiment, opened.cases, run)
    run.write_summary(judgement.summary)
    material = gather(judgement)
    file = run.path / PAGE
    page.write(material, file)
    if plots is not None:
        exports.write_plots(material, plots)
    if csv is not None:
        exports.write_tables(material, csv)
    advisory = gate.doubt(run.record)
    gate.tell(Bulletin.of_run(judgement.summary, gates=gate.asks, advisory=advisory))
    if as_json:
        print(judgement.summary.model_dump_json())
    else:
        terminal.render(material, Console(highlight=False, emoji=False), file)
    if open_page:
        typer.launch(str(file))
    code = exit_code(judgement.summary)
    if gate.asks and code not in (Exit.INTERRUPTED, Exit.NOTHING_MEASURED, Exit.BROKEN_PROMISE):
        code = gate.code(judgement.summary.comparisons, advisory)
    raise typer.Exit(code)


def exit_code(summary: Summary) -> Exit:
    """The first code that applies, in the order of `ORDER`."""
    applying = set(_applying(summary))
    return next(code for code in ORDER if code in applying)


def _applying(summary: Summary) -> Iterable[Exit]:
    yield Exit.DONE
    if summary.state == "interrupted":
        yield Exit.INTERRUPTED
    if not summary.sessions_used:
        yield Exit.NOTHING_MEASURED
    if any(promise.holds is False for promise in summary.promises):
        yield Exit.BROKEN_PROMISE
    if any(one.counts and one.verdict == "invalid" for one in summary.comparisons):
        yield Exit.CANNOT_TELL


def say(as_json: bool, document: object, lines: Iterable[str]) -> None:
    """The document as JSON, or the lines."""
    if as_json:
        print(json.dumps(document))
        return
    for line in lines:
        print(line, file=sys.stdout)
