"""Tells the parts of a page apart: its text, what is no text of it, its tables of contents and its indexes. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import Final

from lxml import etree

from reading import boilerplate
from reading.html.hidden import HiddenElements
from reading.measures import TextSizes, measure_text

NOTES: Final = frozenset(
    "note notes tip tips warning caution important hint danger attention error admonition admonitionblock sidebar topic"  # noqa: SIM905
    " alert callout remark".split()
)
"""Classes of notes and sidebars."""
_ASIDES: Final = NOTES - {"sidebar", "topic"}
FRAGMENTS: Final = frozenset(
    {"fragment", "syntaxhighlighter", "CodeMirror-code", "member-signature", "type-signature"}
)
"""Classes of code whose lines are blocks of their own, and of signatures."""
_DROPPED: Final = frozenset(
    "script style noscript template nav footer aside form button select option textarea input iframe object embed"  # noqa: SIM905
    " audio video head link meta map dialog datalist progress".split()
)
_FIELDS: Final = frozenset({"select", "textarea", "input"})
_NO_LABEL: Final = frozenset({"checkbox", "radio", "hidden"})
"""Types of fields that text may stand around: tasks, tabs and parts that unfold."""
_FRAME: Final = frozenset({"html", "body", "main", "article"})
_LISTS: Final = frozenset({"ul", "ol", "dl", "menu", "dir"})
_BOXES: Final = frozenset({"div", "section", "header", "td", "p", "center", "span"})
"""Elements that may be navigation without any name for it, if they have `_FEW_LINKS` links or more."""
_NAVIGATION_TAGS: Final = frozenset("div ul ol section table header a p span article address".split())  # noqa: SIM905
_ROLES: Final = frozenset({"navigation", "menu", "search", "banner", "contentinfo", "tablist"})
_LINK_LIST_SHARE: Final = 0.5
_FEW_LINKS: Final = 3
_FURNITURE: Final = frozenset(
    # Sphinx and its themes
    "sphinxsidebar sphinxsidebarwrapper related headerlink viewcode-link viewcode-back wy-nav-side wy-nav-top"  # noqa: SIM905
    " wy-side-scroll wy-breadcrumbs wy-menu rst-versions rst-footer-buttons versionadded versionchanged seealso"
    " genindex-jumpbox modindex-jumpbox section-number secnumber linenos linenodiv lineno lnt ln gutter rouge-gutter hljs-ln-numbers"
    # DocBook and Publican
    " docnav navheader navfooter legalnotice revhistory authorgroup indexterm edition pubdate releaseinfo productnumber"
    # makeinfo
    " nav-panel copiable-link copiable-anchor summary-letter printindex-index-header footnotes-segment"
    # Doxygen
    " navpath navrow tabs tablist summary memSeparator header-summary memberdecls ttc ingroups"
    # QDoc
    " alignedsummary propsummary"
    # MkDocs and other sites
    " md-sidebar md-header md-footer md-nav md-source md-tabs md-content__button mw-editsection mw-jump-link"
    " dropdown-menu tooltip tooltiptext previous_page next_page edit-link editlink"
    " footnote footnote-reference noteref doc-noteref tabbed-labels entry-meta post-meta posted-on header-section-number"
    # MediaWiki
    " siteSub noprint references reflist infobox navbox ambox hatnote".split()
)
_TOC_NAMES: Final = frozenset(
    "toctree-wrapper toc section-toc contents shortcontents table-of-contents tableofcontents local-toc".split()  # noqa: SIM905
)
_TOC_TAGS: Final = frozenset({"tr", "div", "ul", "ol", "dl", "table", "nav", "aside", "section"})
_TOC_SHARE: Final = 0.4
"""Characters inside links, of those of a table of contents; Doxygen calls the whole text of a page "contents"."""
_INDEX_NAMES: Final = frozenset({"indextable", "genindextable", "printindex", "index"})
_DIRECTIONS: Final = frozenset({"Next:", "Previous:", "Up:"})
_NO_NAMES: Final[frozenset[str]] = frozenset()
_SHORT: Final = 200
"""Characters of a class attribute that is remembered."""
_LOOKED_AT: Final = 40
_CODE: Final = frozenset({"pre", "code", "listing", "xmp"})
_FORMULA_SCRIPT: Final = "math/tex"
_CONTENT_CELL: Final = 400
"""Characters of a cell that holds the page's text beside its navigation."""
_MANY_ITEMS: Final = 100
"""Items of a list that are looked at."""
_MIN_MAIN_SHARE: Final = 0.05
"""Text of the page that an element marked as its main part has at least."""


