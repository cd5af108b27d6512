"""What varies: factors, their levels, the cases they make and the comparison that counts.

A level is a set of paths into the file with a value each. A case is read from the file with its
levels set, so a level that makes no sense is refused with its own line.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.model.errors import InputError
from benchlab.model.experiment import SMALLEST_EFFECT, Case, Compare, Factor, System
from benchlab.model.grammar import MapOf, Reading, Text
from benchlab.model.metrics import CAPACITY, METRICS, OVER_PEAK, PER_TRANSACTION
from benchlab.model.metrics import metric as metric_of
from benchlab.model.sections import (
    COMPARE,
    LOAD,
    SYSTEM_FORMS,
    WORKLOAD_FORMS,
    Known,
    read_load,
    read_system,
    read_workload,
)
from benchlab.model.tree import (
    Node,
    Path,
    fail,
    flatten,
    format_path,
    from_plain,
    join,
    nearest,
    parse_path,
    put,
)

MOST_CASES = 2000
_VARIED = ("systems", "workload", "load")


@dataclass(frozen=True)
class Level:
    """One level of a factor: what it is called and what it sets."""

    name: str
    sets: dict[Path, Node]


@dataclass(frozen=True)
class Design:
    """The factors of a file, not yet applied."""

    root: Node
    factors: dict[str, tuple[Level, ...]]
    places: dict[str, Node]
    """Where each factor stands."""

    def typed(self) -> tuple[Factor, ...]:
        """The factors without their places."""
        return tuple(
            Factor(
                name=name,
                levels={
                    level.name: {
                        format_path(path): node.plain() for path, node in level.sets.items()
                    }
                    for level in levels
                },
            )
            for name, levels in self.factors.items()
        )

    def level_names(self, factor: str) -> tuple[str, ...]:
        """The levels of a factor in file order."""
        return tuple(level.name for level in self.factors[factor])


def read_design(root: Node) -> Design:
    """The factors of a file, with `system` among them when there are several systems.

    Raises:
        InputError: with the place of what is wrong.
    """
    section = root.entries.get("factors", from_plain({}))
    entries = MapOf(Reading(lambda node, _: node, {})).read(section, "factors")
    read = [_read_factor(root, name, node) for name, node in entries.items()]
    names = _short_names([path for path, _, _ in read])
    factors = {name: levels for name, (_, levels, _) in zip(names, read, strict=True)}
    places = {name: node for name, (_, _, node) in zip(names, read, strict=True)}
    systems = root.entries["systems"]
    for name, levels in factors.items():
        for level in levels:
            chosen = level.sets.get(("system",))
            if chosen is not None and chosen.text not in systems.entries:
                near = nearest(chosen.text, systems.entries)
                what = f"no system {chosen.text!r} in systems"
                fail(chosen, join("factors", name), what, near)
    sets_system = any(("system",) in level.sets for levels in factors.values() for level in levels)
    if len(systems.entries) > 1 and not sets_system:
        implicit = tuple(
            Level(name, {("system",): Node(name, name, child.place)})
            for name, child in systems.entries.items()
        )
        factors = {"system": implicit} | factors
        places["system"] = systems
    _refuse_overlap(factors, places)
    return Design(root, factors, places)


def _read_factor(root: Node, name: str, node: Node) -> tuple[Path, tuple[Level, ...], Node]:
    key = join("factors", name)
    if isinstance(node.value, tuple):
        path = _path(root, parse_at(node, key, name), node, key)
        return path, _unique(_listed(path, node, key), node, key), node
    if not isinstance(node.value, dict):
        fail(node, key, f"is {node.kind()}; levels are written [a, b] or {{name: {{path: value}}}}")
    if "key" in node.entries or "values" in node.entries:
        for part, child in node.entries.items():
            if part not in ("key", "values"):
                fail(child, join(key, part), "unknown key", nearest(part, ("key", "values")))
        for part in ("key", "values"):
            if part not in node.entries:
                fail(node, key, f"{part} is missing; it is written {{key: PATH, values: […]}}")
        at, values = node.entries["key"], node.entries["values"]
        below = join(key, "key")
        path = _path(root, parse_at(at, below, Text().read(at, below)), at, below)
        return (name,), _unique(_listed(path, values, join(key, "values")), values, key), node
    levels = [_named(root, level, child, join(key, level)) for level, child in node.entries.items()]
    return (name,), _unique(levels, node, key), node


def parse_at(node: Node, key: str, text: str) -> Path:
    """A path that stands at a node.

    Raises:
        InputError: with the node's place.
    """
    try:
        return parse_path(text)
    except InputError as error:
        fail(node, key, error.what)


def _listed(path: Path, node: Node, key: str) -> list[Level]:
    if isinstance(node.value, dict):
        return [
            Level(name, flatten(child, path) or {path: child})
            for name, child in node.entries.items()
        ]
    if not isinstance(node.value, tuple):
        fail(node, key, f"is {node.kind()}, not a list of values")
    levels = []
    for index, child in enumerate(node.value):
        here = f"{key}[{index}]"
        if not child.is_scalar or child.value is None:
            what = f"is {child.kind()}: give such a level a name, {{key: …, values: {{NAME: …}}}}"
            fail(child, here, what)
        levels.append(Level(child.text, {path: child}))
    return levels


def _named(root: Node, name: str, node: Node, key: str) -> Level:
    if not isinstance(node.value, dict):
        fail(node, key, f"is {node.kind()}; a named level is a map of the keys it sets")
    sets: dict[Path, Node] = {}
    for text, child in node.entries.items():
        below = join(key, text)
        path = parse_at(child, below, text)
        for leaf, value in flatten(child, path).items():
            sets[_path(root, leaf, value, below)] = value
    return Level(name, sets)


def _unique(levels: Sequence[Level], node: Node, key: str) -> tuple[Level, ...]:
    if not levels:
        fail(node, key, "has no levels")
    seen: set[str] = set()
    for level in levels:
        at = next(iter(level.sets.values()), node)
        if level.name in seen:
            fail(at, key, f"the level {level.name!r} comes twice")
        if not level.name or re.search(r"[,=\n]", level.name):
            what = f"the level {level.name!r} needs a name without commas and equal signs"
            fail(at, key, f"{what}: {{key: …, values: {{NAME: …}}}}")
        seen.add(level.name)
    return tuple(levels)


def _path(root: Node, path: Path, node: Node, key: str) -> Path:
    """The path, once it is sure that it leads somewhere."""
    systems = root.entries["systems"].entries
    if path == ("system",):
        return path
    if len(path) < 2 or path[0] not in _VARIED:
        near = nearest_path(root, path)
        fail(node, key, "leads nowhere: a factor changes systems, workload or load", near)
    if path[0] == "systems" and path[1] not in systems:
        near = nearest(path[1], systems)
        fail(node, key, f"leads nowhere: there is no system {path[1]!r}", near)
    if path[0] == "systems" and len(path) == 2:
        fail(node, key, "leads to a whole system: name the key of it that varies")
    forms = {"systems": SYSTEM_FORMS, "workload": WORKLOAD_FORMS, "load": LOAD.forms}[path[0]]
    at = 2 if path[0] == "systems" else 1
    if path[at] not in forms and not (path[0] == "systems" and path[at] in ("version", "program")):
        fail(node, key, f"leads nowhere: {path[at]} is no key there", nearest_path(root, path))
    return path


def nearest_path(root: Node, path: Path) -> str | None:
    """The path of the file most like one that leads nowhere."""
    known: list[Path] = [("load", name) for name in LOAD.forms]
    known += [("workload", name) for name in WORKLOAD_FORMS]
    known += [
        ("systems", system, name)
        for system in root.entries["systems"].entries
        for name in SYSTEM_FORMS
    ]
    for section in _VARIED:
        if section in root.entries:
            known += list(flatten(root.entries[section], (section,)))
    known += [("system",)]
    for other in known:
        if other[-1] == path[-1]:
            return format_path(other)
    return nearest(format_path(path), [format_path(other) for other in known])


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Each path by its last part; by as many as tell it from the others where that is ambiguous."""
    names = []
    for path in paths:
        others = [other for other in paths if other is not path]
        length = 1
        while length < len(path) and any(o[-length:] == path[-length:] for o in others):
            length += 1
        names.append(".".join(path[-length:]))
    return names


