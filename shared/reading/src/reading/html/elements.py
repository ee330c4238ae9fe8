"""Tells what single elements and lines of a page are: names, anchors, keyword lines. Pure."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from lxml import etree

from documents.blocks import Link, Table
from documents.sections import ENTRY_LEVEL
from reading.cleaning import one_line
from reading.facts import PERMALINK, strip_section_number
from reading.html.parts import PageParts, class_names
from reading.html.tables import BOLD, INLINE
from reading.measures import VisibleContent
from reading.section_builder import ADMONITIONS

MAX_ORDERED_DIGITS: Final = 4
_API: Final = frozenset(
    "function method class classmethod staticmethod property data attribute exception macro type struct union enum"  # noqa: SIM905
    " enumerator member var option envvar confval describe object directive role cmdoption module opcode program event"
    " constant interface typedef alias concept setting def deftypefn first-deftypefn first-deffn deffn"
    " deftp deftypevr defvr".split()
)
_CHAPTER_NUMBER: Final = re.compile(
    r"(?:(?:Chapter|Appendix) )?(?:\d{1,3}|[A-Z])(?:\.\d{1,3})* (?:- )?(?=\S)"
)
_NUMBERED_CLASSES: Final = frozenset(
    "chapter section subsection subsubsection appendix appendixsec appendixsubsec unnumbered part".split()  # noqa: SIM905
)
_NAME: Final = re.compile(r"[\w.:~$@/+!?*<>=-]{1,120}")
KERNEL_LABELS: Final = frozenset(
    {"parameters", "return", "description", "members", "constants", "context", "definition"}
)
HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_FIRST_WITHIN_LIST: Final = 4
LOOKED_AT: Final = 40
"""Elements or texts within a short line that are looked at."""
MARKED_CODE: Final = frozenset(
    "prettyprint programlisting screen highlight codehilite code sourcecode literal-block example smallexample".split()  # noqa: SIM905
)


def is_preformatted(parts: PageParts, sights: VisibleContent) -> bool:
    """Return whether half of the page's text is in `pre` that is not marked as code, or in lines that DocBook laid out."""
    whole = sights.characters[parts.root]
    within = sum(
        sights.characters[each]
        for each in parts.root.iter("pre", "div")
        if each not in parts.unseen and (is_laid_out(each) if each.tag == "div" else not is_marked_code(each))
    )
    return within * 2 > whole > 0


def is_laid_out(element: etree._Element) -> bool:
    """Return whether an element has lines of text that end where its writer ended them, as DocBook marks them."""
    return element.tag == "div" and element.get("class") == "literallayout"


def is_marked_code(element: etree._Element) -> bool:
    """Return whether a `pre` is marked as code, by a class of its own or of the box around it."""
    around = element.getparent()
    names = class_names(element) | (class_names(around) if around is not None else frozenset())
    return not names.isdisjoint(MARKED_CODE) or element.find("code") is not None


def is_api(element: etree._Element, names: frozenset[str]) -> bool:
    if element.tag != "dl" or names.isdisjoint(_API):
        return False
    first = next((each for each in element if each.tag == "dt"), None)
    return first is not None


def goes_on(element: etree._Element) -> bool:
    if "kernelindent" in class_names(element):
        return True
    bold = element.find("strong") if element.tag == "p" and len(element) == 1 else None
    return bold is not None and (bold.text or "").strip(" :").casefold() in KERNEL_LABELS


def rows(table: etree._Element) -> Sequence[etree._Element]:
    rows: list[etree._Element] = []
    for part in table:
        if part.tag == "tr":
            rows.append(part)
        elif part.tag in {"thead", "tbody", "tfoot"}:
            rows += [row for row in part if row.tag == "tr"]
    return rows


def name_of_setting(table: Table) -> str:
    """Return the name in a table that heads the text on one setting: "bcc | Type: string | Default: unset"."""
    row = table.rows[0]
    is_heading = len(table.rows) == 1 and not table.head and len(row) > 2 and row[1].partition(":")[2]  # noqa: PLR2004 - a name and two facts
    return row[0] if is_heading and _NAME.fullmatch(row[0]) else ""


def holds_blocks(cell: etree._Element) -> bool:
    return sum(each.tag not in INLINE and each.tag != "br" for each in islice(cell, LOOKED_AT)) > 1


def first_number(element: etree._Element) -> int:
    start = element.get("start") or ""
    return int(start) if start.isascii() and start.isdigit() and len(start) <= MAX_ORDERED_DIGITS else 1


def note_title(element: etree._Element) -> str:
    name = next((each for each in sorted(class_names(element)) if each in ADMONITIONS), "")
    return name.capitalize()


def own_anchors(heading: etree._Element, scope: etree._Element) -> list[str]:
    """Return the ids of a heading and of its wrappers."""
    found = [heading.get("id")]
    for around in islice(heading.iterancestors(), LOOKED_AT):
        found.append(around.get("id"))
        if around is scope:
            break
    return [each for each in found if each]


def is_link(text: str, links: Sequence[Link]) -> bool:
    """Return whether a paragraph is nothing but links."""
    return bool(links) and sum(link.end - link.start for link in links) + 3 >= len(text)


def heading_text(element: etree._Element, text: str) -> str:
    title = strip_section_number(text.strip(PERMALINK))
    names = class_names(element)
    if (
        not names.isdisjoint(_NUMBERED_CLASSES)
        and (match := _CHAPTER_NUMBER.match(title))
        and match.end() < len(title)
    ):
        title = title[match.end() :]
    return title


def name_of(element: etree._Element, signature: str) -> str:
    """Return the name that a signature defines."""
    for names in ({"descname", "sig-name", "def-name"}, BOLD):
        if names is BOLD and "(" in signature:
            break
        for each in islice(element.iter(etree.Element), LOOKED_AT):
            is_name = each.tag in names or not class_names(each).isdisjoint(names)
            if is_name and (name := one_line("".join(map(str, islice(each.itertext(), LOOKED_AT))))):
                return name
    before = signature.partition("(")[0].split()
    match = _NAME.match(before[-1]) if before else None
    return match[0] if match else signature


def is_more(link: etree._Element) -> bool:
    """Return whether a link leads on in its page behind a brief sentence: "More...", as Doxygen and QDoc write it."""
    is_within = (link.get("href") or "").startswith("#")
    return is_within and (link.text or "").strip(" .…").casefold() == "more"


def is_code_title(name: str) -> bool:
    return name.startswith("codeBlockTitle")


def lists_sections(container: etree._Element) -> bool:
    """Return whether the items of a list start with headings: Javadoc lists the sections on methods so."""
    return any(each.tag in HEADINGS for each in islice(container.iter(etree.Element), _FIRST_WITHIN_LIST))


def is_page_title(element: etree._Element) -> bool:
    """Return whether an element is what Doxygen writes in place of `h1`."""
    parent = element.getparent()
    return parent is not None and "headertitle" in class_names(parent)


def level_of(heading: etree._Element) -> int:
    if "memtitle" in class_names(heading):
        return ENTRY_LEVEL
    return 1 if is_page_title(heading) else HEADINGS.get(heading.tag, ENTRY_LEVEL)
