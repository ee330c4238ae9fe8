"""Units, the parts of an extractive article: a paragraph, alone or with the block it introduces or continues. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final, TypeAlias

from writing.article import ArticleSource, SourcePassage
from writing.extractive.blocks import PROSE, PassageBlock, PassageBlockKind, blocks_of
from writing.extractive.headings import (
    capitalised,
    is_descriptive,
    is_entry,
    is_glossary,
    is_news,
    is_of_a_manual,
    is_shouted,
    tidy,
)
from writing.extractive.languages import is_foreign
from writing.extractive.paragraphs import is_whole, quotable, quotable_beginning
from writing.extractive.sentences import (
    SentenceContext,
    is_phrase,
    points_away,
    rate_context,
    split,
    stems_of,
)
from writing.extractive.times import is_outdated
from writing.extractive.topic import COMMON_STEMS, Topic

MAX_UNIT_WORDS: Final = 240
MAX_ITEM_WORDS: Final = 80
MAX_CELL: Final = 160
MIN_ENTRY_WORDS: Final = 6
MIN_NAME_WORDS: Final = 3
# The cache takes about 2 MB.
_UNITS: Final = 256
_LONGEST_REMEMBERED: Final = 4_000
# `named_by` of the title of a page about the keyword and little else.
OWN_PAGE: Final = 0.7
# Of the heading that is the keyword, give or take its number.
OWN_SECTION: Final = 1.0
_EXPLAINS = re.compile(
    r"(?:An?|To|Any)\s|The (?:\w+ )?(?:process|act|art|practice|ability|mechanism|technique|method|part|set|"
    r"collection|class|state|component|task|way|use|journal|group|number|area|place|kind|type|period|point|result|amount|science|study|property|action|series) (?:of|that|which|in|to|by|for)\b"
)
_NAME_LINE = re.compile(
    r"([\w.:+-]{2,60}(?:, [\w.:+-]{2,60}){0,9}|[A-Z]{2,20}(?: [A-Z]{2,20}){1,5}) (?:-|--|–|—) (\S[^\n]{8,200})"  # noqa: RUF001
)
# Beginnings of sentences that introduce the subject of a page.
_ON_ITSELF = re.compile(
    r"This (?:command|module|program|tool|utility|package|function|library|extension|service|daemon|plugin) "
    r"(?:is|provides|implements|defines|allows|lets|enables|creates|uses|shows|displays|reads|writes|generates|converts|performs|"
    r"manages|adds|supports|takes|prints|lists|runs)\b"
)
_TECHNICAL = re.compile(r"[_(){}=<>$\\/]|--|\.\w")

Key: TypeAlias = tuple[int, tuple[int, int]]
"""A unit's source number and place."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Consecutive blocks of one source that make sense on their own. `place` orders units within their source."""

    source: ArticleSource
    heading: str | None
    place: tuple[int, int]
    score: float
    blocks: tuple[PassageBlock, ...]
    term: str | None = None
    """The term that its text explains without naming it, as a glossary does; printed before the text."""
    is_name: bool = False
    """True if `term` is the name of a manual page and the text its short description."""
    begins: bool = False
    """True if it begins the page, or the section, on the keyword."""
    in_glossary: bool = False
    """True if it is the whole entry of a glossary on the keyword."""

    @property
    def key(self) -> Key:
        return self.source.n, self.place

    @cached_property
    def _features(self) -> "_UnitFeatures":
        short = (
            sum(map(len, chain.from_iterable(block.lines for block in self.blocks))) <= _LONGEST_REMEMBERED
        )
        return (_told_by if short else _told_by.__wrapped__)(self.blocks)

    @property
    def words(self) -> int:
        return self._features.words

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of its prose, including list items."""
        return self._features.sentences

    @property
    def opening(self) -> str:
        return f"{self.term} is {self.sentences[0]}" if self.term else self.sentences[0]

    @property
    def alone(self) -> tuple[str, ...]:
        """The sentences that make sense without the others."""
        return (f"{self.term}: {self.sentences[0]}",) if self.term else self._features.alone

    @property
    def vector(self) -> Counter[str]:
        return self._features.vector

    @property
    def squares(self) -> int:
        """The squared length of `vector`."""
        return self._features.squares

    @property
    def technicality(self) -> float:
        """The share of content for experts: listings, tables, identifiers (0..1)."""
        return self._features.technicality


@dataclass(frozen=True, eq=False)
class _UnitFeatures:
    """Features of a unit that depend on its blocks alone, and so are cached across articles."""

    blocks: tuple[PassageBlock, ...]

    @cached_property
    def words(self) -> int:
        return sum(block.words for block in self.blocks)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        return tuple(
            sentence
            for block in self.blocks
            if block.kind in PROSE
            for line in block.lines
            for sentence in split(line)
        )

    @cached_property
    def alone(self) -> tuple[str, ...]:
        paragraphs = (block.lines[0] for block in self.blocks if block.kind is PassageBlockKind.PARAGRAPH)
        return tuple(
            sentence
            for paragraph in paragraphs
            for sentence in split(paragraph)
            if rate_context(sentence) is SentenceContext.INDEPENDENT
        )

    @cached_property
    def vector(self) -> Counter[str]:
        stems = (each for sentence in self.sentences for each in stems_of(sentence))
        return Counter(each for each in stems if each not in COMMON_STEMS)

    @cached_property
    def squares(self) -> int:
        return sum(count**2 for count in self.vector.values())

    @cached_property
    def technicality(self) -> float:
        words = sum(len(sentence.split()) for sentence in self.sentences)
        code = sum(
            _TECHNICAL.search(word.rstrip(".,;:")) is not None
            for sentence in self.sentences
            if _TECHNICAL.search(sentence)
            for word in sentence.split()
        )
        shown = sum(block.kind not in PROSE for block in self.blocks)
        return min(1.0, 2 * code / max(words, 1) + 0.3 * shown)


# Articles of one brand quote the same passages many times.
_told_by = lru_cache(_UNITS)(_UnitFeatures)


def units_of(sources: Sequence[ArticleSource], topic: Topic, *, language: str, today: date) -> list[Unit]:
    """Returns the units in the order of the sources and of their texts."""
    units: list[Unit] = []
    for source in sources:
        for index, passage in enumerate(source.passages):
            if (
                passage.flags
                or is_news(source.title)
                or is_news(passage.heading)
                or _is_label(source, passage)
            ):
                continue
            reader = _Passage(source, index, passage, topic, language, today)
            if entry := reader.name() or reader.entry():
                units.append(entry)
            elif _is_entry_of(topic, source, passage) or not is_entry(passage.heading):
                units += reader.units()
    return units


def _is_entry_of(topic: Topic, source: ArticleSource, passage: SourcePassage) -> bool:
    """Whether it is a glossary's entry on the keyword; elsewhere such a heading may name an attribute."""
    return is_glossary(source.title) and topic.is_term(passage.heading)


