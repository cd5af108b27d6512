"""Distributions with infinitely slow members, against numpy and by algebra."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab._core import Histogram
from benchlab.stats.distribution import Distribution, decode, merge

samples = st.lists(st.integers(min_value=1, max_value=1000), max_size=60)
shares = st.floats(min_value=0.01, max_value=1)


def distribution(values: list[int], infinite: int = 0) -> Distribution:
    seen, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    return Distribution(seen, counts.astype(np.int64), infinite)


@given(samples.filter(bool), shares)
def test_quantile_is_numpy_s_inverted_cdf(values: list[int], share: float) -> None:
    expected = np.quantile(values, share, method="inverted_cdf")
    exact = share * len(values)
    if abs(exact - round(exact)) > 1e-6:
        assert distribution(values).quantile(share) == expected


@given(samples, samples, st.integers(0, 5), st.integers(0, 5))
def test_merging_is_counting_together(a: list[int], b: list[int], m: int, n: int) -> None:
    merged = merge([distribution(a, m), distribution(b, n)])
    swapped = merge([distribution(b, n), distribution(a, m)])
    together = distribution(a + b, m + n)
    for found in (merged, swapped):
        assert found.values.tolist() == together.values.tolist()
        assert found.counts.tolist() == together.counts.tolist()
        assert found.infinite == together.infinite


def test_failures_are_infinitely_slow() -> None:
    found = distribution(list(range(1, 100)), infinite=1)
    assert found.quantile(0.99) == 99
    assert found.quantile(0.991) == math.inf
    assert found.mean() == math.inf
    assert found.with_infinite(0).quantile(1.0) == 99
    assert distribution([], infinite=3).quantile(0.01) == math.inf


def test_nothing_has_no_quantile_and_no_mean() -> None:
    assert distribution([]).quantile(0.5) is None
    assert distribution([]).mean() is None
    assert merge([]).total == 0


@given(samples, st.integers(0, 1000), st.integers(0, 3))
def test_exceeding_counts_what_lies_above(values: list[int], limit: int, infinite: int) -> None:
    above = sum(value > limit for value in values) + infinite
    assert distribution(values, infinite).exceeding(limit) == above


def test_mean_is_weighted() -> None:
    assert distribution([1, 1, 4]).mean() == pytest.approx(2.0)


def test_a_histogram_of_the_engine_reads_as_its_counts() -> None:
    histogram = Histogram()
    for value, count in ((1, 2), (1500, 3), (4_000_000, 5)):
        histogram.record(value, count)
    found = decode(histogram.to_v2())
    assert found.counts.tolist() == [2, 3, 5]
    assert found.values[:2].tolist() == [1, 1500]
    assert found.values[2] == pytest.approx(4_000_000, rel=0.001)
    assert found.quantile(0.99) == histogram.quantile(0.99)
    assert decode(Histogram().to_v2()).total == 0


@given(st.lists(st.integers(min_value=1, max_value=10**12), min_size=1, max_size=50), shares)
def test_quantiles_are_the_engine_s(values: list[int], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    exact = share * len(values)
    if abs(exact - round(exact)) > 1e-6:
        assert decode(histogram.to_v2()).quantile(share) == histogram.quantile(share)


def test_what_is_no_histogram_is_refused() -> None:
    with pytest.raises(ValueError):
        decode(b"no histogram")
