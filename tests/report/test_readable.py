"""Figures in words: units, common decimals, and honesty about what is not a plain number."""

import pytest
from fakes import quickstart

from benchlab.model.evidence import Estimate
from benchlab.report import readable

S = readable.SPACE


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.234e-3, "s", f"1.23{S}ms"),
        (0.9999e-3, "s", f"1.00{S}ms"),
        (421e-6, "s", f"421{S}µs"),
        (0.0, "s", f"0{S}s"),
        (12345.6, "1/s", "12,346/s"),
        (4.2, "1/s", "4.20/s"),
        (64 * 2**20, "B", f"64.0{S}MiB"),
        (512.0, "B", f"512{S}B"),
        (0.031, "", f"3.10{S}%"),
        (0.0, "", f"0{S}%"),
        (0.93, "cores", f"0.930{S}cores"),
        (float("inf"), "s", "∞"),
        (None, "s", readable.NOTHING),
        (-0.5, "", f"{readable.MINUS}50.0{S}%"),
    ],
)
def test_one_figure(value: float | None, unit: str, text: str) -> None:
    assert readable.amount(value, unit) == text


def test_an_estimate_and_its_bounds_share_unit_and_decimals() -> None:
    found = Estimate(unit="s", estimate=1.02e-3, low=0.98e-3, high=1.06e-3, sessions=8)
    assert readable.estimate(found).text == f"1.02{S}ms [0.98 … 1.06]"


def test_what_is_no_plain_number_is_put_into_words() -> None:
    plain = Estimate(unit="s", estimate=1e-3, low=0.9e-3, high=1.1e-3, sessions=8)
    floor = plain.model_copy(update={"validity": "at-least", "why": "agent-bound"})
    assert readable.estimate(floor).text == f"at least 1.00{S}ms"
    hidden = readable.estimate(plain.model_copy(update={"validity": "withheld", "why": "w"}))
    assert (hidden.text, hidden.note) == ("withheld", "w")
    why = "not resolved (needs 3,688, has 900 a session)"
    unsure = readable.estimate(plain.model_copy(update={"resolved": False, "why": why}))
    assert (unsure.text, unsure.note) == ("not resolved", "needs 3,688, has 900 a session")
    endless = Estimate(unit="s", estimate=None, sessions=8)
    assert readable.estimate(endless).text == "∞"
    assert readable.estimate(None).text == readable.NOTHING


def test_effects_carry_their_sign() -> None:
    update = {"effect": -0.0213, "low": -0.05, "high": 0.01}
    found = quickstart().counting[0].model_copy(update=update)
    assert readable.effect(found).text == f"−2.1{S}% [−5.0 … +1.0]"
    difference = found.model_copy(
        update={"by": "difference", "effect": 2e-3, "low": 1e-3, "high": 3e-3}
    )
    assert readable.effect(difference, "s").text == f"+2.00{S}ms [+1.00 … +3.00]"


def test_declared_figures_have_no_needless_decimals() -> None:
    assert readable.limit(0.03, "") == f"3{S}%"
    assert readable.limit(0.001, "") == f"0.1{S}%"
    assert readable.limit(0.0015, "s") == f"1.5{S}ms"


def test_a_p_is_never_rounded_to_nothing() -> None:
    assert readable.p_value(0.0000305) == "<0.001"
    assert readable.p_value(0.0078125) == "0.008"


def test_metric_names_are_readable() -> None:
    assert readable.metric_label("latency_p999") == "Latency p99.9"
    assert readable.metric_label("latency_p99") == "Latency p99"
    assert readable.metric_label("pg_stat_wal.wal_bytes") == "pg_stat_wal.wal_bytes"
