"""Effects: each comparison's interval with every session's pair as a dot.

Zero is a line and ±δ a band, so that the six verdicts can be seen: beyond the band and clear of
zero, inside the band, or neither. Ratios lie on a logarithmic axis (twice and half are equally
far); differences have an axis of their own unit. A row is a strip, so that the page may put words
beside it; an axis closes each group.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.judge.answer import unit_of
from benchlab.model.evidence import Comparison
from benchlab.report import readable
from benchlab.report.plots.axes import Scale, draw_x, tick_labels
from benchlab.report.plots.canvas import Canvas
from benchlab.report.plots.colours import VERDICT_TONES

ROW = 44
AXIS = 30


@dataclass(frozen=True)
class Row:
    """One comparison and its strip."""

    comparison: Comparison
    strip: Canvas


@dataclass(frozen=True)
class Group:
    """Comparisons that share an axis."""

    rows: tuple[Row, ...]
    axis: Canvas


def effects(comparisons: Sequence[Comparison], delta: float) -> list[Group]:
    """The comparisons that have an effect, grouped by what their effect is measured in."""
    kinds: dict[tuple[str, str], list[Comparison]] = {}
    for found in comparisons:
        if found.effect is not None and math.isfinite(found.effect):
            unit = unit_of(found) if found.by == "difference" else ""
            kinds.setdefault((found.by, unit), []).append(found)
    return [_group(found, by, unit, delta) for (by, unit), found in kinds.items()]


def _group(found: Sequence[Comparison], by: str, unit: str, delta: float) -> Group:
    scale = _scale(found, by, delta)
    band = delta if by == "ratio" else None
    rows = tuple(Row(c, _strip(c, scale, band)) for c in found)
    axis = Canvas(AXIS, "", left=14, right=14)
    ticks = scale.ticks(5)
    labels = [_signed(tick) for tick in ticks] if by == "ratio" else tick_labels(ticks, unit)
    draw_x(axis, scale, list(zip(ticks, labels, strict=True)), 0, 4)
    return Group(rows, axis)


def _signed(share: float) -> str:
    if share == 0:
        return "0"
    if share >= 1:
        return f"×{1 + share:g}"
    sign = "+" if share > 0 else readable.MINUS
    return f"{sign}{abs(share) * 100:g}{readable.SPACE}%"


def _scale(found: Sequence[Comparison], by: str, delta: float) -> Scale:
    values = [0.0]
    for c in found:
        values += [v for v in (c.effect, c.low, c.high) if v is not None and math.isfinite(v)]
        values += [pair.effect for pair in c.pairs if math.isfinite(pair.effect)]
    if by == "difference":
        reach = max(abs(v) for v in values) or 1.0
        return Scale(min(0.0, min(values)) - 0.1 * reach, max(values) + 0.1 * reach)
    values += [2 * delta, 1 / (1 + 2 * delta) - 1]
    low, high = math.log1p(max(-0.9999, min(values))), math.log1p(max(values))
    pad = 0.05 * (high - low)
    return Scale(math.expm1(low - pad), math.expm1(high + pad), kind="ratio")


def _strip(found: Comparison, scale: Scale, band: float | None) -> Canvas:
    shown = readable.effect(found, unit_of(found))
    canvas = Canvas(
        ROW,
        f"{found.metric}, {found.candidate} against {found.baseline}: {shown.text}",
        left=14,
        right=14,
    )
    if band is not None:
        canvas.rectangle((scale(1 / (1 + band) - 1), 0), (scale(band), ROW), "band", "±δ")
    for tick in scale.ticks(5):
        canvas.segment((scale(tick), 0), (scale(tick), ROW), "zero" if tick == 0 else "grid")
    tone = VERDICT_TONES[found.verdict]
    middle = ROW / 2
    if found.low is not None and found.high is not None:
        low, high = scale(max(found.low, scale.low)), scale(min(found.high, scale.high))
        canvas.segment((low, middle), (high, middle), f"interval s-{tone}")
    for place, pair in enumerate(found.pairs):
        if math.isfinite(pair.effect):
            # Dots descend in session order, so that a drift over the run shows as a slope.
            y = 7 + (ROW - 14) * (place + 0.5) / len(found.pairs)
            words = readable.effect(found.model_copy(update={"effect": pair.effect})).main
            title = f"session {pair.session + 1}: {words}"
            canvas.dot((scale(pair.effect), y), 3, f"dot f-{tone}", title)
    if found.effect is not None:
        canvas.dot((scale(found.effect), middle), 5.5, f"mark f-{tone}", shown.text)
    return canvas
