"""Starts, polls and stops a Plan on an agent. Knows no system."""
