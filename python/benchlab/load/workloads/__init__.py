"""Built-in workloads by name: what each asks, its data and the answers it expects; no timing."""

from benchlab.load.workloads import buddies, page, records
from benchlab.load.workloads.asked import BuiltIn
from benchlab.model.sections import WorkloadKeys

BUILT_IN: dict[str, BuiltIn] = {
    "buddies": buddies.BUDDIES,
    "page": page.PAGE,
    "records": records.RECORDS_WORKLOAD,
}
"""Every built-in workload."""


def known() -> dict[str, WorkloadKeys]:
    """What each built-in workload takes, for reading an experiment."""
    return {name: built_in.keys for name, built_in in BUILT_IN.items()}
