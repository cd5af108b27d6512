"""The answer in a terminal: one sentence first, then the figures, then what they rest on.

A wide terminal gets tables, a narrow one the same content as lists. Colour
only repeats what a word or a sign already says. Text from outside loses its control characters, so
that a name or an error message cannot drive the terminal. Progress is not here.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchlab.judge.answer import unit_of
from benchlab.model.evidence import (
    Between,
    CaseResult,
    Comparison,
    Estimate,
    Scaling,
    Verdict,
)
from benchlab.model.quantities import significant
from benchlab.report import readable, stalled
from benchlab.report.material import Material, headline_metrics, not_valid

WIDE = 100
_COLOURS: dict[Verdict, str] = {
    "better": "green",
    "worse": "red",
    "different-but-small": "cyan",
    "equivalent": "blue",
    "inconclusive": "yellow",
    "invalid": "magenta",
}
_SHORT = {
    "latency_p50": "p50",
    "latency_p99": "p99",
    "system_cpu_per_transaction": "CPU/trans.",
}
_ASCII = str.maketrans(
    {
        "µ": "u",
        "−": "-",
        "–": "-",
        "…": ".",
        "▲": "+",
        "▼": "-",
        "≈": "~",
        "✕": "x",
        "✓": "+",
        "∞": "infinite",
        "±": "+/-",
        "·": ".",
        "×": "x",
        "→": ">",
        "δ": "d",
        readable.SPACE: " ",
    }
)


def render(material: Material, console: Console, page: Path | None = None) -> None:
    """Prints the whole answer; `page` is where the HTML report lies."""
    for part in _parts(material, console.width, page):
        console.print(Encodable(part), highlight=False)


def render_between(found: Between, console: Console) -> None:
    """Prints what a run says beside an earlier one."""
    parts: list[RenderableType] = [Text(), _between_answer(found), Text()]
    parts += [_comparisons(found.comparisons, console.width), Text()]
    parts += [Text.assemble(("changed", "yellow"), f"  {clean(line)}") for line in found.changed]
    parts += [Text.assemble(("note", "yellow"), f"  {clean(line)}") for line in found.notes]
    for part in parts:
        console.print(Encodable(part), highlight=False)


def _between_answer(found: Between) -> Text:
    text = Text()
    for verdict in dict.fromkeys(one.verdict for one in found.comparisons if one.counts):
        text.append(*_badge(verdict)).append("  ")
    return text.append(clean(found.answer), style="bold")


class Encodable:
    """A renderable whose characters the console's encoding has."""

    def __init__(self, inner: RenderableType) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.encoding.lower().startswith("utf"):
            yield self.inner
            return
        for segment in console.render(self.inner, options):
            text = segment.text.translate(_ASCII).encode("ascii", "replace").decode()
            yield segment._replace(text=text)


def clean(text: str) -> str:
    """Outside text without control characters; line breaks become spaces."""
    return readable.printable(re.sub(r"[ \t\r\n]+", " ", text))


def _parts(material: Material, width: int, page: Path | None) -> Iterable[RenderableType]:
    summary = material.summary
    yield Text()
    if summary.question:
        yield Text(clean(summary.question), style="italic")
    yield _answer(material)
    yield Text()
    trouble = [_trouble(case) for case in material.troubled]
    if trouble:
        yield Group(*trouble, Text())
    if material.measured:
        yield _cases(material, width)
        yield Text()
    if material.watched:
        yield Group(*_stalls(material), Text())
    if summary.comparisons:
        yield _comparisons((*material.counting, *material.leads), width)
        yield Text()
    if summary.promises:
        yield Group(*_promises(material), Text())
    if sought := [case for case in summary.cases if case.capacity]:
        yield Group(*map(_capacity, sought), Text())
    if summary.scalings:
        yield Group(*map(_scaling, summary.scalings), Text())
    yield Group(*_rests_on(material))
    if page is not None:
        yield Text()
        yield Text.assemble(("Report ", "bold"), (clean(str(page)), "underline"), overflow="fold")


