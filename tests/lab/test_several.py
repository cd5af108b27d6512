"""Systems of several members through the whole lab: loaded, copied, put back, each member seen."""

from collections.abc import Callable
from pathlib import Path

import polars
import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab import preflight
from benchlab.lab.opening import KNOWN
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases
from benchlab.model.errors import InputError
from benchlab.model.reading import read_experiment

pytestmark = pytest.mark.real

SEVERAL = """
experiment: several
systems:
  caches: {kind: memcached, instances: 2}
  cluster: {kind: redis, masters: 3}
  streamed: {kind: postgresql, replicas: 1}
workload:
  name: records
  options: {read: 90%, update: 10%}
  data: {records: 10000}
load: {clients: 8, duration: 1s, warmup: 0.2s}
factors: {system: [caches, cluster, streamed]}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""
MEMBERS = {
    "caches": {"", "1", "2"},
    "cluster": {"", "master-1", "master-2", "master-3"},
    "streamed": {"", "primary", "replica-1"},
}


def test_systems_of_several_members_are_measured_and_each_member_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    for name in ("memcached", "redis-server", "psql"):
        program(name)
    shorten_null_runs(monkeypatch.setattr)
    experiment, run = new_run(SEVERAL, tmp_path / "run", known=KNOWN)
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    for case in judge_run(experiment, cases(experiment), run).summary.cases:
        rows = {check.name: check for check in case.checks}
        assert rows["answers"].verdict == "valid", rows["answers"]
        assert case.metrics["throughput"].validity == "valid", rows
    trials = list(run.trials())
    assert len(trials) == 6
    for trial in trials:
        probes = trial.probes()
        system = probes.filter(
            (polars.col("source") == "system") & (polars.col("counter") == "cpu_user_s")
        )
        assert set(system["member"]) == MEMBERS[trial.record.case.removeprefix("system=")]
        ends = {member: rows["value"][-1] for (member,), rows in system.group_by("member")}
        assert ends.pop("") == pytest.approx(sum(ends.values()))


@pytest.mark.parametrize(
    ("how_many", "message"),
    [
        ("masters: 2", "masters: a cluster has 3 masters at least"),
        ("replicas: 2", "replicas: belong to a cluster: say how many `masters`"),
    ],
)
def test_a_cluster_that_cannot_be_is_told_with_its_line(how_many: str, message: str) -> None:
    text = f"""\
experiment: x
systems:
  cache:
    kind: redis
    {how_many}
workload: {{name: records, data: {{records: 1000}}}}
"""
    experiment = read_experiment(text, file="x.yaml", known=KNOWN)
    with pytest.raises(InputError) as refused:
        preflight.check(experiment, cases(experiment), Path())
    assert str(refused.value) == f"x.yaml:5: systems.cache.{message}"
