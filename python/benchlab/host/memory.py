"""How much memory is left on this machine.

Absent: who holds it (`probes`).
"""

import psutil


def available_share() -> float:
    """Memory that could be had without swapping, as a share of all."""
    found = psutil.virtual_memory()
    return float(found.available) / float(found.total)
