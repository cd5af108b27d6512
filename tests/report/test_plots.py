"""Scales, roles of factors, and what each kind of plot draws."""

import re

import fakes
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.model.experiment import Compare
from benchlab.report.grouping import group, number
from benchlab.report.material import Line, Material
from benchlab.report.plots import boxes, capacity, distribution, effect, sweep, timeline
from benchlab.report.plots.axes import Scale, spread, tick_labels, value_scale
from benchlab.report.plots.canvas import Canvas


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20),
    st.sampled_from(["s", "1/s", "B", ""]),
)
def test_a_scale_holds_its_values_and_ticks(values: list[float], unit: str) -> None:
    scale = value_scale(values, 200.0, 20.0, unit)
    for value in values:
        assert 20 - 1e-6 <= scale(value) <= 200 + 1e-6
    ticks = scale.ticks(4)
    assert ticks == sorted(ticks)
    assert all(20 - 1e-6 <= scale(tick) <= 200 + 1e-6 for tick in ticks)
    assert len(ticks) <= 12


def test_ticks_are_round_in_the_unit_they_are_read_in() -> None:
    scale = value_scale([50 * 2**20], 0, 1, "B")
    assert [tick / 2**20 for tick in scale.ticks(3)] == [0, 20, 40]
    assert tick_labels([0.0, 5000.0, 10000.0], "1/s") == ["0", "5k/s", "10k/s"]


def test_nines_are_equally_far_apart() -> None:
    scale = Scale(0.0, 0.9999, kind="nines")
    steps = [scale(0.99) - scale(0.9), scale(0.999) - scale(0.99), scale(0.9999) - scale(0.999)]
    assert steps == pytest.approx([0.25, 0.25, 0.25])


def test_twice_and_half_are_equally_far() -> None:
    scale = Scale(-0.75, 3.0, kind="ratio")
    assert scale(1.0) - scale(0.0) == pytest.approx(scale(0.0) - scale(-0.5))


@given(st.lists(st.floats(20, 200), min_size=1, max_size=8))
def test_labels_keep_apart_in_their_order(places: list[float]) -> None:
    moved = spread(places, 14, 20, 200)
    ordered = [place for _, place in sorted(zip(places, moved, strict=True))]
    gaps = [b - a for a, b in zip(sorted(moved), sorted(moved)[1:], strict=False)]
    assert all(gap >= 14 - 1e-6 for gap in gaps)
    assert sorted(moved) == sorted(ordered)


@pytest.mark.parametrize(
    ("level", "value"), [("64", 64), ("64MiB", 64 * 2**20), ("5000/s", 5000), ("nginx", None)]
)
def test_levels_that_are_numbers(level: str, value: float | None) -> None:
    assert number(level) == value


def test_the_compared_factor_is_the_colour_and_its_baseline_neutral() -> None:
    grouping = group(fakes.sweep())
    assert (grouping.colour, grouping.sweep, grouping.panel_factors) == ("system", "clients", ())
    cases = fakes.sweep().summary.cases
    assert [grouping.colour_of(case) for case in cases[:2]] == [0, 1]


def test_a_comparison_over_a_number_is_a_sweep_of_one_line() -> None:
    material = fakes.sweep()
    only = tuple(case for case in material.summary.cases if case.levels["system"] == "nginx")
    summary = material.summary.model_copy(update={"cases": only, "comparisons": ()})
    design = fakes.experiment("rest", Compare(factor="clients", baseline="1", metrics=()))
    grouping = group(Material(summary=summary, experiment=design))
    assert (grouping.colour, grouping.sweep) == (None, "clients")


def test_steps_are_joined_without_averaging_quantiles_or_losing_the_end() -> None:
    line = Line((0.0, 1.0, 2.0, 3.0, 4.0), (1.0, 9.0, None, None, 5.0))
    assert line.thinned(5) is line
    assert line.thinned(3) == Line((0.5, 2.5, 4.0), (5.0, None, 5.0))
    assert line.thinned(3, max) == Line((0.5, 2.5, 4.0), (9.0, None, 5.0))


def drawn(canvas: Canvas) -> str:
    return str(canvas.html())


def test_an_effect_shows_every_pair_the_interval_and_the_band() -> None:
    material = fakes.inconclusive()
    (plot,) = effect.effects(material.counting, 0.03)
    html = drawn(plot.rows[0].strip)
    assert len(re.findall('class="dot f-inconclusive"', html)) == 8
    assert html.count('class="interval s-inconclusive"') == 1
    assert html.count('class="band"') == 1
    assert html.count('class="zero"') == 1


