"""An HTML tree as a flat run of blocks (heading, paragraph, list item, ...), in reading order. Pure.

The walk is iterative: a page nested ten thousand elements deep costs no stack.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from research.reading import furniture
from research.reading.cleaning import one_line
from research.reading.facts import without_number
from research.reading.measures import Sights, sights_of, texts_of
from research.reading.structures import INLINE, linked_in, list_of, listing_of, table_of

Kind = Literal["heading", "paragraph", "item", "definition", "list", "listing", "table", "links", "gap"]


@dataclass(frozen=True, slots=True)
class Block:
    """`linked` counts the characters inside links; a `gap` stands where code or a table was left out.

    A `list`, `listing` or `table` is whole, in the lines that `structures` describes; an `item` is a piece of a list that
    is no run of plain lines.
    """

    kind: Kind
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
"""What may hold ways to other pages and little else, whatever it is called; with fewer links it is a text that has some."""


def blocks_of(root: etree._Element) -> Iterator[Block]:
    # Elements are looked up by identity, so that all of them have to be held.
    elements = list(root.iter(etree.Element))
    unseen, links = _left_out(elements)
    yield from _Walk(unseen, links, sights_of(elements, unseen)).run(root)


def _left_out(elements: Sequence[etree._Element]) -> tuple[set[etree._Element], dict[etree._Element, int]]:
    """What no reader sees or what is no part of the text, with all that it holds; and lists of links, with their size.

    The size gives a list of links its weight for the page's quality, without its words.
    """
    texts = texts_of(elements)
    unseen: set[etree._Element] = set()
    links: dict[etree._Element, int] = {}
    for element in elements:
        parent = element.getparent()
        if parent in unseen or parent in links:
            unseen.add(element)
        elif element.tag in _FRAME and not furniture.names(element.get("class")):
            continue
        elif (
            element.tag in _DROPPED
            or _is_hidden(element)
            # What holds most of the page is its content, whatever its class says.
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
    # A section's id is made of its heading: "related-objects" is a chapter of somebody's manual.
    is_chapter = element.tag == "section" or "section" in (element.get("class") or "").lower().split()
    return furniture.names(element.get("class")) or (not is_chapter and furniture.names(element.get("id")))


class _Walk:
    """State of one pass: the text collected since the last block boundary and the headings in force."""

    def __init__(
        self, unseen: AbstractSet[etree._Element], links: Mapping[etree._Element, int], sights: Sights
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

    def run(self, root: etree._Element) -> Iterator[Block]:
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                yield from self._start(element)
            else:
                yield from self._end(element)
        yield from self._flush()

    def _start(self, element: etree._Element) -> Iterator[Block]:
        tag = element.tag
        if element in self._unseen:
            return
        if self._omitted:
            self._omitted += 1
            return
        if tag in _OMITTED and not self._is_layout(element):
            yield from self._flush()
            whole = (table_of if tag == "table" else listing_of)(element, self._unseen)
            yield self._structure("table" if tag == "table" else "listing", whole) if whole else Block("gap")
            self._omitted = 1
            return
        if (size := self._list_sizes.get(element)) is not None:
            yield from self._flush()
            yield Block("links", text=" " * size, linked=size)
            return
        if tag in {"ul", "ol"} and not self._items and (items := list_of(element, self._unseen)):
            yield from self._flush()
            yield self._structure("list", items, linked_in(element))
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

    def _end(self, element: etree._Element) -> Iterator[Block]:
        tag = element.tag
        if element in self._unseen:
            # It leaves a space between the words around it.
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

    def _flush(self) -> Iterator[Block]:
        text = one_line("".join(self._text))
        linked, self._linked = self._linked, 0
        self._text = []
        if (
            text
            and self._heading_tag is None
            and not any(furniture.heads(each) for *_, each in self._headings)
        ):
            heading = self._headings[-1] if self._headings else None
            kind: Kind = "paragraph"
            if heading and heading[1] == _TERM_LEVEL:
                kind = "definition"
            elif self._items:
                kind = "item"
            yield Block(kind, text, heading[2] if heading else None, linked)

    def _structure(self, kind: Kind, text: str, linked: int = 0) -> Block:
        return Block(kind, text, self._headings[-1][2] if self._headings else None, linked)

    def _close_heading(self, element: etree._Element) -> Iterator[Block]:
        text = without_number(one_line("".join(self._text)).rstrip(_PERMALINK))
        self._text, self._linked, self._heading_tag = [], 0, None
        if not text or text.strip(":").casefold() in ADMONITIONS:
            return
        level = _HEADINGS.get(element.tag, _TERM_LEVEL)
        scope = self._scope(element)
        while self._headings and self._headings[-1][0] is scope and self._headings[-1][1] >= level:
            self._headings.pop()
        self._headings.append((scope, level, text))
        yield Block("heading", text)

    def _is_layout(self, element: etree._Element) -> bool:
        """A table of one cell per row arranges a page; it holds no data."""
        return element.tag == "table" and element not in self._sights.data

    def _scope(self, heading: etree._Element) -> etree._Element:
        """The element a heading speaks for: its parent, or further up while wrappers hold nothing but the heading."""
        own = self._sights.characters[heading]
        scope = heading
        for ancestor in heading.iterancestors():
            scope = ancestor
            if scope.tag == "body" or self._sights.characters[scope] > own:
                break
        return scope
