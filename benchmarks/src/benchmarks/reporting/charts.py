"""Bar charts as small handwritten SVG documents, readable on light and dark pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

_WIDTH: Final = 720
_LABELS: Final = 180
_FIGURES: Final = 160
_BAR, _GAP, _TOP, _BOTTOM = 20, 10, 56, 18
_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .quiet { fill: #656d76; font-size: 12px; }
  line { stroke: #1f2328; stroke-dasharray: 3 3; }
  .ours { fill: #0969da; } .peer { fill: #8c959f; }
  .a { fill: #bc4c00; } .b { fill: #0969da; } .c { fill: #8250df; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9198a1; } line { stroke: #e6edf3; }
    .ours { fill: #4493f8; } .peer { fill: #656c76; }
    .a { fill: #db6d28; } .b { fill: #4493f8; } .c { fill: #ab7df8; }
  }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart: coloured segments with the figure."""

    label: str
    parts: tuple[tuple[str, float], ...]
    """Colour class and value, from left to right."""
    figure: str

    @property
    def total(self) -> float:
        return sum(value for _, value in self.parts)


def draw(
    title: str,
    subtitle: str,
    bars: Sequence[Bar],
    *,
    labels: int = _LABELS,
    mark: float | None = None,
    scale_to: float | None = None,
) -> str:
    """A horizontal bar chart as an SVG document.

    Args:
        title: of the chart.
        subtitle: the unit.
        bars: from top to bottom.
        labels: pixels for the names at the left; more than the default makes the picture wider.
        mark: a value that gets a line across all bars.
        scale_to: the value at the right end; by default the longest bar's.
    """
    height = _TOP + len(bars) * (_BAR + _GAP) + _BOTTOM
    room = _WIDTH - _LABELS - _FIGURES
    width = _WIDTH + labels - _LABELS
    largest = scale_to or max((bar.total for bar in bars), default=0.0) or 1.0
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="0" y="18">{escape(title)}</text>',
        f'<text class="quiet" x="0" y="38">{escape(subtitle)}</text>',
    ]
    for number, bar in enumerate(bars):
        lines += _lines_of(bar, _TOP + number * (_BAR + _GAP), room / largest, labels)
    if mark is not None:
        x = labels + mark * room / largest
        lines.append(f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{height - _BOTTOM}"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _lines_of(bar: Bar, y: int, scale: float, labels: int) -> list[str]:
    baseline = y + _BAR - 5
    lines = [f'<text x="{labels - 10}" y="{baseline}" text-anchor="end">{escape(bar.label)}</text>']
    x = float(labels)
    for colour, value in bar.parts:
        width = value * scale
        lines.append(
            f'<rect class="{colour}" x="{x:.1f}" y="{y}" width="{max(width, 1):.1f}" height="{_BAR}" rx="2"/>'
        )
        x += width
    lines.append(f'<text x="{x + 8:.1f}" y="{baseline}">{escape(bar.figure)}</text>')
    return lines
