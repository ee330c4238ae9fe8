"""Rates how much a section is about a keyword, by its title and names, and ranks sections as the spine of an article. Pure.

Titles, signatures and index entries decide what a section is about; its text decides only among sections of that title. So
words that merely occur in texts make no candidate.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

from documents.blocks import Paragraph
from documents.sections import ENTRY_LEVEL, PAGE_LEVEL, TERM_LEVEL, Section
from documents.words import (
    COMMON_STEMS,
    COMMON_WORDS,
    bare_title,
    find_run,
    is_definition,
    stem,
    stems_of,
    telling_stems,
    words_of,
)

MIN_ABOUT: Final = 0.6
"""The least aboutness of a spine: below it a section shares words with the keyword."""
MIN_CANDIDATE: Final = 0.55
"""The least aboutness of a section that is worth loading."""
MAX_LOADED: Final = 30
"""Candidates whose text is worth reading: those with most aboutness."""
MAX_CANDIDATES: Final = 6
"""Spines to try, best first."""
_ABBREVIATED: Final = 0.97
_INDEXED: Final = 0.82
_MOSTLY: Final = 0.7
_OFTEN: Final = 3
"""Occurrences of a word in a text on it."""
_ENTRY_DISCOUNT: Final = 0.95
_LEAST_OF_ENTRIES: Final = 0.90
_PART_DISCOUNT: Final = 0.93
_MEMBER_DISCOUNT: Final = 0.85
_MIN_SCORE: Final = 0.45
_SURELY_ABOUT: Final = 0.8
_READ: Final = 30_000
_FIRST: Final = 4
_OPENING_WORDS: Final = 8
_LEAD_WORDS: Final = 5
_PARTS: Final = re.compile(r":\s|\s[–—-]{1,2}\s|[()\[\]]")  # noqa: RUF001 - dashes of titles
_MEMBERS: Final = re.compile(r",? (?:and|or) |, ", re.IGNORECASE)
"""Between the members of a title that names several things: "Locks and theft"."""
_ASIDE: Final = re.compile(
    r"\b(?:what[’']?s new|release notes?|change ?log|changes (?:in|to|since)|news|history|licen[cs]e|copyright|copying|"  # noqa: RUF001
    r"credits|acknowledge?ments?|to-?do|roadmap)\b",
    re.IGNORECASE,
)
# Joined with a word, it makes another one.
_PARTICLE: Final = re.compile(r"\b\w{1,40}-(?:up|out|in|on|off|down|over|by)\b", re.IGNORECASE)
_NO_OPENING: Final = re.compile(
    r"(?:this (?:section|chapter|page|document)|it|these|those|however|also|see|for (?:more|example)|in this|note|warning)\b",
    re.IGNORECASE,
)
LIGHT_STEMS: Final = frozenset(
    stems_of(
        "using use making introduction overview howto how to guide command commands function functions statement statements "
        "module modules option options section file files support basics tutorial reference directive directives "
        "parameter variable setting settings feature features utility tool program daemon about manual basic"
    )
)
"""Words that say little of a subject; an index leaves them out of names."""
# How people ask, around what they ask about.
_ASKED: Final = re.compile(
    r"^(?:how to (?:use |make )?|how (?:do|does) |using |best |guide to |introduction to |what (?:is|are) )(?:an? |the )?"
    r"|(?<=\w) (?:tips|guide|explained|tutorial|basics|care|advice)$|^how (?=.* works?$)|(?<=\w) works$| (?:vs\.?|versus) ",
    re.IGNORECASE,
)
_GENERIC: Final = COMMON_STEMS | frozenset(
    stems_of(
        "example examples note notes introduction overview summary usage synopsis description details conclusion see also "
        "reference references index contents preface background miscellaneous other more general author authors bugs "
        "caveats warning warnings tip tips important caution section chapter appendix page files parameters arguments "
        "options return returns value values terminology terms definitions discussion feedback history news changes"
    )
)


class SectionKind(StrEnum):
    PAGE = "page"
    SECTION = "section"
    ENTRY = "entry"
    TERM = "term"


_ENTRIES: Final = frozenset({SectionKind.ENTRY, SectionKind.TERM})


def kind_of(level: int) -> SectionKind:
    """Returns the kind of a section of this level."""
    match level:
        case _ if level == PAGE_LEVEL:
            return SectionKind.PAGE
        case _ if level == ENTRY_LEVEL:
            return SectionKind.ENTRY
        case _ if level == TERM_LEVEL:
            return SectionKind.TERM
        case _:
            return SectionKind.SECTION


@dataclass(frozen=True, slots=True)
class SectionHead:
    """A section's title and place, without its text; a row of an index holds as much."""

    title: str
    kind: SectionKind
    words: int = 0
    """With all sections below it."""
    names: tuple[str, ...] = ()
    """See `Section.names`."""
    index_terms: tuple[str, ...] = ()
    """Entries of the collection's indexes that lead here; see `reading.collection.index_terms_of`."""
    titles_above: tuple[str, ...] = ()
    """The titles above it on its page, the page's first; empty for a page."""
    parent_titles: tuple[str, ...] = ()
    """The titles of the pages above its page, by the tables of contents; the nearest first."""

    def search_stems(self) -> frozenset[str]:
        """Returns the stems that an index keeps for it: a candidate has at least one of the keyword's stems here."""
        return frozenset(
            each for text in (self.title, *self.names, *self.index_terms) for each in telling_stems(text)
        )


