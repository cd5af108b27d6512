"""What Benchlab says of systems whose truth is known: every part of `docs/TRUTH.md`, and its maker.

Each part is a module with a `PART`: its units of work, and the rows that it makes of what they
found. Absent: any way of its own to measure; all of it is `benchlab run` of an experiment file, or
another tool beside it.
"""
