"""Progress: one live line on a terminal, a line a trial without one, nothing when quiet.

Where a verdict is to be given, no figure is shown before it: whoever sees how a comparison stands
is tempted to end it while it stands well. What is told is how far the run is, what went wrong, and
how wide its intervals are. Absent: the answer (`answering`).
"""

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from benchlab.judge.precision import Outlook
from benchlab.lab import events
from benchlab.lab.budget import TimeEstimate
from benchlab.model import quantities
from benchlab.model.metrics import metric as metric_of
from benchlab.model.quantities import significant
from benchlab.model.records import Step


def counted(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sessions_told(fewest: int, most: int) -> str:
    """`8 sessions`, `8 to 20 sessions`."""
    return counted(most, "session") if fewest == most else f"{fewest} to {most} sessions"


def takes_told(estimate: TimeEstimate) -> str:
    """How long a run is expected to take: `about 2 min`, `about 2 min to 4 min or so`."""
    shortest, longest = (quantities.format(s, "s") for s in (estimate.total_s, estimate.most_s))
    length = shortest if shortest == longest else f"{shortest} to {longest}"
    return f"about {length}{' or so' if estimate.is_guess else ''}"


def outlook_told(event: events.SessionEnded) -> str:
    """`session 4/8 counts: intervals are ±5.2 % now, about ±2.6 % at the end; the verdict then`."""
    assert event.outlook is not None
    now, end = (f"±{significant(100 * x)} %" for x in (event.outlook.now, event.outlook.at_end))
    head = f"session {event.session + 1}/{event.of} counts: intervals are {now}"
    if event.session + 1 == event.of:
        return head
    return f"{head} now, about {end} at the end; the verdict comes then"


def step_name(step: Step, *, is_blind: bool) -> str:
    """A step of a search in words: `at 5000/s`, `at 0.9 × found = 4700/s`; or no rate in it."""
    if is_blind:
        return "of the search" if step.share is None else f"at {step.share:.3g} × found"
    rate = quantities.format(step.rate, "1/s")
    return f"at {rate}" if step.share is None else f"at {step.share:.3g} × found = {rate}"


class Display:
    """Shows the lab's events on standard error, so that standard output is the answer alone."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, emoji=False, quiet=quiet)
        self.live: Live | None = None
        self.where = ""
        self.is_blind = False
        if self.console.is_terminal and not quiet:
            self.live = Live(console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Display":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def show(self, event: events.Event) -> None:
        """Say what happened."""
        match event:
            case events.RunStarted():
                self._started(event)
            case events.BuildStarted():
                self._now(f"building {event.system} at {event.revision} ({event.commit[:10]})")
            case events.Built():
                built = f"built {event.system} at {event.revision} ({event.commit[:10]})"
                self._line(f"{escape(built)} in {quantities.format(event.seconds, 's')}")
            case events.SessionStarted():
                self._now(f"session {event.session + 1}/{event.of}: starting systems")
            case events.SystemDied():
                self._line(f"[red]{escape(event.system)} died:[/] {escape(event.why)}")
                for line in event.log_tail.splitlines()[-5:]:
                    self._line(f"  [dim]{escape(line)}[/]")
            case events.TrialStarted():
                attempt = "" if event.attempt == 0 else f", attempt {event.attempt + 1}"
                of = f"/{event.of}" if event.of else ""
                step = event.step
                rate = f" {step_name(step, is_blind=self.is_blind)}" if step else ""
                self.where = (
                    f"trial {event.number}{of}, session {event.session + 1}, "
                    f"block {event.block + 1}{attempt}: {event.case}{rate}"
                )
                self._now(self.where)
            case events.Progress():
                self._progress(event)
            case events.TrialEnded():
                self._ended(event)
            case events.SessionEnded(outlook=Outlook()):
                self._line(f"[dim]{outlook_told(event)}[/]")
            case events.StepEnded():
                self._stepped(event)
            case events.Skipped():
                session = "" if event.session is None else f" in session {event.session + 1}"
                self._line(
                    f"[yellow]skipped{session}:[/] {escape(event.case)}: {escape(event.why)}"
                )
            case events.Note():
                self._line(f"[dim]{escape(event.text)}[/]")
            case events.RunEnded(state="interrupted"):
                self._line(
                    f"interrupted after {event.sessions_done} sessions; "
                    f"to go on: benchlab run --resume {escape(str(event.path))}"
                )
            case _:
                pass

    def _started(self, event: events.RunStarted) -> None:
        self.is_blind = event.is_blind
        done = f", {event.sessions_done} done already" if event.sessions_done else ""
        self._line(
            f"[bold]{escape(event.experiment)}[/]: {counted(len(event.cases), 'case')} × "
            f"{sessions_told(event.sessions, event.most_sessions)} × "
            f"{counted(event.blocks, 'block')}{done}, {takes_told(event.estimate)}"
        )

    def _progress(self, event: events.Progress) -> None:
        phase = "warm-up" if event.second < 0 else f"{event.second + 1} s"
        errors = f", {event.errors} errors" if event.errors else ""
        if self.is_blind:
            answers = "" if event.rate else ", no answers"
            self._now(f"{self.where}  {phase}{answers}{errors}")
            return
        p99 = "" if event.p99_s is None else f", p99 {quantities.format(event.p99_s, 's')}"
        rate = quantities.format(event.rate, "1/s")
        self._now(f"{self.where}  {phase}: {rate}{p99}{errors}")

    def _ended(self, event: events.TrialEnded) -> None:
        if self.live and event.state == "ok" and event.used:
            return
        shown = [
            f"{name} {quantities.format(value, unit)}"
            for name, unit in (("throughput", "1/s"), ("latency_p99", "s"))
            if (value := event.figures.get(name)) is not None and not self.is_blind
        ]
        state = "" if event.state == "ok" and event.used else f" [yellow]{event.state}[/]"
        why = f" ({escape(event.why)})" if event.why else ""
        figures = f"  {', '.join(shown)}" if shown else ""
        self._line(f"{escape(self.where)}{state}{why}{figures}")

    def _stepped(self, event: events.StepEnded) -> None:
        if self.is_blind:
            return
        shown = [
            f"{name} {quantities.format(value, metric_of(name).unit)}"
            for name, value in event.figures.items()
            if value is not None
        ]
        word = event.outcome if event.outcome != "unknown" else "cannot be told"
        why = f" ({escape(event.why)})" if event.why else ""
        where = f"{escape(event.case)} {step_name(event.step, is_blind=False)}"
        self._line(
            f"session {event.session + 1}: {where}: "
            f"{word}{why}{'  ' if shown else ''}{', '.join(shown)}"
        )

    def _line(self, markup: str) -> None:
        self.console.print(markup, soft_wrap=True)

    def _now(self, text: str) -> None:
        if self.live:
            self.live.update(Text(text, overflow="ellipsis", no_wrap=True))