@dataclass(frozen=True)
class CollectionFacts:
    """What all documents of a collection have in common; see `reading.collection`."""

    product_words: frozenset[str] = frozenset()
    """Stems that so many page titles have that they tell no page from another: the product's name."""
    site_names: frozenset[str] = frozenset()
    """Headings, in lower case, that stand on so many pages that they name the site."""
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    """The spelled form of each abbreviation that a text introduces: "Virtual Private Network (VPN)"."""
    title_suffixes: tuple[str, ...] = ()
    """Ends that so many page titles have that they name the site: " (GNU Octave (version 7.3.0))"."""

    @cached_property
    def _abbreviated(self) -> Mapping[tuple[str, ...], str]:
        return {telling_stems(spelled): short for short, spelled in self.abbreviations.items()}

    def other_form(self, keyword: "Keyword") -> str | None:
        """Returns what a keyword is short for, or its abbreviation."""
        return self.abbreviations.get(keyword.text) or self._abbreviated.get(keyword.stems)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword as titles are compared with it."""

    text: str
    stems: tuple[str, ...]
    """Without function words and numbering, in order."""
    is_generic: bool
    """True if it only names a part that any page may have, as "Examples" or "Introduction" does."""


@dataclass(frozen=True, slots=True)
class KeywordUse:
    """How a section's text uses the keyword."""

    words: int
    uses: int
    """Occurrences of the keyword's stems."""
    phrases: int
    """Occurrences of all stems side by side."""
    share: float
    """The share (0..1) of the stems that occur."""
    fewest: int
    """Occurrences of the stem that occurs least."""
    is_defined: bool
    """True if one of its first sentences says what the keyword is."""
    has_opening: bool
    """True if it has a paragraph that may open an article."""


@dataclass(frozen=True, slots=True)
class SpineCandidate:
    """A section that an article may be made of."""

    head: SectionHead
    section: Section
    about: float = 0.0
    score: float = 0.0
    key: object = None
    """The caller's name for it; ranking does not look at it."""


def parse_keyword(text: str) -> Keyword:
    bare = bare_title(text)
    stems = telling_stems(_ASKED.sub(" ", bare)) or telling_stems(bare)
    is_part = len(stems) > 1 and (_GENERIC | LIGHT_STEMS).issuperset(stems)
    return Keyword(text, stems, is_generic=is_part or _GENERIC.issuperset(stems))


def aboutness(
    keyword: Keyword, head: SectionHead, facts: CollectionFacts, use: KeywordUse | None = None
) -> float:
    """Returns how much the section is about the keyword, from 0 to 1 (its title is the keyword).

    Args:
        keyword: of `parse_keyword`.
        head: of the section.
        facts: of its collection.
        use: how its text uses the keyword. Index entries count only for texts that do; without `use` they count,
            so that an index can look for candidates before it loads any text.
    """
    if not keyword.stems or keyword.is_generic or head.title.casefold() in facts.site_names:
        return 0.0
    if use is not None and not use.fewest:
        # A word that stands only above its page does not make it a page on that: "IPsec" in "Network Infrastructure".
        head = replace(head, parent_titles=())
    head = replace(head, title=_with_joined(head.title, keyword.text))
    best = _named(keyword.stems, head, facts)
    if best < _ABBREVIATED and (other := facts.other_form(keyword)):
        best = max(best, _ABBREVIATED * _named(telling_stems(other), head, facts))
    if best < _MOSTLY and (use is None or use.fewest >= _OFTEN) and _names_most(keyword, head, facts):
        best = _MOSTLY
    if best < _INDEXED and _is_indexed(keyword, head, use):
        best = _INDEXED
    return round(best, 4)


