"""Scales and axes, shared by all plots.

A scale maps a figure to a place; ticks are round in the unit they are read in. Axes are drawn as
Tufte would have them: hairlines and a few labels, no frame.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.report import readable
from benchlab.report.plots.canvas import Canvas

_HALF = 24
_LONGEST = 18


@dataclass(frozen=True)
class Scale:
    """From `low…high` to `start…end`, straight, logarithmic or by nines."""

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0
    kind: str = "linear"
    """`linear`, `log`, `nines` (−log10(1 − q) for quantiles) or `ratio` (ln(1 + effect))."""
    unit: str = "count"
    """What its ticks are read in, so that they are round there."""

    def _position(self, value: float) -> float:
        if self.kind == "log":
            return math.log(max(value, 1e-30))
        if self.kind == "nines":
            return -math.log10(max(1e-9, 1.0 - value))
        if self.kind == "ratio":
            return math.log(max(1e-4, 1.0 + value))
        return value

    def __call__(self, value: float) -> float:
        low, high = self._position(self.low), self._position(self.high)
        share = 0.5 if high == low else (self._position(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 4) -> list[float]:
        """Round values within the scale, about `count` of them."""
        if self.kind == "log":
            return _log_ticks(self.low, self.high)
        if self.kind == "ratio":
            return self._apart(_RATIO_TICKS)
        if self.kind == "nines":
            nines = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
            return [q for q in nines if self.low <= q <= self.high * (1 + 1e-12)]
        step = readable.scale_for(max(abs(self.low), abs(self.high)), self.unit).factor
        return [n * step for n in _round_ticks(self.low / step, self.high / step, count)]

    def _apart(self, candidates: Sequence[float], room: float = 0.13) -> list[float]:
        """Those within the scale that leave each other room, zero first."""
        chosen = [0.0] if self.low <= 0 <= self.high else []
        extent = abs(self.end - self.start)
        for value in candidates:
            if self.low <= value <= self.high and all(
                abs(self(value) - self(other)) >= room * extent for other in chosen
            ):
                chosen.append(value)
        return sorted(chosen)


_RATIO_TICKS = (
    1.0, -0.5, 3.0, -0.75, 9.0, -0.9, 31.0, -0.97, 0.5, -0.2, 0.2, -0.1, 0.1,
    -0.05, 0.05, -0.02, 0.02, -0.01, 0.01, -0.005, 0.005, -0.002, 0.002,
)  # fmt: skip


def _round_ticks(low: float, high: float, count: int) -> list[float]:
    extent = high - low
    if extent <= 0:
        return [low]
    rough = extent / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    steps = (1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.4 else (1.0, 2.0, 5.0)
    found = []
    every = max(1, math.ceil(decades / 6))
    for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1, every):
        found += [m * 10.0**power for m in steps]
    return [value for value in found if low <= value <= high]


def value_scale(
    values: Sequence[float],
    start: float,
    end: float,
    unit: str,
    *,
    from_zero: bool = True,
    log_above: float = 30.0,
) -> Scale:
    """A scale that holds the values: logarithmic when they differ by more than `log_above`."""
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if low > 0 and high / low > log_above:
        return Scale(low / 1.15, high * 1.15, start, end, "log", unit)
    if from_zero and low >= 0:
        return Scale(0.0, high * 1.06 if high > 0 else 1.0, start, end, unit=unit)
    pad = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    floor = 0.0 if low >= 0 else -math.inf
    return Scale(max(floor, low - pad), high + pad, start, end, unit=unit)


def tick_labels(ticks: Sequence[float], unit: str) -> list[str]:
    """The ticks in one common unit, with no more decimals than they need."""
    if not ticks:
        return []
    largest = max(abs(tick) for tick in ticks)
    scale = readable.scale_for(largest, unit)
    if unit == "1/s" and largest >= 10_000 and all(tick % 1000 == 0 for tick in ticks):
        scale = readable.Scale(1000.0, "k/s", 0)
    for decimals in range(7):
        fitted = readable.Scale(scale.factor, scale.suffix, decimals)
        worst = max(abs(round(t / scale.factor, decimals) - t / scale.factor) for t in ticks)
        if worst <= 1e-3 * largest / scale.factor:
            break
    return [fitted.text(tick) if tick else "0" for tick in ticks]


def log_tick_labels(ticks: Sequence[float], unit: str) -> list[str]:
    """Each tick in the unit that suits it."""
    return [readable.amount(tick, unit, 1) for tick in ticks]


def draw_y(canvas: Canvas, scale: Scale, count: int = 3) -> None:
    """Hairlines across the plot with their figures in the left margin."""
    ticks = scale.ticks(count)
    label = log_tick_labels if scale.kind == "log" else tick_labels
    for tick, words in zip(ticks, label(ticks, scale.unit), strict=True):
        y = scale(tick)
        canvas.segment((0, y), (1, y), "axis" if tick == 0 else "grid")
        canvas.text((0, y + 4), words, anchor="end", dx=-8)


def draw_x(
    canvas: Canvas, scale: Scale, labels: Sequence[tuple[float, str]], top: float, bottom: float
) -> None:
    """Figures beneath the plot, with hairlines up through it."""
    for value, words in labels:
        x = scale(value)
        canvas.segment((x, top), (x, bottom), "grid")
        # A label leans inwards only where the margin has no room for half of it.
        starts, ends = x < 0.02 and canvas.left < _HALF, x > 0.98 and canvas.right < _HALF
        anchor = "start" if starts else "end" if ends else "middle"
        if words:
            canvas.text((x, bottom + 16), words, anchor=anchor)


def shortened(label: str) -> str:
    """A direct label that fits a margin."""
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def label_room(labels: Sequence[str]) -> int:
    """The right margin, in pixels, that direct labels need."""
    return 16 + 7 * max((len(shortened(label)) for label in labels), default=0)


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved apart to at least `gap`, in order, kept between `low` and `high`."""
    order = sorted(range(len(places)), key=lambda n: places[n])
    moved = list(places)
    floor = low
    for n in order:
        moved[n] = max(moved[n], floor)
        floor = moved[n] + gap
    ceiling = high
    for n in reversed(order):
        moved[n] = min(moved[n], ceiling)
        ceiling = moved[n] - gap
    return moved
