"""Frozen data: the experiment and what is found out about it. No I/O but parsing."""
