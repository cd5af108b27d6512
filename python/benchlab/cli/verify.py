"""`benchlab verify`: derives every printed number again from the raw data."""

import typer

from benchlab import store
from benchlab.cli.options import Json, RunName
from benchlab.model.errors import Exit, InputError


def verify(run: RunName, as_json: Json = False) -> None:
    """Derive every printed number again from the raw data; exit 1 if one differs."""
    from benchlab.cli.answering import PAGE, say
    from benchlab.judge.precision import fixed_again
    from benchlab.judge.run import judge_run
    from benchlab.lab.opening import reopen
    from benchlab.report import verification
    from benchlab.report.gathering import gather
    from benchlab.store.runs import SUMMARY

    found = store.find(run)
    if not (found.path / SUMMARY).exists():
        name = found.path.name
        if found.record.sessions_done == 0:
            what = f"no session of {name} was finished, so there is nothing to verify yet"
            raise InputError(f"{what}; go on with it: benchlab run --resume {found.id}")
        what = f"{name} has no answer to verify yet"
        raise InputError(f"{what}; make it: benchlab report {found.id}")
    opened = reopen(found)
    material = gather(judge_run(opened.experiment, opened.cases, found))
    staged = fixed_again(opened.experiment, opened.cases, found)
    result = verification.verify(found.path / SUMMARY, found.path / PAGE, material, staged)
    document = {
        "run": str(found.path),
        "compared": result.compared,
        "differing": list(result.differing),
    }
    count = f"{result.compared} figures compared, {len(result.differing)} differ: {found.path}"
    say(as_json, document, (*result.differing, count))
    raise typer.Exit(Exit.BROKEN_PROMISE if result.differing else Exit.DONE)
