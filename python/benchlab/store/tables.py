"""The store as tables: what runs wrote down, what was found out in them, and their raw series.

A table is made of all runs at once, when it is asked for; its columns are a promise, listed in
docs/FORMATS.md. Times are UTC, figures in SI units or in the unit that a column's name ends with.
Absent: SQL (`query`), and any figure that no run holds: estimates are those of each `summary.json`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars
from polars import Boolean, Float64, Int64, String

from benchlab.model.errors import HostError
from benchlab.model.evidence import Estimate, Summary
from benchlab.model.records import PROBE_COLUMNS, RunRecord
from benchlab.store.measurement import MAXIMA, SUMS, Measurement
from benchlab.store.runs import Run, Trial

Columns = Mapping[str, Any]
Row = tuple[object, ...]
_KINDS: Mapping[str, Any] = {
    "int": Int64,
    "real": Float64,
    "bool": Boolean,
    "time": polars.Datetime("us"),
}
_PROBED: Mapping[type, str] = {int: ":int", str: "", float: ":real"}


def _columns(*written: str) -> Columns:
    """Columns as `name` (of text) or `name:kind`."""
    parts = (word.partition(":") for text in written for word in text.split())
    return {name: _KINDS.get(kind, String) for name, _, kind in parts}


_FIGURE = "run case_name operation metric unit"
_TRIAL = "run session:int block:int case_name attempt:int used:bool"
COLUMNS: Mapping[str, Columns] = {
    "runs": _columns(
        "run experiment created:time state sessions:int sessions_done:int blocks:int seed:int",
        "machine cpu kernel benchlab command question answer path",
    ),
    "sources": _columns("run system git revision commit uncommitted:int"),
    "cases": _columns("run case_name system state why"),
    "levels": _columns("run case_name factor level"),
    "checks": _columns("run case_name check_name verdict figure:real allowed:real unit why"),
    "figures": _columns(
        _FIGURE, "estimate:real low:real high:real sessions:int resolved:bool validity why"
    ),
    "sessions": _columns(_FIGURE, "session:int value:real"),
    "comparisons": _columns(
        "run metric baseline candidate levels counts:bool effect:real scale low:real high:real",
        "p:real detectable:real sessions:int verdict why",
    ),
    "promises": _columns("run expression case_name figure:real unit holds:bool"),
    "trials": _columns(_TRIAL, "state started:time why folder"),
    "seconds": _columns(
        _TRIAL,
        "second:int completed:int errors:int in_flight:real response_ns_p50:int",
        "response_ns_p99:int service_ns_p50:int service_ns_p99:int",
    ),
    "slots": _columns(_TRIAL, "slot:int", *(f"{name}:int" for name in (*SUMS, *MAXIMA))),
    "errors": _columns(_TRIAL, "operation outcome message count:int"),
    "probes": _columns(_TRIAL, *(name + _PROBED[kind] for name, kind in PROBE_COLUMNS.items())),
}
"""The columns of each table, by its name."""


def table(name: str, runs: Iterable[Run]) -> polars.DataFrame:
    """A table of these runs; those without an answer yet have no rows in what an answer holds.

    Raises KeyError for a name that is not in `COLUMNS`, HostError for raw data that cannot be read.
    """
    columns = COLUMNS[name]
    if name in _OF_TRIALS:
        frames = [
            frame
            for run in runs
            for trial in run.trials()
            if (frame := _OF_TRIALS[name](trial)) is not None
        ]
        return polars.concat([empty(name), *(_fitted(frame, columns) for frame in frames)])
    if name in _OF_RECORDS:
        rows = [row for run in runs for row in _OF_RECORDS[name](run, run.record)]
    else:
        said = ((run, run.summary()) for run in runs)
        rows = [row for run, s in said if s is not None for row in _OF_SUMMARIES[name](run.id, s)]
    return polars.DataFrame(rows, schema=dict(columns), orient="row")


def empty(name: str) -> polars.DataFrame:
    """The table without rows."""
    return polars.DataFrame(schema=dict(COLUMNS[name]))


def _fitted(frame: polars.DataFrame, columns: Columns) -> polars.DataFrame:
    return frame.select(polars.col(name).cast(kind) for name, kind in columns.items())


def _time(utc: str) -> datetime | None:
    return datetime.fromisoformat(utc).replace(tzinfo=None) if utc else None


def _run(run: Run, record: RunRecord) -> Iterator[Row]:
    summary = run.summary()
    host = record.host
    yield (
        *(record.id, record.experiment, _time(record.created_utc), record.state),
        *(record.sessions, record.sessions_done, record.blocks, record.seed),
        *(host.get("fingerprint"), host.get("cpu"), host.get("kernel")),
        *(record.versions.get("benchlab"), " ".join(record.command)),
        *((summary.question, summary.answer) if summary is not None else (None, None)),
        str(run.path),
    )


def _sources(run: Run, record: RunRecord) -> Iterator[Row]:
    for one in record.sources:
        yield (record.id, one.system, one.git, one.revision, one.commit, one.uncommitted)


def _trials(run: Run, record: RunRecord) -> Iterator[Row]:
    for trial in run.trials():
        found = trial.record
        folder = str(trial.path.relative_to(run.path))
        yield (*_place(trial), found.state, _time(found.started_utc), found.why, folder)


def _cases(run: str, summary: Summary) -> Iterator[Row]:
    for case in summary.cases:
        yield (run, case.name, case.system, case.state, case.why)


def _levels(run: str, summary: Summary) -> Iterator[Row]:
    for case in summary.cases:
        for factor, level in case.levels.items():
            yield (run, case.name, factor, level)


def _checks(run: str, summary: Summary) -> Iterator[Row]:
    for case in summary.cases:
        for c in case.checks:
            yield (run, case.name, c.name, c.verdict, c.figure, c.limit, c.unit, c.why)


def _estimates(run: str, summary: Summary) -> Iterator[tuple[Row, Estimate]]:
    for case in summary.cases:
        for name, found in case.metrics.items():
            yield (run, case.name, None, name, found.unit), found
        for operation, seen in case.operations.items():
            for name, found in seen.metrics.items():
                yield (run, case.name, operation, name, found.unit), found


def _figures(run: str, summary: Summary) -> Iterator[Row]:
    for place, one in _estimates(run, summary):
        figures = (one.estimate, one.low, one.high, one.sessions)
        yield (*place, *figures, one.resolved, one.validity, one.why)


def _sessions(run: str, summary: Summary) -> Iterator[Row]:
    for place, one in _estimates(run, summary):
        for number, value in enumerate(one.values):
            yield (*place, number, value)


def _comparisons(run: str, summary: Summary) -> Iterator[Row]:
    for c in summary.comparisons:
        at = ",".join(f"{name}={level}" for name, level in c.at.items())
        yield (
            *(run, c.metric, c.baseline, c.candidate, at, c.counts, c.effect, c.by),
            *(c.low, c.high, c.p, c.detectable, c.sessions, c.verdict, c.why),
        )


def _promises(run: str, summary: Summary) -> Iterator[Row]:
    for one in summary.promises:
        yield (run, one.expression, one.case, one.figure, one.unit, one.holds)


def _place(trial: Trial) -> Row:
    found = trial.record
    return trial.run.id, found.session, found.block, found.case, found.attempt, found.used


def _placed(trial: Trial, frame: polars.DataFrame) -> polars.DataFrame:
    places = zip(_columns(_TRIAL), _place(trial), strict=True)
    return frame.with_columns(polars.lit(value).alias(name) for name, value in places)


def _measured(trial: Trial) -> Measurement | None:
    """What was measured; none where the trial was cut off before there was anything to read."""
    if not trial.has_measurement():
        return None
    try:
        return trial.measurement()
    except HostError:
        if trial.record.state == "ok":
            raise
        return None


def _seconds(trial: Trial) -> polars.DataFrame | None:
    found = _measured(trial)
    return None if found is None else _placed(trial, found.seconds())


def _slots(trial: Trial) -> polars.DataFrame | None:
    found = _measured(trial)
    return None if found is None else _placed(trial, found.slots().rename({"interval": "slot"}))


def _errors(trial: Trial) -> polars.DataFrame | None:
    found = _measured(trial)
    if found is None:
        return None
    names = ("operation", "outcome", "message", "count")
    notes = found.events("error")
    schema = {name: COLUMNS["errors"][name] for name in names}
    rows: Sequence[Row] = [tuple(note[name] for name in names) for note in notes]
    return _placed(trial, polars.DataFrame(rows, schema=schema, orient="row"))


def _probes(trial: Trial) -> polars.DataFrame | None:
    return _placed(trial, trial.probes())


_OF_TRIALS: Mapping[str, Callable[[Trial], polars.DataFrame | None]] = {
    "seconds": _seconds,
    "slots": _slots,
    "errors": _errors,
    "probes": _probes,
}
_OF_RECORDS: Mapping[str, Callable[[Run, RunRecord], Iterator[Row]]] = {
    "runs": _run,
    "sources": _sources,
    "trials": _trials,
}
_OF_SUMMARIES: Mapping[str, Callable[[str, Summary], Iterator[Row]]] = {
    "cases": _cases,
    "levels": _levels,
    "checks": _checks,
    "figures": _figures,
    "sessions": _sessions,
    "comparisons": _comparisons,
    "promises": _promises,
}
