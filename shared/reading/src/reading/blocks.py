"""Turns an HTML tree into a flat sequence of blocks (heading, paragraph, list item, ...), in reading order. Pure.

The walk is iterative: a page nested ten thousand elements deep costs no stack.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from reading import boilerplate
from reading.cleaning import one_line
from reading.facts import strip_section_number
from reading.measures import VisibleContent, measure_text, measure_visible
from reading.structures import (
    INLINE,
    count_linked_characters,
    extract_list,
    extract_listing,
    extract_table,
)

BlockKind = Literal["heading", "paragraph", "item", "definition", "list", "listing", "table", "links", "gap"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of text with its heading. `linked` counts the characters inside links; a `gap` replaces omitted code or tables.

    A `list`, `listing` or `table` is complete, in the format of `structures`. An `item` is part of a more complex list.
    """

    kind: BlockKind
    text: str = ""
    heading: str | None = None
    linked: int = 0


_DROPPED = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "footer",
        "aside",
        "form",
        "button",
        "select",
        "option",
        "textarea",
        "input",
        "iframe",
        "object",
        "embed",
        "svg",
        "math",
        "canvas",
        "audio",
        "video",
        "head",
        "link",
        "meta",
        "figure",
        "figcaption",
        "map",
        "dialog",
        "datalist",
        "progress",
    ]
)
_FRAME = frozenset({"html", "body", "main", "article"})
_OMITTED = frozenset({"pre", "table", "samp-block", "listing", "xmp"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_TERM_LEVEL = 7
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)|"
    r"font-size\s*:\s*0(?:\.0+)?(?:px|em|rem|pt|%)?\s*(?:;|!|$)|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_HIDDEN_CLASS = frozenset(
    {"hidden", "d-none", "invisible", "visually-hidden", "sr-only", "screen-reader-text"}
)
ADMONITIONS = frozenset(
    {"note", "notes", "tip", "tips", "warning", "caution", "important", "hint", "example"}
)
_PERMALINK = " #¶§"
_LINK_LIST_SHARE = 0.5
_FEW_LINKS = 3
_BOXES = frozenset({"div", "section", "header", "td", "p", "center", "span"})
"""Elements that may be navigation without any name for it, if they have `_FEW_LINKS` links or more."""


def blocks_of(root: etree._Element) -> Iterator[TextBlock]:
    # The lookups go by identity, so this list keeps all elements alive.
    elements = list(root.iter(etree.Element))
    unseen, links = _find_excluded(elements)
    yield from _BlockWalk(unseen, links, measure_visible(elements, unseen)).run(root)


def _find_excluded(
    elements: Sequence[etree._Element],
) -> tuple[set[etree._Element], dict[etree._Element, int]]:
    """Return the elements that are invisible or not part of the text, and the lists of links with their sizes.

    Lists of links lower the page's quality by their size; their words do not count.
    """
    texts = measure_text(elements)
    unseen: set[etree._Element] = set()
    links: dict[etree._Element, int] = {}
    for element in elements:
        parent = element.getparent()
        if parent in unseen or parent in links:
            unseen.add(element)
        elif element.tag in _FRAME and not boilerplate.is_boilerplate_name(element.get("class")):
            continue
        elif (
            element.tag in _DROPPED
            or _is_hidden(element)
            # An element with most of the page's text is the content, whatever its class says.
            or (_is_navigation(element) and texts.all[element] * 2 < texts.all[elements[0]])
        ):
            unseen.add(element)
        elif (
            element.tag in _LISTS and 0 < texts.all[element] * _LINK_LIST_SHARE <= texts.linked[element]
        ) or (
            element.tag in _BOXES
            and texts.links[element] >= _FEW_LINKS
            and texts.all[element] * _LINK_LIST_SHARE <= texts.linked[element]
            and texts.all[element] * 2 < texts.all[elements[0]]
        ):
            links[element] = texts.all[element]
    return unseen, links


def _is_hidden(element: etree._Element) -> bool:
    return (
        element.get("hidden") is not None
        or (element.get("aria-hidden") or "").lower() == "true"
        or bool(_HIDDEN_STYLE.search(element.get("style") or ""))
        or not _HIDDEN_CLASS.isdisjoint((element.get("class") or "").lower().split())
    )


def _is_navigation(element: etree._Element) -> bool:
    if (element.get("role") or "").lower() in {"navigation", "menu", "search", "banner", "contentinfo"}:
        return True
    if element.tag not in {"div", "ul", "ol", "section", "table", "header", "a", "p", "span", "article"}:
        return False
    # A section's id comes from its heading: "related-objects" may be a chapter of a manual.
    is_chapter = element.tag == "section" or "section" in (element.get("class") or "").lower().split()
    return boilerplate.is_boilerplate_name(element.get("class")) or (
        not is_chapter and boilerplate.is_boilerplate_name(element.get("id"))
    )


