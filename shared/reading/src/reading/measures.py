"""Measures the text inside all elements of a page in one pass from the leaves up. Pure.

Reading the text of one element walks everything below it; for every element of a long list that takes quadratic time.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lxml import etree


@dataclass(frozen=True, slots=True)
class TextSizes:
    """For each element: its characters, its characters inside links, and its number of links."""

    all: dict[etree._Element, int]
    linked: dict[etree._Element, int]
    links: dict[etree._Element, int]


@dataclass(frozen=True, slots=True)
class VisibleContent:
    """For each element: its visible characters without white space; and the elements with table data.

    Table data is a header cell, or a row of more than one cell.
    """

    characters: dict[etree._Element, int]
    data: frozenset[etree._Element]


def measure_text(elements: Sequence[etree._Element]) -> TextSizes:
    """Measure all `elements` of a tree, given in document order."""
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
    return TextSizes(total, linked, links)


def measure_visible(elements: Sequence[etree._Element], unseen: Collection[etree._Element]) -> VisibleContent:
    """Measure all `elements` of a tree, given in document order, without the `unseen` ones."""
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
    return VisibleContent(characters, frozenset(data))


def _visible(text: str | None) -> int:
    return len("".join(text.split())) if text else 0
