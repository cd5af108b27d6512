"""Whether a trial's bookkeeping adds up."""


def little_gap(in_flight_ns: float, times_ns: float) -> float | None:
    """How far the integral of those in flight is from the sum of their times, as a share of it.

    Little's law, N = X·R (Little 1961), with both sides multiplied by the length of the trial.
    None where nothing was in flight.
    """
    if in_flight_ns <= 0:
        return None
    return abs(times_ns - in_flight_ns) / in_flight_ns
