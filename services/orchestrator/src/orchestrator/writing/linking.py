"""Links from an article to earlier ones of its brand, where its text speaks of what they are about. Pure.

A link stands around words that are there already: nothing of the other article is printed. It leads to an address where
that article was published.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from orchestrator.writing.body import Block, Body, Kind

MAX_LINKS: Final = 4
MAX_PHRASE: Final = 8
"""Words of a keyword or title that is looked for; longer ones never stand in a text."""
MIN_PHRASE: Final = 4
"""Letters of it; shorter ones stand everywhere."""
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r"“[^“”]*”|\"[^\"]*\"|„[^„“”]*[“”]|«[^«»]*»")
_KEPT: Final = ":/?#[]@!$&'*+,;=%-._~"
"""Characters that an address keeps; brackets and spaces among others would end the link."""


@dataclass(frozen=True, slots=True)
class Published:
    """An earlier article of the brand that can be visited."""

    keyword: str
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    """In lower case."""
    url: str


def linked(body: Body, *, keyword: str, published: Sequence[Published]) -> tuple[str, int]:
    """The article's Markdown with its links, and how many those are.

    Of each earlier article, the first place is linked where its keyword or title stands, longer ones before shorter
    ones; one place in a paragraph, `MAX_LINKS` in all. What is no place: headings, listings, tables, code, quotations,
    the first sentence, and a part of the article's own `keyword`.
    """
    own = _pattern(_words(keyword))
    phrases = _phrases(published, _singular(_words(keyword)))
    links: list[tuple[int, int, str]] = []
    for at, block in enumerate(block for block in body.blocks if block.kind in _PLACES):
        if not phrases or len(links) == MAX_LINKS:
            break
        said = _said(block, phrases, without={url for *_, url in links})
        if not said:
            continue
        taken = _taken(block, begins=at == 0)
        subject = [each.span() for each in own.finditer(block.shown.text)]
        for phrase in said:
            if span := _place(phrase, block, taken, subject):
                links.append((*span, phrase.url))
                break
    markdown = body.markdown
    for start, end, url in reversed(links):
        markdown = f"{markdown[:start]}[{markdown[start:end]}]({_destination(url)}){markdown[end:]}"
    return markdown, len(links)


_PLACES: Final = frozenset({Kind.PARAGRAPH, Kind.ITEM})


def _phrases(published: Iterable[Published], own: tuple[str, ...]) -> dict[str, list[_Phrase]]:
    """By their first word."""
    phrases: dict[tuple[str, ...], _Phrase] = {}
    for each in published:
        for text in (each.keyword, each.title):
            words = _words(text)
            if (
                0 < len(words) <= MAX_PHRASE
                and sum(map(len, words)) >= MIN_PHRASE
                and _singular(words) != own
            ):
                phrases.setdefault(words, _Phrase(words, each.url))
    by_word: dict[str, list[_Phrase]] = {}
    for words, phrase in phrases.items():
        by_word.setdefault(words[0], []).append(phrase)
    return by_word


def _said(block: Block, phrases: Mapping[str, list[_Phrase]], without: AbstractSet[str]) -> list[_Phrase]:
    """Those of which every word stands in the block, somewhere; the longest first."""
    words = set(_words(block.shown.text))
    words |= {word.removesuffix("s") for word in words}
    found = [
        phrase
        for word in words
        for phrase in phrases.get(word, ())
        if words.issuperset(phrase.words) and phrase.url not in without
    ]
    return sorted(found, key=lambda phrase: (-sum(map(len, phrase.words)), phrase.words))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _singular(words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words[:-1], words[-1].removesuffix("s")) if words else ()


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    """The words in a row, hyphens or spaces between them, one or several of the thing; nothing of a longer word."""
    name = r"[ \u00a0-]".join(map(re.escape, words)) or r"(?!)"
    return re.compile(rf"(?<![\w-]){name}s?(?![\w-])", re.IGNORECASE)


def _taken(block: Block, *, begins: bool) -> list[tuple[int, int]]:
    """The parts of the text in which no link may stand."""
    text = block.shown.text
    taken = [*block.shown.taken, *(each.span() for each in _QUOTED.finditer(text))]
    if begins:
        first = block.sentences[0] if block.sentences else text
        taken.append((0, text.find(first) + len(first)))
    return taken


def _place(
    phrase: _Phrase, block: Block, taken: Sequence[tuple[int, int]], subject: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """Where in the Markdown the phrase stands for the first time, if it may be a link there."""
    for match in _pattern(phrase.words).finditer(block.shown.text):
        places = block.shown.places(match.start(), match.end())
        # A citation or a mark between two words would become part of the link.
        whole = all(one[1] == other[0] for one, other in pairwise(places))
        touches = any(match.start() < end and start < match.end() for start, end in taken)
        within = any(start <= match.start() and match.end() <= end for start, end in subject)
        if whole and not touches and not within:
            return block.start + places[0][0], block.start + places[-1][1]
    return None


def _destination(url: str) -> str:
    return quote(url, safe=_KEPT).replace("&", "\\&")
