"""Numbers with units: read strictly, written for people.

Figures are kept in SI units everywhere (seconds, per second, bytes, shares of one); text with a
unit exists at the edges alone. A number without a unit is refused where two readings are possible.
"""

import math
import re
from typing import Literal

from benchlab.model.errors import InputError

Unit = Literal["s", "1/s", "B", "B/s", "", "cores", "count"]
"""SI units of figures; the empty one is a share of one, shown in per cent."""

_SCALES: dict[str, dict[str, float]] = {
    "s": {
        "ns": 1e-9,
        "us": 1e-6,
        "µs": 1e-6,
        "μs": 1e-6,
        "ms": 1e-3,
        "s": 1.0,
        "m": 60.0,
        "min": 60.0,
        "h": 3600.0,
    },
    "1/s": {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600},
    "B": {
        "B": 1.0,
        "kB": 1e3,
        "KB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "KiB": 2.0**10,
        "MiB": 2.0**20,
        "GiB": 2.0**30,
        "TiB": 2.0**40,
    },
    "B/s": {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "KiB/s": 2.0**10, "MiB/s": 2.0**20},
    "": {"%": 0.01},
    "cores": {"": 1.0, "cores": 1.0},
    "count": {"": 1.0},
}
EXAMPLES: dict[str, str] = {
    "s": "10s, 1.5ms or 2m",
    "1/s": "5000/s",
    "B": "64MiB or 1GB",
    "B/s": "20MiB/s",
    "": "3%",
    "cores": "1.5",
    "count": "5",
}
"""How a quantity of each unit is written."""
_WORDS: dict[str, str] = {
    "s": "a time",
    "1/s": "a rate",
    "B": "a size",
    "B/s": "a rate of bytes",
    "": "a share",
    "cores": "a number of cores",
    "count": "a number",
}
_NUMBER = r"[-+]?(?=\.?\d)(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*([^\d\s.,+-]*)")


def pattern(unit: str) -> str:
    """A regular expression of what `parse` reads, for the JSON Schema."""
    units = "|".join(re.escape(name) for name in _SCALES[unit] if name)
    return rf"^[-+]?[\d.,]+([eE][-+]?\d+)?\s*({units})$"


def parse(text: str, unit: str) -> float:
    """The figure in SI units of a text such as `10s`, `5000/s`, `64MiB` or `3%`.

    A bare zero needs no unit.

    Raises:
        InputError: when it is no number, has no unit or one of another kind; names an example.
    """
    match = _QUANTITY.fullmatch(text.strip())
    wanted = f"{_WORDS[unit]} is written like {EXAMPLES[unit]}"
    if match is None:
        raise InputError(f"{text!r} is not {_WORDS[unit]}: {wanted}")
    number, name = float(match[1].replace(",", "")), match[2]
    scale = _SCALES[unit].get(name)
    if scale is None:
        if name == "" and number == 0:
            return 0.0
        problem = "has no unit" if name == "" else f"has the unit {name!r}"
        raise InputError(f"{text!r} {problem}: {wanted}")
    if not math.isfinite(number * scale):
        raise InputError(f"{text!r} is beyond any measure: {wanted}")
    return number * scale


def format(value: float | None, unit: str) -> str:
    """A figure for people: three significant digits and a readable unit.

    `None` is a dash and infinity its sign. An unknown unit stands after the number as it is.
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    sign, size = ("-" if value < 0 else ""), abs(value)
    match unit:
        case "s":
            shown = _with_steps(size, _TIME_STEPS)
        case "B":
            shown = _with_steps(size, _SIZE_STEPS)
        case "B/s":
            shown = f"{_with_steps(size, _SIZE_STEPS)}/s"
        case "1/s":
            shown = f"{significant(size)}/s"
        case "":
            shown = f"{significant(size * 100)}%"
        case "count":
            shown = significant(size)
        case _:
            shown = f"{significant(size)} {unit}"
    return sign + shown


_TIME_STEPS = (
    (1e-9, "ns", 1000.0),
    (1e-6, "µs", 1000.0),
    (1e-3, "ms", 1000.0),
    (1.0, "s", 120.0),
    (60.0, "min", 120.0),
    (3600.0, "h", math.inf),
)
_SIZE_STEPS = (
    (1.0, "B", 1024.0),
    (2.0**10, "KiB", 1024.0),
    (2.0**20, "MiB", 1024.0),
    (2.0**30, "GiB", 1024.0),
    (2.0**40, "TiB", math.inf),
)


def _with_steps(size: float, steps: tuple[tuple[float, str, float], ...]) -> str:
    if size == 0:
        return f"0{'s' if steps is _TIME_STEPS else 'B'}"
    for scale, name, below in steps:
        # The rounded figure decides too, so that 999.9 µs is 1 ms rather than 1000 µs.
        if size / scale < below and _round(size / scale) < below:
            return f"{significant(size / scale)}{name}"
    raise AssertionError("the last step has no upper end")


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def significant(value: float) -> str:
    """A plain decimal of three significant digits, thousands set apart: 1.5, 0.0123, 12,300."""
    if value == 0:
        return "0"
    rounded = _round(value)
    digits = max(0, 2 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
