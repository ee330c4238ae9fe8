"""Reads tables of contents and indexes. Pure."""

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

from lxml import etree

from documents.sections import IndexTerm, TocLink
from reading.cleaning import one_line
from reading.facts import MAX_ADDRESS, strip_section_number, web_address

MAX_ENTRIES: Final = 20_000
"""Entries of one table of contents or index."""
MAX_TITLE: Final = 200
_MAX_EVENTS: Final = 200
"""Elements within one entry that are looked at, times two."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}:", re.IGNORECASE)
_LISTS: Final = frozenset({"ul", "ol", "dl", "menu", "dir"})
_ANOTHER: Final = re.compile(r"\[\d+\]|\(\d+\)")
"""Further places of the same term in an index: "[1]"."""


class LinkTargets:
    """Resolves the links of the page at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = posixpath.dirname(path)

    def resolve(self, href: str | None) -> str | None:
        """Return the address, or the path in the same collection; None for a link that leads to no document."""
        href = (href or "").strip()
        if not href or len(href) > MAX_ADDRESS:
            return None
        if _SCHEME.match(href) or href.startswith("//"):
            return web_address(f"https:{href}" if href.startswith("//") else href)
        path, hash_sign, anchor = href.partition("#")
        path = unquote(path.partition("?")[0])
        if "\0" in path or "\\" in path:
            return None
        if not path:
            return f"{self._path}{hash_sign}{unquote(anchor)}" if anchor else None
        whole = posixpath.normpath(posixpath.join(self._folder, path.lstrip("/") if path[0] == "/" else path))
        return f"{whole}{hash_sign}{unquote(anchor)}" if anchor else whole


def toc_links(container: etree._Element, targets: LinkTargets) -> Iterator[TocLink]:
    """Yield the links of a table of contents with the depth of their lists."""
    depth = -1 if container.tag not in _LISTS else 0
    count = 0
    for event, element in etree.iterwalk(container, events=("start", "end")):
        if element.tag in _LISTS and element is not container:
            depth += 1 if event == "start" else -1
        elif element.tag == "a" and event == "start" and count < MAX_ENTRIES:
            title, target = _title(element), targets.resolve(element.get("href"))
            if title and target:
                count += 1
                yield TocLink(title, target, max(0, depth))


def _title(element: etree._Element) -> str:
    text = one_line("".join(map(str, element.itertext()))[:MAX_TITLE]).strip(" :•")
    return strip_section_number(text)


def index_terms(container: etree._Element, targets: LinkTargets) -> Iterator[IndexTerm]:
    """Yield the entries of an index, those within another joined with it: "variables, global"."""
    found = _terms_of_rows(container, targets) if container.tag == "table" else iter(())
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
        return
    yield from _terms_of_lists(container, targets)


def _terms_of_rows(table: etree._Element, targets: LinkTargets) -> Iterator[IndexTerm]:
    """Yield the entries of makeinfo: one row each, its first link is the term."""
    if table.find(".//li") is not None or table.find(".//dt") is not None:
        return
    is_fresh = False
    for element in table.iter("tr", "a"):
        if element.tag == "tr":
            is_fresh = True
        elif is_fresh and element.get("href") and element.get("class") != "summary-letter":
            is_fresh = False
            target = targets.resolve(element.get("href"))
            if target and (term := _title(element)):
                yield IndexTerm(term, target)


def _terms_of_lists(container: etree._Element, targets: LinkTargets) -> Iterator[IndexTerm]:
    """Yield the entries of nested lists. The text of an entry before its list is a part of those below it."""
    above: list[tuple[etree._Element, str]] = []
    count = 0
    for event, element in etree.iterwalk(container, events=("start", "end")):
        if event == "end":
            if above and above[-1][0] is element:
                above.pop()
            continue
        if element.tag not in {"li", "dt"} or count >= MAX_ENTRIES:
            continue
        own, links = _own_entry(element)
        if not links and element.tag == "dt" and (behind := _behind(element)) is not None:
            links = _own_entry(behind)[1]
        name = ", ".join([*(title for _, title in above), own])[:MAX_TITLE]
        for href in links:
            if own and (target := targets.resolve(href)):
                count += 1
                yield IndexTerm(name, target)
        # A term's own list stands inside its item, or in the dd behind its dt.
        scope = element if element.tag == "li" else _behind(element)
        if scope is not None and own and len(above) < 4:  # noqa: PLR2004 - levels of an index
            above.append((scope, own))


def _behind(term: etree._Element) -> etree._Element | None:
    following = term.getnext()
    return following if following is not None and following.tag == "dd" else None


def _own_entry(element: etree._Element) -> tuple[str, list[str]]:
    """Return the term of an item, and the addresses of its links, both without the lists inside it."""
    parts = [element.text or ""]
    links: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, each in islice(walk, _MAX_EVENTS):
        if each is element:
            continue
        if event == "end":
            parts.append(each.tail or "" if each.tag not in _LISTS else "")
        elif each.tag in _LISTS:
            walk.skip_subtree()
        else:
            if each.tag == "a" and each.get("href"):
                links.append(each.get("href") or "")
            # DocBook's links show the section that they lead to, not the term.
            if each.tag == "a" and "indexterm" in (each.get("class") or ""):
                walk.skip_subtree()
            else:
                parts.append(each.text or "")
    text = _ANOTHER.sub("", one_line("".join(parts)[: MAX_TITLE * 2]))
    return text.strip(" ,;:")[:MAX_TITLE], links
