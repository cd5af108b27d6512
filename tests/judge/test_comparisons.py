"""Which pairs of cases are compared, and when their pairs may not answer."""

from collections.abc import Sequence

import pytest
from runs import Course, FakeRun, Script, cases_of, experiment_of, run_of, wobble

from benchlab.judge.comparisons import cells, counting
from benchlab.judge.run import judge_run
from benchlab.judge.validity import what_bounds
from benchlab.model.evidence import Comparison
from benchlab.model.experiment import Case, Compare

PAIR = cases_of("fetch", ["each", "together"])
ON_RATE = Compare(factor="fetch", baseline="each", metrics=("throughput",))


def compared(script: Script, compare: Compare = ON_RATE, blocks: int = 2) -> Comparison:
    run: FakeRun = run_of(PAIR, script, blocks=blocks)
    experiment = experiment_of(PAIR, compare=compare)
    return judge_run(experiment, PAIR, run).summary.comparisons[0]  # type: ignore[arg-type]


def script_of(**of_candidate: object) -> Script:
    """Equal sides but for what the candidate is given."""

    def script(case: Case, session: int, block: int) -> Course:
        is_candidate = case.levels["fetch"] == "together"
        given = {"rate": 20_000 * wobble(session, block, int(is_candidate))}
        return Course(**given | (of_candidate if is_candidate else {}))  # type: ignore[arg-type]

    return script


def on(metric: str) -> Compare:
    return ON_RATE.model_copy(update={"metrics": (metric,)})


def names(compare: Compare, cases: Sequence[Case]) -> list[tuple[str, str, bool]]:
    return [(c.candidate_case, c.baseline_case, c.counts) for c in cells(compare, cases)]


def test_every_cell_has_each_other_level_against_the_baseline() -> None:
    cases = cases_of("fetch", ["each", "together", "lazy"], clients=["1", "8"])
    found = names(ON_RATE.model_copy(update={"at": {"clients": "8"}}), cases)
    assert found == [
        ("fetch=together,clients=1", "fetch=each,clients=1", False),
        ("fetch=together,clients=8", "fetch=each,clients=8", True),
        ("fetch=lazy,clients=1", "fetch=each,clients=1", False),
        ("fetch=lazy,clients=8", "fetch=each,clients=8", True),
    ]


def test_all_cells_count_without_at() -> None:
    cases = cases_of("fetch", ["each", "together"], clients=["1", "8"])
    two = ON_RATE.model_copy(update={"metrics": ("throughput", "errors")})
    assert counting(two, cases) == 4
    assert counting(ON_RATE.model_copy(update={"at": {"clients": "1"}}), cases) == 1
    assert counting(None, cases) == 0


def test_a_cell_without_its_baseline_is_not_compared() -> None:
    cases = cases_of("fetch", ["each", "together"], clients=["1", "8"])
    left = [case for case in cases if case.name != "fetch=each,clients=1"]
    assert names(ON_RATE, left) == [("fetch=together,clients=8", "fetch=each,clients=8", True)]


def test_five_per_cent_more_is_better() -> None:
    found = compared(script_of(rate=21_500.0))
    assert found.verdict == "better"


def test_unusable_trials_may_not_differ_by_more_than_two() -> None:
    def script(count: int) -> Script:
        def of(case: Case, session: int, block: int) -> Course:
            stolen = case.levels["fetch"] == "together" and block == 0 and session < count
            return Course(rate=20_000 * wobble(session, block), steal=0.3 if stolen else 0.0)

        return of

    assert compared(script(2)).verdict == "equivalent"
    found = compared(script(3))
    assert found.verdict == "invalid"
    assert "3 trials of fetch=together cannot be used, 3 more" in found.why
    assert "steal" in found.why
    assert found.effect is not None


def test_six_sessions_must_count_on_both_sides() -> None:
    def script(count: int) -> Script:
        def of(case: Case, session: int, block: int) -> Course:
            return Course(rate=20_000 * wobble(session, block), steal=0.3 * (session < count))

        return of

    assert compared(script(2), blocks=1).sessions == 6
    assert compared(script(2), blocks=1).verdict != "invalid"
    found = compared(script(3), blocks=1)
    assert found.verdict == "invalid" and "5 of 6 sessions needed" in found.why


@pytest.mark.parametrize(
    ("rate", "verdict"), [(40_000.0, "better"), (20_000.0, "invalid"), (10_000.0, "invalid")]
)
def test_a_bound_supports_its_own_direction_alone(rate: float, verdict: str) -> None:
    bound = {"rate": rate, "busy": 0.99, "ceiling": rate * 1.1}
    found = compared(script_of(**bound))
    assert found.verdict == verdict
    assert ("at least" in found.why) == (verdict == "better")


def test_a_bound_baseline_supports_worse() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        if case.levels["fetch"] == "together":
            return Course(rate=10_000 * wobble(session, block, 1))
        return Course(rate=20_000 * wobble(session, block), busy=0.99, ceiling=21_000.0)

    assert compared(script).verdict == "worse"


def test_bounds_on_both_sides_say_nothing() -> None:
    def script(case: Case, session: int, block: int) -> Course:
        rate = (20_000 if case.levels["fetch"] == "each" else 10_000) * wobble(session, block)
        return Course(rate=rate, busy=0.99, ceiling=rate * 1.1)

    found = compared(script)
    assert found.verdict == "invalid" and "both sides" in found.why


def test_a_capacity_is_a_bound_of_another_kind() -> None:
    assert what_bounds("throughput") == "the agent was the limit"
    assert "saw no rate break the target" in what_bounds("capacity")


def test_withheld_latency_is_not_compared() -> None:
    found = compared(script_of(busy=0.99, ceiling=21_000.0), on("latency_p99"))
    assert found.verdict == "invalid" and "withheld" in found.why


def test_latency_below_what_the_path_costs_is_not_compared() -> None:
    found = compared(script_of(floor_ns=3_000_000), on("latency_p99"))
    assert found.verdict == "invalid" and "the path itself costs" in found.why


def test_an_unresolved_quantile_is_not_compared() -> None:
    found = compared(script_of(rate=100.0), on("latency_p999"))
    assert found.verdict == "invalid" and "needs 3,688" in found.why


def test_infinite_latency_is_not_compared() -> None:
    found = compared(script_of(failed=0.03), on("latency_p99"))
    assert found.verdict == "invalid" and "infinite" in found.why


def test_errors_are_compared_by_difference() -> None:
    found = compared(script_of(failed=0.03), on("errors"))
    assert found.by == "difference" and found.verdict == "worse"
    assert found.effect == pytest.approx(0.03, abs=0.001)
    assert "by difference" in found.why


def test_a_slower_start_is_the_same_on_both_sides_of_a_pair() -> None:
    # Sessions differ tenfold, which the pairs do not see.
    def script(case: Case, session: int, block: int) -> Course:
        effect = 1.05 if case.levels["fetch"] == "together" else 1.0
        return Course(rate=20_000 * (1 + session) * effect * wobble(session, block, len(case.name)))

    found = compared(script)
    assert found.verdict == "better" and found.effect == pytest.approx(0.05, abs=0.01)
