"""Figures as people read them: SI units in files become `1.23 ms` or `12,345/s` on screen.

An estimate and its bounds share one unit and one number of decimals, so that an interval can be
compared at a glance. What may not be shown as a plain number (a floor, a withheld or an unresolved
figure) is put into words here, once, for the terminal and the page alike. No arithmetic beyond
scaling happens here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchlab.model.evidence import (
    CaseResult,
    Check,
    Comparison,
    Estimate,
    Interval,
    Scaling,
    Verdict,
)
from benchlab.model.metrics import CAPACITY, OVER_PEAK
from benchlab.model.quantities import significant

SPACE = "\u00a0"
MINUS = "\u2212"
NOTHING = "\u2013"

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    "B": ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB")),
    "B/s": ((1.0, "B/s"), (2.0**10, "KiB/s"), (2.0**20, "MiB/s")),
    "": ((0.01, "%"),),
    "1/s": ((1.0, "/s"),),
    "1/h": ((1.0, "/h"),),
    "count": ((1.0, ""),),
}
_KEPT = SPACE + "\n\t"
_GLYPHS: dict[Verdict, str] = {
    "better": "▲",
    "worse": "▼",
    "different-but-small": "≈",
    "equivalent": "=",
    "inconclusive": "?",
    "invalid": "✕",
}
_LABELS = {
    "throughput": "Throughput",
    CAPACITY: "Capacity",
    OVER_PEAK: "Capacity / peak",
    "completion_time": "Completion time",
    "errors": "Errors",
    "bytes_per_transaction": "Bytes per transaction",
    "system_cpu": "System CPU",
    "system_cpu_per_transaction": "CPU per transaction",
    "system_memory": "Memory",
    "system_memory_peak": "Memory, peak",
    "system_read_per_transaction": "Read from disk per transaction",
    "system_written_per_transaction": "Written to disk per transaction",
    "agent_cpu_per_transaction": "Agent CPU per transaction",
}


def printable(text: str) -> str:
    """The text without control characters, which neither HTML nor a terminal should be given."""
    return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in text)


def verdict_glyph(verdict: Verdict | None) -> str:
    """A sign that tells verdicts apart without colour; a lead has a dot."""
    return _GLYPHS[verdict] if verdict else "·"


def metric_label(name: str) -> str:
    """`latency_p999` → `Latency p99.9`; names of a system's own counters stay as they are."""
    if name in _LABELS:
        return _LABELS[name]
    prefix, _, rest = name.partition("_")
    if prefix in ("latency", "response", "service", "wait", "lag") and rest:
        nines = rest[1:]
        rest = f"p{nines[:2]}.{nines[2:]}" if nines.isdigit() and len(nines) > 2 else rest
        return f"{prefix.capitalize()} {rest}"
    return name


@dataclass(frozen=True)
class Scale:
    """How a group of figures of one unit is written: divided by `factor`, with one suffix."""

    factor: float
    suffix: str
    decimals: int

    def number(self, value: float) -> str:
        """The bare number, without its unit."""
        if math.isinf(value):
            return "∞" if value > 0 else MINUS + "∞"
        text = f"{value / self.factor:,.{self.decimals}f}"
        if text.startswith("-"):
            text = MINUS + text[1:] if text.strip("-0.,") else text[1:]
        return text

    def text(self, value: float) -> str:
        """The number with its unit."""
        return self.number(value) + self.tail

    @property
    def tail(self) -> str:
        """The unit as it follows a number."""
        if not self.suffix or self.suffix.endswith(("/s", "/h")):
            return self.suffix
        return SPACE + self.suffix


def scale_for(largest: float, unit: str, digits: int = 3) -> Scale:
    """The scale that shows `largest` with `digits` significant digits (whole numbers in full)."""
    size = abs(largest)
    factor, suffix = 1.0, unit
    if unit in _STEPS:
        steps = _STEPS[unit]
        fitting = [step for step in steps if size >= step[0] * 0.9995]
        factor, suffix = (fitting or [steps[0]])[-1]
        if size == 0:
            factor, suffix = (1.0, unit) if unit in ("s", "B") else steps[0]
    scaled = size / factor
    if unit == "B" and factor == 1.0:
        return Scale(factor, suffix, 0)
    if scaled == 0:
        return Scale(factor, suffix, 0)
    # Rounded first, so that 0.9999 is 1.00 rather than 1.000.
    whole = math.floor(math.log10(float(f"{scaled:.{digits - 1}e}"))) + 1
    return Scale(factor, suffix, max(0, min(6, digits - whole)))