def _refuse_overlap(factors: Mapping[str, tuple[Level, ...]], places: Mapping[str, Node]) -> None:
    for (one, first), (other, second) in itertools.combinations(factors.items(), 2):
        for path in {path for level in first for path in level.sets}:
            for again in {again for level in second for again in level.sets}:
                shorter = min(len(path), len(again))
                if path[:shorter] == again[:shorter]:
                    what = f"{one} and {other} both set {format_path(max(path, again, key=len))}"
                    fail(places[other], join("factors", other), what)


def check_level(design: Design, factor: str, level: str, node: Node, key: str) -> None:
    """Refuse a factor or level that the file does not have.

    Raises:
        InputError: with the nearest one.
    """
    if factor not in design.factors:
        known = ", ".join(design.factors) or "none"
        what = f"no factor {factor!r}; there is {known}"
        fail(node, key, what, nearest(factor, design.factors))
    levels = design.level_names(factor)
    if level not in levels:
        fail(
            node,
            key,
            f"{factor} has no level {level!r}; it has {', '.join(levels)}",
            nearest(level, levels),
        )


def read_skip(design: Design) -> tuple[dict[str, str], ...]:
    """The combinations left out.

    Raises:
        InputError: with the place of what is wrong.
    """
    found = []
    for index, entry in enumerate(design.root.entries.get("skip", from_plain([])).items):
        for factor, node in entry.entries.items():
            key = join(f"skip[{index}]", factor)
            check_level(design, factor, node.text, node, key)
        found.append({factor: node.text for factor, node in entry.entries.items()})
    return tuple(found)


