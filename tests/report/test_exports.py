"""Plots and tables for a post: files that stand alone, with the figures of the summary."""

import csv
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import fakes

from benchlab.report import exports


def test_every_kind_of_plot_is_written_alone_and_in_full(tmp_path: Path) -> None:
    written = exports.write_plots(fakes.sweep(), tmp_path / "plots")
    names = {path.name.split("-")[0] for path in written}
    assert names == {"effects", "sessions", "sweep", "latency", "time"}
    for path in written:
        if path.suffix == ".svg":
            text = path.read_text()
            ElementTree.fromstring(text)
            assert "var(" not in text
            assert text.count("http") == text.count("http://www.w3.org/2000/svg")
        else:
            head = path.read_bytes()[:24]
            assert head.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", head[16:24])
            assert width == exports.WIDTH * exports.SHARPNESS
            assert height > 100


def test_hostile_names_make_neither_paths_nor_broken_files(tmp_path: Path) -> None:
    folder = tmp_path / "plots"
    for path in exports.write_plots(fakes.hostile(), folder):
        assert path.parent == folder
        if path.suffix == ".svg":
            tree = ElementTree.fromstring(path.read_text())
            assert not [element for element in tree.iter() if element.tag.endswith("script")]
    assert exports.file_name("../../etc/passwd\n") == "etc-passwd"
    assert exports.file_name("") == "plot"


def test_tables_hold_the_summary_and_nothing_that_may_not_be_shown(tmp_path: Path) -> None:
    material = fakes.troubled()
    exports.write_tables(material, tmp_path)
    with (tmp_path / "cases.csv").open(newline="") as file:
        rows = {(row["case"], row["metric"]): row for row in csv.DictReader(file)}
    shown = rows["fetch=each,clients=4", "throughput"]
    estimate = material.summary.cases[2].metrics["throughput"].estimate
    assert float(shown["estimate"]) == estimate
    assert shown["validity"] == "at-least"
    hidden = rows["fetch=each,clients=4", "latency_p99"]
    assert (hidden["estimate"], hidden["validity"]) == ("", "withheld")
    assert hidden["why"].startswith("agent-bound")


def test_pairs_and_series_are_complete(tmp_path: Path) -> None:
    material = fakes.quickstart()
    exports.write_tables(material, tmp_path)
    with (tmp_path / "pairs.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 8 * 4
    with (tmp_path / "time.csv").open(newline="") as file:
        rates = [row for row in csv.DictReader(file) if row["series"] == "rate"]
    assert len(rates) == sum(len(clock.rate.known()) for clock in material.clocks)
