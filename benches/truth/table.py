"""`docs/TRUTH.md`, made of what the journal has.

Absent: any figure that is not in the journal.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benches.truth.units import QUIET, Journal, Line, Part, Row, machine

FILE = Path(__file__).resolve().parents[2] / "docs" / "TRUTH.md"
HEAD = """# What Benchlab says where the truth is known

Made by `make truth` (`benches/truth`, its parts by the letters below), of what it has measured so
far: by `benchlab run` of experiment files, as anybody would, and from their `summary.json` alone.
*Done* is how many of how many comparisons or rounds, when, on which machine, and in how many of
them somebody else was at work on it just before (above {quiet:g} cores' worth; the more, the
noisier). Intervals of shares are Clopper and Pearson's, of means Student's, at 95 %. Trials are
of 2 s and comparisons of 8 sessions of one block, so that all parts together take less than four
hours; a default comparison has trials of 5 s and two blocks, and shows smaller effects. The
servers of the parts (b) to (h) are `benches/truth/server.c`: one process that answers in order of
arrival and keeps its own books by the monotonic clock. What each unit found stands in
`benches/truth/units.jsonl`; copied into the work folder, it is gone on with.
"""


def make(journal: Journal, parts: Sequence[Part]) -> str:
    """The whole page."""
    text = [HEAD.format(quiet=QUIET), _here(journal)]
    for part in parts:
        text.append(f"\n## {part.title}\n{part.about}\n\n")
        text.append("| set up | the truth | seen | done | what it means |\n|---|---|---|---|---|\n")
        text += [_line(row) for row in part.rows(journal)]
    if any(line.short for line in journal):
        text.append("\nThese are short trials, to see that everything works: they tell nothing.\n")
    return "".join(text)


def _here(journal: Journal) -> str:
    """This machine, where something was measured on it."""
    here = machine()
    if here["fingerprint"] not in {line.machine for line in journal}:
        return ""
    named = f"{here['cpu']}, {here['cores']} cores, Linux {here['kernel']}"
    where = f", {here['virtualisation']}" if here["virtualisation"] else ""
    return f"\nThe machine {here['fingerprint'][:8]}: {named}{where}.\n"


def _line(row: Row) -> str:
    cells = (row.setup, row.truth, row.seen, done(row.done, row.of), row.means or "-")
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def done(lines: Sequence[Line], of: int) -> str:
    """`37 of 100, 2026-11-21 to 2026-11-22, on 65775d97, 3 beside others, load 0.4–2.1`."""
    if not lines:
        return f"0 of {of}"
    days = sorted({line.utc[:10] for line in lines})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    machines = Counter(line.machine[:8] for line in lines)
    loud = sum(not line.is_quiet for line in lines)
    loads = sorted(line.load for line in lines)
    beside = f"{loud} beside others" if loud else "quiet"
    return (
        f"{len(lines)} of {of}, {when}, on {', '.join(machines)}, {beside}, "
        f"load {loads[0]:.1f}–{loads[-1]:.1f}"
    )
