"""The report as one HTML file: works offline, prints, follows the reader's theme and width.

It asks nothing of the network and runs no script; its content policy forbids both, whatever may
stand in a name or an error message. Templates escape everything. What was printed can be read back
with `figures`, so that a page can be held against the raw data.
"""

import re
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from benchlab.report import figures as printed
from benchlab.report import readable
from benchlab.report.grouping import group
from benchlab.report.material import Material
from benchlab.report.plots import colours
from benchlab.report.sections import Sections


def write(material: Material, path: Path) -> None:
    """Makes the page; an older one is replaced as a whole."""
    text = html(material)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8", errors="replace")
    fresh.replace(path)


def html(material: Material) -> str:
    """The page's text."""
    sections = Sections(material, group(material))
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            s=sections,
            m=material,
            summary=material.summary,
            record=material.record,
            readable=readable,
            block_id=printed.BLOCK,
            light=colours.variables(colours.LIGHT),
            dark=colours.variables(colours.DARK),
            plot_rules=colours.rules(),
        )
    )
    return readable.printable(text)


def figures(path: Path) -> dict[str, float | None]:
    """Every figure the page prints, by path, in SI units."""
    return printed.read(path.read_text(encoding="utf-8"))[0]


def differences(path: Path, material: Material) -> list[str]:
    """Where a page says something else than its raw data do; empty when it holds."""
    values, shown = printed.read(path.read_text(encoding="utf-8"))
    right, right_shown = printed.read(html(material))
    found = []
    for name in sorted(values.keys() | right.keys() | shown.keys()):
        if name not in right:
            found.append(f"{name} is printed, but the raw data do not give it")
        elif name not in values:
            found.append(f"{name} is missing")
        elif values[name] != right[name]:
            found.append(f"{name} is {values[name]}, but the raw data give {right[name]}")
        elif shown.get(name) != right_shown.get(name):
            now, then = (" / ".join(sorted(s.get(name, ()))) for s in (shown, right_shown))
            found.append(f"{name} is shown as {now}, but the raw data give {then}")
    return found


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchlab.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["soft"] = _soft
    return environment


def _soft(name: str) -> Markup:
    """A case's name, escaped, that may be broken where its levels end."""
    return Markup("<wbr>").join(re.split(r"(?<=[,=/])", name))
