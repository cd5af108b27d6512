"""Plots and tables as files for a post: SVG and PNG at a fixed width, CSV in SI units.

The same drawings and figures as on the page, in the light theme; a figure that may not be shown is
an empty field beside its reason.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import resvg_py

from benchlab.model.evidence import Estimate
from benchlab.report import readable
from benchlab.report.grouping import group
from benchlab.report.material import Material
from benchlab.report.plots.canvas import Canvas, standalone
from benchlab.report.sections import Sections

WIDTH = 760
SHARPNESS = 2
"""Pixels of a PNG for each unit of its SVG."""
Row = Sequence[object]


def write_plots(material: Material, folder: Path) -> tuple[Path, ...]:
    """Each plot as SVG and PNG; gives the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, canvases in _plots(material):
        for ending in (".svg", ".png"):
            path = folder / f"{file_name(name)}{ending}"
            write_drawing(canvases, path)
            written.append(path)
    return tuple(written)


def write_drawing(canvases: Sequence[Canvas], path: Path) -> None:
    """Plots beneath each other as one file: a picture where its name ends with .png, else SVG."""
    svg = standalone(canvases, WIDTH)
    if path.suffix == ".png":
        path.write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=SHARPNESS)))
    else:
        path.write_text(svg, encoding="utf-8")


def file_name(name: str) -> str:
    """A name without what a file system or a shell would trip over."""
    return re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip("-.")[:120] or "plot"


def _plots(material: Material) -> Iterator[tuple[str, list[Canvas]]]:
    sections = Sections(material, group(material))
    for number, effects in enumerate(sections.effects(), 1):
        rows = []
        for verdict in effects.verdicts:
            shown = readable.effect(verdict.comparison, "").text
            rows += [_heading(f"{verdict.metric}: {verdict.name}", f"{shown}  {verdict.word}")]
            rows += [verdict.strip] if verdict.strip else []
        yield f"effects-{number}", [*rows, effects.axis]
    for boxes in sections.boxes():
        rows = []
        for row in boxes.rows:
            shown = readable.estimate(row.case.metrics[boxes.metric]).text
            rows += [_heading(row.case.name, shown), row.strip]
        yield f"sessions-{boxes.metric}", [*rows, boxes.axis]
    for curve in sections.capacities():
        yield f"capacity-{curve.metric}-{curve.case.name}", [curve.canvas]
    for sweep in sections.sweeps():
        yield f"sweep-{sweep.metric}-{sweep.label}", [_heading(sweep.label, ""), sweep.canvas]
    for panel in sections.distributions():
        yield f"latency-{panel.label}", [_heading(panel.label, ""), panel.canvas]
    for clock_row in sections.clocks():
        for case in clock_row.cases:
            label = ", ".join(part for part in (case.label, clock_row.label) if part)
            yield f"time-{label}", [_heading(label, ""), *case.panels]


def _heading(left: str, right: str) -> Canvas:
    canvas = Canvas(18, "", left=14, right=14)
    canvas.text((0, 13), left, "caption")
    canvas.text((1, 13), right, anchor="end")
    return canvas


def write_tables(material: Material, folder: Path) -> tuple[Path, ...]:
    """The tables as CSV; gives the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "cases": _cases(material),
        "sessions": _sessions(material),
        "checks": _checks(material),
        "comparisons": _comparisons(material),
        "pairs": _pairs(material),
        "distributions": _distributions(material),
        "time": _time(material),
        "stalls": _stalls(material),
    }
    written = []
    for name, rows in tables.items():
        path = folder / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        written.append(path)
    return tuple(written)


def _shown(estimate: Estimate) -> bool:
    return readable.estimate(estimate).state in ("plain", "at-least")


def _cases(material: Material) -> Iterable[Row]:
    yield (
        *("case", "system", "state", "metric", "unit", "estimate", "low", "high", "sessions"),
        *("resolved", "validity", "why"),
    )
    for case in material.summary.cases:
        for name, found in case.metrics.items():
            figures = (found.estimate, found.low, found.high) if _shown(found) else ("", "", "")
            yield (
                *(case.name, case.system, case.state, name, found.unit, *figures, found.sessions),
                *(found.resolved, found.validity, found.why),
            )


def _sessions(material: Material) -> Iterable[Row]:
    yield ("case", "metric", "unit", "session", "value")
    for case in material.summary.cases:
        for name, found in case.metrics.items():
            for session, value in enumerate(found.values if _shown(found) else ()):
                yield (case.name, name, found.unit, session, value)


def _checks(material: Material) -> Iterable[Row]:
    yield ("case", "check", "verdict", "figure", "limit", "unit", "why")
    for case in material.summary.cases:
        for check in case.checks:
            yield (
                *(case.name, check.name, check.verdict, check.figure, check.limit, check.unit),
                check.why,
            )


def _comparisons(material: Material) -> Iterable[Row]:
    yield (
        *("metric", "baseline", "candidate", "at", "counts", "effect", "by", "low", "high", "p"),
        *("detectable", "sessions", "verdict", "why"),
    )
    for one in material.summary.comparisons:
        at = ",".join(f"{key}={value}" for key, value in one.at.items())
        yield (
            *(one.metric, one.baseline, one.candidate, at, one.counts, one.effect, one.by),
            *(one.low, one.high, one.p, one.detectable, one.sessions, one.verdict, one.why),
        )


def _pairs(material: Material) -> Iterable[Row]:
    yield ("metric", "baseline", "candidate", "at", "session", "effect")
    for one in material.summary.comparisons:
        at = ",".join(f"{key}={value}" for key, value in one.at.items())
        for pair in one.pairs:
            yield (one.metric, one.baseline, one.candidate, at, pair.session, pair.effect)


def _distributions(material: Material) -> Iterable[Row]:
    yield ("case", "time", "quantile", "seconds", "resolved")
    for curve in material.curves:
        for quantile, value in curve.points:
            yield (curve.case, curve.kind, quantile, value, quantile <= curve.resolved)


def _stalls(material: Material) -> Iterable[Row]:
    yield ("case", "session", "block", "at_s", "length_s", "waiting", "slowest_s", "candidates")
    for case in material.summary.cases:
        for one in case.stalls.found if case.stalls else ():
            causes = "; ".join(candidate.cause for candidate in one.candidates)
            yield (
                *(case.name, one.session, one.block, one.at_s, one.length_s, one.waiting),
                *(one.slowest_s, causes),
            )


def _time(material: Material) -> Iterable[Row]:
    yield ("case", "session", "block", "series", "at_s", "value")
    names = (
        *("rate", "latency_p99", "errors", "cpu_user", "cpu_system", "memory"),
        "agent_cpu",
    )
    for clock in material.clocks:
        for name in names:
            for at_s, value in getattr(clock, name).known():
                yield (clock.case, clock.session, clock.block, name, at_s, value)
