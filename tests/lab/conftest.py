"""Runs of the null server are kept short here; what they measure is not these tests' question."""

import pytest
from labs import shorten_null_runs


@pytest.fixture(autouse=True)
def short_null_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fractions of a second in place of seconds."""
    shorten_null_runs(monkeypatch.setattr)
