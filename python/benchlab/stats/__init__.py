"""Pure functions: estimates, intervals, verdicts. No files, no plots, no unseeded randomness.

It is here so that what the lab may claim can be tested against closed forms and simulation without
a single trial. Absent: what a metric is called, where its values come from, and whether they may be
used; the judge knows that.
"""
