# ruff: noqa: RUF001, RUF003 - typographic signs are what it is about
"""Checks that all an article shows stands in its pages: by code that shares nothing with `reading` and `writing`.

Spaces and typographic signs may differ; "[…]" marks a cut, and "…" the end of a long heading; a term or title in bold is set off by a sign
of ours. Two things that a page shows may be missing in a quotation: a bracket, as in "(see Quoting)", and the hyphen of a word that a manual
page divides between two lines. The heading "See also" is ours; what stands under it are titles. A paragraph in emphasis is ours, too: it
says where the source goes on, and its quotations are titles.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import lxml.html
from markdown_it import MarkdownIt

_CITATION: Final = re.compile(r"\s*(?:\[\d+\]\s*)+$")
_CITED: Final = re.compile(r"\[(\d+)\]")
_CUT: Final = re.compile(r"\[…\]|\[\.\.\.\]")
_MORE_IN_THE_SOURCE: Final = re.compile(r"\(\d+ more in the source\)")
_MAX_SIGN: Final = 3
_POWER: Final = re.compile(r"(?<=[_^])\{([^{}]{1,12})\}")
"""Of a formula in TeX: "\\(x^{2}\\)" is shown as "x^2"."""
_DELIMITER: Final = re.compile(r"\\[()\[\]]")
_BRACKET: Final = re.compile(r"\([^()]{0,300}\)")
_DIVIDED: Final = re.compile(r"(?<=\w)[-\u2010]\n\s*(?=\w)")
_AFTER_TERM: Final = re.compile(r"^\s*[:–]\s")
_SEE_ALSO: Final = "See also"
_TITLES: Final = re.compile(r"“([^“”]+)”")
_BLOCKS: Final = frozenset({"ul", "ol", "p", "pre", "table", "blockquote", "dl"})
_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff¶^", ""),
    }
)
_HEADING_TAGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A paragraph, item, cell, listing or heading of an article, with the numbers of the sources it cites."""

    kind: str
    text: str
    cited: tuple[int, ...]


@dataclass(frozen=True)
class PageText:
    """The text of a page, in the forms in which quotations are looked up."""

    whole: str
    without_brackets: str

    @classmethod
    def of(cls, text: str) -> "PageText":
        joined = _DIVIDED.sub("", text)
        both = f"{text}\n\0\n{joined}" if joined != text else text
        return cls(comparable(both), comparable(without_brackets(both)))


def comparable(text: str) -> str:
    """Removes spaces, and makes one of signs that look alike."""
    # The signs first: NFKC makes a space and an accent of "´", and three dots of "…".
    return "".join(
        unicodedata.normalize("NFKC", _DELIMITER.sub("", _POWER.sub(r"\1", text)).translate(_SIGNS)).split()
    )


def shown_parts(markdown: str) -> list[ShownPart]:
    """Renders an article's Markdown, and returns what a reader sees of it, part by part."""
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    if not html.strip():
        return []
    parts: list[ShownPart] = []
    see_also = False
    for element in lxml.html.document_fromstring(f"<body>{html}</body>").iter():
        if element.tag in _HEADING_TAGS:
            see_also = element.text == _SEE_ALSO
            if see_also:
                continue
        if _is_ours(element):
            parts += [_part("heading", title) for title in _TITLES.findall(element.text_content())]
        elif element.tag in _HEADING_TAGS | {"pre", "p", "td", "th", "li"}:
            kind = "heading" if element.tag in _HEADING_TAGS or see_also else element.tag
            parts += [_part("term" if bold else kind, text) for text, bold in _own_texts(element)]
    return [part for part in parts if part.text.strip(" .\n")]


def _is_ours(element: lxml.html.HtmlElement) -> bool:
    """Whether a paragraph is one sentence in emphasis; an article's quotations have none."""
    emphasis = element[0] if element.tag == "p" and len(element) == 1 and not element.text else None
    return (
        emphasis is not None and emphasis.tag == "em" and _CITATION.fullmatch(emphasis.tail or "") is not None
    )


def _part(kind: str, text: str) -> ShownPart:
    cited = _CITATION.search(text)
    numbers = tuple(int(n) for n in _CITED.findall(cited[0])) if cited else ()
    return ShownPart(kind, text if kind == "pre" else _CITATION.sub("", text), numbers)


def missing_quotations(markdown: str, pages: Mapping[int, PageText]) -> list[str]:
    """Returns the parts of an article that none of the pages they cite has; `pages` are the cited ones by number."""
    return missing_parts(shown_parts(markdown), pages)


def missing_parts(parts: Iterable[ShownPart], pages: Mapping[int, PageText]) -> list[str]:
    """Returns those of the parts that none of the pages they cite has."""
    missing: list[str] = []
    for part in parts:
        sources = [pages[n] for n in part.cited if n in pages] or list(pages.values())
        pieces = _pieces(part)
        missing += [
            f"{part.kind}: {piece.strip()}"
            for piece in pieces
            if not is_shown(piece, sources, kind=part.kind)
        ]
    return missing


def _own_texts(element: lxml.html.HtmlElement) -> Iterator[tuple[str, bool]]:
    """Yields the text of an element, apart from blocks in it; a term in bold that it begins with, with True, then the rest."""
    text = element.text or ""
    for child in element:
        if child.tag in _BLOCKS:
            yield text, False
            text = child.tail or ""
        elif child.tag == "strong" and not text.strip():
            yield child.text_content().rstrip(": "), True
            text = _AFTER_TERM.sub("", child.tail or "")
        else:
            text += child.text_content() + (child.tail or "")
    yield text, False


def _pieces(part: ShownPart) -> Iterable[str]:
    if part.kind == "pre":
        return [part.text]
    return [piece for piece in _CUT.split(_MORE_IN_THE_SOURCE.sub("[…]", part.text)) if piece.strip(" .\n")]


def is_shown(piece: str, sources: Iterable[PageText], *, kind: str) -> bool:
    """Whether one of the sources has the text of a part of this kind."""
    if kind == "heading":
        title = comparable(piece.removesuffix("…")).casefold()
        return any(title in source.whole.casefold() for source in sources)
    if kind == "pre":
        lines = [comparable(line) for line in piece.splitlines() if line.strip()]
        return any(_are_in_order(lines, source.whole) for source in sources)
    wanted, bare = comparable(piece), comparable(without_brackets(piece))
    brackets = [comparable(bracket) for bracket in _BRACKET.findall(piece)]
    terms = [comparable(term) for term in piece.split(", ")] if kind == "term" else [wanted]
    return any(
        all(term in source.whole for term in terms)
        or (bare in source.without_brackets and all(each in source.whole for each in brackets))
        for source in sources
    )


def _are_in_order(lines: Sequence[str], text: str) -> bool:
    """Whether the lines stand one behind the other, with no more between them than the sign of a definition."""
    start = text.find(lines[0]) if lines else -1
    while start >= 0:
        at = start
        for line in lines:
            found = text.find(line, at, at + len(line) + _MAX_SIGN)
            if found < 0:
                break
            at = found + len(line)
        else:
            return True
        start = text.find(lines[0], start + 1)
    return False


def without_brackets(text: str) -> str:
    # Twice, for a bracket within a bracket: "(see close())".
    return _BRACKET.sub("", _BRACKET.sub("", text))
