"""`abort_when:` watched while a trial runs.

Absent: stopping the trial; this only says that it should be.
"""

import operator
from collections.abc import Sequence

from benchlab.load.agent import Progress
from benchlab.model.errors import InputError
from benchlab.model.experiment import Expression

LIVE = ("errors", "throughput", "latency_p99")
"""Metrics an agent tells of every second."""
_HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def check(expressions: Sequence[Expression]) -> None:
    """Raises InputError for a metric that cannot be watched while a trial runs."""
    for expression in expressions:
        if expression.metric not in LIVE:
            raise InputError(
                f"{expression.metric} is not known while a trial runs; {', '.join(LIVE)} are",
                key=f"abort_when: {expression.text}",
            )


class Watch:
    """One trial's limits. The warm-up is not held against a system, errors apart."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self._expressions = tuple(expressions)
        self._ended = self._errors = 0
        self.broken: str | None = None
        """The first limit that was broken, with the figure."""

    def see(self, progress: Progress) -> None:
        """Takes in one second: errors as their share so far, the others each second."""
        self._ended += progress.completed + progress.errors
        self._errors += progress.errors
        figures: dict[str, float | None] = {
            "errors": self._errors / self._ended if self._ended else None
        }
        if progress.second >= 0:
            figures["throughput"] = float(progress.completed)
            figures["latency_p99"] = progress.p99_s
        for expression in self._expressions:
            figure = figures.get(expression.metric)
            if figure is None or self.broken is not None:
                continue
            if _HOLDS[expression.operator](figure, expression.limit):
                self.broken = f"{expression.text}: {figure:.4g} in second {progress.second}"
