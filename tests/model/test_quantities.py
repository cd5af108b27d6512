"""Quantities are read strictly and shown to three digits."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlab.model import quantities
from benchlab.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "unit", "figure"),
    [
        ("10s", "s", 10.0),
        ("1.5ms", "s", 0.0015),
        ("2m", "s", 120.0),
        ("250 us", "s", 250e-6),
        ("3µs", "s", 3e-6),
        ("1h", "s", 3600.0),
        ("0", "s", 0.0),
        ("5000/s", "1/s", 5000.0),
        ("5,000/s", "1/s", 5000.0),
        ("60/min", "1/s", 1.0),
        ("1e3/s", "1/s", 1000.0),
        ("64MiB", "B", 64.0 * 2**20),
        ("1GB", "B", 1e9),
        ("3%", "", 0.03),
        ("1.5", "cores", 1.5),
        ("12", "count", 12.0),
    ],
)
def test_reading(text: str, unit: str, figure: float) -> None:
    assert quantities.parse(text, unit) == pytest.approx(figure, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("10", "s", "'10' has no unit: a time is written like 10s, 1.5ms or 2m"),
        ("10x", "s", "'10x' has the unit 'x': a time is written like 10s, 1.5ms or 2m"),
        ("5000", "1/s", "'5000' has no unit: a rate is written like 5000/s"),
        ("0.03", "", "'0.03' has no unit: a share is written like 3%"),
        ("64", "B", "'64' has no unit: a size is written like 64MiB or 1GB"),
        ("ten", "s", "'ten' is not a time: a time is written like 10s, 1.5ms or 2m"),
        ("", "s", "'' is not a time: a time is written like 10s, 1.5ms or 2m"),
        ("1 2s", "s", "'1 2s' is not a time: a time is written like 10s, 1.5ms or 2m"),
        ("1,5s", "s", "'1,5s' is not a time: a time is written like 10s, 1.5ms or 2m"),
        ("1e999s", "s", "'1e999s' is beyond any measure: a time is written like 10s, 1.5ms or 2m"),
    ],
)
def test_refusing(text: str, unit: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        quantities.parse(text, unit)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("figure", "unit", "shown"),
    [
        (0.0, "s", "0s"),
        (1.5e-7, "s", "150ns"),
        (0.00042134, "s", "421µs"),
        (0.0009996, "s", "1ms"),
        (1.0, "s", "1s"),
        (90.0, "s", "90s"),
        (600.0, "s", "10min"),
        (12345.0, "1/s", "12,300/s"),
        (0.0312, "", "3.12%"),
        (2.0**20, "B", "1MiB"),
        (1536.0, "B", "1.5KiB"),
        (1.234, "cores", "1.23 cores"),
        (-0.002, "s", "-2ms"),
        (None, "s", "–"),
        (math.inf, "s", "∞"),
    ],
)
def test_showing(figure: float | None, unit: str, shown: str) -> None:
    assert quantities.format(figure, unit) == shown


UNITS = st.sampled_from(["s", "1/s", "B", "", "cores", "count"])


@given(UNITS, st.floats(min_value=1e-9, max_value=1e12))
def test_what_is_shown_reads_back_to_three_digits(unit: str, figure: float) -> None:
    shown = quantities.format(figure, unit)
    assert quantities.parse(shown, unit) == pytest.approx(figure, rel=0.00501)


@given(UNITS, st.floats(min_value=1e-9, max_value=1e12))
def test_showing_again_changes_nothing(unit: str, figure: float) -> None:
    shown = quantities.format(figure, unit)
    assert quantities.format(quantities.parse(shown, unit), unit) == shown


@given(st.text(), UNITS)
@example("E0", "s")
def test_any_text_is_a_figure_or_an_input_error(text: str, unit: str) -> None:
    try:
        assert math.isfinite(quantities.parse(text, unit))
    except InputError as error:
        assert "\n" not in repr(str(error))


@given(st.floats(min_value=0, max_value=1e9), st.sampled_from(["s", "1/s", "B", ""]))
def test_the_schema_takes_what_is_read(figure: float, unit: str) -> None:
    shown = quantities.format(figure, unit)
    assert re.search(quantities.pattern(unit), shown)
