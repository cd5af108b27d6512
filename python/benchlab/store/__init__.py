"""Run folders and the Measurements in them; append-only.

A run is a folder that says how it came about and holds every trial's raw data; nothing finished is
written again. Absent: what the data mean (`stats`, `judge`), and when a trial is run (`lab`).
"""

from benchlab.store.runs import Run, Trial, create, find, new_id, now_utc, remove, root, runs

__all__ = ["Run", "Trial", "create", "find", "new_id", "now_utc", "remove", "root", "runs"]