class _BlockWalk:
    """State of one pass: the text collected since the last block boundary and the headings in force."""

    def __init__(
        self, unseen: AbstractSet[etree._Element], links: Mapping[etree._Element, int], sights: VisibleContent
    ) -> None:
        self._unseen = unseen
        self._list_sizes = links
        self._sights = sights
        self._text: list[str] = []
        self._linked = 0
        self._links = 0
        self._items = 0
        self._omitted = 0
        self._heading_tag: etree._Element | None = None
        self._headings: list[tuple[etree._Element, int, str]] = []

    def run(self, root: etree._Element) -> Iterator[TextBlock]:
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                yield from self._start(element)
            else:
                yield from self._end(element)
        yield from self._flush()

    def _start(self, element: etree._Element) -> Iterator[TextBlock]:
        tag = element.tag
        if element in self._unseen:
            return
        if self._omitted:
            self._omitted += 1
            return
        if tag in _OMITTED and not self._is_layout(element):
            yield from self._flush()
            whole = (extract_table if tag == "table" else extract_listing)(element, self._unseen)
            yield (
                self._structure("table" if tag == "table" else "listing", whole)
                if whole
                else TextBlock("gap")
            )
            self._omitted = 1
            return
        if (size := self._list_sizes.get(element)) is not None:
            yield from self._flush()
            yield TextBlock("links", text=" " * size, linked=size)
            return
        if tag in {"ul", "ol"} and not self._items and (items := extract_list(element, self._unseen)):
            yield from self._flush()
            yield self._structure("list", items, count_linked_characters(element))
            self._omitted = 1
            return
        if tag == "a":
            self._links += element.get("href") is not None
        elif tag == "br":
            self._text.append(" ")
        elif tag not in INLINE:
            yield from self._flush()
            self._items += tag == "li"
            if tag in _HEADINGS or tag == "dt":
                self._heading_tag = element
        self._collect(element.text)

    def _end(self, element: etree._Element) -> Iterator[TextBlock]:
        tag = element.tag
        if element in self._unseen:
            # A space keeps the words around it apart.
            if element.getparent() not in self._unseen and element.getparent() not in self._list_sizes:
                self._collect(f" {element.tail or ''}")
            return
        if self._omitted:
            self._omitted -= 1
        elif element is self._heading_tag:
            yield from self._close_heading(element)
        elif tag == "a":
            self._links -= element.get("href") is not None
        elif tag not in INLINE:
            yield from self._flush()
            self._items -= tag == "li"
            while self._headings and self._headings[-1][0] is element:
                self._headings.pop()
        if not self._omitted:
            self._collect(element.tail)

    def _collect(self, text: str | None) -> None:
        if text and not self._omitted:
            self._text.append(text)
            self._linked += len(text) if self._links else 0

    def _flush(self) -> Iterator[TextBlock]:
        text = one_line("".join(self._text))
        linked, self._linked = self._linked, 0
        self._text = []
        if (
            text
            and self._heading_tag is None
            and not any(boilerplate.is_boilerplate_heading(each) for *_, each in self._headings)
        ):
            heading = self._headings[-1] if self._headings else None
            kind: BlockKind = "paragraph"
            if heading and heading[1] == _TERM_LEVEL:
                kind = "definition"
            elif self._items:
                kind = "item"
            yield TextBlock(kind, text, heading[2] if heading else None, linked)

    def _structure(self, kind: BlockKind, text: str, linked: int = 0) -> TextBlock:
        return TextBlock(kind, text, self._headings[-1][2] if self._headings else None, linked)

    def _close_heading(self, element: etree._Element) -> Iterator[TextBlock]:
        text = strip_section_number(one_line("".join(self._text)).rstrip(_PERMALINK))
        self._text, self._linked, self._heading_tag = [], 0, None
        if not text or text.strip(":").casefold() in ADMONITIONS:
            return
        level = _HEADINGS.get(element.tag, _TERM_LEVEL)
        scope = self._scope(element)
        while self._headings and self._headings[-1][0] is scope and self._headings[-1][1] >= level:
            self._headings.pop()
        self._headings.append((scope, level, text))
        yield TextBlock("heading", text)

    def _is_layout(self, element: etree._Element) -> bool:
        """Return whether a table only arranges the page: it has one cell per row, and no data."""
        return element.tag == "table" and element not in self._sights.data

    def _scope(self, heading: etree._Element) -> etree._Element:
        """Return the element that a heading covers: its nearest ancestor with more text than the heading."""
        own = self._sights.characters[heading]
        scope = heading
        for ancestor in heading.iterancestors():
            scope = ancestor
            if scope.tag == "body" or self._sights.characters[scope] > own:
                break
        return scope
