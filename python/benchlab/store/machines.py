"""What is known of machines, by their fingerprints: their own noise, and what the path costs there.

Absent: how it is found out (`judge.calibration`, `lab.floors`), and what it forbids.
"""

import json
import os
import re
from pathlib import Path

from benchlab.model.errors import InputError
from benchlab.model.records import Calibration
from benchlab.store import files
from benchlab.store.runs import root

FOLDER = "calibrations"
FLOORS = "floors"


def keep(calibration: Calibration) -> None:
    """Adds a calibration to those of its machine."""
    path = root() / FOLDER / f"{calibration.fingerprint}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [*calibrations(calibration.fingerprint), calibration]
    files.replace(path, json.dumps([one.model_dump() for one in kept], indent=2))


def calibrations(fingerprint: str) -> tuple[Calibration, ...]:
    """All of a machine's, the oldest first. Raises InputError for a file that cannot be read."""
    path = root() / FOLDER / f"{fingerprint}.json"
    if not re.fullmatch(r"[0-9a-f]+", fingerprint) or not path.exists():
        return ()
    try:
        return tuple(Calibration.model_validate(one) for one in json.loads(path.read_bytes()))
    except ValueError as error:
        what = "cannot be read: remove it, and calibrate anew"
        raise InputError(what, file=str(path)) from error


def calibration(fingerprint: str) -> Calibration | None:
    """The newest of a machine, with the comparisons of them all; None where there is none."""
    kept = calibrations(fingerprint)
    if not kept:
        return None
    counts = {
        "called_different": sum(one.called_different for one in kept),
        "comparisons": sum(one.comparisons for one in kept),
    }
    return kept[-1].model_copy(update=counts)


def floors(fingerprint: str, engine: str) -> Path | None:
    """Where a machine's null-server runs with one engine are kept.

    None where there is no store, or none that may be written to.
    """
    if not root().is_dir() or not os.access(root(), os.W_OK):
        return None
    path = root() / FLOORS / f"{fingerprint}-{engine}"
    with files.writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path