@dataclass(slots=True)
class PageParts:
    """The elements of a page by role. Those in `unseen` are no text; their subtrees are in it as well."""

    root: etree._Element
    sizes: TextSizes
    elements: Sequence[etree._Element]
    """All elements: lookups go by identity, so something has to keep them alive."""
    unseen: set[etree._Element] = field(default_factory=set)
    link_lists: dict[etree._Element, int] = field(default_factory=dict)
    """Lists of links with their sizes. They lower the page's quality; their words do not count."""
    tocs: list[etree._Element] = field(default_factory=list)
    indexes: list[etree._Element] = field(default_factory=list)


def parts_of(root: etree._Element) -> PageParts:
    """Return the parts of a page."""
    elements = list(root.iter(etree.Element))
    sizes = measure_text(elements)
    parts = PageParts(_main(root, sizes), sizes, elements)
    hidden = HiddenElements(root)
    whole = sizes.all[elements[0]]
    titled = _titled(parts.root)
    coded: set[etree._Element] = set()
    for element in elements:
        parent = element.getparent()
        if parent in parts.unseen or parent in parts.link_lists:
            parts.unseen.add(element)
        elif parent in coded or element.tag in _CODE or (element.tag == "div" and is_fragment(element)):
            # Highlighters give what they colour any name: a "comment" of a program is a part of it.
            coded.add(element)
            if (
                element.tag in _DROPPED
                or not class_names(element).isdisjoint(_FURNITURE)
                or hidden.hides(element)
            ):
                parts.unseen.add(element)
        elif element.tag in _FRAME and not boilerplate.is_boilerplate_name(element.get("class")):
            continue
        elif element.keys() and (container := _classify(element, parts, hidden, whole)) is not None:
            container.append(element)
            parts.unseen.add(element)
        elif element.tag in _DROPPED and not _is_note(element) and not is_formula_script(element):
            parts.unseen.add(element)
            if (label := _label_of(element)) is not None:
                parts.unseen.update(label.iter(etree.Element))
        elif element not in titled and _is_link_list(element, sizes, whole):
            parts.link_lists[element] = sizes.all[element]
    return parts


def _classify(
    element: etree._Element, parts: PageParts, hidden: HiddenElements, whole: int
) -> list[etree._Element] | None:
    """Return the list for an element that its attributes mark as no text; None for one that may be text."""
    if hidden.hides(element):
        return []
    names = class_names(element)
    if _is_toc(element, names, parts.sizes):
        return parts.tocs
    if not names.isdisjoint(_FURNITURE) or _is_directions(element, names):
        return []
    if _is_index(element, names):
        return parts.indexes
    # An element with most of the page's text is the content, whatever its class says.
    if _is_navigation(element, names) and parts.sizes.all[element] * 2 < whole:
        return []
    return None


def _label_of(field: etree._Element) -> etree._Element | None:
    """Return the element right in front of a field that names it."""
    before = field.getprevious()
    is_named = field.tag in _FIELDS and (field.get("type") or "").lower() not in _NO_LABEL
    is_label = is_named and before is not None and before.tag in {"span", "label", "b", "strong"}
    return before if is_label and before is not None and not (before.tail or "").strip() else None


def is_fragment(element: etree._Element) -> bool:
    """Return whether an element that is no `pre` holds code, a line in each block: so Doxygen and some highlighters write it."""
    return element.tag == "div" and not class_names(element).isdisjoint(FRAGMENTS)


def is_formula_script(element: etree._Element) -> bool:
    return element.tag == "script" and (element.get("type") or "").startswith(_FORMULA_SCRIPT)


def class_names(element: etree._Element) -> frozenset[str]:
    classes = element.get("class")
    if classes is None:
        return _NO_NAMES
    return _names(classes) if len(classes) <= _SHORT else frozenset(classes.split())


@lru_cache(1024)
def _names(classes: str) -> frozenset[str]:
    # Pages repeat a few classes on most of their elements.
    return frozenset(classes.split())


def _titled(root: etree._Element) -> frozenset[etree._Element]:
    """Return the elements around the page's title: a page that lists others is no navigation as a whole."""
    title = next(chain(root.iter("h1"), root.iter("h2", "h3", "h4")), None)
    return frozenset(title.iterancestors()) if title is not None else frozenset()


