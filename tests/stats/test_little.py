"""Little's law, against closed forms."""

import pytest

from benchlab.stats.little import little_gap


def test_little_holds_where_the_books_agree() -> None:
    # Eight in flight for two seconds are sixteen thousand requests of one millisecond.
    assert little_gap(16e9, 16_000 * 1e6) == pytest.approx(0)
    assert little_gap(16e9, 15_000 * 1e6) == pytest.approx(1 / 16)
    assert little_gap(0, 5) is None
