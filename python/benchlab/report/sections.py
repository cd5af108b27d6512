"""What each part of the page says, as plain values for the templates.

A figure goes through `Figures` here and nowhere else. The templates only lay out; the plots only
draw; what may be shown comes from `readable`.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup, escape

from benchlab.judge.answer import unit_of
from benchlab.model.evidence import (
    CaseResult,
    Check,
    Comparison,
    Estimate,
    PromiseResult,
    Scaling,
    Stalls,
)
from benchlab.model.metrics import CAPACITY
from benchlab.model.quantities import significant
from benchlab.report import readable, stalled
from benchlab.report.figures import Figures
from benchlab.report.grouping import Grouping, Panel
from benchlab.report.material import Clock, Line, Material, headline_metrics, own_metrics
from benchlab.report.plots import boxes as boxes_plot
from benchlab.report.plots import capacity, distribution, effect, resources, sweep, timeline
from benchlab.report.plots.canvas import Canvas
from benchlab.report.plots.colours import VERDICT_TONES, tone

BOXED = ("throughput", "completion_time", "latency_p50", "latency_p99", "system_memory")
SWEPT = (
    "throughput",
    "latency_p50",
    "latency_p99",
    "system_cpu_per_transaction",
    "system_memory",
)
TOLD_STALLS = 20
"""Of each case, its longest ones."""
CHECK_SIGNS = {"valid": "✓", "invalid": "✕", "unknown": "?", "not-applicable": "–"}


@dataclass(frozen=True)
class Cell:
    """A figure in a table: its text, interval and what shades it."""

    main: Markup | str
    interval: Markup | str = ""
    note: str = ""
    state: str = "plain"


@dataclass(frozen=True)
class Verdict:
    """A comparison put into words."""

    comparison: Comparison
    name: str
    metric: str
    tone: str
    glyph: str
    word: str
    effect: Cell
    p: Markup | str
    detectable: Markup | str
    strip: Canvas | None = None


@dataclass(frozen=True)
class EffectGroup:
    """Comparisons on one axis."""

    title: str
    verdicts: tuple[Verdict, ...]
    axis: Canvas


@dataclass(frozen=True)
class CheckCell:
    """One case's row of one check."""

    check: Check | None
    sign: str
    figure: Markup | str
    limit: str


@dataclass(frozen=True)
class CaseClock:
    """One case's panels on one clock."""

    label: str
    tone: str
    panels: tuple[Canvas, ...]


@dataclass(frozen=True)
class ClockRow:
    """Cases that share every level but the colour's."""

    label: str
    cases: tuple[CaseClock, ...]


@dataclass(frozen=True)
class ToldStall:
    """One stall in a table."""

    place: str
    length: Markup | str
    what: str
    candidates: str


@dataclass(frozen=True)
class StallRow:
    """How often a case stalled, what was seen with it, and its longest stalls."""

    case: CaseResult
    count: Markup | str
    watched: Markup | str
    rate: Cell
    seen_with: str
    told: tuple[ToldStall, ...]


