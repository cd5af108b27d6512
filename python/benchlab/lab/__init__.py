"""Experiment to cases, sessions and trials. Prints nothing; it emits events."""
