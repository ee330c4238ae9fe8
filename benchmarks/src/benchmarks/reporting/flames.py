"""A flame graph of several services: stacks side by side, callers below, widths by processor time.

Frames are grouped by module, and those of a library into one box: the calls between our modules matter, not 50
frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.reporting.steps import IDLE, OURS, Stack, Stacks, step_of

_WIDTH: Final = 960
_ROW: Final = 18
_TOP: Final = 64
_NARROWEST: Final = 1.5
"""Boxes below this many pixels are left out."""
_LETTER: Final = 6.3
"""Approximate width of a letter in pixels."""
_STYLE: Final = """
  text { font: 11px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .quiet { fill: #656d76; font-size: 12px; }
  rect { stroke: #ffffff; stroke-width: 0.5; }
  .service { fill: #d0d7de; } .ours { fill: #b6d4fe; } .library { fill: #ffd8b5; } .loop { fill: #eaeef2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9198a1; } rect { stroke: #0d1117; }
    .service { fill: #3d444d; } .ours { fill: #1f4b8f; } .library { fill: #8a4b1a; } .loop { fill: #2a313c; }
  }
"""


@dataclass(slots=True)
class _Box:
    """A module of the stack, and the modules that it called."""

    name: str
    weight: float = 0.0
    inner: dict[str, "_Box"] = field(default_factory=dict)

    def add(self, path: tuple[str, ...], weight: float) -> None:
        self.weight += weight
        if path:
            self.inner.setdefault(path[0], _Box(path[0])).add(path[1:], weight)

    def depth(self, scale: float) -> int:
        drawn = [box.depth(scale) for box in self.inner.values() if box.weight * scale >= _NARROWEST]
        return 1 + max(drawn, default=0)


def draw(title: str, subtitle: str, stacks: Mapping[str, Stacks], milliseconds: Mapping[str, float]) -> str:
    """Draws an SVG document.

    Args:
        title: of the graph.
        subtitle: how it was measured.
        stacks: of each service.
        milliseconds: processor time of each service, which its boxes share.
    """
    root = _Box("all")
    for service, seen in stacks.items():
        each = milliseconds[service] / (sum(seen.values()) or 1)
        for stack, count in seen.items():
            root.add((service, *_modules(stack)), count * each)
    scale = _WIDTH / (root.weight or 1)
    floors = root.depth(scale) - 1
    height = _TOP + floors * _ROW + 6
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="0" y="18">{escape(title)}</text>',
        f'<text class="quiet" x="0" y="38">{escape(subtitle)}</text>',
        *_boxes(root, 0.0, height - 6, scale, 0),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _boxes(box: _Box, x: float, floor: float, scale: float, level: int) -> list[str]:
    lines = []
    for inner in sorted(box.inner.values(), key=lambda each: -each.weight):
        width = inner.weight * scale
        if width < _NARROWEST:
            continue
        y = floor - _ROW
        kind = "service" if level == 0 else _kind(inner.name)
        lines.append(
            f"<g><title>{escape(inner.name)}: {inner.weight:.2f} ms</title>"
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{_ROW}"/>'
            f"{_label(inner, x, y, width)}</g>"
        )
        lines += _boxes(inner, x, y, scale, level + 1)
        x += width
    return lines


def _label(box: _Box, x: float, y: float, width: float) -> str:
    letters = int((width - 6) / _LETTER)
    for text in (f"{box.name} {box.weight:.1f} ms", box.name, box.name.rpartition(".")[2]):
        if len(text) <= letters:
            return f'<text x="{x + 3:.1f}" y="{y + 13:.0f}">{escape(text)}</text>'
    return ""


def _kind(name: str) -> str:
    if name == IDLE:
        return "loop"
    return "ours" if name.partition(".")[0] in OURS else "library"


def _modules(stack: Stack) -> tuple[str, ...]:
    """The modules of a stack, with consecutive frames of one module merged."""
    way: list[str] = []
    for frame in stack:
        module = frame.partition(":")[0]
        package = module.partition(".")[0]
        name = module if package in OURS else package
        if name in ("asyncio", "selectors", "contextlib", "functools", "anyio"):
            continue
        if not way or way[-1] != name:
            way.append(name)
    return tuple(way) or (step_of(stack),)
