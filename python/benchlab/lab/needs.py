"""What each study needs of this machine, and whether it is there.

Absent: installing anything.
"""

from dataclasses import asdict, dataclass
from typing import Any

from benchlab.host import programs
from benchlab.lab.opening import Narrowing, open_experiment
from benchlab.lab.studies import studies
from benchlab.systems import kind_of


@dataclass(frozen=True)
class Need:
    """One system of one study."""

    study: str
    system: str
    version: str
    missing: str | None
    """What is not here and how to get it; None when all is."""

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def needs() -> list[Need]:
    """Every system of every study that ships, in order of name."""
    found = []
    for study in sorted(studies()):
        opened = open_experiment(study, Narrowing({}))
        for name, system in opened.experiment.systems.items():
            needed = [programs.look(need) for need in system.needs]
            versions = " ".join(p.version for p in needed if p.version)
            found.append(Need(study, name, versions, kind_of(name, system).missing(system)))
    return found
