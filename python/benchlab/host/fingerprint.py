"""What this machine is: what a figure measured on it must be told with.

Absent: whether it is fit to measure on (`doctor`).
"""

import os
import platform
import subprocess
from hashlib import blake2b
from pathlib import Path
from typing import Any

import psutil

from benchlab.host import cores

_SYS = Path("/sys/devices/system")


def take() -> dict[str, Any]:
    """The machine as one dictionary; `fingerprint` is a digest of what does not change."""
    logical = cores.available()
    found: dict[str, Any] = {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "cores": len(logical),
        "physical_cores": len(cores.physical(logical)),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "kernel": platform.release(),
        "system": system_name(),
        "virtualisation": virtualisation(),
        "governor": governor(),
        "clocksource": clocksource(),
        "name": platform.node(),
    }
    stable = {key: value for key, value in found.items() if key not in ("swap_bytes", "name")}
    found["fingerprint"] = blake2b(repr(stable).encode(), digest_size=8).hexdigest()
    return found


def cpu_model() -> str:
    """The processor's name."""
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def system_name() -> str:
    """The operating system's name and version."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.platform()


def virtualisation() -> str:
    """What the machine runs inside of: `none`, or the names of hypervisor and container."""
    try:
        found = [
            subprocess.run(
                ["systemd-detect-virt", kind],
                capture_output=True,
                text=True,
                timeout=5,
                check=False,
            ).stdout.strip()
            for kind in ("--vm", "--container")
        ]
    except (OSError, subprocess.TimeoutExpired):
        flagged = " hypervisor" in _text(Path("/proc/cpuinfo"))
        found = ["a hypervisor" if flagged else "none"]
        if Path("/.dockerenv").exists():
            found.append("docker")
    return ", ".join(name for name in found if name not in ("", "none")) or "none"


def governor() -> str | None:
    """How the cores' frequency is chosen; None where the machine does not tell."""
    path = _SYS / f"cpu/cpu{min(os.sched_getaffinity(0))}/cpufreq/scaling_governor"
    return _text(path).strip() or None


def clocksource() -> str | None:
    """Where the kernel's clock comes from; None where the machine does not tell."""
    return _text(_SYS / "clocksource/clocksource0/current_clocksource").strip() or None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
