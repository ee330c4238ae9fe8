"""Tells the marks of footnotes from exponents and from other links. Pure."""

import re
from itertools import islice
from typing import Final

from lxml import etree

from reading.html.elements import LOOKED_AT

_MARK: Final = re.compile(r"\[\w{1,3}\]|[*\u2020\u2021\u00a7]{1,3}")
_EXPONENT: Final = re.compile(r"[-+\u2212]?\d{1,4}|[nxkmiEKMN]|[-+\u2212]")


def is_footnote_mark(element: etree._Element) -> bool:
    """Return whether a link or superscript leads to a footnote, or from its text back."""
    if element.tag == "a":
        is_within_page = (element.get("href") or "").startswith("#") and len(element) == 0
        return is_within_page and _MARK.fullmatch((element.text or "").strip()) is not None
    if element.tag != "sup":
        return False
    return (
        _is_all_of_a_link(element)
        or any(each.tag == "a" for each in islice(element.iter("a", "sup"), 2))
        or "footnote" in (element.get("class") or "")
        or _MARK.fullmatch(_text(element)) is not None
    )


def is_exponent(superscript: etree._Element) -> bool:
    return _EXPONENT.fullmatch(_text(superscript)) is not None


def _is_all_of_a_link(element: etree._Element) -> bool:
    parent = element.getparent()
    if parent is None or parent.tag != "a" or len(parent) > 1:
        return False
    return not ((parent.text or "").strip() or (element.tail or "").strip())


def _text(element: etree._Element) -> str:
    return "".join(map(str, islice(element.itertext(), LOOKED_AT))).strip()
