"""`benchlab plan`: what a run would do; starts nothing."""

from typing import Any

from benchlab.cli.options import Budget, Full, Json, Only, Sessions, Set, Target, narrowing
from benchlab.cli.progress import counted, sessions_told, takes_told


def plan(
    target: Target,
    assignments: Set = None,
    sessions: Sessions = None,
    only: Only = None,
    budget: Budget = None,
    full: Full = False,
    as_json: Json = False,
) -> None:
    """Show cases, sessions, how long it takes, and what is missing; starts nothing."""
    from benchlab.cli.answering import say
    from benchlab.cli.running import check
    from benchlab.judge.comparisons import counting
    from benchlab.lab import building
    from benchlab.lab.announcing import showing, visits, writes
    from benchlab.lab.budget import estimate_time
    from benchlab.lab.opening import open_experiment
    from benchlab.lab.preflight import check as preflight
    from benchlab.lab.preflight import missing
    from benchlab.store import root

    opened = open_experiment(target, narrowing(assignments, sessions, only, full, budget))
    check(opened)
    experiment = opened.experiment
    preflight(experiment, opened.cases, opened.folder)
    sources = building.find(opened.cases, opened.folder)
    takes = estimate_time(experiment, opened.cases)
    lacks = missing(opened.cases)
    counts = counting(experiment.compare, opened.cases)
    can_show = showing(experiment, opened.cases, counts)
    announced = (*visits(opened.cases), *writes(experiment, opened.cases, opened.folder))
    document: dict[str, Any] = {
        "experiment": experiment.name,
        "question": experiment.question,
        "cases": [
            {"name": case.name, "missing": lacks.get(case.name), "load": case.load.model_dump()}
            for case in opened.cases
        ],
        "sessions": experiment.sessions,
        "most_sessions": takes.most_sessions,
        "precision": experiment.precision,
        "order": experiment.order,
        "blocks": experiment.blocks,
        "trials": takes.trials,
        "comparisons_that_count": counts,
        "compare": experiment.compare.model_dump() if experiment.compare else None,
        "can_show": can_show,
        "seconds": takes.total_s,
        "most_seconds": takes.most_s,
        "store": str(root()),
        "running_systems": list(announced),
        "sources": [record.model_dump() for record in sources.records],
        "notes": [*opened.notes, *sources.notes()],
    }
    lines = [f"{experiment.name}: {experiment.question}", ""]
    for case in opened.cases:
        lack = f"  SKIPPED: {lacks[case.name]}" if case.name in lacks else ""
        lines.append(f"  {case.name or experiment.name}: {load_line(case.load)}{lack}")
    lines += [
        "",
        size_line(takes, len(opened.cases), experiment.blocks),
        compare_line(experiment, counts),
        *([can_show] if can_show else []),
        *design_lines(experiment, takes.most_sessions),
        f"would be written to {root()}",
        *(source_line(record) for record in sources.records),
        *announced,
        *document["notes"],
    ]
    say(as_json, document, lines)


def size_line(takes: Any, cases: int, blocks: int) -> str:
    """What a run is made of, and how long it takes, in words."""
    or_more = " or more" if takes.most_sessions > takes.sessions else ""
    return (
        f"{counted(takes.trials, 'trial')}{or_more}: {counted(cases, 'case')} "
        f"× {sessions_told(takes.sessions, takes.most_sessions)} "
        f"× {counted(blocks, 'block')}, {takes_told(takes)}"
    )


def design_lines(experiment: Any, most: int) -> list[str]:
    """How systems take turns, where not all are up, and what decides on the number of sessions."""
    from benchlab.model.quantities import significant

    order = {
        "blocks": "one system up at a time, each started afresh for each block",
        "sequential": "one system up at a time, one after the other: what order and drift do will"
        " be in the differences",
    }
    turns = [order[experiment.order]] if experiment.order in order else []
    if experiment.precision is None:
        return turns
    wanted = f"±{significant(100 * experiment.precision)} %"
    return [
        *turns,
        f"after {experiment.sessions} sessions their number is fixed once, from their spread alone,"
        f" so that intervals are {wanted} or narrower; {most} at most",
    ]


def source_line(record: Any) -> str:
    """What a system is built from, in words."""
    built = f", built by `{record.build}`" if record.build else ""
    return f"{record.system}: {record.revision} of {record.git} is {record.commit}{built}"


def load_line(load: Any) -> str:
    """A case's load in words."""
    from benchlab.model import quantities

    if load.find:
        keep = ", ".join(one.text for one in load.keep)
        asked = f"the {load.find} ({load.arrivals}) that keeps {keep} over "
        asked += f"{load.connections} connections, sought in steps"
    elif load.is_open:
        asked = f"{quantities.format(load.rate, '1/s')} ({load.arrivals}) over "
        asked += f"{load.connections} connections"
    else:
        asked = f"{load.clients} clients"
    if load.duration is not None:
        length = quantities.format(load.duration, "s")
    elif load.transactions is not None:
        length = f"{load.transactions} transactions"
    else:
        length = f"{load.per_client} transactions a client"
    return f"{asked}, {length} after {quantities.format(load.warmup, 's')} of warm-up"


def compare_line(experiment: Any, counting: int) -> str:
    """What is compared, in words."""
    from benchlab.model import quantities

    compare = experiment.compare
    if compare is None:
        return "explores: figures with intervals, no comparison"
    smallest = quantities.format(compare.smallest_effect, "")
    return (
        f"compares {compare.factor} against {compare.baseline} on {', '.join(compare.metrics)}: "
        f"{counted(counting, 'comparison')} that count, smallest effect that matters {smallest}"
    )