def test_ratios_and_differences_have_axes_of_their_own() -> None:
    first, second, *_ = fakes.quickstart().summary.comparisons
    other = second.model_copy(update={"by": "difference", "metric": "errors"})
    assert len(effect.effects([first, other], 0.03)) == 2
    assert len(effect.effects([first, second], 0.03)) == 1


def test_a_box_has_every_session() -> None:
    material = fakes.quickstart()
    found = boxes.boxes(material.measured, "throughput", group(material))
    assert found and len(found.rows) == 4
    for row in found.rows:
        assert len(re.findall(r'<circle class="dot ', drawn(row.strip))) == 8
        assert drawn(row.strip).count('class="box ') == 1


def test_three_sessions_are_dots_without_a_box() -> None:
    material = fakes.explored()
    found = boxes.boxes(material.measured, "throughput", group(material))
    assert found
    strip = drawn(found.rows[0].strip)
    assert strip.count('class="dot ') == 3 and 'class="box ' not in strip


def test_a_withheld_figure_has_no_box() -> None:
    material = fakes.troubled()
    found = boxes.boxes(material.measured, "latency_p99", group(material))
    assert found and [row.case.name for row in found.rows] == ["fetch=together,clients=1"]


def test_what_is_not_resolved_is_dashed() -> None:
    material = fakes.quickstart()
    panels = distribution.distributions(
        material.measured, material.curves, group(material), is_open=False
    )
    assert [panel.label for panel in panels] == ["clients=1", "clients=4"]
    styles = re.findall(r'class="(line[^"]*)"', drawn(panels[0].canvas))
    assert styles == ["line s-c0", "line s-c0 dashed", "line s-c1", "line s-c1 dashed"]


def test_response_and_service_are_labelled_where_they_differ() -> None:
    material = fakes.explored()
    (panel,) = distribution.distributions(
        material.measured, material.curves, group(material), is_open=True
    )
    html = drawn(panel.canvas)
    assert ">response<" in html and ">service<" in html
    assert html.index('class="thin s-c1"') < html.index('class="line s-c1"')


def test_a_median_keeps_every_step_of_its_trials() -> None:
    steps = tuple(0.05 + 0.1 * n for n in range(15))
    lines = [Line(steps, tuple(float(n) for _ in steps)) for n in (1, 2, 6)]
    middle = timeline.middle_of(lines)
    assert [at for at, _ in middle] == pytest.approx(steps)
    assert {value for _, value in middle} == {2.0}
    alone = Line((9.05,), (1.0,))
    assert len(timeline.middle_of([*lines, alone])) == 15


def test_errors_are_marked_and_short_trials_are_dots() -> None:
    clock = fakes.Clock("c", 1, 1, rate=Line((0.5, 1.5), (10.0, 12.0)), errors=Line((0.5,), (3.0,)))
    html = drawn(timeline.throughput([clock], "c1", 12.0, 2.0))
    assert html.count('class="error"') == 1 and "3 errors" in html
    assert html.count('class="dot f-c1"') == 2


def test_a_search_shows_each_step_beside_its_target_and_the_capacity_beneath() -> None:
    (found,) = capacity.curves(fakes.sought().summary.cases)
    assert found.metric == "latency_p99"
    html = drawn(found.canvas)
    assert html.count('class="mark f-better"') == 5 and html.count('class="mark f-worse"') == 2
    assert html.count('class="hollow s-inconclusive"') == 1
    assert "limit 50" in html and "usual peak" in html and html.count('class="dot f-c1"') == 3
    assert capacity.curves(fakes.explored().summary.cases) == []


def test_a_sweep_has_a_line_a_level_and_leaves_gaps() -> None:
    material = fakes.sweep()
    plots = sweep.sweeps(material.measured, ["throughput"], group(material))
    html = drawn(plots[0].canvas)
    assert len(re.findall(r'class="line ', html)) == 2
    assert len(re.findall(r'class="mark ', html)) == 12
    first = material.summary.cases[0]
    hidden = first.metrics["throughput"].model_copy(update={"validity": "withheld"})
    floor = first.metrics["throughput"].model_copy(update={"validity": "at-least"})
    for estimate, marks, hollow in ((hidden, 11, 0), (floor, 11, 1)):
        changed = first.model_copy(update={"metrics": {"throughput": estimate}})
        cases = (changed, *material.summary.cases[1:])
        html = drawn(sweep.sweeps(cases, ["throughput"], group(material))[0].canvas)
        assert len(re.findall(r'class="mark ', html)) == marks
        assert len(re.findall(r'class="hollow ', html)) == hollow
