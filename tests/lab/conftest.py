"""Runs of the null server are kept short here, and other runs on the machine are not looked for."""

import secrets

import pytest
from labs import shorten_null_runs

from benchlab.lab import neighbours


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are under way beside the tests are nobody's concern."""
    monkeypatch.setattr(neighbours, "PREFIX", f"benchlab-test-{secrets.token_hex(4)}")


@pytest.fixture(autouse=True)
def short_null_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fractions of a second in place of seconds."""
    shorten_null_runs(monkeypatch.setattr)
