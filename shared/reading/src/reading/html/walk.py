"""Walks a page once, and builds its tree of sections. Pure.

The walk is iterative: a page nested ten thousand elements deep costs no stack. Blocks within blocks (lists in lists, notes
in items) are kept to a depth that JSON can hold; what is nested deeper is in the deepest block.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lxml import etree

from documents.blocks import (
    Block,
    Gap,
    Label,
    Link,
    Listing,
    ListItem,
    Paragraph,
    Table,
)
from documents.sections import ENTRY_LEVEL, Section
from reading import boilerplate
from reading.cleaning import flags_of, one_line
from reading.facts import PERMALINK
from reading.html.contents import LinkTargets
from reading.html.elements import (
    HEADINGS,
    KERNEL_LABELS,
    LOOKED_AT,
    MARKED_CODE,
    goes_on,
    heading_text,
    holds_blocks,
    is_api,
    is_code_title,
    is_link,
    is_more,
    is_page_title,
    is_preformatted,
    level_of,
    lists_sections,
    name_of,
    name_of_setting,
    own_anchors,
    rows,
)
from reading.html.footnotes import is_exponent, is_footnote_mark
from reading.html.formulas import draws_formulas, has_written_formula, is_formula, plain_formula
from reading.html.frames import Frame
from reading.html.inline import InlineText
from reading.html.listings import (
    CODE,
    MAX_LINES,
    code_of_numbered_listing,
    extract_listing,
    is_broken_listing,
    listing_of,
)
from reading.html.parts import NOTES, PageParts, class_names, is_fragment, is_sidebar
from reading.html.preformatted import read_preformatted
from reading.html.tables import BOLD, INLINE, extract_tables, strip_caption_number, visible_text
from reading.measures import VisibleContent, measure_visible
from reading.section_builder import ADMONITIONS, Heading, SectionBuilder

MAX_FRAMES: Final = 24
"""Lists, items and notes within each other."""
MAX_TITLE: Final = 300
MAX_BOLD_LINE: Final = 90
MAX_PARAGRAPH: Final = 20_000
"""Characters; a longer paragraph is data."""
LAYOUT_CELL: Final = 400
"""Characters of a cell with blocks inside that make its table an arrangement of the page."""

_LISTINGS: Final = frozenset({"pre", "listing", "xmp"})
_LISTS: Final = frozenset({"ul", "ol", "dl", "menu", "dir"})
_FIGURES: Final = frozenset({"figure", "figcaption", "svg", "canvas", "picture"})
_TITLES: Final = frozenset(
    {"admonition-title", "topic-title", "sidebar-title", "title", "rubric", "caption", "blocktitle"}
)
_CAPTIONS: Final = frozenset({"code-block-caption", "caption", "title"})
_HEADER_CLASSES: Final = frozenset({"titlepage", "page-header", "section-header", "header", "headertitle"})
# "See also: …", and what QDoc and Doxygen write in front of a link alone.
_SEE_ALSO: Final = re.compile(r"see also\s?:", re.IGNORECASE)
_BEFORE_LINK: Final = re.compile(
    r"(?:see also|(?:re)?implements:|overrides:|reimplemented (?:from|in)) ", re.IGNORECASE
)
_FIGURE_LINE: Final = re.compile(r"(?:Figure|Fig\.) \d{1,3}(?:\.\d{1,3})*[.:] ")
_STOPS: Final = (".", ",", ";", ":", "!", "?", ")")
_MARKS: Final = frozenset({"a", "sup"})


@dataclass(slots=True)
class _Capture:
    """An element whose whole text becomes one line: a heading, a term, a caption."""

    kind: str
    element: etree._Element


def _only_refers(text: str, links: Sequence[Link]) -> bool:
    """Return whether a paragraph is a reference with its label: "Reimplements: Kiln::fire(Clay clay)."."""
    label = _BEFORE_LINK.match(text)
    return label is not None and links[:1] != () and links[0].start == label.end() and ". " not in text


def sections_of(parts: PageParts, title: str, targets: LinkTargets) -> Section:
    """Return the tree of a page's sections."""
    return _SectionWalk(parts, targets).run(title)


