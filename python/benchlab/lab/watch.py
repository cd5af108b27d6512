"""`abort_when:` watched while a trial runs.

Absent: stopping the trial; this only says that it should be.
"""

import operator
from collections.abc import Mapping, Sequence

from benchlab.load.agent import Progress
from benchlab.model.errors import InputError
from benchlab.model.experiment import Expression

LIVE = ("errors", "throughput", "latency_p99")
"""Metrics an agent tells of every second."""
BUSY = 10
"""So many answers within a second make a second without any a silence."""
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
    """One trial's limits. The warm-up is not held against a system, errors apart.

    Whoever answers nothing at all, though it did before and the load goes on evenly, has been as
    slow as that by then: a time is held against such a silence too.
    """

    def __init__(self, expressions: Sequence[Expression], *, is_even: bool = True) -> None:
        self._expressions = tuple(expressions)
        self._ended = self._errors = 0
        self._second: Progress | None = None
        self._is_even, self._was_busy, self._silent_s = is_even, False, 0
        self.broken: str | None = None
        """The first limit that was broken, with the figure."""

    def see(self, told: Progress) -> None:
        """Takes in what an agent tells: errors count at once, as their share so far.

        Speed is looked at once the next second has begun: the last one may be a part of a second,
        and answers that come late are told of in the second they belong to.
        """
        self._ended += told.completed + told.errors
        self._errors += told.errors
        if self._ended:
            self._hold({"errors": self._errors / self._ended}, told.second)
        whole = self._second
        if whole is not None and told.second <= whole.second:
            return
        self._second = told
        if whole is None:
            return
        self._was_busy |= self._is_even and whole.completed >= BUSY
        answered = whole.completed + whole.errors > 0
        self._silent_s = 0 if answered or not self._was_busy else self._silent_s + 1
        if whole.second >= 0:
            p99_s = float(self._silent_s) if self._silent_s else whole.p99_s
            figures = {"throughput": float(whole.completed), "latency_p99": p99_s}
            self._hold(figures, whole.second)

    def _hold(self, figures: Mapping[str, float | None], second: int) -> None:
        for expression in self._expressions:
            figure = figures.get(expression.metric)
            if figure is None or self.broken is not None:
                continue
            if _HOLDS[expression.operator](figure, expression.limit):
                self.broken = f"{expression.text}: {figure:.4g} in second {second}"
