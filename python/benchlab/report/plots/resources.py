"""What the system and the load generator used, on the same clock as throughput and latency.

The medians over a case's trials: the system's CPU as two stacked areas (user below, system above),
the generator's as a line, and memory in a panel beneath.
"""

from collections.abc import Sequence

from benchlab.report.material import Clock, Line
from benchlab.report.plots.canvas import Canvas
from benchlab.report.plots.timeline import middle_of, panel, strands, vertical


def cpu(clocks: Sequence[Clock], hue: str, top: float, span_s: float) -> Canvas:
    """Cores in use: the system's by mode, and the agent's."""
    joint = any(clock.joint for clock in clocks)
    agent = middle_of([clock.agent_cpu for clock in clocks])
    caption = [
        ("CPU in cores, generator included:  " if joint else "CPU in cores:  ", ""),
        ("■", f"f-{hue} deep"),
        (" user  ", ""),
        ("■", f"f-{hue} area"),
        (" system  ", ""),
    ]
    if agent:
        caption += [("– –", "f-bad"), (" load generator", "")]
    canvas, x = panel(caption, "count", "CPU over time", top, span_s)
    y = vertical(top)
    user = middle_of([clock.cpu_user for clock in clocks])
    both = middle_of([total_cpu(clock) for clock in clocks])
    lower = [(x(at), y(value)) for at, value in user]
    upper = [(x(at), y(value)) for at, value in both]
    if len(lower) > 1 and len(lower) == len(upper):
        ground = [(lower[-1][0], y(0)), (lower[0][0], y(0))]
        canvas.area([*lower, *ground], f"deep f-{hue}")
        canvas.area([*upper, *reversed(lower)], f"area f-{hue}")
    if len(agent) > 1:
        canvas.path([(x(at), y(value)) for at, value in agent], "thin dashed s-bad")
    return canvas


def counted(clocks: Sequence[Clock], name: str, hue: str, top: float, span_s: float) -> Canvas:
    """What the system counted of itself: a counter's rate, a gauge's value."""
    canvas, x = panel([(name, "")], "count", f"{name} over time", top, span_s)
    lines = [clock.own.get(name, Line()) for clock in clocks]
    strands(canvas, lines, x, vertical(top), hue)
    return canvas


def total_cpu(clock: Clock) -> Line:
    """User and system time together."""
    values = tuple(
        None if user is None or system is None else user + system
        for user, system in zip(clock.cpu_user.values, clock.cpu_system.values, strict=True)
    )
    return Line(clock.cpu_user.at_s, values)


def memory(clocks: Sequence[Clock], hue: str, top: float, span_s: float) -> Canvas:
    """What the system held, in bytes."""
    canvas, x = panel([("Memory", "")], "B", "memory over time", top, span_s)
    strands(canvas, [clock.memory for clock in clocks], x, vertical(top), hue)
    return canvas
