"""What a page's elements hold, each counted once from the leaves up. Pure.

To ask an element for its text walks everything below it; asked of every element, a long list costs its length squared.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lxml import etree


@dataclass(frozen=True, slots=True)
class Texts:
    """Characters inside an element: all of them, and those inside links; and how many links there are."""

    all: dict[etree._Element, int]
    linked: dict[etree._Element, int]
    links: dict[etree._Element, int]


@dataclass(frozen=True, slots=True)
class Sights:
    """What is left of an element to be seen: characters that are no white space, and whether it holds a table's data.

    Data are a header cell, or a row of more than one cell.
    """

    characters: dict[etree._Element, int]
    data: frozenset[etree._Element]


def texts_of(elements: Sequence[etree._Element]) -> Texts:
    """`elements` are those of a whole tree, in document order."""
    total = {element: len(element.text or "") for element in elements}
    linked = dict.fromkeys(elements, 0)
    links = dict.fromkeys(elements, 0)
    for element in reversed(elements):
        if element.tag == "a" and element.get("href"):
            linked[element] = total[element]
            links[element] = 1
        parent = element.getparent()
        if parent is not None:
            total[parent] += total[element] + len(element.tail or "")
            linked[parent] += linked[element]
            links[parent] += links[element]
    return Texts(total, linked, links)


def sights_of(elements: Sequence[etree._Element], unseen: Collection[etree._Element]) -> Sights:
    """As above; `unseen` are left out, but not the text that follows them."""
    characters = {element: _visible(element.text) for element in elements}
    cells = dict.fromkeys(elements, 0)
    data: set[etree._Element] = set()
    for element in reversed(elements):
        if element.tag == "th" or cells[element] > 1:
            data.add(element)
        parent = element.getparent()
        if parent is None:
            continue
        characters[parent] += _visible(element.tail)
        if element not in unseen:
            characters[parent] += characters[element]
            cells[parent] += element.tag == "td" and parent.tag == "tr"
            if element in data:
                data.add(parent)
    return Sights(characters, frozenset(data))


def _visible(text: str | None) -> int:
    return len("".join(text.split())) if text else 0
