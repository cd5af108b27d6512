"""Whether there is enough evidence to print a quantile.

Requests inside a second are not independent: one stall slows a thousand of them together. How much
more the share of slow ones varies from second to second than independence allows says by how much
the count overstates the evidence.
"""

from collections.abc import Iterable
from math import ceil, floor, log

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95


def smallest_size(quantile: float) -> int:
    """The fewest independent values whose greatest exceeds the quantile with 97.5 %: q^n ≤ 0.025.

    Only then has the quantile's two-sided 95 % order-statistic interval an upper end
    (Conover 1999, § 3.2): 72 for p95, 368 for p99, 3,688 for p99.9, 36,887 for p99.99.
    """
    return ceil(log((1 - CONFIDENCE) / 2) / log(quantile))


def overdispersion(sessions: Iterable[tuple[ArrayLike, ArrayLike]]) -> float:
    """τ: variance of the per-second share of exceedances over its binomial variance, at least 1.

    Each session gives (exceedances of its own quantile, transactions) second by second; Pearson's
    dispersion statistic, Σ (x - n·p)² / (n·p·(1 - p)), is summed over the sessions and divided by
    the summed degrees of freedom (McCullagh and Nelder 1989, § 4.5).
    """
    statistic, freedom = 0.0, 0
    for exceeded, seen in sessions:
        x, n = np.asarray(exceeded, dtype=np.float64), np.asarray(seen, dtype=np.float64)
        x, n = x[n > 0], n[n > 0]
        share = float(x.sum() / n.sum()) if n.size else 0.0
        if n.size < 2 or not 0 < share < 1:
            continue
        statistic += float((np.square(x - n * share) / (n * share * (1 - share))).sum())
        freedom += n.size - 1
    return max(1.0, statistic / freedom) if freedom else 1.0


def effective_size(count: int, tau: float) -> int:
    """n_eff = n/τ: how many independent values the evidence is worth."""
    return floor(count / tau)
