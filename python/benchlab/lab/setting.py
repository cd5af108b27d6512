"""What all parts of a run share.

Absent: anything done with it.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchlab.host.processes import Leash
from benchlab.lab import events
from benchlab.lab.building import Builder
from benchlab.lab.stopping import StopToken


@dataclass(frozen=True)
class Setting:
    """What every session of a run shares."""

    leash: Leash
    folder: Path
    """For everything temporary."""
    here: Path
    """The experiment file's folder."""
    seed: int
    stop: StopToken
    emit: Callable[[events.Event], None]
    builder: Builder
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    """Of the servers that the lab makes."""