def _with_joined(title: str, keyword: str) -> str:
    """Returns a title in which "Wrap-Up" is one word, unless the keyword has it, too: it is no function `wrap`."""
    typed = keyword.casefold().replace("-", " ")
    return _PARTICLE.sub(
        lambda match: (
            match[0] if match[0].casefold().replace("-", " ") in typed else match[0].replace("-", "")
        ),
        title,
    )


def keyword_use(keyword: Keyword, section: Section) -> KeywordUse:
    """Reads at most the first 30,000 characters of a section."""
    stems = [*map(stem, words_of(_beginning(section)))]
    wanted = frozenset(keyword.stems)
    places = [at for at, each in enumerate(stems) if each in wanted]
    size = len(keyword.stems)
    first = [block.text for block in _paragraphs(section)]
    return KeywordUse(
        words=len(stems),
        uses=len(places),
        phrases=sum(tuple(stems[at : at + size]) == keyword.stems for at in places),
        share=len({stems[at] for at in places}) / max(1, len(wanted)),
        fewest=min((sum(stems[at] == each for at in places) for each in wanted), default=0),
        is_defined=any(is_definition(keyword.stems, text) for text in first),
        has_opening=any(_may_open(text) for text in first),
    )


def rank_candidates(
    keyword: Keyword, candidates: Iterable[SpineCandidate], facts: CollectionFacts
) -> list[SpineCandidate]:
    """Returns up to six candidates that may become an article, best first, with `about` and `score`.

    `candidates` are loaded sections whose `aboutness` is at least MIN_CANDIDATE; the MAX_LOADED with most of it are enough.
    """
    ranked = []
    for each in candidates:
        use = keyword_use(keyword, each.section)
        about = aboutness(keyword, each.head, facts, use)
        score = _score(keyword, each.head, use, about)
        if about >= MIN_ABOUT and (score >= _MIN_SCORE or about >= _SURELY_ABOUT):
            ranked.append(replace(each, about=about, score=score))
    ranked.sort(key=lambda each: -each.score)
    return ranked[:MAX_CANDIDATES]


def describe_absence(keyword: Keyword, mentions: Sequence[tuple[str, str]], looked_in: str) -> str:
    """Returns the reason why nothing is about a keyword, for the requester.

    Args:
        keyword: of `parse_keyword`.
        mentions: the title and path of pages that have its words, those with most of them first.
        looked_in: begins a sentence, as "The folder" does.
    """
    if COMMON_WORDS.issuperset(words_of(keyword.text)):
        return f"The keyword “{keyword.text}” has no searchable words; use more specific ones."
    if keyword.is_generic:
        return (
            f"“{keyword.text}” names a part that any page may have, and no subject. Choose a more specific keyword,"
            " such as the title of a page."
        )
    if not mentions:
        return (
            f"{looked_in} has nothing about “{keyword.text}”: none of its words occurs there. Add documents on it, or"
            " choose another keyword."
        )
    places = ", ".join(f"“{title}” ({path})" for title, path in mentions)
    return (
        f"{looked_in} has nothing about “{keyword.text}”: no page, section or index entry is named so, only its words"
        f" occur, in {places}. Add a page on it, or choose a keyword that is the title of a page or section."
    )


def _score(keyword: Keyword, head: SectionHead, use: KeywordUse, about: float) -> float:
    literally = words_of(bare_title(head.title)) == words_of(bare_title(keyword.text))
    density = use.uses / max(1, use.words)
    off_subject = _ASIDE.search(head.title) is not None and _ASIDE.search(keyword.text) is None
    return round(
        about
        + 0.03 * literally
        + 0.12 * use.is_defined
        + 0.10 * min(1.0, 12 * density)
        + 0.05 * use.share
        - 0.30 * (1 - min(1.0, head.words / 250))
        - 0.25 * off_subject
        - 0.06 * (head.kind in _ENTRIES)
        + 0.03 * (head.kind is SectionKind.PAGE)
        + (0.12 if use.has_opening else -0.15)
        + 0.15 * min(1.0, use.uses / 40),
        4,
    )