def _is_label(source: ArticleSource, passage: SourcePassage) -> bool:
    """Whether a heading in capitals stands out among others, as the name of a setting or clause does.

    In a manual page all headings are in capitals and head its sections.
    """
    if passage.heading is None or not is_shouted(passage.heading) or is_of_a_manual(source.title):
        return False
    return any(
        other.heading and not other.heading.isupper() and not is_entry(other.heading)
        for other in source.passages
    )


@dataclass(frozen=True, slots=True)
class _UnitShape:
    """The number of blocks in a unit, their order, the quoted part, and whether it extends to their end."""

    size: int
    standing: SentenceContext = SentenceContext.UNUSABLE
    quoted: tuple[PassageBlock, ...] = ()
    is_closed: bool = False


class _Passage:
    """Cuts one passage into units."""

    def __init__(
        self,
        source: ArticleSource,
        index: int,
        passage: SourcePassage,
        topic: Topic,
        language: str,
        today: date,
    ) -> None:
        self._source = source
        self._index = index
        self._passage = passage
        self._blocks = blocks_of(passage.text)
        self._topic = topic
        named = " ".join(filter(None, (source.title, passage.heading, topic.keyword)))
        self._known = frozenset(stems_of(named)) - COMMON_STEMS
        self._language = language
        self._today = today

    def units(self) -> Iterator[Unit]:
        open_unit: list[PassageBlock] = []
        is_closed = found = False
        at = 0
        while at < len(self._blocks):
            step = self._step(self._blocks, at)
            goes_on = step.standing is SentenceContext.DEPENDENT and open_unit and is_closed
            if goes_on and sum(block.words for block in (*open_unit, *step.quoted)) <= MAX_UNIT_WORDS:
                open_unit += step.quoted
            else:
                if open_unit:
                    yield self._unit(at, open_unit, begins=not found)
                    found = True
                open_unit = list(step.quoted) if step.standing is SentenceContext.INDEPENDENT else []
            is_closed = step.is_closed
            at += step.size
        if open_unit:
            yield self._unit(at, open_unit, begins=not found)

    def name(self) -> Unit | None:
        """Returns the unit of a manual page's "NAME": "git-bisect - Use binary search to find …", with the name before it."""
        line = _NAME_LINE.fullmatch(self._blocks[0].text if self._blocks else "")
        if line is None or not self._topic.is_name(line[1].replace("-", " ")):
            return None
        told = PassageBlock(PassageBlockKind.PARAGRAPH, (line[2],))
        if told.words < MIN_NAME_WORDS or points_away(told.text) or not self._is_sound(told):
            return None
        return Unit(self._source, None, (self._index, 0), self._passage.score, (told,), line[1], is_name=True)

    def entry(self) -> Unit | None:
        """Returns the glossary's entry on the keyword: "An object that …", with the keyword before it."""
        first = self._blocks[0] if self._blocks else None
        if first is None or first.kind is not PassageBlockKind.PARAGRAPH or not self._explains(first.text):
            return None
        told = PassageBlock(PassageBlockKind.PARAGRAPH, (quotable_beginning(first.text),))
        if told.words < MIN_ENTRY_WORDS or not is_whole(told.text) or not self._is_sound(told):
            return None
        term = capitalised(self._topic.word, code=False)
        return Unit(self._source, None, (self._index, 0), self._passage.score, (told,), term)

    def _explains(self, text: str) -> bool:
        if _is_entry_of(self._topic, self._source, self._passage):
            first = split(text)[0]
            return (
                _EXPLAINS.match(first) is not None and is_phrase(first) and not self._topic.is_circular(first)
            )
        return self._begins_page() and _ON_ITSELF.match(text) is not None

    def _begins_page(self) -> bool:
        title = self._source.title
        begins = self._index == 0 and not is_descriptive(tidy(self._passage.heading or ""))
        return begins and not title.islower() and self._topic.named_by(title) >= OWN_PAGE

    def _begins_section(self) -> bool:
        heading = self._passage.heading
        before = self._source.passages[self._index - 1].heading if self._index else None
        return heading != before and self._topic.named_by(heading) >= OWN_SECTION

    def _unit(self, end: int, blocks: Sequence[PassageBlock], *, begins: bool) -> Unit:
        return Unit(
            self._source,
            self._passage.heading,
            (self._index, end),
            self._passage.score,
            tuple(blocks),
            begins=begins and (self._begins_page() or self._begins_section()),
            in_glossary=begins and _is_entry_of(self._topic, self._source, self._passage),
        )

    def _step(self, blocks: Sequence[PassageBlock], at: int) -> "_UnitShape":
        block = blocks[at]
        if block.kind is not PassageBlockKind.PARAGRAPH:
            alone = block.kind in PROSE and all(
                rate_context(line) is SentenceContext.INDEPENDENT for line in block.lines
            )
            usable = alone and self._is_sound(block)
            return (
                _UnitShape(1, SentenceContext.INDEPENDENT, (block,), is_closed=True)
                if usable
                else _UnitShape(1)
            )
        follower = blocks[at + 1] if at + 1 < len(blocks) else None
        leads = (
            block.text.endswith(":")
            and follower is not None
            and follower.kind is not PassageBlockKind.PARAGRAPH
        )
        found = quotable(block.text, leads=leads, known=self._known)
        if found.leads and follower is not None and not self._is_sound(follower):
            # The introducing sentence belongs to it.
            found = quotable(block.text, leads=False, known=self._known)
        quoted: tuple[PassageBlock, ...] = (PassageBlock(PassageBlockKind.PARAGRAPH, (found.text,)),)
        if found.standing is SentenceContext.UNUSABLE or not self._is_sound(quoted[0]):
            return _UnitShape(1 + leads)
        if found.leads and follower is not None:
            quoted = (*quoted, follower)
        return _UnitShape(1 + leads, found.standing, quoted, found.is_closed)

    def _is_sound(self, block: PassageBlock) -> bool:
        """Whether an article in this language may quote it today."""
        if block.kind is PassageBlockKind.LISTING:
            return True
        if block.kind is PassageBlockKind.TABLE:
            return all(len(cell) <= MAX_CELL for line in block.lines for cell in line.split("\t"))
        if block.kind is not PassageBlockKind.PARAGRAPH and any(
            len(line.split()) > MAX_ITEM_WORDS or points_away(line) for line in block.lines
        ):
            return False
        return not is_foreign(block.text, self._language) and not any(
            is_outdated(sentence, self._source.published_on, self._today)
            for line in block.lines
            for sentence in split(line)
        )


def heading_of(unit: Unit) -> str:
    return tidy(unit.heading or unit.source.title)
