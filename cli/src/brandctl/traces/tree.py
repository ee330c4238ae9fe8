"""Spans of a trace as trees for a terminal."""

from collections.abc import Sequence
from itertools import cycle
from typing import Final

from rich.text import Text
from rich.tree import Tree

from brandctl.terminal import printable
from brandctl.traces.jaeger import Span
from envelope.brand import SERVICES

_COLOURS: Final = dict(zip(SERVICES, cycle(("cyan", "green", "magenta", "blue", "yellow")), strict=False))


def trees(spans: Sequence[Span], keyword: str) -> list[Tree]:
    """Returns trees of a trace's spans in order of time; a span without its parent among them begins a tree.

    `keyword` is the attribute that distinguishes branches; the first span of a branch shows its value.
    """
    began = min((span.began for span in spans), default=0)
    known = {span.span_id: span for span in spans}

    def label(span: Span) -> Text:
        parent = known.get(span.parent_id)
        mine = span.attributes.get(keyword)
        begins = mine if parent is None or parent.attributes.get(keyword) != mine else None
        return _label(span, began, begins)

    children: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.began):
        children.setdefault(span.parent_id if span.parent_id in known else "", []).append(span)
    found = [(Tree(label(span)), span) for span in children.get("", ())]
    open_ = list(found)
    while open_:
        tree, parent = open_.pop()
        open_ += [(tree.add(label(span)), span) for span in children.get(parent.span_id, ())]
    return [tree for tree, _ in found]


def branch(spans: Sequence[Span], attribute: str, value: str) -> list[Span]:
    """Returns the spans with this attribute, their descendants and their ancestors."""
    by_id = {span.span_id: span for span in spans}
    wanted = {span.span_id for span in spans if span.attributes.get(attribute) == value}
    ways = [(span, _way_to(span, by_id)) for span in spans]
    # A span with another value begins another branch, even below the same request.
    below = {
        span.span_id
        for span, way in ways
        if wanted & set(way) and span.attributes.get(attribute, value) == value
    }
    kept = wanted | below
    above = {above for span, way in ways if span.span_id in kept for above in way}
    return [span for span in spans if span.span_id in kept | above]


def duration(nanoseconds: int) -> str:
    seconds = nanoseconds / 1e9
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _way_to(span: Span, by_id: dict[str, Span]) -> list[str]:
    way: list[str] = []
    while (parent := by_id.get(span.parent_id)) is not None and parent.span_id not in way:
        way.append(parent.span_id)
        span = parent
    return way


def _label(span: Span, began: int, begins: str | None) -> Text:
    label = Text()
    label.append(f"{printable(span.service)} ", style=_COLOURS.get(span.service, ""))
    label.append(printable(span.name), style="" if span.error is None else "red")
    label.append(f"  {duration(span.ended - span.began)}", style="bold")
    label.append(f"  +{duration(span.began - began)}", style="dim")
    if begins is not None:
        label.append(f"  {printable(begins)}", style="italic")
    if span.error is not None:
        label.append(f"  {printable(span.error) or 'failed'}", style="red")
    return label
