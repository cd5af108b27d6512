"""The palette of both themes and the style sheet of the plots.

Tone 0 is the neutral one of a baseline. The hues keep apart under the common kinds of colour
blindness and hold a contrast of at least 3:1 against their ground; none is the only carrier of a
meaning.
"""

import re

SERIES = 8

LIGHT = {
    "ground": "#fdfcfa", "sheet": "#ffffff", "ink": "#1d1f23", "soft": "#5b616b",
    "faint": "#8d939c", "rule": "#dedbd4", "grid": "#ebe8e2", "band": "#efece4", "bad": "#b3261e",
    "c0": "#6b7280", "c1": "#1f6aa5", "c2": "#c2541b", "c3": "#137a5f", "c4": "#8a4a9e",
    "c5": "#97700a", "c6": "#b03a63", "c7": "#3f7f93",
    "better": "#137a5f", "worse": "#b3261e", "small": "#3f7f93", "equivalent": "#1f6aa5",
    "inconclusive": "#8f6600", "invalid": "#8a4a9e", "lead": "#6b7280",
}  # fmt: skip
DARK = {
    "ground": "#15171a", "sheet": "#1b1e22", "ink": "#e9e7e2", "soft": "#a9aeb6",
    "faint": "#7c828b", "rule": "#34383e", "grid": "#2a2e33", "band": "#262b31", "bad": "#ff8a7d",
    "c0": "#9aa1ac", "c1": "#69b1ea", "c2": "#f0925a", "c3": "#4fc6a3", "c4": "#cf9be0",
    "c5": "#dcb450", "c6": "#f08aad", "c7": "#83c9dd",
    "better": "#4fc6a3", "worse": "#ff8a7d", "small": "#83c9dd", "equivalent": "#69b1ea",
    "inconclusive": "#dcb450", "invalid": "#cf9be0", "lead": "#9aa1ac",
}  # fmt: skip

_RULES = """
.plot text{font-family:var(--sans);font-size:12px;fill:var(--soft)}
.plot polyline,.plot polygon{vector-effect:non-scaling-stroke}
.plot .caption{font-weight:600;fill:var(--ink)}
.plot .label{fill:var(--ink)}
.plot .grid{stroke:var(--grid);stroke-width:1}
.plot .axis{stroke:var(--rule);stroke-width:1}
.plot .zero{stroke:var(--ink);stroke-width:1}
.plot .band{fill:var(--band)}
.plot .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.plot .thin{fill:none;stroke-width:1.2;stroke-linejoin:round}
.plot .faint{fill:none;stroke-width:1;stroke-opacity:.28;stroke-linejoin:round}
.plot .dashed{stroke-dasharray:2 4}
.plot .area{fill-opacity:.3}
.plot .deep{fill-opacity:.62}
.plot .box{fill-opacity:.16}
.plot .median{stroke-width:2}
.plot .whisker{stroke-width:1}
.plot .interval{stroke-width:5;stroke-opacity:.32}
.plot .dot{fill-opacity:.62}
.plot .mark{stroke:var(--sheet);stroke-width:1.5}
.plot .hollow{fill:var(--sheet);stroke-width:1.6}
.plot .stall{fill:var(--bad);fill-opacity:.14}
.plot .error{stroke:var(--bad);stroke-width:1.6}
"""


def rules() -> str:
    """The plots' style sheet, colours by name."""
    names = [*(f"c{n}" for n in range(SERIES)), *VERDICT_TONES.values(), "bad"]
    tones = "".join(
        f".plot .s-{name}{{stroke:var(--{name})}}.plot .f-{name}{{fill:var(--{name})}}\n"
        for name in dict.fromkeys(names)
    )
    return _RULES + tones


VERDICT_TONES = {
    "better": "better",
    "worse": "worse",
    "different-but-small": "small",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
    "invalid": "invalid",
    None: "lead",
}
"""Each verdict's tone; None is a lead."""

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"


def tone(index: int) -> str:
    """The name of a series' tone; tone 0 is kept for a baseline when the hues run out."""
    return f"c{index if index < SERIES else 1 + (index - 1) % (SERIES - 1)}"


def variables(theme: dict[str, str]) -> str:
    """A theme as CSS custom properties."""
    return "".join(f"--{name}:{value};" for name, value in theme.items())


def literal(css: str) -> str:
    """The style sheet with the light theme's colours put in, for a file that stands alone."""
    known = LIGHT | {"sans": SANS}
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda found: known[found[1]], css)
