"""Measurements in; checks, estimates and summary out. Starts nothing, draws nothing.

It stands between the raw data and every figure that leaves the lab, so that a figure always comes
with what it rests on. Everything is made from a run's folder alone, the same each time. Absent: the
formulas (`stats`), and what a figure looks like (`report`).
"""
