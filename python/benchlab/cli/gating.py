"""A gate: what a CI job asks of an answer, where it is written, and the exit code it gives."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.model.errors import Exit, InputError
from benchlab.model.evidence import Comparison
from benchlab.model.experiment import Experiment
from benchlab.model.records import RunRecord

if TYPE_CHECKING:
    from benchlab.report.bulletin import Bulletin


@dataclass(frozen=True)
class Gate:
    """What is asked."""

    asks: bool = False
    """Whether what is worse, or cannot be told, is a failure."""
    advisory: bool = False
    """Whether it is told alone."""
    junit: Path | None = None
    markdown: Path | None = None

    def check(self, experiment: Experiment | None = None) -> None:
        """Raise `InputError` for a gate that could never answer, or whose files have no folder.

        A run whose last step fails would have been for nothing.
        """
        from benchlab.stats.family import MOST_EXPLORING, explores

        for option, file in (("--junit", self.junit), ("--markdown", self.markdown)):
            if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
                raise InputError(f"{file} cannot be written: give a file in a folder", key=option)
        if self.advisory and not self.asks:
            raise InputError("belongs to --gate", key="--advisory")
        if not self.asks or experiment is None:
            return
        if experiment.compare is None:
            raise InputError(
                "the file has no compare: to say what is held against what", key="--gate"
            )
        if explores(experiment.sessions):
            few = f"{MOST_EXPLORING} sessions explore and claim nothing"
            raise InputError(f"{few}; take 8 or more", key="--gate")

    def doubt(self, record: RunRecord) -> str:
        """Why this gate stops nobody; empty where it does."""
        from benchlab.judge.calibration import gate_doubt

        if not self.asks:
            return ""
        return "--advisory was given" if self.advisory else gate_doubt(record.calibration)

    def tell(self, bulletin: "Bulletin") -> None:
        """Write the files that were asked for."""
        from benchlab.report import bulletin as told

        if self.junit is not None:
            self.junit.write_text(told.junit(bulletin), encoding="utf-8")
        if self.markdown is not None:
            self.markdown.write_text(told.markdown(bulletin), encoding="utf-8")

    def code(self, comparisons: Sequence[Comparison], advisory: str) -> Exit:
        """1 where something is worse, 3 where it cannot be told; 0 and a warning if advisory."""
        from benchlab.judge.answer import may_be_worse

        counting = [one.verdict for one in comparisons if one.counts]
        is_open = any(one.counts and may_be_worse(one) for one in comparisons)
        code = Exit.DONE
        if not counting or is_open or "invalid" in counting or "inconclusive" in counting:
            code = Exit.CANNOT_TELL
        if "worse" in counting:
            code = Exit.BROKEN_PROMISE
        if not advisory or code == Exit.DONE:
            return code
        said = "something is worse" if code == Exit.BROKEN_PROMISE else "it cannot be told"
        print(f"benchlab: warning: {said}; the gate is advisory: {advisory}", file=sys.stderr)
        return Exit.DONE


NO_GATE = Gate()
