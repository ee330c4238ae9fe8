"""Pictures for the docs: small SVG files made by hand, readable on a light and on a dark page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.reporting import goals
from benchmarks.reporting.results import Row

_WIDTH: Final = 720
_LABELS: Final = 180
_FIGURES: Final = 160
_BAR, _GAP, _TOP, _BOTTOM = 20, 10, 56, 18
_FARTHEST: Final = 2.0
_PARTS: Final = ("broker", "database", "python")
_CLASSES: Final = {"broker": "a", "database": "b", "python": "c"}
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
    """One line of a chart: parts of a length, each in its colour, and the figure beside it."""

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
        title: what it shows.
        subtitle: in which unit.
        bars: from top to bottom.
        labels: pixels for the names at the left; the picture becomes wider by what is beyond the usual.
        mark: a value that gets a line across all bars.
        scale_to: the value at the right end; the longest bar's if not given.
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


# -- what is drawn -----------------------------------------------------------------------------------------------------


def write(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """Writes the pictures that the rows are enough for; figures whose gate did not pass are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    counting = [row for row in rows if row.counts]
    pictures = {
        "bench-throughput.svg": _throughput(counting),
        "bench-cpu.svg": _cpu(counting),
        "bench-growth.svg": _growth(counting),
        "bench-prune.svg": _prune(counting),
        "bench-goals.svg": _goals(counting),
    }
    written = []
    for name, picture in pictures.items():
        if picture is not None:
            (folder / name).write_text(picture)
            written.append(folder / name)
    return written


def _goals(rows: Sequence[Row]) -> str | None:
    bars = [
        Bar(
            outcome.name,
            (("ours" if outcome.state == "reached" else "a", min(outcome.of_bound, _FARTHEST)),),
            f"{outcome.measured:,.4g}{outcome.unit} of {outcome.wanted}",
        )
        for outcome in goals.judge(rows)
        if outcome.measured is not None and outcome.of_bound is not None
    ]
    subtitle = (
        "As long as the goal is met: the line is the goal, beyond it is better; bars end at twice the goal"
    )
    return draw("Goals", subtitle, bars, labels=390, mark=1.0, scale_to=_FARTHEST) if bars else None


def _drains(rows: Sequence[Row]) -> list[Row]:
    drains = [
        row for row in rows if (row.scenario, row.tier) == ("drain_idempotent", "T2") and row.msgs_per_s
    ]
    return sorted(drains, key=lambda row: -(row.msgs_per_s or 0))


def _throughput(rows: Sequence[Row]) -> str | None:
    bars = [
        Bar(
            row.system,
            (("ours" if row.kind == "ours" else "peer", row.msgs_per_s),),
            f"{row.msgs_per_s:,.0f}/s",
        )
        for row in _drains(rows)
        if row.msgs_per_s
    ]
    subtitle = "Messages per second: durable, deduplicated, effect in the same transaction; two workers each"
    return draw("Draining a queue, each message once", subtitle, bars) if bars else None


def _cpu(rows: Sequence[Row]) -> str | None:
    bars = [
        Bar(
            row.system,
            tuple((_CLASSES[part], row.cpu_s_per_1k[part]) for part in _PARTS),
            f"{sum(row.cpu_s_per_1k.values()):.2f} s",
        )
        for row in _drains(rows)
        if row.cpu_s_per_1k
    ]
    subtitle = "Processor seconds per 1,000 messages, from left to right: broker, database, Python"
    return draw("What a drained message costs", subtitle, bars) if bars else None


def _growth(rows: Sequence[Row]) -> str | None:
    bars = [
        Bar(_amount(row), (("ours", row.msgs_per_s),), f"{row.msgs_per_s:,.0f}/s")
        for scenario in ("inbox_growth", "backlog_growth")
        for row in rows
        if row.scenario == scenario and row.msgs_per_s
    ]
    subtitle = "Messages per second with so many rows in the inbox, or so many messages waiting"
    return draw("Speed with a past", subtitle, bars) if bars else None


def _amount(row: Row) -> str:
    if "inbox_rows" in row.extra:
        return f"{row.extra['inbox_rows']:,} in the inbox"
    return f"{row.extra['backlog']:,} waiting"


def _prune(rows: Sequence[Row]) -> str | None:
    bars = [
        Bar(
            f"{row.extra['rows']:,} rows",
            (("ours" if row.kind == "ours" else "peer", row.p50_ms),),
            f"{row.p50_ms:,.0f} ms{'' if row.kind == 'ours' else ' with delete'}",
        )
        for row in rows
        if row.scenario == "prune_day" and row.p50_ms
    ]
    subtitle = "Milliseconds to forget a day of the inbox: its partition dropped, or its rows deleted"
    return draw("Forgetting a day", subtitle, bars) if bars else None