def read_cases(
    design: Design, name: str, skip: Iterable[Mapping[str, str]], known: Known
) -> tuple[Case, ...]:
    """Every combination of levels that is not skipped, in file order.

    Raises:
        InputError: with the place of what is wrong, in a level or in the file.
    """
    count = 1
    for several in design.factors.values():
        count *= len(several)
    if count > MOST_CASES:
        place = design.root.entries.get("factors", design.root)
        fail(place, "factors", f"make {count} cases; at most {MOST_CASES} can be told apart")
    left_out = list(skip)
    cases = []
    for combination in itertools.product(*design.factors.values()):
        levels = {
            factor: level.name for factor, level in zip(design.factors, combination, strict=True)
        }
        if any(all(levels[f] == level for f, level in entry.items()) for entry in left_out):
            continue
        cases.append(_case(design, name, levels, combination, known))
    if not cases:
        fail(design.root.entries["skip"], "skip", "leaves no case")
    return tuple(cases)


def _case(
    design: Design, name: str, levels: dict[str, str], combination: Sequence[Level], known: Known
) -> Case:
    root = design.root
    for level in combination:
        for path, node in level.sets.items():
            root = put(root, path, node)
    chosen = root.entries.get("system")
    systems = root.entries["systems"]
    system_name = next(iter(systems.entries)) if chosen is None else chosen.text
    return Case(
        name=",".join(f"{f}={level}" for f, level in levels.items()) or name,
        levels=levels,
        system_name=system_name,
        system=read_systems(root, known)[system_name],
        workload=read_workload(root.entries["workload"], known),
        load=read_load(root.entries.get("load", from_plain({})), known),
        source=root,
    )


def read_systems(root: Node, known: Known) -> dict[str, System]:
    """The section `systems:`.

    Raises:
        InputError: with the place of what is wrong.
    """
    return {
        name: read_system(node, name, join("systems", name), known)
        for name, node in root.entries["systems"].entries.items()
    }


