"""Which factor is told by colour, which by the horizontal axis and which by panels.

One choice for the whole report, so that a level has the same colour in every plot: the compared
factor (else the systems, else the first factor) is the colour, a factor with three or more numeric
levels is the axis of a sweep, and what is left makes the panels. Nothing is drawn here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.model import quantities
from benchlab.model.errors import InputError
from benchlab.model.evidence import CaseResult
from benchlab.report.material import Material

SWEEP_LEVELS = 3


def number(level: str) -> float | None:
    """A level's number when it is one: `64`, `64MiB`, `5000/s`; None for words."""
    for unit in ("count", "1/s", "B", "s", ""):
        try:
            return quantities.parse(level, unit)
        except InputError:
            continue
    return None


@dataclass(frozen=True)
class Panel:
    """Cases that share every level but the colour's and the sweep's."""

    label: str
    cases: tuple[CaseResult, ...]


@dataclass(frozen=True)
class Grouping:
    """The roles of the factors."""

    colour: str | None
    levels: tuple[str, ...]
    """The colour factor's levels, baseline first."""
    sweep: str | None
    panel_factors: tuple[str, ...]
    has_baseline: bool

    def colour_of(self, case: CaseResult) -> int:
        """Index into the palette; 0 is the baseline's neutral tone where there is a baseline."""
        if self.colour is None:
            return 1
        return self.levels.index(case.levels[self.colour]) + (0 if self.has_baseline else 1)

    def series_of(self, case: CaseResult) -> str:
        """What a line or dot of this case is called beside it."""
        return case.levels[self.colour] if self.colour else case.name

    def panels(self, cases: Sequence[CaseResult], *, by_sweep: bool) -> list[Panel]:
        """The cases by panel, in file order; each point of the sweep is a panel with `by_sweep`."""
        factors = [f for f in self.panel_factors if f != self.sweep]
        if by_sweep and self.sweep:
            factors.append(self.sweep)
        grouped: dict[str, list[CaseResult]] = {}
        for case in cases:
            label = ", ".join(f"{f}={case.levels[f]}" for f in factors if f in case.levels)
            grouped.setdefault(label, []).append(case)
        return [Panel(label, tuple(found)) for label, found in grouped.items()]


def group(material: Material) -> Grouping:
    """The roles that fit this run's cases."""
    levels: dict[str, list[str]] = {}
    for case in material.summary.cases:
        for factor, level in case.levels.items():
            if level not in levels.setdefault(factor, []):
                levels[factor].append(level)
    varying = [factor for factor, found in levels.items() if len(found) > 1]
    compare = material.experiment.compare if material.experiment else None
    numeric = [
        factor
        for factor in varying
        if len(levels[factor]) >= SWEEP_LEVELS
        and all(number(level) is not None for level in levels[factor])
    ]
    colour = _colour_factor(compare.factor if compare else None, varying, numeric)
    sweep = next((factor for factor in numeric if factor != colour), None)
    baseline = compare.baseline if compare and compare.factor == colour else None
    ordered = levels[colour] if colour else []
    if baseline in ordered:
        ordered = [baseline, *(level for level in ordered if level != baseline)]
    return Grouping(
        colour=colour,
        levels=tuple(ordered),
        sweep=sweep,
        panel_factors=tuple(f for f in varying if f not in (colour, sweep)),
        has_baseline=baseline in ordered,
    )


def _colour_factor(compared: str | None, varying: list[str], numeric: list[str]) -> str | None:
    if compared in varying and not (compared in numeric and len(varying) == 1):
        return compared
    if "system" in varying:
        return "system"
    words = [factor for factor in varying if factor not in numeric]
    return words[0] if words else (numeric[1] if len(numeric) > 1 else None)
