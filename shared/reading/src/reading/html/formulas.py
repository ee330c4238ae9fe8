"""Tells formulas from other elements, and which of them can be read as plain text. Pure."""

import re
from itertools import islice
from typing import Final

from lxml import etree

from reading.cleaning import one_line
from reading.html.parts import class_names, is_formula_script

MAX_FORMULA: Final = 2_000
"""Characters; a longer one is not looked at."""
MAX_ELEMENTS: Final = 400
"""Elements of one formula that are looked at."""
_FORMULAS: Final = frozenset(
    "displaymath math katex katex-display mathjax equation informalequation formulaDsp arithmatex"  # noqa: SIM905
    " stemblock mwe-math-element MathJax MathJax_Preview MathJax_Display".split()
)
"""Classes of elements that hold nothing else."""
_IMAGE_NAMES: Final = frozenset({"math", "latex", "tex", "formula", "equation", "mathimage"})
_IMAGE_WORDS: Final = re.compile(r"[a-z]+")
_TEX: Final = re.compile(r"\$|\\[(\[]|\{\\|\\begin\b")
_DRAWN: Final = frozenset(
    "mfrac msup msub msubsup msqrt mroot munder mover munderover mtable sub sup".split()  # noqa: SIM905
)
"""What stands above, below or around something else."""
_DELIMITERS: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$"), ("{", "}"))
_STYLE: Final = re.compile(r"^\\(?:display|text)style\s*")
_POWERS: Final = re.compile(r"([_^])\{(\w{1,12}|[-+]\d{1,4})\}")
_NAMES: Final = re.compile(r"\\((?:La)?TeX)\b ?")
_WORDS: Final = re.compile(r"\\(?:mbox|text|textrm|mathrm|operatorname)\{([^{}\\]{1,80})\}")
_WRITTEN: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("\\$", "\\$"))
_LIBRARIES: Final = ("mathjax", "katex")


def is_formula(element: etree._Element) -> bool:
    """Return whether an element is a formula and nothing else."""
    if element.tag == "math" or is_formula_script(element):
        return True
    if element.tag == "img":
        return _is_formula_image(element)
    return element.get("class") is not None and not class_names(element).isdisjoint(_FORMULAS)


def _is_formula_image(image: etree._Element) -> bool:
    words = _IMAGE_WORDS.findall((image.get("class") or "").lower().replace("formulainl", "formula"))
    return not _IMAGE_NAMES.isdisjoint(words) or _TEX.match(image.get("alt") or "") is not None


def plain_formula(element: etree._Element) -> str | None:
    """Return a formula as plain text, "" for an empty one; None if it needs more than one line of letters."""
    source = _source(element)
    if source is None or len(source) > MAX_FORMULA:
        return None
    text = _WORDS.sub(r"\1", _NAMES.sub(r"\1", _STYLE.sub("", one_line(source))))
    for begin, end in _DELIMITERS:
        if text.startswith(begin) and text.endswith(end) and len(text) >= len(begin) + len(end):
            text = _STYLE.sub("", text[len(begin) : -len(end)].strip())
    text = _POWERS.sub(r"\1\2", text)
    return None if "\\" in text or "{" in text or "$" in text else text


def _source(element: etree._Element) -> str | None:
    """Return what a formula is written as; None if it is only drawn."""
    if element.tag == "img":
        return element.get("alt")
    within = list(islice(element.iter(etree.Element), MAX_ELEMENTS))
    for each in within:
        if each.tag == "annotation" and "tex" in (each.get("encoding") or "") and each.text:
            return each.text
        if told := each.get("alttext") or (each.get("alt") if each.tag == "img" else None):
            return told
    if len(within) == MAX_ELEMENTS or any(each.tag in _DRAWN for each in within):
        return None
    return "".join(map(str, element.itertext()))


def draws_formulas(root: etree._Element) -> bool:
    """Return whether a script of the page draws formulas that stand as TeX between its words."""
    scripts = ((each.get("src") or "").lower() for each in root.iter("script"))
    return any(library in source for source in scripts for library in _LIBRARIES)


def has_written_formula(text: str) -> bool:
    places = ((text.find(begin), len(begin), end) for begin, end in _WRITTEN)
    return any(at >= 0 and text.find(end, at + size + 1) >= 0 for at, size, end in places)
