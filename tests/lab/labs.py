"""Small experiments on real servers, and a lab of its own process to be stopped and killed."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchlab import store
from benchlab.lab import events
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.load import null
from benchlab.model.cases import cases
from benchlab.model.experiment import Experiment
from benchlab.model.reading import read_experiment
from benchlab.model.records import RunRecord
from benchlab.model.sections import Known
from benchlab.store import Run

T = TypeVar("T")
ALONE = Known()
HELLO = Path(__file__).with_name("hello.py")
"""A server that answers every GET; `--die-after N` and `--mark FILE` are told on its line."""


def text(*, load: str = "{clients: 2, duration: 0.5s, warmup: 0.1s}", more: str = "") -> str:
    """Two servers that are the same, and one case each."""
    start = f"{sys.executable} {HELLO} ${{port}}"
    return f"""
experiment: hello
systems:
  left: {{kind: command, start: "{start}", url: "http://127.0.0.1:${{port}}/"}}
  right: {{kind: command, start: "{start} --name right", url: "http://127.0.0.1:${{port}}/"}}
workload: {{mix: {{page: {{get: /, expect: {{status: 200}}}}}}}}
load: {load}
factors: {{system: [left, right]}}
sessions: 2
blocks: 1
seed: 5
{more}
"""


@dataclass
class Seen:
    """The events of a run, kept."""

    all: list[events.Event] = field(default_factory=list)

    def __call__(self, event: events.Event) -> None:
        self.all.append(event)

    def of(self, kind: type[T]) -> list[T]:
        """Those of one kind."""
        return [event for event in self.all if isinstance(event, kind)]


def new_run(
    experiment_text: str, out: Path | None = None, known: Known = ALONE
) -> tuple[Experiment, Run]:
    """A folder for a run of an experiment."""
    experiment = read_experiment(experiment_text, file="hello.yaml", known=known)
    record = RunRecord(
        id=store.new_id(),
        experiment=experiment.name,
        state="running",
        created_utc=store.now_utc(),
        command=("benchlab", "run", "hello.yaml"),
        seed=experiment.seed,
        sessions=experiment.sessions,
        blocks=experiment.blocks,
        precision=experiment.precision,
    )
    return experiment, store.create(experiment_text, record, out)


def shorten_null_runs(put: Callable[[object, str, int], None]) -> None:
    """Has the null server measured for fractions of a second."""
    for name in ("WARMUP_NS", "CEILING_NS", "FLOOR_NS"):
        put(null, name, 200_000_000)


def main() -> None:
    """Runs or resumes an experiment in the folder given, saying each event on a line."""
    shorten_null_runs(setattr)
    out, experiment_text = Path(sys.argv[1]), Path(sys.argv[2]).read_text()
    if (out / "run.json").exists():
        run = Run(out)
        experiment = read_experiment(experiment_text, file="hello.yaml", known=KNOWN)
    else:
        experiment, run = new_run(experiment_text, out, KNOWN)
    stop = StopToken()
    with stop.on_signals():
        record = execute(
            experiment,
            cases(experiment),
            run,
            emit=lambda event: print(type(event).__name__, flush=True),
            stop=stop,
        )
    print("state", record.state, flush=True)


if __name__ == "__main__":
    main()
