"""Over which sweeps a scaling law is told, and what is said where there is none."""

from dataclasses import replace
from typing import Any

from runs import Course, cases_of, experiment_of, run_of, wobble

from benchlab.judge.run import judge_run
from benchlab.model.evidence import Scaling
from benchlab.model.experiment import Case, Factor
from benchlab.report import readable

CLIENTS = ["1", "2", "4", "8", "16", "32"]


def scalings(
    clients: list[str] = CLIENTS,
    key: str = "load.clients",
    sessions: int = 8,
    bound: bool = False,
    **rest: Any,
) -> tuple[Scaling, ...]:
    """Of a run over clients whose rate follows a law."""
    cases = cases_of("clients", clients, **rest)

    def script(case: Case, session: int, block: int) -> Course:
        n = int(case.levels["clients"])
        rate = 20_000 * n / (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1))
        went = Course(rate=rate * wobble(session, block, n), ceiling=rate * 10)
        return replace(went, busy=0.99, ceiling=rate * 1.1) if bound and n == 32 else went

    factors = [Factor(name="clients", levels={name: {key: int(name)} for name in clients})]
    factors += [Factor(name=name, levels={level: {} for level in rest[name]}) for name in rest]
    run: Any = run_of(cases, script, sessions=sessions)
    return judge_run(experiment_of(cases, factors=tuple(factors)), cases, run).summary.scalings


def test_a_sweep_of_clients_has_a_law_for_each_of_the_other_levels() -> None:
    found = scalings(page=["light", "heavy"])
    assert [one.at for one in found] == [{"page": "light"}, {"page": "heavy"}]
    law = found[0]
    assert law.levels == (1, 2, 4, 8, 16, 32)
    assert law.contention is not None and law.coherence is not None and law.peak is not None
    assert law.contention.low < 0.05 < law.contention.high
    assert law.peak.low < (0.95 / 0.002) ** 0.5 < law.peak.high
    said = readable.scaling(law)
    assert [name for name, _, _ in said] == ["one alone", "contention", "coherence", "greatest at"]
    assert readable.scaling_name(law) == "clients (at page=light)"


def test_what_would_be_a_guess_is_refused_with_why() -> None:
    (few,) = scalings(CLIENTS[:5])
    assert few.alone_per_second is None and "needs 6 levels, has 5" in few.why
    (young,) = scalings(sessions=5)
    assert "5 of 6 sessions needed" in young.why
    (bound,) = scalings(bound=True)
    assert bound.why == "the agent was the limit of clients=32"


def test_other_sweeps_have_no_law() -> None:
    assert scalings(CLIENTS[:3]) == ()
    assert scalings(key="workload.options.size") == ()
