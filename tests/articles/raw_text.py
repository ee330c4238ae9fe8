"""The text of HTML in reading order, without navigation, and how many words it has."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import lxml.html
from lxml import etree

HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
MAX_LISTING_WORDS: Final = 80
"""Words of listings beyond these do not count: code alone is no text."""
_UNSEEN: Final = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_FURNITURE_TAGS: Final = frozenset({"nav", "footer", "form"})
_FURNITURE: Final = (
    "header footer nav navbar navigation navheader navfooter docnav menu sidebar sphinxsidebar bs-sidebar related toc"
    " breadcrumb breadcrumbs tabs navpath nav-path side-nav headerlink"
)
_INLINE: Final = (
    "a abbr acronym b bdi bdo big cite code del dfn em font i img ins kbd label mark q s samp small span strike strong sub sup"
    " time tt u var wbr"
)
_WORD: Final = re.compile(r"[^\W_]")
_MARK: Final = re.compile(r"\[\w{1,3}\]|[*\u2020\u2021\u00a7]{1,3}")
_IS_TEX: Final = re.compile(r"\$|\\|\{\\")
_TEX: Final = re.compile(r"\\mbox|[\\{}$]")


@dataclass(frozen=True, slots=True)
class TextRun:
    """Words between two tags."""

    words: int
    listing: bool


def parts_of(main: lxml.html.HtmlElement) -> Iterator[lxml.html.HtmlElement | TextRun]:
    """Yields headings and runs of words in reading order."""
    walk = etree.iterwalk(main, events=("start", "end", "comment", "pi"))
    listings = 0
    for event, element in walk:
        named = isinstance(element.tag, str)
        if event == "start" and named:
            if element is not main and (element.tag in HEADINGS or _is_furniture(element, main)):
                if element.tag in HEADINGS:
                    yield element
                # Its "end" comes all the same, and with it the text behind it.
                walk.skip_subtree()
                continue
            listings += element.tag == "pre"
            if element.text and element.text.strip():
                yield TextRun(count_words(element.text), listings > 0)
        else:
            listings -= event == "end" and element.tag == "pre"
            if element is not main and element.tail and element.tail.strip():
                yield TextRun(count_words(element.tail), listings > 0)


def _is_furniture(element: lxml.html.HtmlElement, main: lxml.html.HtmlElement) -> bool:
    if element.tag in _UNSEEN | _FURNITURE_TAGS:
        return True
    names = {*element.get("class", "").split(), element.get("id", "")}
    # QDoc leaves its header open, so that the whole page is in it.
    return bool(names.intersection(_FURNITURE.split())) and 2 * _size(element) < _size(main)


def _size(element: lxml.html.HtmlElement) -> int:
    return sum(map(len, element.itertext()))


def count_runs(runs: Iterable[TextRun]) -> int:
    kept = list(runs)
    words, listing = sum(run.words for run in kept), sum(run.words for run in kept if run.listing)
    # Where most is in <pre>, it is a manual page, and no listing.
    return words if 2 * listing > words else words - max(0, listing - MAX_LISTING_WORDS)


def definition_words(term: lxml.html.HtmlElement) -> int:
    words = 0
    for sibling in term.itersiblings():
        if sibling.tag == "dt" and words:
            break
        if sibling.tag == "dd":
            words += count_runs(part for part in parts_of(sibling) if isinstance(part, TextRun))
    return words


def count_words(text: str) -> int:
    return sum(1 for word in text.split() if _WORD.search(word))


def visible_text(root: lxml.html.HtmlElement, *, furniture: bool = True) -> Iterator[str]:
    """Yields what a body shows, with a blank line where a block begins or ends; on demand without navigation."""
    inline = frozenset(_INLINE.split())
    walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start" and isinstance(element.tag, str):
            is_left_out = not furniture and element is not root and _is_furniture(element, root)
            if is_left_out or element.tag in _UNSEEN or _is_footnote_mark(element):
                walk.skip_subtree()
                continue
            if element.tag == "img":
                # A formula that is a picture is written in its place as text.
                yield _TEX.sub("", element.get("alt", "")) if _IS_TEX.match(element.get("alt", "")) else ""
            if element.tag not in inline:
                yield "\n\n"
            yield element.text or ""
        else:
            if event == "end" and element.tag not in inline:
                yield "\n\n"
            if element is not root:
                yield element.tail or ""


def _is_footnote_mark(element: lxml.html.HtmlElement) -> bool:
    if "footnote-reference" in element.get("class", ""):
        return True
    if element.tag == "sup":
        text = element.text_content().strip()
        return _MARK.fullmatch(text) is not None or "a" in {
            *(each.tag for each in element),
            element.getparent().tag,
        }
    return (
        element.tag == "a"
        and element.get("href", "").startswith("#")
        and bool(_MARK.fullmatch(element.text or ""))
    )
