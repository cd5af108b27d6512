"""The run that tells a machine's own noise: a server, and the same server again.

Absent: what its figures mean (`judge.calibration`).
"""

import shlex
import sys
from typing import Any

from benchlab.lab import equals
from benchlab.lab.opening import Opened, open_mapping

SESSIONS = 20
METRICS = ("throughput", "latency_p50", "system_cpu_per_transaction")


def experiment(sessions: int = SESSIONS, duration: str = "1s") -> Opened:
    """Sessions of two equal servers in turns; about three minutes of them unless told."""
    server: dict[str, Any] = {
        "kind": "command",
        "start": f"{shlex.join([sys.executable, '-I', '-S', equals.__file__])} ${{port}}",
        "url": "http://127.0.0.1:${port}/",
    }
    return open_mapping(
        {
            "experiment": "calibration",
            "question": "What do two equal servers differ by on this machine?",
            "systems": {"one": server, "other": server},
            "workload": {"name": "page"},
            "load": {"clients": 16, "duration": duration, "warmup": "0.5s"},
            "compare": {"factor": "system", "baseline": "one", "metrics": list(METRICS)},
            "sessions": sessions,
        }
    )
