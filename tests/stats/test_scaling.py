"""The scaling law: fitted on rates of a known law, and refused where it would be a guess."""

import numpy as np
import pytest
from scipy import stats

from benchlab.stats.scaling import fit, refusal

COUNTS = (1, 2, 4, 8, 16, 32)


def rates(
    sigma: float, kappa: float, sessions: int = 8, noise: float = 0.01, seed: int = 1
) -> list[list[float]]:
    """Rates by the law with 1000/s alone, sessions and levels off by some noise."""
    random = np.random.default_rng(seed)
    counts = np.array(COUNTS, dtype=float)
    true = 1000 * counts / (1 + sigma * (counts - 1) + kappa * counts * (counts - 1))
    off = np.exp(random.normal(0, noise, (sessions, len(COUNTS))))
    return (true * off).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("sigma", "kappa"), [(0.0, 0.0), (0.05, 0.0), (0.02, 0.001), (0.3, 0.01)])
def test_a_law_without_noise_is_found_again(sigma: float, kappa: float) -> None:
    law = fit(COUNTS, rates(sigma, kappa, noise=0.0))
    assert law.alone.estimate == pytest.approx(1000, rel=1e-4)
    assert law.contention.estimate == pytest.approx(sigma, abs=1e-4)
    assert law.coherence.estimate == pytest.approx(kappa, abs=1e-5)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(24):
        law = fit(COUNTS, rates(0.05, 0.002, seed=seed))
        held += law.contention.low <= 0.05 <= law.contention.high
    print(f"held in {held} of 24")
    assert held >= stats.binom.ppf(0.01, 24, 0.95)


def test_a_peak_is_named_where_agreeing_costs_something_and_it_was_nearly_measured() -> None:
    law = fit(COUNTS, rates(0.02, 0.002))
    assert law.peak is not None
    assert law.peak.low < np.sqrt(0.98 / 0.002) < law.peak.high
    assert fit(COUNTS, rates(0.02, 0.0)).peak is None
    # √(0.98/0.0001) is 99, three times what was measured.
    assert fit(COUNTS, rates(0.02, 0.0001, noise=0.001)).peak is None


def test_neither_cost_is_ever_below_zero() -> None:
    faster = [[1000.0 * count**1.1 for count in COUNTS] for _ in range(8)]
    law = fit(COUNTS, faster)
    assert law.contention.estimate == pytest.approx(0, abs=1e-6)
    assert law.coherence.estimate == pytest.approx(0, abs=1e-6)


def test_too_few_levels_or_too_narrow_ones_are_refused() -> None:
    assert refusal(COUNTS) is None
    assert "needs 6 levels, has 5" in (refusal((1, 2, 4, 8, 16)) or "")
    assert "factor of 8" in (refusal((4, 5, 6, 7, 8, 9)) or "")
    with pytest.raises(ValueError, match="6 levels"):
        fit((1, 2), [[1.0, 2.0]] * 6)
