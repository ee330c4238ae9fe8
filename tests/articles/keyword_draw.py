"""Draws keywords from a documentation: those it treats, and those it does not. The same seed draws the same keywords."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.articles.raw_pages import RawDocumentation

_HERE: Final = Path(__file__).parent
SEED: Final = "first draw"
PER_KIND: Final = 10
MIN_SECTION_WORDS: Final = 150
_MAX_WORDS: Final = 8
_MAX_CHARACTERS: Final = 70
_NAMES_OF_PARTS: Final = frozenset((_HERE / "names_of_parts.txt").read_text().splitlines())
"""Headings of parts that many manuals have: nobody types them to ask for an article."""
_NEWS: Final = re.compile(
    r"\bchange ?log\b|\brelease notes\b|\bversion \d|\d+\.\d+\.\d+|^v?\d+\.\d+|\b(?:19|20)\d\d-\d\d",
    re.IGNORECASE,
)
_HEADING_PAGES: Final = 2
"""A heading on more pages belongs to the pattern of the pages, such as "Feedback"."""
_LETTERS: Final = re.compile(r"[^\W\d_]{3}")
_PLAIN_WORD: Final = re.compile(r"[a-z]{5,14}")
_MIN_USES: Final = 5
_TITLE_SHARE: Final = 0.05
_PAGE_SHARE: Final = 0.1
_MAX_PAGES: Final = 4
"""What stands on more pages goes with every subject: to a bicycle shop "bikes gears" is none off topic, nor is "basic gears"."""
_LIGHT: Final = frozenset(
    "a an and are as at by for from how in into is it its of on or that the this to with your you".split()  # noqa: SIM905 - a list of words
)
_COMMON: Final = frozenset((_HERE / "common_words.txt").read_text().splitlines())


@dataclass(frozen=True, slots=True)
class DrawnKeyword:
    """A keyword with what it was drawn from, and the words of the page, section or definition that is named so."""

    keyword: str
    kind: str
    """title, heading, index entry, own words, foreign, or marketer."""
    words: int = 0


def draw_treated(
    documentation: RawDocumentation, seed: str, *, per_kind: int = PER_KIND
) -> list[DrawnKeyword]:
    """Draws titles, headings of sections with enough words, and index entries: as many of each, else more of the others."""
    titles = [DrawnKeyword(title, "title", page.words) for title, page in documentation.titles]
    pages_with = Counter(text for text, _ in {(h.text, h.path[0]) for h in documentation.headings})
    headings = [
        DrawnKeyword(heading.text, "heading", heading.words)
        for heading in documentation.headings
        if heading.words >= MIN_SECTION_WORDS
        and heading.text != heading.path[0]
        and pages_with[heading.text] <= _HEADING_PAGES
    ]
    entries = [DrawnKeyword(entry.term, "index entry", entry.words) for entry in documentation.entries]
    draw = random.Random(seed)
    pools = [[each for each in pool if is_typed(each.keyword)] for pool in (titles, headings, entries)]
    drawn: list[DrawnKeyword] = []
    taken: set[frozenset[str]] = set()

    def take(pool: list[DrawnKeyword], up_to: int) -> None:
        while pool and up_to:
            one = pool.pop()
            if (stems := stems_of(one.keyword)) not in taken:
                taken.add(stems)
                drawn.append(one)
                up_to -= 1

    for pool in pools:
        draw.shuffle(pool)
        take(pool, per_kind)
    while len(drawn) < len(pools) * per_kind and any(pools):
        for pool in pools:
            take(pool, min(1, len(pools) * per_kind - len(drawn)))
    return drawn


def read_marketers_keywords(name: str, documentation: RawDocumentation) -> list[DrawnKeyword]:
    """Returns the keywords of `keywords/NAME.tsv`, with the words of the page that treats each.

    Raises:
        KeyError: a line names a page that the documentation lacks.
    """
    lines = (_HERE / "keywords" / f"{name}.tsv").read_text().splitlines()
    pairs = [line.split("\t") for line in lines if line]
    return [DrawnKeyword(keyword, "marketer", documentation.pages[page].words) for keyword, page in pairs]


def draw_off_topic(
    documentation: RawDocumentation, foreign: Sequence[str], seed: str, *, each: int = PER_KIND
) -> list[DrawnKeyword]:
    """Draws pairs of the documentation's own words that it does not treat together, and foreign subjects."""
    draw = random.Random(f"{seed}, off topic")
    named = [stems_of(" ".join((heading.text, *heading.path))) for heading in documentation.headings]
    named += [stems_of(title) for title, _ in documentation.titles]
    named += [stems_of(entry.term) for entry in documentation.entries]
    titles = [set(_plain_words([title])) for title, _ in documentation.titles]
    in_titles = Counter(word for title in titles for word in title)
    # A word of many titles is the product's name, or as empty as "command".
    first = sorted(word for word, n in in_titles.items() if n <= max(1, _TITLE_SHARE * len(titles)))
    pages = [Counter(_plain_words([page.text])) for page in documentation.pages.values()]
    uses, on_pages = sum(pages, Counter[str]()), Counter(word for page in pages for word in page)
    second = sorted(
        word
        for word, n in uses.items()
        if n >= _MIN_USES
        and on_pages[word] <= max(_MAX_PAGES, _PAGE_SHARE * len(pages))
        and not word.endswith("ly")
    )
    draw.shuffle(first)
    draw.shuffle(second)
    drawn: list[DrawnKeyword] = []
    for word in first:
        other = next((one for one in second if is_untreated(f"{word} {one}", named)), None)
        if other and len(drawn) < each:
            second.remove(other)
            drawn.append(DrawnKeyword(f"{word} {other}", "own words"))
    strangers = [subject for subject in foreign if is_untreated(subject, named)]
    drawn += [DrawnKeyword(subject, "foreign") for subject in draw.sample(strangers, each)]
    return drawn


def is_typed(text: str) -> bool:
    """Whether a person might type a title, heading or index entry to ask for an article."""
    return (
        len(text) <= _MAX_CHARACTERS
        and len(text.split()) <= _MAX_WORDS
        and _LETTERS.search(text) is not None
        and text.casefold() not in _NAMES_OF_PARTS
        and not _NEWS.search(text)
    )


def is_untreated(keyword: str, named: Iterable[frozenset[str]]) -> bool:
    """Whether no title, heading (with those above it) or index entry has all its words."""
    stems = stems_of(keyword)
    return len(stems) > 1 and not any(stems <= each for each in named)


def stems_of(text: str) -> frozenset[str]:
    """Returns the words without endings, so that singular and plural are one."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset(map(_stem, words)) - _LIGHT or frozenset(words)


def _stem(word: str) -> str:
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4), ("e", 4), ("y", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def _plain_words(texts: Iterable[str]) -> list[str]:
    words = (word for text in texts for word in text.lower().split())
    return [word for word in words if _PLAIN_WORD.fullmatch(word) and word not in _COMMON]