class _SectionWalk:
    def __init__(self, parts: PageParts, targets: LinkTargets) -> None:
        self._unseen = parts.unseen
        self._link_lists = parts.link_lists
        self._sizes = parts.sizes
        self._root = parts.root
        self._targets = targets
        self._sights: VisibleContent = measure_visible(parts.elements, parts.unseen)
        self._is_preformatted = is_preformatted(parts, self._sights)
        self._text = InlineText()
        self._frames: list[Frame] = []
        self._capture: _Capture | None = None
        self._sections = SectionBuilder()
        self._anchors: list[str] = []
        self._signature: list[str] = []
        self._has_formula = False
        self._is_footnote = False
        self._draws_formulas = draws_formulas(parts.elements[0])

    def run(self, title: str) -> Section:
        skipped: etree._Element | None = None
        walk = etree.iterwalk(self._root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                if element in self._unseen or not self._start(element):
                    walk.skip_subtree()
                    skipped = element
                continue
            if skipped is not None and element is skipped:
                self._leave_out(skipped)
                skipped = None
            else:
                self._end(element)
            if element is not self._root:
                self._text.add(element.tail)
        self._flush()
        return self._sections.finish(title)

    def _leave_out(self, element: etree._Element) -> None:
        """Keep the words around an element apart, but not a word from its full stop."""
        if (element.tail or "").startswith(_STOPS):
            self._text.close_up()
        elif element in self._unseen or element in self._link_lists:
            self._text.add(" ")

    # -- starts ----------------------------------------------------------------------------------------------------------

    def _start(self, element: etree._Element) -> bool:
        """Take up an element; return whether to look into it."""
        tag = element.tag
        if (identity := element.get("id")) or (tag == "a" and (identity := element.get("name"))):
            self._anchors.append(identity[:MAX_TITLE])
        if tag in {"dt", "dd"} and self._capture is not None and self._capture.element.tag == "dt":
            # The parser does not close a term before the next one.
            capture, self._capture = self._capture, None
            self._close_capture(capture)
        if tag == "img" and self._capture is None and self._leads_to_picture():
            self._flush()
            self._add(Gap("figure"))
            return False
        if tag in INLINE or self._capture is not None or tag in {"math", "script"}:
            return self._start_inline(element, tag)
        if tag == "br":
            self._text.add_break()
            self._text.add(element.text)
            return True
        self._flush()
        goes_in = self._start_block(element, tag)
        if goes_in:
            self._text.add(element.text)
        return goes_in

    def _start_inline(self, element: etree._Element, tag: str) -> bool:
        if is_formula(element):
            return self._formula(element)
        if tag in _MARKS and is_footnote_mark(element):
            # At the beginning of a paragraph, what follows is the text of the footnote.
            self._is_footnote = self._is_footnote or self._text.is_empty
            return False
        if tag == "a" and is_more(element):
            return False
        if tag == "a" and element.get("href"):
            self._text.open_link(self._targets.resolve(element.get("href")))
        elif tag in BOLD:
            if self._is_name_of_note(element):
                return False
            self._text.bold_depth += 1
        elif tag in CODE:
            self._text.code_depth += 1
        elif tag == "sup" and is_exponent(element):
            self._text.add("^")
        elif tag not in INLINE:
            self._text.add(" ")
        self._text.add(element.text)
        return True

    def _leads_to_picture(self) -> bool:
        """Return whether the text so far ends in a colon: a picture behind it is what it leads up to."""
        blocks = self._frames[-1].blocks if self._frames else self._sections.blocks
        before = blocks[-1] if blocks and self._text.is_empty else None
        return self._text.ends_in_colon or (isinstance(before, Paragraph) and before.text.endswith(":"))

    def _is_name_of_note(self, element: etree._Element) -> bool:
        """Return whether a note's text starts with the name that its class says already: "Note:"."""
        top = self._frames[-1] if self._frames else None
        is_first = top is not None and top.is_untitled_note and self._text.is_empty
        return is_first and (element.text or "").strip(" :").casefold() in ADMONITIONS

    def _formula(self, element: etree._Element) -> bool:
        """Show a formula that is plain text; without it, its sentence cannot be quoted."""
        text = plain_formula(element)
        if text is None:
            self._has_formula = True
        self._text.add(text)
        return False

    def _start_block(self, element: etree._Element, tag: str) -> bool:  # noqa: C901, PLR0911 - one for each kind
        if element in self._link_lists:
            if tag in _LISTS:
                self._add(Gap("list"))
            return False
        if tag in HEADINGS:
            self._capture = _Capture("heading", element)
            return True
        if tag in _LISTINGS:
            self._listing(element)
            return False
        if tag == "table":
            return self._table(element)
        if tag in _LISTS and tag != "dl":
            if not lists_sections(element):
                self._push("list", element)
            return True
        if tag == "li":
            if self._frames and self._frames[-1].kind == "list":
                self._push("item", element)
            return True
        if tag in {"dl", "dt", "dd"}:
            return self._start_definition(element, tag)
        if tag in _FIGURES:
            return self._figure(element, tag)
        names = class_names(element)
        return self._start_box(element, tag, names) if names or tag == "summary" else True

    def _start_box(self, element: etree._Element, tag: str, names: frozenset[str]) -> bool:
        if is_fragment(element):
            self._listing(element)
            return False
        if not names.isdisjoint(_TITLES) and tag in {"p", "div", "span", "td"} and self._is_title(element):
            self._capture = _Capture("heading" if is_page_title(element) else "title", element)
        elif "memtitle" in names or (tag == "tr" and "question" in names):
            self._capture = _Capture("heading", element)
        elif "memproto" in names:
            self._memproto(element)
            return False
        elif "code-block-caption" in names or tag == "summary" or any(map(is_code_title, names)):
            self._capture = _Capture("title", element)
        elif tag in {"div", "aside", "section", "blockquote"} and self._is_note(element, names):
            self._push("note", element)
        elif not names.isdisjoint({"figure", "mediaobject", "imageblock", "informalfigure", "float"}):
            if element.find(".//pre") is None and element.find(".//table") is None:
                self._add(Gap("figure"))
                return False
        elif is_formula(element):
            self._add(Gap("formula"))
            return False
        return True

    def _is_title(self, element: etree._Element) -> bool:
        """Return whether an element with such a class is a short line, not a box that is called so."""
        return self._sights.characters[element] <= MAX_TITLE

    def _is_note(self, element: etree._Element, names: frozenset[str]) -> bool:
        if names.isdisjoint(NOTES):
            return False
        # A box with most of the page is the page.
        is_small = self._sights.characters[element] * 2 <= self._sights.characters[self._root]
        return is_small and ("sidebar" not in names or element.tag == "aside" or is_sidebar(element))

    def _start_definition(self, element: etree._Element, tag: str) -> bool:
        top = self._frames[-1] if self._frames else None
        if tag == "dl":
            names = class_names(element)
            if "section" in names and "see" in names:
                return False
            if not names.isdisjoint(NOTES):
                self._push("note", element)
            elif "section" in names:
                # Doxygen's "Example:" with what belongs to it.
                return True
            elif top is None and is_api(element, names):
                self._push("api", element)
            else:
                self._push("dl", element)
            return True
        parent = element.getparent()
        is_entry = parent is not None and is_api(parent, class_names(parent)) and top is None
        if tag == "dt":
            kind = "signature" if is_entry else "note-title" if top and top.kind == "note" else "term"
            self._capture = _Capture(kind, element)
            return True
        if is_entry:
            self._add_signature()
        elif top is not None and top.kind == "dl":
            self._push("dd", element)
        return True

    def _figure(self, element: etree._Element, tag: str) -> bool:
        if tag == "figcaption":
            if element.getprevious() is not None:
                # Behind its table or listing; a label stands before what it names.
                return False
            self._capture = _Capture("title", element)
            return True
        if tag == "figure":
            if element.find(".//pre") is not None or element.find(".//table") is not None:
                return True
            self._add(Gap("figure"))
        return False

    def _listing(self, element: etree._Element) -> None:
        is_code = not class_names(element).isdisjoint(MARKED_CODE) or element.find("code") is not None
        if self._is_preformatted and not is_code and not self._frames:
            for block in read_preformatted(visible_text(element, self._unseen)):
                if isinstance(block, Heading):
                    self._open_section(block.text, block.level, element.getparent())
                else:
                    self._add(block)
            return
        listing = extract_listing(element, self._unseen)
        before = element.getprevious()
        goes_on = before is not None and before.tag == "pre" and not (before.tail or "").strip()
        if listing is None or not (listing.lines or goes_on):
            self._add(Gap("listing"))
        elif listing.lines and not (goes_on and self._extend_listing(listing)):
            self._add(listing)

    def _extend_listing(self, listing: Listing) -> bool:
        """Join a listing with the one right before it, as makeinfo splits them at empty lines; return whether it fits."""
        blocks = self._frames[-1].blocks if self._frames else self._sections.blocks
        last = blocks[-1] if blocks else None
        if not isinstance(last, Listing) or len(last.lines) + len(listing.lines) >= MAX_LINES:
            return False
        blocks[-1] = Listing((*last.lines, "", *listing.lines))
        return True

    def _memproto(self, element: etree._Element) -> None:
        """Read the signature of a member, as Doxygen writes it in a table."""
        signature = one_line(visible_text(element, self._unseen))
        if not (self._sections.title and self._sections.is_empty):
            before = signature.partition("(")[0].split()
            self._open_section(before[-1] if before else signature, ENTRY_LEVEL, element.getparent())
        if listing := listing_of(signature):
            self._add(listing)

    def _table(self, element: etree._Element) -> bool:
        """Read a table; return whether it only arranges the page, so that its cells are text like any other."""
        if (code := code_of_numbered_listing(element)) is not None:
            listing = extract_listing(code, self._unseen)
            self._add(listing or Gap("listing"))
            return False
        if element not in self._sights.data or self._is_layout(element):
            return True
        tables = extract_tables(element, self._unseen)
        only = tables[0] if len(tables) == 1 else None
        if isinstance(only, Table) and not self._frames and (name := name_of_setting(only)):
            self._open_section(name, ENTRY_LEVEL, None)
            self._sections.add(Label(" · ".join(only.rows[0][1:])))
            return False
        for block in tables or (Gap("table"),):
            self._add(block)
        return False

    def _is_layout(self, table: etree._Element) -> bool:
        if any(frame.kind == "note" and frame.element is table.getparent() for frame in self._frames[-1:]):
            return True
        columns = 0
        for row in rows(table):
            cells = [cell for cell in row if cell.tag in {"td", "th"} and cell not in self._unseen]
            columns = max(columns, len(cells))
            is_long = any(
                self._sights.characters[cell] > LAYOUT_CELL and holds_blocks(cell) for cell in cells
            )
            if is_long or "question" in class_names(row):
                return True
        return columns < 2  # noqa: PLR2004 - what has one column is no table

    def _push(self, kind: str, element: etree._Element) -> None:
        if kind != "api" and len(self._frames) < MAX_FRAMES:
            self._frames.append(Frame(kind, element))

    # -- ends ------------------------------------------------------------------------------------------------------------

    def _end(self, element: etree._Element) -> None:
        tag = element.tag
        if self._capture is not None:
            if self._capture.element is element:
                capture, self._capture = self._capture, None
                self._close_capture(capture)
                if element in self._sights.characters and tag == "dd":
                    self._pop()
            else:
                self._end_inline(element, tag)
        elif tag in INLINE:
            self._end_inline(element, tag)
        elif tag != "br":
            self._flush(element)
            if self._frames and self._frames[-1].element is element:
                self._pop()
            if tag == "dl" and not self._frames:
                self._end_api(element)
            self._sections.end(element)

    def _end_inline(self, element: etree._Element, tag: str) -> None:
        if tag == "a":
            if element.get("href"):
                self._text.close_link()
        elif tag in BOLD:
            self._text.bold_depth -= 1
        elif tag in CODE:
            self._text.code_depth -= 1
        elif tag not in INLINE:
            self._text.add(" ")

    def _end_api(self, element: etree._Element) -> None:
        self._add_signature()
        following = element.getnext()
        if following is not None and goes_on(following):
            # kernel-doc puts a function's parameters behind its definition.
            is_box = "kernelindent" in class_names(following)
            self._sections.extend(element, following if is_box else element.getparent())

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

    def _close_capture(self, capture: _Capture) -> None:
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
        if title.strip(":!").casefold() in ADMONITIONS and not self._anchors:
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
