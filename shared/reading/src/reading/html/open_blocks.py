"""The open elements while a page is walked, and how each closes: the paragraph, its lists and notes, the section. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lxml import etree

from documents.blocks import Block, Gap, Label, Link, Listing, ListItem, Paragraph
from documents.sections import ENTRY_LEVEL
from reading import boilerplate
from reading.cleaning import flags_of, one_line
from reading.facts import PERMALINK
from reading.html.elements import (
    HEADINGS,
    KERNEL_LABELS,
    LOOKED_AT,
    heading_text,
    is_link,
    level_of,
    name_of,
    own_anchors,
)
from reading.html.formulas import draws_formulas, has_written_formula
from reading.html.frames import Frame
from reading.html.inline import InlineText
from reading.html.listings import MAX_LINES, is_broken_listing, listing_of
from reading.html.parts import PageParts, class_names
from reading.html.tables import BOLD, strip_caption_number
from reading.measures import VisibleContent, measure_visible
from reading.section_builder import ADMONITIONS, SectionBuilder

MAX_TITLE: Final = 300
MAX_BOLD_LINE: Final = 90
MAX_PARAGRAPH: Final = 20_000
"""Characters; a longer paragraph is data."""
LAYOUT_CELL: Final = 400
"""Characters of a cell with blocks inside that make its table an arrangement of the page."""

_HEADER_CLASSES: Final = frozenset({"titlepage", "page-header", "section-header", "header", "headertitle"})
# "See also: …", and what QDoc and Doxygen write in front of a link alone.
_SEE_ALSO: Final = re.compile(r"see also\s?:", re.IGNORECASE)
_BEFORE_LINK: Final = re.compile(
    r"(?:see also|(?:re)?implements:|overrides:|reimplemented (?:from|in)) ", re.IGNORECASE
)
_FIGURE_LINE: Final = re.compile(r"(?:Figure|Fig\.) \d{1,3}(?:\.\d{1,3})*[.:] ")
# Names of boxes that are headings of sections as well.
_OF_SECTIONS: Final = frozenset({"example", "examples", "tips", "notes"})


@dataclass(slots=True)
class Capture:
    """An element whose whole text becomes one line: a heading, a term, a caption."""

    kind: str
    element: etree._Element


def _only_refers(text: str, links: Sequence[Link]) -> bool:
    """Return whether a paragraph is a reference with its label: "Reimplements: Kiln::fire(Clay clay)."."""
    label = _BEFORE_LINK.match(text)
    return label is not None and links[:1] != () and links[0].start == label.end() and ". " not in text


class OpenBlocks:
    """The open parts of a page. The walk adds text and blocks; headings and ends of elements close them."""

    def __init__(self, parts: PageParts) -> None:
        self._root = parts.root
        self._sights: VisibleContent = measure_visible(parts.elements, parts.unseen)
        self._text = InlineText()
        self._frames: list[Frame] = []
        self._sections = SectionBuilder()
        self._anchors: list[str] = []
        self._signature: list[str] = []
        self._has_formula = False
        self._is_footnote = False
        self._draws_formulas = draws_formulas(parts.elements[0])

    def _close_capture(self, capture: Capture) -> None:
        text, _ = self._text.take()
        self._has_formula = self._is_footnote = False
        text = text[:MAX_PARAGRAPH]
        match capture.kind:
            case "heading":
                self._close_heading(capture.element, text)
            case "title":
                self._close_title(text)
            case "term":
                self._close_term(text)
            case "note-title":
                self._frames[-1].title = text.rstrip(":")
            case _:
                self._close_signature(capture.element, text)

    def _close_heading(self, element: etree._Element, text: str) -> None:
        title = heading_text(element, text)
        if not title:
            return
        top = self._frames[-1] if self._frames else None
        if top is not None and top.is_untitled_note:
            top.title = title
            return
        name = title.strip(":!").casefold()
        is_section = name in _OF_SECTIONS and element.tag in HEADINGS and not self._frames
        if name in ADMONITIONS and not (self._anchors or is_section):
            self._add(Label(title))
            return
        while self._frames and self._frames[-1].kind in {"list", "dl"}:
            # Headings between the items of a list that only indents.
            self._pop()
        level = level_of(element)
        if self._frames or (self._sections.is_entry and level < ENTRY_LEVEL):
            self._add(Label(title))
            return
        scope = self._scope(element)
        anchors = own_anchors(element, scope)
        if level == ENTRY_LEVEL:
            self._open_section(title.removesuffix("()"), level, None, anchors)
        else:
            self._open_section(title, level, scope, anchors)

    def _open_section(
        self, title: str, level: int, scope: etree._Element | None, anchors: Sequence[str] = ()
    ) -> None:
        before, self._anchors = self._anchors, []
        is_skipped = boilerplate.is_boilerplate_heading(title)
        self._sections.open(
            title[:MAX_TITLE], level, (*anchors, *reversed(before)), scope, is_skipped=is_skipped
        )

    def _close_title(self, text: str) -> None:
        title = strip_caption_number(text.rstrip(PERMALINK))
        top = self._frames[-1] if self._frames else None
        if top is not None and top.is_untitled_note:
            top.title = title.rstrip(":")
        elif title and not flags_of(title):
            self._add(Label(title))

    def _close_term(self, text: str) -> None:
        top = self._frames[-1] if self._frames else None
        if top is None or top.kind != "dl":
            self._close_title(text)
            return
        if top.blocks:
            top.close_entry()
        if not top.terms:
            top.anchor, self._anchors = self._anchors[0] if self._anchors else "", self._anchors[1:]
        if term := text.rstrip(PERMALINK)[:MAX_TITLE]:
            top.terms.append(term)

    def _close_signature(self, element: etree._Element, text: str) -> None:
        signature = text.rstrip(PERMALINK).lstrip(": ")
        if not signature:
            return
        name = name_of(element, signature)
        if self._signature:
            self._sections.add_name(name)
            self._sections.add_anchors(self._anchors)
            self._anchors = []
        else:
            parent = element.getparent()
            self._sections.end(parent)
            self._open_section(name, ENTRY_LEVEL, parent)
        self._signature.append(signature)

    def _add_signature(self) -> None:
        if self._signature:
            self._sections.add(Listing(tuple(self._signature)))
            self._signature = []

    def _pop(self) -> None:
        frame = self._frames.pop()
        match frame.kind:
            case "item":
                if frame.blocks:
                    self._frames[-1].items.append(ListItem(tuple(frame.blocks)))
            case "dd":
                self._frames[-1].blocks += frame.blocks
                if not frame.blocks:
                    # The terms of the next explanation are others.
                    self._frames[-1].close_entry()
            case _:
                if (block := frame.closed()) is not None:
                    self._add(block)

    # -- blocks ----------------------------------------------------------------------------------------------------------

    def _flush(self, element: etree._Element | None = None) -> None:
        """Close the paragraph; `element` is the one that ends here, if any."""
        is_bold, is_code = not self._text.has_plain, not self._text.has_words
        lines = self._text.lines if self._text.breaks else ()
        text, links = self._text.take()
        is_footnote, self._is_footnote = self._is_footnote, False
        if is_footnote:
            pass
        elif self._has_formula or (self._draws_formulas and has_written_formula(text)):
            # Without the formula, its sentence says something else.
            self._has_formula = False
            self._add(Gap("formula"))
        elif len(text) > MAX_PARAGRAPH:
            self._add(Gap("listing"))
        elif not text or boilerplate.is_notice(text):
            pass
        elif is_code and (lines or (not self._frames and " " in text)):
            self._add(listing_of("\n".join(lines or (text,))) or Gap("listing"))
        elif (
            self._frames
            or element is None
            or not self._is_keyword_line(element, text, links, is_bold=is_bold)
        ):
            self._add_paragraph(text, links, lines)

    def _add_paragraph(self, text: str, links: tuple[Link, ...], lines: Sequence[str]) -> None:
        if _SEE_ALSO.match(text) or (not self._frames and is_link(text, links)) or _only_refers(text, links):
            return
        if text.strip(":!").casefold() in ADMONITIONS:
            self._close_title(text)
        elif _FIGURE_LINE.match(text) and len(text) <= MAX_TITLE:
            self._add(Gap("figure"))
        elif is_broken_listing(lines):
            self._add(listing_of("\n".join(lines)) or Gap("listing"))
        else:
            self._add(Paragraph(text, links, flags_of(text)))

    def _is_keyword_line(
        self, element: etree._Element, text: str, links: Sequence[Link], *, is_bold: bool
    ) -> bool:
        """Open an entry if the paragraph is a line in bold, or is marked as a keyword; return whether it was one."""
        is_marked = "keyword" in class_names(element)
        if not (is_marked or (is_bold and element.tag in {"p", "div"})) or len(text) > MAX_BOLD_LINE * 2:
            return False
        if not is_marked and (len(text) > MAX_BOLD_LINE or text[-1] in ".!?;," or is_link(text, links)):
            return False
        plain = text.rstrip(":").casefold()
        if text.endswith(":") or plain in ADMONITIONS or plain in KERNEL_LABELS or self._sections.is_entry:
            self._add(Label(text))
            return True
        name = text.rstrip(PERMALINK)
        if (
            is_marked
            and (bold := next((each for each in islice(element.iter(), LOOKED_AT) if each.tag in BOLD), None))
            is not None
        ):
            name = one_line("".join(map(str, bold.itertext()))) or text
        if self._sections.add_signature(name, text):
            self._sections.add_anchors(self._anchors)
            self._anchors = []
            return True
        self._open_section(name, ENTRY_LEVEL, None)
        if name != text:
            self._sections.add(Listing((text,)))
        return True

    def _add(self, block: Block) -> None:
        if self._frames:
            self._frames[-1].blocks.append(block)
            if self._frames[-1].kind == "list":
                # Text between the items of a list.
                self._frames[-1].items.append(ListItem((self._frames[-1].blocks.pop(),)))
            return
        self._sections.add_anchors(self._anchors)
        self._anchors = []
        self._sections.add(block)

    def _scope(self, heading: etree._Element) -> etree._Element:
        """Return the element that a heading covers: its nearest ancestor with more text than the heading."""
        own = self._sights.characters[heading]
        scope = heading
        for ancestor in heading.iterancestors():
            scope = ancestor
            is_header = scope.tag in {"header", "hgroup"} or not class_names(scope).isdisjoint(
                _HEADER_CLASSES
            )
            if scope is self._root or scope.tag == "body":
                break
            if self._sights.characters[scope] > own and not (
                is_header and self._sights.characters[scope] < own + LAYOUT_CELL
            ):
                break
        return scope

    def _extend_listing(self, listing: Listing) -> bool:
        """Join a listing with the one right before it, as makeinfo splits them at empty lines; return whether it fits."""
        blocks = self._frames[-1].blocks if self._frames else self._sections.blocks
        last = blocks[-1] if blocks else None
        if not isinstance(last, Listing) or len(last.lines) + len(listing.lines) >= MAX_LINES:
            return False
        blocks[-1] = Listing((*last.lines, "", *listing.lines))
        return True
