"""Small charts as inline SVG: axes, lines, bars. The page's style sheet colours them by class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from leakscore_app._visible import markup

WIDTH, HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 48


@dataclass(frozen=True)
class Axis:
    """A range of numbers, its ticks and its name.

    Attributes
    ----------
    low, high : float
        The numbers at the ends of the axis; positive if `log`.
    ticks : sequence of (float, str)
        Positions and labels.
    label : str
    log : bool
        Whether the axis is logarithmic.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    log: bool = False

    def share(self, value: float) -> float:
        """Return the position of a value between the ends, clamped to [0, 1]."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, 1e-300))
        return min(max((value - low) / (high - low), 0.0), 1.0)


@dataclass
class Chart:
    """A chart of two axes, drawn from back to front.

    Attributes
    ----------
    title, description : str
        For readers who cannot see the chart.
    x, y : Axis
    """

    title: str
    description: str
    x: Axis
    y: Axis
    _marks: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str]] = field(default_factory=list)

    def left(self, value: float) -> float:
        """Return the horizontal position of a value."""
        return _LEFT + self.x.share(value) * (WIDTH - _LEFT - _RIGHT)

    def top(self, value: float) -> float:
        """Return the vertical position of a value."""
        return HEIGHT - _BOTTOM - self.y.share(value) * (HEIGHT - _TOP - _BOTTOM)

    def line(self, xs: Iterable[float], ys: Iterable[float], style: str, name: str = "") -> None:
        """Draw a line through points."""
        self._draw_points("polyline", xs, ys, style, name)

    def dots(self, xs: Iterable[float], ys: Iterable[float], style: str, name: str = "") -> None:
        """Draw one dot for every point."""
        self._marks += [
            f'<circle class="{style}" cx="{self.left(x):.1f}" cy="{self.top(y):.1f}" r="2.4"/>'
            for x, y in zip(xs, ys, strict=True)
        ]
        self.legend(name, style)

    def bars(
        self, edges: Sequence[float], heights: Sequence[float], style: str, name: str = ""
    ) -> None:
        """Draw one bar for every interval between edges; none where the height is 0."""
        ground = self.top(self.y.low)
        for low, high, value in zip(edges[:-1], edges[1:], heights, strict=True):
            if value > 0:
                x, top = self.left(low), self.top(value)
                self._marks.append(
                    f'<rect class="{style}" x="{x:.1f}" y="{top:.1f}" '
                    f'width="{max(self.left(high) - x - 0.6, 0.6):.1f}" '
                    f'height="{ground - top:.1f}"/>'
                )
        self.legend(name, style)

    def vertical(self, value: float, label: str, *, at_foot: bool = False) -> None:
        """Draw a thin line from bottom to top, with a label at its head or foot."""
        x = self.left(value)
        height = HEIGHT - _BOTTOM - 7 if at_foot else _TOP + 11
        self._marks.append(
            f'<line class="guide" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" '
            f'y2="{HEIGHT - _BOTTOM}"/>'
            f'<text class="note" x="{x - 4:.1f}" y="{height}" text-anchor="end">'
            f"{markup(label)}</text>"
        )

    def horizontal(self, value: float, label: str) -> None:
        """Draw a thin line from left to right, with a label above its right end."""
        top, right = self.top(value), WIDTH - _RIGHT
        self._marks.append(
            f'<line class="guide" x1="{_LEFT}" x2="{right}" y1="{top:.1f}" y2="{top:.1f}"/>'
            f'<text class="note" x="{right - 4}" y="{max(top - 4, _TOP + 9):.1f}" '
            f'text-anchor="end">{markup(label)}</text>'
        )

    def region(self, xs: Iterable[float], ys: Iterable[float], style: str, name: str = "") -> None:
        """Fill the area inside a closed line."""
        self._draw_points("polygon", xs, ys, style, name)

    def _draw_points(
        self, shape: str, xs: Iterable[float], ys: Iterable[float], style: str, name: str
    ) -> None:
        points = " ".join(
            f"{self.left(x):.1f},{self.top(y):.1f}" for x, y in zip(xs, ys, strict=True)
        )
        self._marks.append(f'<{shape} class="{style}" points="{points}"/>')
        self.legend(name, style)

    def legend(self, name: str, style: str) -> None:
        """Add a style to the legend, if it has a name."""
        if name:
            self._legend.append((name, style))

    def render(self) -> str:
        """Return the figure: the SVG and, under it, its legend."""
        body = "".join([*self._grid(), *self._marks, *self._axes()])
        keys = "".join(
            f'<li><svg class="key" viewBox="0 0 22 10" aria-hidden="true">{_sample(style)}</svg>'
            f"{markup(name)}</li>"
            for name, style in self._legend
        )
        return (
            f'<figure><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{markup(f"{self.title}. {self.description}")}">'
            f"<title>{markup(self.title)}</title>{body}</svg>"
            f'<ul class="legend">{keys}</ul><figcaption>{markup(self.description)}</figcaption>'
            "</figure>"
        )

    def _grid(self) -> Iterable[str]:
        right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
        for value, label in self.x.ticks:
            x = self.left(value)
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>'
            yield (
                f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
                f"{markup(label)}</text>"
            )
        for value, label in self.y.ticks:
            top = self.top(value)
            yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{top:.1f}" y2="{top:.1f}"/>'
            yield (
                f'<text class="tick" x="{_LEFT - 7}" y="{top + 4:.1f}" text-anchor="end">'
                f"{markup(label)}</text>"
            )

    def _axes(self) -> Iterable[str]:
        bottom, middle = HEIGHT - _BOTTOM, (_TOP + HEIGHT - _BOTTOM) / 2
        yield f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        yield f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{bottom}"/>'
        yield (
            f'<text class="name" x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{markup(self.x.label)}</text>'
        )
        yield (
            f'<text class="name" transform="translate(13 {middle}) rotate(-90)" '
            f'text-anchor="middle">{markup(self.y.label)}</text>'
        )


def _sample(style: str) -> str:
    """Draw the sample of a style for the legend."""
    if {"bar", "area"} & set(style.split()):
        return f'<rect class="{style}" x="3" y="0" width="16" height="10"/>'
    if "dot" in style.split():
        return "".join(f'<circle class="{style}" cx="{x}" cy="5" r="2.4"/>' for x in (4, 11, 18))
    return f'<polyline class="{style}" points="0,5 22,5"/>'


def decades(low: float, high: float) -> list[tuple[float, str]]:
    """Return ticks at the powers of ten within a range, as plain numbers."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first) / 6))
    return [(10.0**k, _tick_label(10.0**k)) for k in range(first, last + 1, step)]


def nice_ticks(low: float, high: float, most: int = 7) -> list[tuple[float, str]]:
    """Return round ticks, about `most` at most, within a range."""
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough)
    values = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(value, _tick_label(value)) for value in values]


def _tick_label(value: float) -> str:
    if value and not 1e-4 <= abs(value) < 1e5:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:.6g}".replace("-", "\u2212")