def _named(wanted: Sequence[str], head: SectionHead, facts: CollectionFacts) -> float:
    """Rates the title, the parts of the title and the signatures."""
    if head.kind in _ENTRIES:
        # "( expression )" must not win "conditional expressions" by its path.
        best = max((_likeness(wanted, telling_stems(each), facts) for each in _titles(head)), default=0.0)
        return _ENTRY_DISCOUNT * best if best >= _LEAST_OF_ENTRIES else 0.0
    title = bare_title(head.title)
    above = (*head.titles_above, *head.parent_titles)
    context = frozenset(each for text in above for each in telling_stems(text))
    members = [telling_stems(each) for each in _MEMBERS.split(title)]
    # One thing among those of a section, "Water and scale", is no more than a word of the page: "coffee scale".
    is_aside = (
        len(members) > 1 and head.kind is not SectionKind.PAGE and len({*wanted} - facts.product_words) == 1
    )
    best = _likeness(
        wanted,
        telling_stems(title),
        replace(facts, product_words=frozenset()) if is_aside else facts,
        context,
    )
    parts = [telling_stems(each) for each in _PARTS.split(title) if each.strip()]
    for at, part in enumerate(parts if len(parts) > 1 else ()):
        rest = {each for other in (*parts[:at], *parts[at + 1 :]) for each in other}
        # "Postfix manual - postkick" is the page of postkick.
        discount = 1.0 if rest <= LIGHT_STEMS | facts.product_words else _PART_DISCOUNT
        best = max(best, discount * _likeness(wanted, part, facts))
    for member in members if len(members) > 1 and not is_aside else ():
        best = max(best, _MEMBER_DISCOUNT * _likeness(wanted, member, facts, context))
    return best


def _titles(head: SectionHead) -> tuple[str, ...]:
    return (bare_title(head.title), *head.names)


def _likeness(
    wanted: Sequence[str],
    title: Sequence[str],
    facts: CollectionFacts,
    context: frozenset[str] = frozenset(),
) -> float:
    """Compares the keyword's stems with a title's; `context` are those of the titles above."""
    keyword, other = frozenset(wanted), frozenset(title)
    if keyword.isdisjoint(other):
        return 0.0
    if keyword == other and sorted(wanted) == sorted(title):
        return 1.0 if [*wanted] == [*title] else 0.95
    # A light word of a title says little; in a keyword, "Archive options" asks for less than all of "Archives".
    plain = [each for each in wanted if each not in facts.product_words] or [*wanted]
    plain_title = [each for each in title if each not in LIGHT_STEMS | facts.product_words]
    if sorted(plain) == sorted(plain_title):
        return 0.92 if plain == plain_title else 0.90
    # Two words or more besides the product's, as one is too little: "Bike frame size" is "Choosing a frame size".
    sought = plain if len(plain) > 1 else wanted
    if frozenset(sought) <= other:
        share = len(sought) / max(len(sought), len(title))
        return (0.5 if find_run(sought, title) is not None else 0.4) + 0.4 * share
    other = frozenset(plain_title)
    if other and other <= keyword and keyword - other <= context | facts.product_words:
        return 0.88 if 2 * len(other) >= len(keyword) else 0.70
    return 0.0


def _names_most(keyword: Keyword, head: SectionHead, facts: CollectionFacts) -> bool:
    """Whether the title is more than half of the keyword, and nothing else: "Storing coffee" for storing coffee beans."""
    title = frozenset(telling_stems(bare_title(head.title))) - LIGHT_STEMS
    wanted = frozenset(keyword.stems)
    return head.kind not in _ENTRIES and any(
        title - product <= wanted - product and 2 * len(title - product) > len(wanted - product)
        for product in (frozenset[str](), facts.product_words)
    )


def _is_indexed(keyword: Keyword, head: SectionHead, use: KeywordUse | None) -> bool:
    """Whether an index leads here, to a text that is on the keyword and does not only mention it."""
    entries = (*head.index_terms, *(() if head.kind in _ENTRIES else head.names))
    if not any(sorted(telling_stems(each)) == sorted(keyword.stems) for each in entries):
        return False
    often = max(3.0, head.words / 100)
    return use is None or (use.phrases > 0 and use.uses >= often * len(keyword.stems))


def _beginning(section: Section) -> str:
    texts: list[str] = []
    length = 0
    for _, each in section.walk():
        texts += (each.title, each.text)
        length += len(each.text)
        if length >= _READ:
            break
    return " ".join(texts)[:_READ]


def _paragraphs(section: Section) -> Iterator[Paragraph]:
    """Yields the first paragraphs: of its own, or else of the first sections below it."""
    own = [block for block in section.blocks if isinstance(block, Paragraph)][:_FIRST]
    yield from own
    for child in section.children[:_FIRST] if not own else ():
        yield from [block for block in child.blocks if isinstance(block, Paragraph)][:1]


def _may_open(text: str) -> bool:
    least = _LEAD_WORDS if text.endswith(":") else _OPENING_WORDS
    return len(text.split()) >= least and _NO_OPENING.match(text) is None
