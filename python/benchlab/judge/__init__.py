"""Measurements in; checks, estimates and summary out. Starts nothing, draws nothing."""