def read_compare(design: Design, cases: Sequence[Case], known: Known) -> Compare | None:
    """The comparison that counts, once it is sure that it can be made.

    Raises:
        InputError: with the place of what is wrong.
    """
    node = design.root.entries.get("compare")
    if node is None:
        return None
    fields = COMPARE.read(node, "compare")
    factor = fields["factor"]
    if factor not in design.factors:
        at = node.entries["factor"]
        known_factors = ", ".join(design.factors) or "none"
        what = f"no factor {factor!r}; there is {known_factors}"
        fail(at, "compare.factor", what, nearest(factor, design.factors))
    levels = design.level_names(factor)
    if len(levels) < 2:
        fail(
            node.entries["factor"], "compare.factor", f"{factor} has one level: nothing to compare"
        )
    baseline = fields.setdefault("baseline", levels[0])
    if baseline not in levels:
        check_level(design, factor, baseline, node.entries["baseline"], "compare.baseline")
    at = fields.setdefault("at", {})
    for other, level in at.items():
        place, key = node.entries["at"].entries[other], join("compare.at", other)
        if other == factor:
            fail(place, key, "is what is compared; at names the other factors")
        check_level(design, other, level, place, key)
    counting = [c for c in cases if all(c.levels[f] == level for f, level in at.items())]
    rests = {
        tuple(v for f, v in c.levels.items() if f != factor)
        for c in counting
        if c.levels[factor] == baseline
    }
    others = {
        tuple(v for f, v in c.levels.items() if f != factor)
        for c in counting
        if c.levels[factor] != baseline
    }
    if not rests & others:
        fail(
            node, "compare", f"{baseline} has nothing to stand against once skip and at are applied"
        )
    fields.setdefault("metrics", (_usual_metric(counting),))
    fields.setdefault("smallest_effect", SMALLEST_EFFECT)
    if "metrics" in node.entries:
        _check_metrics(node.entries["metrics"], fields["metrics"], counting, known)
    return Compare.model_validate(fields)


def _usual_metric(cases: Sequence[Case]) -> str:
    """What is compared where the file does not say."""
    if all(case.load.find for case in cases):
        return CAPACITY
    return "latency_p99" if any(case.load.is_open for case in cases) else "throughput"


def _check_metrics(node: Node, metrics: Sequence[str], cases: Sequence[Case], known: Known) -> None:
    key = "compare.metrics"
    places = node.items or (node,)
    for index, metric in enumerate(metrics):
        place = places[index]
        if metric not in METRICS and metric not in known.counters:
            near = nearest(metric, [*METRICS, *known.counters])
            fail(place, key, f"unknown metric {metric!r}", near)
        if metric_of(metric).better == "none":
            what = f"{metric} is good neither high nor low, so that no verdict fits it"
            per = metric + PER_TRANSACTION
            fail(place, key, what, per if per in known.counters else None)
        if metric in metrics[:index]:
            fail(place, key, f"{metric} comes twice")
        if metric == "throughput" and any(case.load.is_open for case in cases):
            what = "throughput is the schedule's under an open load (rate); compare latency_p99"
            fail(place, key, what)
        sought = [case for case in cases if case.load.find]
        if metric in (CAPACITY, OVER_PEAK) and len(sought) < len(cases):
            what = (
                f"{metric} is had where the rate is sought: load: {{find: highest rate, keep: …}}"
            )
            fail(place, key, what)
        if metric_of(metric).histogram or metric.startswith("latency_"):
            what = f"{metric} would be that of each case near its own capacity; compare {CAPACITY}"
            if sought:
                fail(place, key, what)
        by_count = all(c.load.transactions or c.load.per_client for c in cases)
        if metric == "completion_time" and not by_count:
            fail(place, key, "completion_time needs load.transactions rather than a duration")
    means = [m for m in metrics if m.endswith("_mean") and m in METRICS]
    if "throughput" in metrics and means:
        what = f"throughput and {means[0]} are one finding under a closed load (N = X·R): name one"
        fail(places[list(metrics).index(means[0])], key, what)
