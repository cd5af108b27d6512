"""The page in a real browser: drawn, quiet, alone, and no wider than a telephone."""

from pathlib import Path

import chromium
import fakes
import pytest

from benchlab.report import page

pytestmark = [
    pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed"),
    pytest.mark.slow,
]

MARKS = "document.querySelectorAll('svg.plot circle, svg.plot polyline, svg.plot rect').length"
WIDE_CHILDREN = """[...document.querySelectorAll('main *')]
 .filter(e => !e.closest('.scroll, .swatch'))
 .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
 .map(e => e.className || e.tagName).join()"""
GROUND = "getComputedStyle(document.body).backgroundColor"


def test_pages_are_drawn_without_complaint_or_request(tmp_path: Path) -> None:
    with chromium.Browser() as browser:
        for name, make in fakes.ALL.items():
            path = tmp_path / f"{name}.html"
            page.write(make(), path)
            for width in (1400, 400):
                browser.open(path, width=width)
                assert browser.requests() == [path.as_uri()], name
                assert browser.complaints() == [], name
                assert browser.evaluate("document.documentElement.scrollWidth") == width, name
                assert browser.evaluate(WIDE_CHILDREN) == "", name
                assert (browser.evaluate(MARKS) > 20) is (name != "nothing"), name
                assert browser.evaluate("window.alert.toString()").endswith("[native code] }")


def test_both_themes_are_followed_and_paper_is_light(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    page.write(fakes.quickstart(), path)
    with chromium.Browser() as browser:
        pictures = []
        for dark in (False, True):
            browser.open(path, width=900, dark=dark)
            pictures.append(tmp_path / f"{dark}.png")
            browser.screenshot(pictures[-1], whole=False)
            red = int(browser.evaluate(GROUND).removeprefix("rgb(").split(",")[0])
            assert (red < 60) is dark
        sizes = [picture.stat().st_size for picture in pictures]
        # A blank picture of this size takes a few kilobytes.
        assert min(sizes) > 15_000
        browser.pdf(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_frozen_page_is_told_from_a_drawn_one(tmp_path: Path) -> None:
    """The browser test can fail: an overflow, a request and a script error are seen."""
    path = tmp_path / "bad.html"
    path.write_text("<main><p style='width:2000px'>x</p><img src='missing.png'></main>"
                    "<script>console.error('no')</script>")  # fmt: skip
    with chromium.Browser() as browser:
        browser.open(path, width=400)
        assert len(browser.requests()) == 2
        assert browser.complaints()
        assert browser.evaluate("document.documentElement.scrollWidth") > 400
        assert browser.evaluate(WIDE_CHILDREN) != ""
