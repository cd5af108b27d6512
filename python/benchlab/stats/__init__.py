"""Pure functions: estimates, intervals, verdicts. No files, no plots, no unseeded randomness."""
