"""What a CI server is told: the verdicts as JUnit's XML, and a page of Markdown for a pull request.

Each comparison that counts, each promise and each case is a test there. One fails where something
is worse, broken or dead; what could not be told is an error where a gate asked, and skipped where
nobody did. Absent: exit codes (`cli`), and any figure that the terminal does not show.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from benchlab.judge.answer import may_be_worse, unit_of
from benchlab.model.evidence import Between, CaseResult, Comparison, PromiseResult, Summary
from benchlab.report import readable
from benchlab.report.terminal import clean, comparison_name

MARKS = "\\`*_[]<>|#~"
"""What Markdown would take for something else than text."""
Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class Item:
    """One test of a CI server."""

    name: str
    outcome: Outcome
    said: str


@dataclass(frozen=True)
class Bulletin:
    """What is to be told of a run, or of a run beside others."""

    experiment: str
    question: str
    answer: str
    comparisons: tuple[Comparison, ...]
    promises: tuple[PromiseResult, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    notes: tuple[str, ...] = ()
    gates: bool = False
    """Whether what cannot be told is as bad as what is worse."""
    advisory: str = ""
    """Why nothing here stops anybody; empty where it does."""

    @classmethod
    def of_run(cls, summary: Summary, *, gates: bool, advisory: str) -> "Bulletin":
        """Of one run."""
        return cls(
            summary.experiment,
            summary.question,
            summary.answer,
            summary.comparisons,
            summary.promises,
            summary.cases,
            gates=gates,
            advisory=advisory,
        )

    @classmethod
    def of_runs(cls, found: Between, *, advisory: str) -> "Bulletin":
        """Of a run that a gate holds against others."""
        notes = (*(f"changed: {line}" for line in found.changed), *found.notes)
        return cls(
            found.experiment,
            "",
            found.answer,
            found.comparisons,
            notes=notes,
            gates=True,
            advisory=advisory,
        )

    def items(self) -> Iterator[Item]:
        """Every test, in the order of the report."""
        for case in self.cases:
            yield Item(f"case {case.name}", _case_outcome(case), clean(case.why or case.state))
        for one in self.comparisons:
            if one.counts:
                shown = readable.effect(one, unit_of(one)).text
                said = "; ".join(
                    part for part in (f"{one.verdict}: {shown}", clean(one.why)) if part
                )
                name = f"{readable.metric_label(one.metric)}: {comparison_name(one)}"
                yield Item(name, self._outcome(one), said)
        for promise in self.promises:
            figure = readable.amount(promise.figure, promise.unit)
            outcome: Outcome = "skipped" if promise.holds is None else "failure"
            name = f"{clean(promise.expression)}: {clean(promise.case)}"
            yield Item(name, "passed" if promise.holds else outcome, f"is {figure}")

    def _outcome(self, one: Comparison) -> Outcome:
        if one.verdict == "worse":
            return "skipped" if self.advisory else "failure" if self.gates else "passed"
        if one.verdict not in ("invalid", "inconclusive") and not may_be_worse(one):
            return "passed"
        is_error = self.gates or one.verdict == "invalid"
        return "error" if is_error and not self.advisory else "skipped"


def _case_outcome(case: CaseResult) -> Outcome:
    if case.state == "skipped":
        return "skipped"
    return "failure" if case.state in ("died", "aborted") else "passed"


def junit(bulletin: Bulletin) -> str:
    """The bulletin as JUnit's XML."""
    items = list(bulletin.items())
    counts = {
        attribute: str(sum(item.outcome == outcome for item in items))
        for attribute, outcome in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        )
    }
    suites = ElementTree.Element("testsuites")
    name = clean(bulletin.experiment)
    about = {"name": f"benchlab.{name}", "tests": str(len(items)), **counts}
    suite = ElementTree.SubElement(suites, "testsuite", about)
    for item in items:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=item.name)
        if item.outcome != "passed":
            ElementTree.SubElement(case, item.outcome, message=_advised(item, bulletin))
        else:
            ElementTree.SubElement(case, "system-out").text = item.said
    ElementTree.SubElement(suite, "system-out").text = clean(bulletin.answer)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _advised(item: Item, bulletin: Bulletin) -> str:
    return f"{item.said} (advisory: {bulletin.advisory})" if bulletin.advisory else item.said


def markdown(bulletin: Bulletin) -> str:
    """The bulletin as GitHub's Markdown."""
    title = bulletin.question or bulletin.experiment
    lines = [f"### Benchlab: {_escaped(title)}", "", f"**{_escaped(bulletin.answer)}**", ""]
    if bulletin.advisory:
        lines += [f"> Advisory: {_escaped(bulletin.advisory)}", ""]
    lines += _table(
        ("comparison", "metric", "effect", "95 % interval", "p", "verdict"),
        [_row(one) for one in bulletin.comparisons if one.counts],
    )
    lines += _table(
        ("promise", "case", "is", ""),
        [
            (
                one.expression,
                one.case,
                readable.amount(one.figure, one.unit),
                {True: "✓ holds", False: "✕ broken", None: "? cannot be told"}[one.holds],
            )
            for one in bulletin.promises
        ],
    )
    ailing = [case for case in bulletin.cases if case.state != "ok"]
    lines += _table(("case", "state", "why"), [(c.name, c.state, c.why) for c in ailing])
    lines += [f"- {_escaped(note)}" for note in bulletin.notes]
    return "\n".join(lines).rstrip() + "\n"


def _row(one: Comparison) -> Sequence[str]:
    shown = readable.effect(one, unit_of(one))
    word = f"{readable.verdict_glyph(one.verdict)} {one.verdict}"
    why = f": {one.why}" if one.why else ""
    label = readable.metric_label(one.metric)
    p = readable.p_value(one.p)
    return comparison_name(one), label, shown.main, shown.interval, p, f"{word}{why}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    listed = [f"| {' | '.join(map(_escaped, row))} |" for row in rows]
    if not listed:
        return []
    return [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *listed, ""]


def _escaped(text: str) -> str:
    """Outside text that can neither break a table nor bring marks or HTML of its own."""
    return "".join(f"\\{c}" if c in MARKS else c for c in clean(text))