def _main(root: etree._Element, sizes: TextSizes) -> etree._Element:
    """Return the element that the page marks as its main part, else the page."""
    marked = [each for each in root.iter("div", "main", "section", "article") if each.get("role") == "main"]
    marked = marked or list(root.iter("main"))
    # Pages with several have one inside another, or a broken template.
    if len(marked) == 1 and sizes.all[marked[0]] >= sizes.all[root] * _MIN_MAIN_SHARE:
        return marked[0]
    return root


def _is_toc(element: etree._Element, names: frozenset[str], sizes: TextSizes) -> bool:
    if element.tag not in _TOC_TAGS:
        return False
    if element.tag == "table" and "menu" in names:
        return True
    identity = element.get("id") or ""
    if names.isdisjoint(_TOC_NAMES) and identity not in {"toc", "table-of-contents"}:
        return False
    return sizes.linked[element] > 0 and sizes.linked[element] >= sizes.all[element] * _TOC_SHARE


def _is_index(element: etree._Element, names: frozenset[str]) -> bool:
    if element.tag == "table":
        return not names.isdisjoint(_INDEX_NAMES) or any(name.startswith("index-") for name in names)
    return (
        element.tag == "div" and "index" in names and any(each.tag == "dl" for each in _first_within(element))
    )


def _is_note(element: etree._Element) -> bool:
    if element.tag != "aside":
        return False
    words = (element.get("class") or "").replace("-", " ").split()
    return not class_names(element).isdisjoint(NOTES) or not _ASIDES.isdisjoint(words)


def _is_directions(element: etree._Element, names: frozenset[str]) -> bool:
    """Return whether an element is makeinfo's line of "Next:", "Previous:" and "Up:"."""
    return (
        "header" in names
        and element.tag == "div"
        and any(
            each.get("accesskey")
            or (each.text or "").strip() in _DIRECTIONS
            or (each.text or "").startswith(("\nNext: ", "Next: "))
            for each in _first_within(element)
        )
    )


def _is_navigation(element: etree._Element, names: frozenset[str]) -> bool:
    if (element.get("role") or "").lower() in _ROLES:
        return True
    if element.tag not in _NAVIGATION_TAGS or ("sidebar" in names and is_sidebar(element)):
        return False
    # A section's id comes from its heading: "related-objects" may be a chapter of a manual.
    is_chapter = element.tag == "section" or "section" in names
    return boilerplate.is_boilerplate_name(element.get("class")) or (
        not is_chapter and boilerplate.is_boilerplate_name(element.get("id"))
    )


def is_sidebar(element: etree._Element) -> bool:
    """Return whether an element is a sidebar of the text, with a title of its own, and not of the site."""
    return "sidebar" in class_names(element) and any(
        not class_names(each).isdisjoint({"title", "sidebar-title"}) for each in _first_within(element)
    )


def _first_within(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the first elements below one: looking at all of them takes quadratic time in boxes within boxes."""
    return islice(element.iter(etree.Element), _LOOKED_AT)


def _is_link_list(element: etree._Element, sizes: TextSizes, whole: int) -> bool:
    size = sizes.all[element]
    if not 0 < size * _LINK_LIST_SHARE <= sizes.linked[element]:
        return False
    if element.tag in _LISTS:
        return _begins_with_links(element)
    cell = element if element.tag == "td" else element.getparent()
    if cell is not None and cell.tag == "td" and not _is_beside_text(cell, sizes):
        return False
    return element.tag in _BOXES and sizes.links[element] >= _FEW_LINKS and size * 2 < whole


def _is_beside_text(cell: etree._Element, sizes: TextSizes) -> bool:
    """Return whether a cell stands alone in its row, or beside one with text of the page: others are data."""
    row = cell.getparent()
    cells = [each for each in islice(row, _LOOKED_AT) if each is not cell] if row is not None else []
    return not cells or any(sizes.all[each] > _CONTENT_CELL for each in cells)


def _begins_with_links(container: etree._Element) -> bool:
    """Return whether the items start with their links, unlike parameters with their types."""
    items = [each for each in islice(container, _MANY_ITEMS) if each.tag in {"li", "dt"}]
    items = items or [each for each in islice(container, _MANY_ITEMS) if each.tag == "dd"]
    return sum(map(_begins_with_link, items)) * 2 >= len(items)


def _begins_with_link(item: etree._Element) -> bool:
    for each in islice(item.iter(etree.Element), _LOOKED_AT):
        if each.tag == "a" and each.get("href"):
            return True
        if each.text and any(map(str.isalpha, each.text)):
            return False
    return False
