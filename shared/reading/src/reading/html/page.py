"""Reads one page: its sections, its tables of contents and its index. Pure."""

import re
from dataclasses import dataclass
from typing import Final

from lxml import etree

from documents.sections import PAGE_LEVEL, IndexTerm, Section, TocLink
from reading.boilerplate import is_boilerplate_name
from reading.html.contents import LinkTargets, index_terms, toc_links
from reading.html.parts import PageParts, parts_of
from reading.html.walk import sections_of

FEW_WORDS: Final = 150
"""A page with less text of its own than this lists where other pages are: its lists of links are tables of contents."""

_INDEX_TITLE: Final = re.compile(r"\bindex$", re.IGNORECASE)
_REDIRECT: Final = re.compile(r"The node you are looking for is at\b")


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page's contents, without its statements about itself."""

    sections: Section
    link_lists: int = 0
    """Characters of its lists of links, which are in no section."""
    toc: tuple[TocLink, ...] = ()
    index_terms: tuple[IndexTerm, ...] = ()


def read_page(root: etree._Element, path: str, title: str | None) -> HtmlPage:
    """Read the tree of an HTML page; links are resolved by its path."""
    targets = LinkTargets(path)
    parts = parts_of(root)
    if _INDEX_TITLE.search(title or ""):
        parts.indexes += parts.link_lists
    terms = tuple(each for index in parts.indexes for each in index_terms(index, targets))
    sections = sections_of(parts, title or "", targets)
    if (terms and _is_index(parts)) or _is_redirect(sections):
        return HtmlPage(Section(sections.title, PAGE_LEVEL, sections.anchor), 0, (), terms)
    return HtmlPage(sections, _link_lists(parts), _toc(parts, sections, targets), terms)


def _link_lists(parts: PageParts) -> int:
    tocs = [each for each in parts.tocs if not is_boilerplate_name(each.get("class"))]
    return sum(parts.link_lists.values()) + sum(parts.sizes.all[each] for each in tocs)


def _is_index(parts: PageParts) -> bool:
    """Return whether most of the page's text is an index."""
    return sum(parts.sizes.all[each] for each in parts.indexes) * 2 > parts.sizes.all[parts.root]


def _is_redirect(sections: Section) -> bool:
    """Return whether the page only leads on, as makeinfo writes one for each anchor."""
    return not sections.children and sections.own_words < FEW_WORDS and bool(_REDIRECT.search(sections.text))


def _toc(parts: PageParts, sections: Section, targets: LinkTargets) -> tuple[TocLink, ...]:
    containers = parts.tocs
    if not containers and sections.words < FEW_WORDS:
        containers = [each for each in parts.link_lists if each.tag in {"ul", "ol", "dl"}]
    return tuple(link for container in containers for link in toc_links(container, targets))