def amount(value: float | None, unit: str, digits: int = 3) -> str:
    """One figure with its unit; a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else MINUS + "∞"
    return scale_for(value, unit, digits).text(value)


def limit(value: float, unit: str) -> str:
    """A declared figure, with no more decimals than it was declared with: `±3 %`, `1 ms`."""
    scale = scale_for(value, unit)
    decimals = next(
        n
        for n in range(7)
        if n == 6 or round(value / scale.factor, n) == round(value / scale.factor, 6)
    )
    return Scale(scale.factor, scale.suffix, decimals).text(value)


@dataclass(frozen=True)
class Shown:
    """An estimate in words: what stands where the number would, and why if it is not one."""

    main: str
    low: str = ""
    high: str = ""
    note: str = ""
    """Why the figure is shaded; for one that is not resolved, what it would need."""
    state: Literal["plain", "at-least", "withheld", "unresolved", "absent"] = "plain"

    @property
    def interval(self) -> str:
        """`[124 … 139]`, without the unit that the estimate carries; empty where there is none."""
        return f"[{self.low} … {self.high}]" if self.low else ""

    @property
    def text(self) -> str:
        """All of it on one line, the note left out."""
        return " ".join(part for part in (self.main, self.interval) if part)


def estimate(found: Estimate | None) -> Shown:
    """An estimate as it may be shown; a figure that may not be used never reaches the page."""
    if found is None:
        return Shown(NOTHING, state="absent")
    if found.validity == "withheld":
        return Shown("withheld", note=found.why, state="withheld")
    if not found.resolved:
        needs = found.why.removeprefix("not resolved").strip().removeprefix("(").removesuffix(")")
        return Shown("not resolved", note=needs, state="unresolved")
    if found.estimate is None or not math.isfinite(found.estimate):
        infinite = found.unit == "s" and found.sessions > 0
        return Shown("∞" if infinite else NOTHING, note=found.why, state="absent")
    scale = scale_for(found.estimate, found.unit)
    text = scale.text(found.estimate)
    if found.validity == "at-least":
        return Shown(f"at least {text}", note=found.why, state="at-least")
    if found.low is None or found.high is None or found.low == found.high:
        return Shown(text, note=found.why)
    return Shown(text, scale.number(found.low), scale.number(found.high), found.why)


def _effect_scale(comparison: Comparison, unit: str) -> Scale:
    sizes = [abs(v) for v in (comparison.effect, comparison.low, comparison.high) if v is not None]
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    if comparison.by == "difference":
        return scale_for(largest, unit)
    return Scale(0.01, "%", 0 if largest >= 1 else 1 if largest >= 0.01 else 2)


def effect(comparison: Comparison, unit: str = "") -> Shown:
    """A comparison's effect, always with its sign: `+131 % [+124, +139]`."""
    if comparison.effect is None or not math.isfinite(comparison.effect):
        return Shown(NOTHING, note=comparison.why, state="absent")
    scale = _effect_scale(comparison, unit)

    def signed(value: float) -> str:
        number = scale.number(value)
        return number if number.startswith(MINUS) or value <= 0 else f"+{number}"

    main = signed(comparison.effect) + scale.tail
    if comparison.low is None or comparison.high is None:
        return Shown(main, note=comparison.why)
    return Shown(main, signed(comparison.low), signed(comparison.high), comparison.why)


def p_value(p: float | None) -> str:
    """A p as `0.008`, never rounded down to nothing."""
    if p is None:
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def check_figure(check: Check) -> str:
    """A check's figure; empty where it has none."""
    return "" if check.figure is None else amount(check.figure, check.unit)


def count(number: int, word: str) -> str:
    """`1 session`, `8 sessions`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def capacity(case: CaseResult) -> list[str]:
    """What was found of the highest rate that a case carries, in parts of one sentence."""
    sought, found = case.capacity, case.metrics.get(CAPACITY)
    if sought is None or found is None:
        return []
    shown, keep = estimate(found), ", ".join(sought.keep)
    steps = f"{count(len(sought.steps), 'step')} in {count(found.sessions, 'session')}"
    if shown.state not in ("plain", "at-least"):
        return [f"{shown.main} for {keep}", shown.note, steps]
    said = [f"{shown.text} keeps {keep}", steps]
    if sought.peak is not None:
        said.insert(1, _left_at(sought.peak, found))
    return [*said, *([shown.note] if shown.note else [])]


def _left_at(peak: float, found: Estimate) -> str:
    """How much of a capacity is left at a rate."""
    usual = f"at the usual peak of {amount(peak, '1/s')}"
    if found.estimate is None or found.estimate <= peak:
        return f"{usual} nothing is left of it"
    left = Scale(0.01, "%", 0)
    bound = "at least " if found.validity == "at-least" else ""
    text = f"{usual} {bound}{left.text(1 - peak / found.estimate)} of it is left"
    if found.low is None or found.high is None or bound:
        return text
    ends = [left.number(max(0.0, 1 - peak / end)) for end in (found.low, found.high)]
    return f"{text} [{ends[0]} … {ends[1]}]"


def scaling_name(found: Scaling) -> str:
    """What a scaling law is over: `clients (at system=nginx)`."""
    at = ", ".join(f"{name}={level}" for name, level in found.at.items())
    return f"{found.factor} (at {at})" if at else found.factor


def scaling(found: Scaling) -> list[tuple[str, Interval, str]]:
    """What is known of a scaling law: its name, its figure, and both as they are shown."""

    def share(value: float) -> str:
        return f"{significant(100 * value)}{SPACE}%"

    parts: list[tuple[str, Interval | None, Callable[[float], str]]] = [
        ("one alone", found.alone_per_second, lambda value: f"{significant(value)}/s"),
        ("contention", found.contention, share),
        ("coherence", found.coherence, share),
        ("greatest at", found.peak, significant),
    ]
    return [
        (name, got, f"{show(got.estimate)} [{show(got.low)} … {show(got.high)}]")
        for name, got, show in parts
        if got is not None
    ]