def _badge(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return ("· lead", "dim")
    return (f"{readable.verdict_glyph(verdict)} {verdict}", f"bold {_COLOURS[verdict]}")


def _answer(material: Material) -> Text:
    counting = material.counting
    text = Text()
    if counting:
        verdicts = list(dict.fromkeys(c.verdict for c in counting))
        for verdict in verdicts:
            text.append(*_badge(verdict))
            text.append("  ")
    text.append(clean(material.claim), style="bold")
    if material.shades:
        text.append(f" {clean(material.shades)}")
    if material.settle:
        text.append("\nThis would settle it: ").append(clean(material.settle), style="bold")
    return text


def _trouble(case: CaseResult) -> Text:
    style = "yellow" if case.state in ("skipped", "overloaded") else "red"
    return Text.assemble(
        (f"{case.state.upper()} ", f"bold {style}"),
        (clean(case.name), "bold"),
        f"  {clean(case.why)}" if case.why else "",
    )


def _figure(found: Estimate | None, joiner: str = "\n") -> Text:
    shown = readable.estimate(found)
    style = "yellow" if shown.state in ("at-least", "withheld", "unresolved") else ""
    text = Text(clean(shown.main), style=style)
    needs = f"({shown.note})" if shown.state == "unresolved" and shown.note else ""
    beneath = shown.interval or needs
    if beneath:
        text.append(joiner + clean(beneath), style="dim")
    return text


def _cases(material: Material, width: int) -> RenderableType:
    """A table; with names on lines of their own where it is too wide, and lists where that is."""
    metrics = headline_metrics(material.summary)
    labels = [_SHORT.get(name, readable.metric_label(name)) for name in metrics]
    rows = [[_figure(case.metrics.get(name)) for name in metrics] for case in material.measured]
    widths = [
        max(len(label), *(len(line) for row in rows for line in row[place].plain.splitlines()))
        for place, label in enumerate(labels)
    ]
    longest = max(len(clean(case.name)) for case in material.measured)
    fitting = [gap for gap in (2, 1) if sum(widths) + gap * (len(widths) - 1) <= width]
    if longest + sum(widths) + 2 * len(widths) <= width:
        return _case_table(material, labels, rows)
    if fitting:
        return _stacked_cases(material, labels, rows, widths, fitting[0])
    return Group(*(_case_list(case, metrics) for case in material.measured))


def _case_table(
    material: Material, labels: Sequence[str], rows: Sequence[Sequence[Text]]
) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("case", no_wrap=True)
    for label in labels:
        table.add_column(label, justify="right", no_wrap=True)
    for case, row in zip(material.measured, rows, strict=True):
        table.add_row(Text(clean(case.name), style=_shade(case)), *row)
    return table


def _stacked_cases(
    material: Material,
    labels: Sequence[str],
    rows: Sequence[Sequence[Text]],
    widths: Sequence[int],
    gap: int,
) -> RenderableType:
    """Names on lines of their own, so that the figures have the whole width."""

    def line(cells: Sequence[Text]) -> Text:
        split = [cell.split("\n") for cell in cells]
        whole = Text("\n").join(
            Text(" " * gap).join(
                _right(parts[place] if place < len(parts) else Text(), width)
                for parts, width in zip(split, widths, strict=True)
            )
            for place in range(max((len(parts) for parts in split), default=0))
        )
        whole.no_wrap = True
        return whole

    parts: list[RenderableType] = [line([Text(label, style="dim") for label in labels])]
    for case, row in zip(material.measured, rows, strict=True):
        parts += [Text(clean(case.name), style=f"bold {_shade(case)}"), line(row)]
    return Group(*parts)


def _right(text: Text, width: int) -> Text:
    return Text(" " * (width - text.cell_len)).append_text(text)


def _shade(case: CaseResult) -> str:
    return "" if case.state == "ok" else "yellow"


def _case_list(case: CaseResult, metrics: list[str]) -> RenderableType:
    rows = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    rows.add_column(style="dim")
    rows.add_column()
    for name in metrics:
        if name in case.metrics:
            label = _SHORT.get(name, readable.metric_label(name))
            rows.add_row(label, _figure(case.metrics[name], " "))
    return Group(Text(clean(case.name), style="bold"), Padding(rows, (0, 0, 0, 2)))


def comparison_name(comparison: Comparison) -> str:
    """`together against each, clients=4`."""
    at = "".join(f", {key}={value}" for key, value in comparison.at.items())
    return clean(f"{comparison.candidate} against {comparison.baseline}{at}")


def _comparisons(ordered: Sequence[Comparison], width: int) -> RenderableType:
    if width < WIDE:
        return Group(*(_comparison_list(c) for c in ordered))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("comparison", "metric"):
        table.add_column(title, overflow="fold")
    for title in ("effect", "95% interval", "p"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    for found in ordered:
        shown = readable.effect(found, unit_of(found))
        table.add_row(
            comparison_name(found),
            readable.metric_label(clean(found.metric)),
            Text(shown.main, style="bold" if found.counts else ""),
            shown.interval,
            readable.p_value(found.p) if found.counts else "",
            _verdict_cell(found),
            style="" if found.counts else "dim",
        )
    return table


def _verdict_cell(found: Comparison) -> Text:
    text = Text(*_badge(found.verdict))
    if found.counts and found.why:
        text.append(f"\n{clean(found.why)}", style="dim")
    return text


def _comparison_list(found: Comparison) -> RenderableType:
    shown = readable.effect(found, unit_of(found))
    first = Text(comparison_name(found), style="bold" if found.counts else "dim")
    second = Text.assemble(
        _badge(found.verdict),
        f"  {readable.metric_label(clean(found.metric))} {shown.text}",
        f"  p {readable.p_value(found.p)}" if found.counts else "",
    )
    lines = [second] + ([Text(clean(found.why), style="dim")] if found.counts and found.why else [])
    return Group(first, *(Padding(line, (0, 0, 0, 2)) for line in lines))


def _stalls(material: Material) -> Iterable[Text]:
    for case in material.watched:
        found = case.stalls
        if found is None or not found.count:
            continue
        (worst,) = stalled.longest(case, 1)
        length = readable.amount(worst.length_s, "s")
        causes = stalled.seen_with(found)
        yield Text.assemble(
            (f"{readable.count(found.count, 'stall')} ", "yellow"),
            f"of {clean(case.name)}: {readable.estimate(stalled.rate(found)).text}",
            f", the longest {length} ({stalled.place(worst)}: {stalled.what(worst)})",
            (f"; seen with them: {clean(causes)}" if causes else "", "dim"),
        )


def _promises(material: Material) -> Iterable[Text]:
    for promise in material.summary.promises:
        sign, style = {
            True: ("✓ holds", "green"),
            False: ("✕ broken", "bold red"),
            None: ("? cannot be told", "yellow"),
        }[promise.holds]
        yield Text.assemble(
            (sign, style),
            f"  {clean(promise.expression)}",
            f"  is {readable.amount(promise.figure, promise.unit)}"
            if promise.figure is not None
            else "",
            (f"  {clean(promise.case)}", "dim"),
        )


def _capacity(case: CaseResult) -> Text:
    said = "; ".join(readable.capacity(case))
    return Text.assemble(("Capacity", "bold"), f" of {clean(case.name)}: {clean(said)}")


def _scaling(found: Scaling) -> Text:
    said = [f"{name} {shown}" for name, _, shown in readable.scaling(found)]
    law = "; ".join([*said, *([found.why] if found.why else [])])
    return Text.assemble(
        ("Scaling", "bold"), f" over {clean(readable.scaling_name(found))}: {clean(law)}"
    )


def _rests_on(material: Material) -> Iterable[Text]:
    summary, record = material.summary, material.record
    blocks = f" × {readable.count(record.blocks, 'block')}" if record else ""
    text = Text.assemble(("Rests on ", "bold"), material.evidence + blocks)
    if material.taking_turns:
        text.append(f" · {material.taking_turns}")
    for label in material.labels:
        text.append(f" · {clean(label)}", style="yellow")
    yield text
    for note in material.notes:
        yield Text.assemble(("note", "yellow"), f"  {clean(note)}")
    if material.noise is not None:
        yield Text(
            f"this machine's own noise, by its calibration: so many sessions show "
            f"{significant(100 * material.noise)} % and more",
            style="dim",
        )
    units = {check.name: check.unit for case in summary.cases for check in case.checks}
    allowed = material.experiment.allow if material.experiment else {}
    for name, limit in allowed.items():
        yield Text(
            f"allowed: {clean(name)} up to {readable.limit(limit, units.get(name, ''))}",
            style="yellow",
        )
    seen: dict[tuple[str, str, str], list[str]] = {}
    for case in material.summary.cases:
        for check in not_valid(case):
            seen.setdefault((check.name, check.verdict, check.why), []).append(case.name)
    checked = [case for case in summary.cases if case.checks]
    if checked and not seen:
        yield Text("all checks valid", style="green")
    for (name, verdict, why), cases in seen.items():
        where = "every case" if len(cases) == len(checked) > 1 else ", ".join(cases)
        style = "magenta" if verdict == "invalid" else "yellow"
        yield Text.assemble(
            (f"{clean(name)} {verdict}", style), f"  {clean(why)}", (f"  ({clean(where)})", "dim")
        )
