"""Walks a page once, and builds its tree of sections. Pure.

The walk is iterative: a page nested ten thousand elements deep costs no stack. Blocks within blocks (lists in lists, notes
in items) are kept to a depth that JSON can hold; deeper ones are part of the deepest block.
"""

from typing import Final

from lxml import etree

from documents.blocks import (
    Gap,
    Label,
    Paragraph,
    Table,
)
from documents.sections import ENTRY_LEVEL, Section
from reading.cleaning import one_line
from reading.html.contents import LinkTargets
from reading.html.elements import (
    HEADINGS,
    goes_on,
    holds_blocks,
    is_api,
    is_code_title,
    is_laid_out,
    is_marked_code,
    is_more,
    is_page_title,
    is_preformatted,
    lists_sections,
    name_of_setting,
    rows,
)
from reading.html.footnotes import is_exponent, is_footnote_mark
from reading.html.formulas import is_formula, plain_formula
from reading.html.frames import Frame
from reading.html.listings import (
    CODE,
    code_of_numbered_listing,
    extract_listing,
    listing_of,
)
from reading.html.open_blocks import LAYOUT_CELL, MAX_TITLE, Capture, OpenBlocks
from reading.html.parts import NOTES, PageParts, class_names, is_fragment, is_sidebar
from reading.html.preformatted import read_preformatted
from reading.html.tables import BOLD, INLINE, extract_tables, visible_lines, visible_text
from reading.section_builder import ADMONITIONS, Heading

MAX_FRAMES: Final = 24
"""Lists, items and notes within each other."""
_LISTINGS: Final = frozenset({"pre", "listing", "xmp"})
_LISTS: Final = frozenset({"ul", "ol", "dl", "menu", "dir"})
_FIGURES: Final = frozenset({"figure", "figcaption", "svg", "canvas", "picture"})
_TITLES: Final = frozenset(
    {"admonition-title", "topic-title", "sidebar-title", "title", "rubric", "caption", "blocktitle"}
)
_STOPS: Final = (".", ",", ";", ":", "!", "?", ")")
_MARKS: Final = frozenset({"a", "sup"})


def sections_of(parts: PageParts, title: str, targets: LinkTargets) -> Section:
    """Return the tree of a page's sections."""
    return _SectionWalk(parts, targets).run(title)


class _SectionWalk(OpenBlocks):
    def __init__(self, parts: PageParts, targets: LinkTargets) -> None:
        super().__init__(parts)
        self._unseen = parts.unseen
        self._link_lists = parts.link_lists
        self._sizes = parts.sizes
        self._targets = targets
        self._is_preformatted = is_preformatted(parts, self._sights)
        self._capture: Capture | None = None

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
            self._capture = Capture("heading", element)
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
        if is_fragment(element) or (self._is_preformatted and is_laid_out(element) and not self._frames):
            self._listing(element)
            return False
        if not names.isdisjoint(_TITLES) and tag in {"p", "div", "span", "td"} and self._is_title(element):
            self._capture = Capture("heading" if is_page_title(element) else "title", element)
        elif "memtitle" in names or (tag == "tr" and "question" in names):
            self._capture = Capture("heading", element)
        elif "memproto" in names:
            self._memproto(element)
            return False
        elif "code-block-caption" in names or tag == "summary" or any(map(is_code_title, names)):
            self._capture = Capture("title", element)
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
            self._capture = Capture(kind, element)
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
            self._capture = Capture("title", element)
            return True
        if tag == "figure":
            if element.find(".//pre") is not None or element.find(".//table") is not None:
                return True
            self._add(Gap("figure"))
        return False

    def _listing(self, element: etree._Element) -> None:
        if self._is_preformatted and not is_marked_code(element) and not self._frames:
            text = (visible_lines if is_laid_out(element) else visible_text)(element, self._unseen)
            for block in read_preformatted(text):
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
