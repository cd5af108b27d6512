"""Every figure the page prints, kept beside it for machines.

A figure reaches the page only through `Figures.show`, which writes it into the text and notes it
under a path such as `cases/fetch=each/throughput/estimate`. The page carries the notes as a JSON
block, and `read` returns both what the block says and what the text shows, so that a page can be
held against the raw data, and a figure changed by hand in either place is found.
"""

import json
import math
from dataclasses import dataclass
from html.parser import HTMLParser

from markupsafe import Markup

from benchlab.report.readable import printable

BLOCK = "benchlab-figures"


@dataclass(frozen=True)
class Printed:
    """One figure: its value in SI units and the text a reader sees."""

    value: float | None
    text: str


class Figures:
    """The figures of one page, collected while it is made."""

    def __init__(self) -> None:
        self.printed: dict[str, Printed] = {}

    def show(self, path: str, value: float | None, text: str) -> Markup:
        """The text as HTML, noted under `path`; the same path may be shown again alike."""
        path, text = printable(path), printable(text)
        exact = None if value is None or not math.isfinite(value) else value
        now = Printed(exact, text)
        before = self.printed.setdefault(path, now)
        if before.value != now.value:
            raise ValueError(f"{path} is printed with two values: {before.value} and {exact}")
        return Markup('<data value="{}" data-figure="{}">{}</data>').format(
            "" if exact is None else repr(exact), path, text
        )

    def block(self) -> Markup:
        """All figures as JSON that cannot end the script element it stands in."""
        values = {path: printed.value for path, printed in sorted(self.printed.items())}
        text = json.dumps(values, indent=0, ensure_ascii=True)
        for character, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
            text = text.replace(character, escaped)
        return Markup(text)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.block = ""
        self.shown: dict[str, set[str]] = {}
        self._path: str | None = None
        self._in_block = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "data" and named.get("data-figure") is not None:
            self._path = named["data-figure"]
            self.shown.setdefault(self._path or "", set())
        self._in_block = tag == "script" and named.get("id") == BLOCK

    def handle_endtag(self, tag: str) -> None:
        if tag == "data":
            self._path = None
        if tag == "script":
            self._in_block = False

    def handle_data(self, data: str) -> None:
        if self._in_block:
            self.block += data
        elif self._path is not None:
            self.shown[self._path].add(data)


def read(html: str) -> tuple[dict[str, float | None], dict[str, set[str]]]:
    """The block's values and the texts shown, both by path."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    values: dict[str, float | None] = json.loads(reader.block) if reader.block.strip() else {}
    return values, reader.shown
