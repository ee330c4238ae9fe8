"""An HTML tree as a flat run of blocks (heading, paragraph, list item, ...), in reading order. Pure.

The walk is iterative: a page nested ten thousand elements deep costs no stack.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lxml import etree

from research.cleaning import one_line

Kind = Literal["heading", "paragraph", "item", "definition", "links", "gap"]


@dataclass(frozen=True, slots=True)
class Block:
    """`linked` counts the characters inside links; a `gap` stands where code or a table was left out."""

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
_OMITTED = frozenset({"pre", "table", "samp-block", "listing", "xmp"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_TERM_LEVEL = 7
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
        "nobr",
    ]
)
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_NAVIGATION = re.compile(
    r"^(?:nav(?:bar|igation|header|footer|links?|box)?|breadcrumbs?|menu|sidebar|toc|tableofcontents|pagination|"
    r"cookie.*|footer|footnotes?|headerlink|skip.*|share|social.*|related.*|comments?|advert.*)$"
)
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?\s*(?:;|!|$)|"
    r"font-size\s*:\s*0(?:\.0+)?(?:px|em|rem|pt|%)?\s*(?:;|!|$)|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_HIDDEN_CLASS = frozenset(
    {"hidden", "d-none", "invisible", "visually-hidden", "sr-only", "screen-reader-text"}
)
_ADMONITIONS = frozenset(
    {"note", "notes", "tip", "tips", "warning", "caution", "important", "hint", "example"}
)
_PERMALINK = re.compile(r"\s*[#¶§]+\s*$")
_LINK_LIST_SHARE = 0.5


def blocks_of(root: etree._Element) -> Iterator[Block]:
    _prune(root)
    yield from _Walk().run(root)


def _prune(root: etree._Element) -> None:
    """Remove what no reader sees or what is no part of the text, keeping the text that follows it."""
    body = root.find("body")
    whole = _length(root)
    for element in list((body if body is not None else root).iter(etree.Element)):
        tag = element.tag
        if tag in {"body", "html", "main", "article"}:
            continue
        if tag in _DROPPED or _is_hidden(element):
            _remove(element)
        elif _is_navigation(element) and _length(element) * 2 < whole:
            # What holds most of the page is its content, whatever its class says.
            _remove(element)
        elif tag in _LISTS and _is_link_list(element):
            _replace_by_links(element)


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
    names = f"{element.get('class') or ''} {element.get('id') or ''}".lower().split()
    return element.tag in {"div", "ul", "ol", "section", "table", "header", "a"} and any(
        _NAVIGATION.match(name) for name in names
    )


def text_of(element: etree._Element) -> str:
    return "".join(map(str, element.itertext()))


def _length(element: etree._Element) -> int:
    return len(text_of(element))


def _is_link_list(element: etree._Element) -> bool:
    total = _length(element)
    linked = sum(_length(link) for link in element.iter("a") if link.get("href"))
    return total > 0 and linked >= total * _LINK_LIST_SHARE


def _replace_by_links(element: etree._Element) -> None:
    """Keep the weight of a list of links for the page's quality, without its words."""
    total = _length(element)
    tail = element.tail
    element.clear()
    element.tag = "links"
    element.set("size", str(total))
    element.tail = tail


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail or ""
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + " " + tail
    else:
        parent.text = (parent.text or "") + " " + tail
    parent.remove(element)


class _Walk:
    """State of one pass: the text collected since the last block boundary and the headings in force."""

    def __init__(self) -> None:
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
        if self._omitted or tag in _OMITTED:
            if self._omitted == 0 and not _is_layout(element):
                yield from self._flush()
                yield Block("gap")
                self._omitted = 1
            elif self._omitted:
                self._omitted += 1
            if self._omitted:
                return
        if tag == "links":
            yield from self._flush()
            size = int(element.get("size") or 0)
            yield Block("links", text=" " * size, linked=size)
        elif tag == "a":
            self._links += element.get("href") is not None
        elif tag == "br":
            self._text.append(" ")
        elif tag not in _INLINE:
            yield from self._flush()
            self._items += tag == "li"
            if tag in _HEADINGS or tag == "dt":
                self._heading_tag = element
        self._collect(element.text)

    def _end(self, element: etree._Element) -> Iterator[Block]:
        tag = element.tag
        if self._omitted:
            self._omitted -= 1
        elif element is self._heading_tag:
            yield from self._close_heading(element)
        elif tag == "a":
            self._links -= element.get("href") is not None
        elif tag not in _INLINE:
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
        if text and self._heading_tag is None:
            heading = self._headings[-1] if self._headings else None
            kind: Kind = "paragraph"
            if heading and heading[1] == _TERM_LEVEL:
                kind = "definition"
            elif self._items:
                kind = "item"
            yield Block(kind, text, heading[2] if heading else None, linked)

    def _close_heading(self, element: etree._Element) -> Iterator[Block]:
        text = _PERMALINK.sub("", one_line("".join(self._text)))
        self._text, self._linked, self._heading_tag = [], 0, None
        if not text or text.strip(":").casefold() in _ADMONITIONS:
            return
        level = _HEADINGS.get(element.tag, _TERM_LEVEL)
        scope = _scope(element)
        while self._headings and self._headings[-1][0] is scope and self._headings[-1][1] >= level:
            self._headings.pop()
        self._headings.append((scope, level, text))
        yield Block("heading", text)


def _is_layout(element: etree._Element) -> bool:
    """A table of one cell per row arranges a page; it holds no data."""
    if element.tag != "table":
        return False
    return element.find(".//th") is None and all(
        sum(1 for cell in row if cell.tag == "td") <= 1 for row in element.iter("tr")
    )


def _scope(heading: etree._Element) -> etree._Element:
    """The element a heading speaks for: its parent, or further up while wrappers hold nothing but the heading."""
    own = len(text_of(heading).strip())
    scope = heading
    for ancestor in heading.iterancestors():
        scope = ancestor
        if scope.tag == "body" or len(text_of(scope).strip()) > own:
            break
    return scope
