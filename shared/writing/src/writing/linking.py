"""Links an article to earlier ones of its brand where its text names their keyword or title. Pure.

A link wraps words that the article already has; it adds no text. It leads to the published address of the other article.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from writing.body import Body, MarkdownBlock, MarkdownBlockKind

MAX_LINKS: Final = 4
MAX_PHRASE: Final = 8
"""Words; longer keywords and titles are not searched, since no text contains them."""
MIN_PHRASE: Final = 4
"""Letters; shorter keywords and titles are not searched, since they occur everywhere."""
_WORD: Final = re.compile(r"\w+")
_QUOTED: Final = re.compile(r"“[^“”]*”|\"[^\"]*\"|„[^„“”]*[“”]|«[^«»]*»")
_KEPT: Final = ":/?#[]@!$&'*+,;=%-._~"
"""Characters of an address that stay unescaped; brackets and spaces, for example, would end the link."""


@dataclass(frozen=True, slots=True)
class LinkableArticle:
    """An earlier article of the brand with a public address."""

    keyword: str
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    """In lower case."""
    url: str


def add_links(body: Body, *, keyword: str, published: Sequence[LinkableArticle]) -> tuple[str, int]:
    """Returns the article's Markdown with links, and their number.

    Each earlier article is linked at the first mention of its keyword or title, longer phrases first. A paragraph gets one
    link at most, the article `MAX_LINKS`. No links are set in headings, listings, tables, code, quotations, the first
    sentence, or within the article's own `keyword`.
    """
    own = _pattern(_words(keyword))
    phrases = _phrases(published, _singular(_words(keyword)))
    links: list[tuple[int, int, str]] = []
    for at, block in enumerate(block for block in body.blocks if block.kind in _PLACES):
        if not phrases or len(links) == MAX_LINKS:
            break
        said = _phrases_in(block, phrases, without={url for *_, url in links})
        if not said:
            continue
        taken = _unlinkable_spans(block, begins=at == 0)
        subject = [each.span() for each in own.finditer(block.shown.text)]
        for phrase in said:
            if span := _find_link_span(phrase, block, taken, subject):
                links.append((*span, phrase.url))
                break
    markdown = body.markdown
    for start, end, url in reversed(links):
        markdown = f"{markdown[:start]}[{markdown[start:end]}]({_destination(url)}){markdown[end:]}"
    return markdown, len(links)


_PLACES: Final = frozenset({MarkdownBlockKind.PARAGRAPH, MarkdownBlockKind.ITEM})


def _phrases(published: Iterable[LinkableArticle], own: tuple[str, ...]) -> dict[str, list[_Phrase]]:
    """Returns the phrases to search for, by their first word."""
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


def _phrases_in(
    block: MarkdownBlock, phrases: Mapping[str, list[_Phrase]], without: AbstractSet[str]
) -> list[_Phrase]:
    """Returns the phrases with all their words in the block, in any place; the longest first."""
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
    """Matches the words in sequence, joined by hyphens or spaces, in singular or plural; never part of a longer word."""
    name = r"[ \u00a0-]".join(map(re.escape, words)) or r"(?!)"
    return re.compile(rf"(?<![\w-]){name}s?(?![\w-])", re.IGNORECASE)


def _unlinkable_spans(block: MarkdownBlock, *, begins: bool) -> list[tuple[int, int]]:
    """Returns the (begin, end) of the parts of the text that must stay without links."""
    text = block.shown.text
    taken = [*block.shown.taken, *(each.span() for each in _QUOTED.finditer(text))]
    if begins:
        first = block.sentences[0] if block.sentences else text
        taken.append((0, text.find(first) + len(first)))
    return taken


def _find_link_span(
    phrase: _Phrase,
    block: MarkdownBlock,
    taken: Sequence[tuple[int, int]],
    subject: Sequence[tuple[int, int]],
) -> tuple[int, int] | None:
    """Returns the (start, end) in the Markdown of the first mention of the phrase that may become a link, or None."""
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