class Sections:
    """Everything the page template asks for."""

    def __init__(self, material: Material, grouping: Grouping) -> None:
        self.material = material
        self.grouping = grouping
        self.figures = Figures()

    # What the answer is.

    def verdict(self, found: Comparison, strip: Canvas | None = None) -> Verdict:
        """A comparison's words and figures."""
        at = "".join(f", {key}={value}" for key, value in found.at.items())
        return Verdict(
            comparison=found,
            name=f"{found.candidate} against {found.baseline}{at}",
            metric=readable.metric_label(found.metric),
            tone=VERDICT_TONES[found.verdict],
            glyph=readable.verdict_glyph(found.verdict),
            word=found.verdict or "lead",
            effect=self._effect(found),
            p=self._maybe(f"{_path(found)}/p", found.p, readable.p_value(found.p)),
            detectable=self._maybe(
                f"{_path(found)}/detectable",
                found.detectable,
                readable.amount(
                    found.detectable, unit_of(found) if found.by == "difference" else "", 2
                ),
            ),
            strip=strip,
        )

    def _effect(self, found: Comparison) -> Cell:
        shown = readable.effect(found, unit_of(found))
        path = _path(found)
        main = self._maybe(f"{path}/effect", found.effect, shown.main)
        return Cell(
            main, self._between(path, found.low, found.high, shown), shown.note, shown.state
        )

    def _between(
        self, path: str, low: float | None, high: float | None, shown: readable.Shown
    ) -> Markup | str:
        if not shown.low:
            return ""
        return Markup("[{} … {}]").format(
            self.figures.show(f"{path}/low", low, shown.low),
            self.figures.show(f"{path}/high", high, shown.high),
        )

    def _maybe(self, path: str, value: float | None, text: str) -> Markup | str:
        return text if value is None else self.figures.show(path, value, text)

    def headline(self) -> list[Verdict]:
        """The comparisons that count, in full."""
        return [self.verdict(found) for found in self.material.counting]

    def effects(self) -> list[EffectGroup]:
        """Effect plots: those that count first, then the leads."""
        parts = (("", self.material.counting), ("Leads", self.material.leads))
        return [
            EffectGroup(
                title,
                tuple(self.verdict(row.comparison, row.strip) for row in group.rows),
                group.axis,
            )
            for title, comparisons in parts
            for group in effect.effects(comparisons, self.material.smallest_effect)
        ]

    # What it rests on.

    def check_names(self) -> list[str]:
        """Every check that any case has, in the order they were made."""
        return list(dict.fromkeys(c.name for s in self.material.summary.cases for c in s.checks))

    def check(self, case: CaseResult, name: str) -> CheckCell:
        """One cell of the table of checks."""
        found = next((check for check in case.checks if check.name == name), None)
        if found is None:
            return CheckCell(None, "", "", "")
        path = f"cases/{case.name}/checks/{name}"
        return CheckCell(
            found,
            CHECK_SIGNS[found.verdict],
            self._maybe(path, found.figure, readable.check_figure(found)),
            "" if found.limit is None else readable.limit(found.limit, found.unit),
        )

    def tally(self) -> dict[str, int]:
        """How many check rows have each verdict."""
        counts = dict.fromkeys(CHECK_SIGNS, 0)
        for case in self.material.summary.cases:
            for check in case.checks:
                counts[check.verdict] += 1
        return counts

    def shading(self) -> list[tuple[Check, list[str]]]:
        """Checks that are not valid, each with the cases it touches."""
        seen: dict[tuple[str, str, str], tuple[Check, list[str]]] = {}
        for case in self.material.summary.cases:
            for check in case.checks:
                if check.verdict in ("invalid", "unknown"):
                    key = (check.name, check.verdict, check.why)
                    seen.setdefault(key, (check, []))[1].append(case.name)
        return list(seen.values())

    def ceilings(self) -> list[tuple[str, Cell, Cell, Cell]]:
        """Case, its rate, the null server's rate under the same Plan, and the floor's p99."""
        rows = []
        cases = {case.name: case for case in self.material.summary.cases}
        for found in self.material.ceilings:
            case = cases.get(found.case)
            if case is None:
                continue
            path = f"ceilings/{found.case}"
            rows.append(
                (
                    found.case,
                    self.metric(case, "throughput"),
                    Cell(self._maybe(f"{path}/rate", found.rate,
                                     readable.amount(found.rate, "1/s"))),
                    Cell(self._maybe(f"{path}/floor_p99", found.floor_p99_s,
                                     readable.amount(found.floor_p99_s, "s"))),
                )
            )  # fmt: skip
        return rows

    def head_room(self) -> Markup | str:
        """How many times a case's rate the null server reached, where that was least."""
        rates = {c.name: c.metrics.get("throughput") for c in self.material.summary.cases}
        ratios = [
            found.rate / own.estimate
            for found in self.material.ceilings
            if found.rate and (own := rates.get(found.case)) is not None and own.estimate
        ]
        if not ratios:
            return ""
        return self.figures.show("head-room", min(ratios), f"{min(ratios):.2g}")

    def noise(self) -> Markup | str:
        """What this machine's own noise lets so many sessions show."""
        found = self.material.noise
        if found is None:
            return "this machine's own noise is not calibrated"
        shown = self.figures.show("noise", found, f"{significant(100 * found)} %")
        return Markup("equal systems are told from others here from {} on").format(shown)

    def scaling(self, found: Scaling) -> Markup:
        """A scaling law in a sentence, or why there is none."""
        path = f"scalings/{readable.scaling_name(found)}"
        said = [
            Markup("{} {}").format(
                name, self.figures.show(f"{path}/{name}", interval.estimate, shown)
            )
            for name, interval, shown in readable.scaling(found)
        ]
        head = f"Scaling over {readable.scaling_name(found)}: "
        return escape(head) + Markup("; ").join([*said, *([found.why] if found.why else [])])

    def machine(self) -> str:
        """The processor and its cores, in one line."""
        host = self.material.record.host if self.material.record else {}
        cores = host.get("cores")
        parts = [str(host.get("cpu") or ""), f"{cores}{readable.SPACE}cores" if cores else ""]
        return ", ".join(part for part in parts if part)

    def allowed(self) -> list[tuple[str, str]]:
        """Validity rows the file widened."""
        allow = self.material.experiment.allow if self.material.experiment else {}
        units = {c.name: c.unit for case in self.material.summary.cases for c in case.checks}
        return [(name, readable.limit(v, units.get(name, ""))) for name, v in allow.items()]

    # The figures.

    def headline_metrics(self) -> list[tuple[str, str]]:
        """The compact table's columns: name and label."""
        return [(n, readable.metric_label(n)) for n in headline_metrics(self.material.summary)]

    def all_metrics(self) -> list[tuple[str, str]]:
        """Every metric any case has."""
        names = dict.fromkeys(n for c in self.material.summary.cases for n in c.metrics)
        return [(name, readable.metric_label(name)) for name in names if "." not in name]

    def own_metrics(self) -> list[str]:
        """What the systems counted of themselves, as far as it moved."""
        return own_metrics(self.material.summary)

    def metric(self, case: CaseResult, name: str) -> Cell:
        """One estimate in a table."""
        return self.estimate(f"cases/{case.name}/{name}", case.metrics.get(name))

    def estimate(self, path: str, found: Estimate | None) -> Cell:
        """An estimate; its number is noted only where it is shown."""
        shown = readable.estimate(found)
        if found is None or shown.state not in ("plain", "at-least"):
            return Cell(shown.main, "", shown.note, shown.state)
        main = self.figures.show(f"{path}/estimate", found.estimate, shown.main)
        between = self._between(path, found.low, found.high, shown)
        return Cell(main, between, shown.note, shown.state)

    def session_values(self, case: CaseResult, name: str) -> list[Markup | str]:
        """A metric's value in each session, where its estimate may be shown."""
        found = case.metrics.get(name)
        if found is None or readable.estimate(found).state not in ("plain", "at-least"):
            return []
        return [
            self._maybe(
                f"cases/{case.name}/{name}/sessions/{place}",
                value,
                readable.amount(value, found.unit, 4),
            )
            for place, value in enumerate(found.values)
        ]

    def promise(self, place: int, promise: PromiseResult) -> Markup | str:
        """A promise's figure, in the unit of the metric it is about."""
        text = readable.amount(promise.figure, promise.unit)
        return self._maybe(f"promises/{place}", promise.figure, text)

    def count(self, path: str, number: int) -> Markup:
        """A whole number."""
        return self.figures.show(path, number, f"{number:,}")

    def tone(self, case: CaseResult) -> str:
        """The tone a case has in every plot."""
        return tone(self.grouping.colour_of(case))

    # The plots.

    def boxes(self) -> list[boxes_plot.Boxes]:
        """Boxes of sessions for the headline metrics and what was compared."""
        compared = dict.fromkeys(found.metric for found in self.material.counting)
        names = list(dict.fromkeys([*compared, *BOXED]))
        found = [boxes_plot.boxes(self.material.measured, n, self.grouping) for n in names]
        return [plot for plot in found if plot is not None]

    def capacities(self) -> list[capacity.Curve]:
        """What each search saw of its target, against the rate."""
        return capacity.curves(self.material.summary.cases)

    def capacity(self, case: CaseResult) -> Markup:
        """The highest rate that keeps a case's target in a sentence, or why there is none."""
        first, *rest = readable.capacity(case)
        found = case.metrics[CAPACITY]
        shown = self.figures.show(f"cases/{case.name}/{CAPACITY}/said", found.estimate, first)
        head = Markup("<b>{}</b>: {}").format(case.name, shown)
        return head + escape("".join(f"; {part}" for part in rest))

    def sweeps(self) -> list[sweep.Sweep]:
        """Small multiples over the numeric factor."""
        return sweep.sweeps(self.material.measured, SWEPT, self.grouping)

    def distributions(self) -> list[distribution.Distribution]:
        """Latency on a percentile axis."""
        return distribution.distributions(
            self.material.measured,
            self.material.curves,
            self.grouping,
            is_open=self.material.is_open,
        )

    def clocks(self) -> list[ClockRow]:
        """Time series, cases that are compared side by side on common scales."""
        having = {clock.case for clock in self.material.clocks}
        cases = [case for case in self.material.measured if case.name in having]
        return [self._clock_row(p) for p in self.grouping.panels(cases, by_sweep=True)]

    def _clock_row(self, panel: Panel) -> ClockRow:
        clocks = {
            case.name: [self._thinned(clock) for clock in self.material.clocks_of(case.name)]
            for case in panel.cases
        }
        every = [clock for found in clocks.values() for clock in found]
        span_s = timeline.length_s(every)
        tops = {
            "rate": timeline.highest([c.rate for c in every]),
            "p99": timeline.highest([c.latency_p99 for c in every]),
            "cpu": timeline.highest(
                [line for c in every for line in (resources.total_cpu(c), c.agent_cpu)]
            ),
            "memory": timeline.highest([c.memory for c in every]),
        }
        counted = sorted({name for c in every for name in c.own})
        for name in counted:
            tops[name] = timeline.highest([c.own.get(name, Line()) for c in every])
        kind = "response" if self.material.is_open else "service"
        rows = []
        for case in panel.cases:
            hue, own = self.tone(case), clocks[case.name]
            panels = [timeline.throughput(own, hue, tops["rate"], span_s)]
            if tops["p99"]:
                panels.append(timeline.latency(own, hue, tops["p99"], span_s, kind))
            if tops["cpu"]:
                panels.append(resources.cpu(own, hue, tops["cpu"], span_s))
            if tops["memory"]:
                panels.append(resources.memory(own, hue, tops["memory"], span_s))
            for name in counted:
                panels.append(resources.counted(own, name, hue, tops[name], span_s))
            label = self.grouping.series_of(case) if self.grouping.colour else case.name
            rows.append(CaseClock(label, hue, tuple(panels)))
        return ClockRow(panel.label, tuple(rows))

    def _thinned(self, clock: Clock) -> Clock:
        points = self.material.drawn_points
        return replace(
            clock,
            rate=clock.rate.thinned(points),
            latency_p99=clock.latency_p99.thinned(points, max),
            memory=clock.memory.thinned(points),
        )

    def stalls(self) -> list[StallRow]:
        """Each watched case's stalls, where any case had one."""
        return [self._stalls(case, case.stalls) for case in self.material.watched if case.stalls]

    def _stalls(self, case: CaseResult, found: Stalls) -> StallRow:
        path = f"cases/{case.name}/stalls"
        told = tuple(
            ToldStall(
                stalled.place(stall),
                self.figures.show(
                    f"{path}/{stall.session}/{stall.block}/{stall.at_s:g}/length",
                    stall.length_s,
                    readable.amount(stall.length_s, "s"),
                ),
                stalled.what(stall),
                "; ".join(f"{one.cause} ({stalled.sign(one)})" for one in stall.candidates),
            )
            for stall in stalled.longest(case, TOLD_STALLS)
        )
        watched = self.figures.show(
            f"{path}/watched", found.watched_s, readable.amount(found.watched_s, "s")
        )
        rate = self.estimate(f"{path}/per_hour", stalled.rate(found))
        count = self.count(f"{path}/count", found.count)
        return StallRow(case, count, watched, rate, stalled.seen_with(found), told)

    # How to do it again.

    def repeat(self) -> str:
        """The command this run was made by."""
        return quoted(self.material.record.command) if self.material.record else ""

    def sources(self) -> dict[str, Any]:
        """What each system was built from, by system and revision."""
        found = self.material.record.sources if self.material.record else ()
        return {
            f"{one.system} · {one.revision}": {
                "git": one.git,
                "commit": one.commit,
                "files not committed": one.uncommitted,
                "build": one.build or "nothing",
            }
            for one in found
        }

    def facts(self, found: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
        """Nested facts (versions, host, systems) as flat rows."""
        rows: list[tuple[str, str]] = []
        for key, value in found.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping):
                rows += self.facts(value, f"{name} · ")
            elif isinstance(value, list | tuple):
                rows.append((name, ", ".join(str(item) for item in value)))
            elif value is not None and value != "":
                rows.append((name, _fact(key, value)))
        return rows


def _fact(key: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        for ending, unit in (("_bytes", "B"), ("_s", "s")):
            if key.endswith(ending):
                return readable.amount(float(value), unit)
    return str(value)


def _path(found: Comparison) -> str:
    at = ",".join(f"{key}={value}" for key, value in found.at.items())
    return f"comparisons/{found.metric}/{found.candidate}/{found.baseline}/{at}"


def quoted(words: Sequence[str]) -> str:
    """A command line fit to be pasted into a shell."""
    return shlex.join(words)
