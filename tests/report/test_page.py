"""The page: says what is known, escapes what is not ours, and can be held against the raw data."""

import re
from html.parser import HTMLParser
from pathlib import Path

import fakes
import pytest

from benchlab.report import page
from benchlab.report.figures import BLOCK


class Elements(HTMLParser):
    """The elements of a page, and the text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style", "title"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.text += data


@pytest.mark.parametrize("name", fakes.ALL)
def test_every_text_from_outside_is_escaped_and_nothing_is_fetched(name: str) -> None:
    html = page.html(fakes.ALL[name]())
    found = Elements(html)
    scripts = [attributes for tag, attributes in found.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": BLOCK}]
    assert not [tag for tag, _ in found.tags if tag in ("img", "iframe", "object", "base", "form")]
    for tag, attributes in found.tags:
        assert not [key for key in attributes if key.startswith("on")], tag
        assert "src" not in attributes
        if "href" in attributes:
            assert attributes["href"] == "data:,"
    assert not re.search(r"url\(|@import", html)
    assert "\x1b" not in html


def test_hostile_names_are_shown_as_they_are_written() -> None:
    text = Elements(page.html(fakes.hostile())).text
    assert text.count("<script>alert(1)</script>") > 20


def test_the_answer_comes_first_with_its_verdict_and_interval() -> None:
    material = fakes.quickstart()
    text = " ".join(Elements(page.html(material)).text.split())
    claimed = " ".join(material.claim.split())
    question, claim = text.index(material.summary.question), text.index(claimed)
    verdict, rests = text.index("▲ better"), text.index("What it rests on")
    assert question < claim < verdict < rests
    assert re.search(r"\+\d+\s% \[\+\d+ … \+\d+\]", text[verdict:rests])


def test_an_inconclusive_answer_ends_with_what_would_settle_it() -> None:
    material = fakes.inconclusive()
    text = Elements(page.html(material)).text
    assert text.count("This would settle it") == 1
    assert material.settle in text


def test_trouble_is_loud_and_shaded_figures_are_words() -> None:
    text = " ".join(Elements(page.html(fakes.troubled())).text.split())
    for words in (
        "Interrupted.",
        "Died: fetch=each,clients=1: exit status 139",
        "segmentation fault",
        "Skipped: fetch=together,clients=4: nginx is not installed",
        "Overloaded:",
        "at least 2,5",
        "withheld",
        "✕ broken",
        "? cannot be told",
        "steal up to 5\u00a0%",
        "agent-bound",
    ):
        assert " ".join(words.split()) in text, words


def test_a_withheld_figure_stands_nowhere() -> None:
    material = fakes.troubled()
    withheld = material.summary.cases[2].metrics["latency_p99"]
    assert withheld.estimate is not None and withheld.validity == "withheld"
    html = page.html(material)
    assert repr(withheld.estimate) not in html
    assert repr(withheld.values[0]) not in html


def test_every_figure_of_the_tables_is_in_the_block(tmp_path: Path) -> None:
    for name, make in fakes.ALL.items():
        path = tmp_path / f"{name}.html"
        page.write(make(), path)
        figures = page.figures(path)
        shown = [a for tag, a in Elements(path.read_text()).tags if tag == "data"]
        assert {a["data-figure"] for a in shown} == set(figures)
        assert all(float(a["value"] or "nan") == figures[a["data-figure"] or ""] for a in shown)
    material = fakes.quickstart()
    page.write(material, path)
    estimate = material.summary.cases[0].metrics["throughput"]
    figures = page.figures(path)
    assert figures["cases/fetch=each,clients=1/throughput/estimate"] == estimate.estimate
    assert figures["cases/fetch=each,clients=1/throughput/low"] == estimate.low
    effect = material.counting[0]
    key = "comparisons/throughput/together/each/clients=4/effect"
    assert figures[key] == effect.effect


def test_no_number_in_a_table_of_figures_bypasses_the_block() -> None:
    """Cells that hold figures hold digits only inside of `data`."""
    html = page.html(fakes.quickstart())
    cells = re.findall(r'<td class="num plain[^>]*>(.*?)</td>', html, re.DOTALL)
    assert len(cells) > 50
    for cell in cells:
        assert not re.search(r"\d", re.sub(r"<data .*?</data>", "", cell, flags=re.DOTALL)), cell


def test_a_figure_changed_by_hand_is_found(tmp_path: Path) -> None:
    material = fakes.quickstart()
    path = tmp_path / "report.html"
    page.write(material, path)
    assert page.differences(path, material) == []
    good = path.read_text()
    shown = re.search(r'data-figure="comparisons/[^"]*/effect">([^<]*)<', good)
    assert shown
    path.write_text(good.replace(shown[0], shown[0].replace(shown[1], "+999 %"), 1))
    assert any("shown as" in line for line in page.differences(path, material))
    key = "comparisons/throughput/together/each/clients=4/effect"
    value = material.counting[0].effect
    path.write_text(good.replace(f'"{key}": {value}', f'"{key}": 9.99'))
    assert any("9.99" in line for line in page.differences(path, material))
    path.write_text(good.replace(f'data-figure="{key}"', 'data-figure="invented"'))
    assert any(line.startswith("invented") for line in page.differences(path, material))


def test_the_page_stays_small_and_does_not_grow_with_the_length_of_trials(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page.write(fakes.quickstart(), path)
    assert path.stat().st_size < 400_000
    page.write(fakes.sweep(), path)
    assert path.stat().st_size < 1_000_000


def test_what_the_systems_counted_is_a_table_of_what_moved() -> None:
    material = fakes.quickstart()
    html = page.html(material)
    table = html[html.index('<details id="counted">') :]
    table = table[: table.index("</details>")]
    names = re.findall(r"<tr><th><code>(.*?)</code>", table)
    assert names == ["postgresql.blks_hit per transaction", "postgresql.numbackends"]
    assert "17" in Elements(table).text
    everything = html[html.index("Every metric of every case") : html.index("Every session")]
    assert "postgresql" not in everything
    assert "postgresql.blks_hit over time" in html
