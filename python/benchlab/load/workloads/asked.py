"""What a built-in workload is to whoever makes a Plan of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchlab.model.experiment import Transaction, Workload
from benchlab.model.sections import WorkloadKeys


@dataclass(frozen=True)
class Asked:
    """Values and the transactions that use them."""

    transactions: tuple[Transaction, ...]
    values: dict[str, Any] = field(default_factory=dict)
    """Generators by name, in the Plan's form."""


@dataclass(frozen=True)
class Loading:
    """The data as a load of its own: asked by one client, this many transactions long."""

    asked: Asked
    transactions: int


@dataclass(frozen=True)
class BuiltIn:
    """A workload that comes with the lab."""

    summary: str
    keys: WorkloadKeys
    schemes: tuple[str, ...]
    """Schemes of the URLs it can be asked of."""
    ask: Callable[[Workload, Sequence[str]], Asked]
    """What is asked of systems at these URLs."""
    load: Callable[[Workload], Loading | None] = lambda workload: None
    """How its data come to be, if it has any."""
