"""A drawing whose width is the reader's and whose text keeps its size.

Horizontal positions are shares of the plotting area (0 left, 1 right), vertical ones pixels from
the top. In the page that becomes percentages, so one drawing fits a telephone and a wide screen
with letters of 12 pixels in both; for a file of its own it becomes plain coordinates. Colours are
classes, so the theme decides. Text is escaped here and nowhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from markupsafe import Markup

from benchlab.report.plots.colours import literal, rules
from benchlab.report.readable import printable

Point = tuple[float, float]
Placing = Callable[[float], str]
VIEW = 1000


@dataclass(frozen=True)
class _Shape:
    """A path: drawn in a stretched view of its own when the width is not known."""

    points: tuple[Point, ...]
    style: str
    closed: bool
    title: str

    def svg(self, left: float, width: float) -> str:
        at = " ".join(f"{left + x * width:.0f},{y:.1f}" for x, y in self.points)
        kind = "polygon" if self.closed else "polyline"
        body = f"<title>{escape(self.title)}</title>" if self.title else ""
        return f'<{kind} class="{self.style}" points="{at}">{body}</{kind}>'


@dataclass(frozen=True)
class _Mark:
    """Anything whose place may be a percentage: `{x}` fields in a template of SVG."""

    template: str
    xs: tuple[float, ...]


def _clear(text: str) -> str:
    """XML has no control characters, not even escaped."""
    return escape(printable(text))


@dataclass
class Canvas:
    """One plot, or one row of one."""

    height: float
    title: str
    """What the plot says, for those who hear it rather than see it."""
    left: int = 8
    right: int = 8
    name: str = ""
    """File name for an export, without its ending."""
    items: list[_Shape | _Mark] = field(default_factory=list)

    def path(self, points: Sequence[Point], style: str, title: str = "") -> None:
        """A line through the points."""
        self.items.append(_Shape(tuple(points), style, False, title))

    def area(self, points: Sequence[Point], style: str) -> None:
        """A filled outline."""
        self.items.append(_Shape(tuple(points), style, True, ""))

    def segment(self, start: Point, end: Point, style: str, title: str = "") -> None:
        """A straight line."""
        self._mark(
            f'<line class="{style}" x1="{{0}}" y1="{start[1]:.1f}" x2="{{1}}" y2="{end[1]:.1f}">'
            f"{self._hint(title)}</line>",
            start[0],
            end[0],
        )

    def rectangle(self, start: Point, end: Point, style: str, title: str = "") -> None:
        """A box between two corners; the second lies right of and below the first."""
        self.items.append(
            _Mark(
                f'<rect class="{style}" x="{{0}}" y="{start[1]:.1f}" width="{{w}}" '
                f'height="{max(0.0, end[1] - start[1]):.1f}">{self._hint(title)}</rect>',
                (start[0], max(start[0], end[0])),
            )
        )

    def dot(self, at: Point, radius: float, style: str, title: str = "") -> None:
        """A point."""
        self._mark(
            f'<circle class="{style}" cx="{{0}}" cy="{at[1]:.1f}" r="{radius}">'
            f"{self._hint(title)}</circle>",
            at[0],
        )

    def text(
        self, at: Point, words: str, style: str = "", anchor: str = "start", dx: int = 0
    ) -> None:
        """Words at a place."""
        self.words(at, [(words, "")], style, anchor, dx)

    def words(
        self,
        at: Point,
        parts: Sequence[tuple[str, str]],
        style: str = "",
        anchor: str = "start",
        dx: int = 0,
    ) -> None:
        """Words of several tones on one line: (text, class)."""
        body = (
            "".join(
                f'<tspan class="{tone}">{_clear(text)}</tspan>' if tone else _clear(text)
                for text, tone in parts
            )
            .replace("{", "{{")
            .replace("}", "}}")
        )
        self._mark(
            f'<text class="{style}" x="{{0}}" y="{at[1]:.1f}" dx="{dx}" text-anchor="{anchor}">'
            f"{body}</text>",
            at[0],
        )

    def _hint(self, title: str) -> str:
        if not title:
            return ""
        return f"<title>{_clear(title)}</title>".replace("{", "{{").replace("}", "}}")

    def _mark(self, template: str, *xs: float) -> None:
        self.items.append(_Mark(template, xs))

    def html(self) -> Markup:
        """The drawing for the page, as wide as its place."""
        body: list[str] = []
        shapes: list[str] = []

        def close() -> None:
            if shapes:
                view = f"0 0 {VIEW} {self.height:g}"
                body.append(
                    f'<svg viewBox="{view}" width="100%" height="{self.height:g}" '
                    f'preserveAspectRatio="none">{"".join(shapes)}</svg>'
                )
                shapes.clear()

        for item in self.items:
            if isinstance(item, _Shape):
                shapes.append(item.svg(0, VIEW))
                continue
            close()
            body.append(_place(item, lambda x: f"{x * 100:.2f}%", lambda w: f"{w * 100:.2f}%"))
        close()
        said = (
            f'role="img" aria-label="{_clear(self.title)}"' if self.title else 'aria-hidden="true"'
        )
        return Markup(
            f'<div class="frame" style="padding:0 {self.right}px 0 {self.left}px">'
            f'<svg class="plot" {said} width="100%" '
            f'height="{self.height:g}">{"".join(body)}</svg></div>'
        )

    def fragment(self, width: int) -> str:
        """The drawing's elements at a fixed width, margins included."""
        inner = width - self.left - self.right
        parts = []
        for item in self.items:
            if isinstance(item, _Shape):
                parts.append(item.svg(self.left, inner))
            else:
                parts.append(
                    _place(
                        item,
                        lambda x: f"{self.left + x * inner:.1f}",
                        lambda w: f"{w * inner:.1f}",
                    )
                )
        return "".join(parts)


def _place(item: _Mark, place: Placing, extent: Placing) -> str:
    width = extent(item.xs[-1] - item.xs[0])
    return item.template.format(*(place(x) for x in item.xs), w=width)


def standalone(canvases: Sequence[Canvas], width: int = 720) -> str:
    """One SVG file of canvases beneath each other, in the light theme, needing nothing else."""
    body, top = [], 12.0
    for canvas in canvases:
        body.append(f'<g transform="translate(0 {top:g})">{canvas.fragment(width)}</g>')
        top += canvas.height + 8
    title = _clear("; ".join(canvas.title for canvas in canvases if canvas.title))
    style = literal(rules() + ".ground{fill:var(--sheet)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{width}" height="{top:g}" '
        f'viewBox="0 0 {width} {top:g}" role="img"><title>{title}</title>'
        f"<style>{style}</style>"
        f'<rect class="ground" width="{width}" height="{top:g}"/>{"".join(body)}</svg>\n'
    )
