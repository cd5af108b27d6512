"""Which cases can share one running instance of a system.

Absent: running it.
"""

import json

from benchlab.model.experiment import Case


def instance_key(case: Case) -> str:
    """Equal for cases that differ in load or in what is asked, not in the system or its data."""
    workload = case.workload
    data = [workload.name, workload.data, workload.into, workload.existing]
    return json.dumps(
        [case.system_name, case.system.model_dump(), *data],
        sort_keys=True,
        default=str,
    )
