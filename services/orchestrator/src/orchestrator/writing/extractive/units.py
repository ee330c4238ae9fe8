"""What an article is put together from: a paragraph, or one with what it leads up to or what takes it up. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final, TypeAlias

from orchestrator.writing.article import Passage, Source
from orchestrator.writing.extractive.blocks import PROSE, Block, Kind, blocks_of
from orchestrator.writing.extractive.headings import capitalised, is_entry, is_news, tells, tidy
from orchestrator.writing.extractive.languages import is_foreign
from orchestrator.writing.extractive.paragraphs import is_whole, standing, without_pointer
from orchestrator.writing.extractive.sentences import Standing, judge, points_away, split, stems_of
from orchestrator.writing.extractive.times import is_outdated
from orchestrator.writing.extractive.topic import COMMON_STEMS, Topic

MAX_UNIT_WORDS: Final = 240
MAX_ITEM_WORDS: Final = 80
MAX_CELL: Final = 160
MIN_ENTRY_WORDS: Final = 6
# `named_by` of the title of a page about the keyword and little else.
OWN_PAGE: Final = 0.7
_EXPLAINS = re.compile(
    r"(?:An?|To|Any)\s|The (?:\w+ )?(?:process|act|art|practice|ability|mechanism|technique|method|part|set|"
    r"collection|class|state|component|task|way|use|journal|group|number|area|place|kind|type|period|point|result|amount|science|study|property|action|series) (?:of|that|which|in|to|by|for)\b"
)
# What the page is about, where a page on the keyword begins.
_ON_ITSELF = re.compile(
    r"This (?:command|module|program|tool|utility|package|function|library|extension|service|daemon|plugin)\b"
)

Key: TypeAlias = tuple[int, tuple[int, int]]
"""Source and place of a unit."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Consecutive blocks of one source, understood without the rest of it. `place` orders units within their source."""

    source: Source
    heading: str | None
    place: tuple[int, int]
    score: float
    blocks: tuple[Block, ...]
    term: str | None = None
    """What its text explains without naming it, as a glossary does: shown before it."""

    @property
    def key(self) -> Key:
        return self.source.n, self.place

    @cached_property
    def words(self) -> int:
        return sum(block.words for block in self.blocks)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All of its prose, items of lists sentence by sentence as well."""
        return tuple(
            sentence
            for block in self.blocks
            if block.kind in PROSE
            for line in block.lines
            for sentence in split(line)
        )

    @property
    def opening(self) -> str:
        return f"{self.term} is {self.sentences[0]}" if self.term else self.sentences[0]

    @cached_property
    def alone(self) -> tuple[str, ...]:
        """Its sentences that are understood without the others."""
        if self.term:
            return (f"{self.term}: {self.sentences[0]}",)
        paragraphs = (block.lines[0] for block in self.blocks if block.kind is Kind.PARAGRAPH)
        return tuple(
            sentence
            for paragraph in paragraphs
            for sentence in split(paragraph)
            if judge(sentence) is Standing.INDEPENDENT
        )

    @cached_property
    def vector(self) -> Counter[str]:
        stems = (each for sentence in self.sentences for each in stems_of(sentence))
        return Counter(each for each in stems if each not in COMMON_STEMS)

    @cached_property
    def squares(self) -> int:
        """The squared length of `vector`."""
        return sum(count**2 for count in self.vector.values())


def units_of(sources: Sequence[Source], topic: Topic, *, language: str, today: date) -> list[Unit]:
    """In the order of the sources and of their texts."""
    units: list[Unit] = []
    for source in sources:
        for index, passage in enumerate(source.passages):
            if passage.flags or is_news(source.title) or is_news(passage.heading):
                continue
            reader = _Passage(source, index, passage, topic, language, today)
            if entry := reader.entry():
                units.append(entry)
            elif topic.is_term(passage.heading) or not is_entry(passage.heading):
                units += reader.units()
    return units


class _Passage:
    """One pass over a passage's blocks."""

    def __init__(
        self, source: Source, index: int, passage: Passage, topic: Topic, language: str, today: date
    ) -> None:
        self._source = source
        self._index = index
        self._passage = passage
        self._topic = topic
        named = " ".join(filter(None, (source.title, passage.heading, topic.keyword)))
        self._known = frozenset(stems_of(named)) - COMMON_STEMS
        self._language = language
        self._today = today

    def units(self) -> Iterator[Unit]:
        open_unit: list[Block] = []
        at = 0
        blocks = list(blocks_of(self._passage.text))
        while at < len(blocks):
            step, found = self._next(blocks, at)
            words = sum(block.words for block in found[1])
            if found[0] is Standing.DEPENDENT and open_unit:
                if sum(block.words for block in open_unit) + words <= MAX_UNIT_WORDS:
                    open_unit += found[1]
                    at += step
                    continue
                found = (Standing.UNUSABLE, ())
            if open_unit:
                yield self._unit(at, open_unit)
            open_unit = list(found[1]) if found[0] is Standing.INDEPENDENT else []
            at += step
        if open_unit:
            yield self._unit(at, open_unit)

    def entry(self) -> Unit | None:
        """The keyword's entry in a glossary: "An object that …", with the keyword before it."""
        first = next(blocks_of(self._passage.text), None)
        if first is None or first.kind is not Kind.PARAGRAPH or not self._explains(first.text):
            return None
        told = Block(Kind.PARAGRAPH, (without_pointer(first.text),))
        if told.words < MIN_ENTRY_WORDS or not is_whole(told.text) or not self._is_sound(told):
            return None
        term = capitalised(self._topic.word, code=False)
        return Unit(self._source, None, (self._index, 0), self._passage.score, (told,), term)

    def _explains(self, text: str) -> bool:
        if self._topic.is_term(self._passage.heading):
            return _EXPLAINS.match(text) is not None
        begins = self._index == 0 and not tells(tidy(self._passage.heading or ""))
        return (
            begins and self._topic.named_by(self._source.title) >= OWN_PAGE and bool(_ON_ITSELF.match(text))
        )

    def _unit(self, end: int, blocks: Sequence[Block]) -> Unit:
        return Unit(
            self._source, self._passage.heading, (self._index, end), self._passage.score, tuple(blocks)
        )

    def _next(self, blocks: Sequence[Block], at: int) -> tuple[int, tuple[Standing, tuple[Block, ...]]]:
        """How many blocks belong together from `at` on, how they stand, and what of them is quoted."""
        block = blocks[at]
        if block.kind is not Kind.PARAGRAPH:
            alone = block.kind in PROSE and all(judge(line) is Standing.INDEPENDENT for line in block.lines)
            usable = alone and self._is_sound(block)
            return 1, (Standing.INDEPENDENT if usable else Standing.UNUSABLE, (block,))
        follower = blocks[at + 1] if at + 1 < len(blocks) else None
        leads = block.text.endswith(":") and follower is not None and follower.kind is not Kind.PARAGRAPH
        found, text = standing(block.text, leads=leads, known=self._known)
        quoted = [Block(Kind.PARAGRAPH, (text,))]
        if leads and follower is not None:
            quoted.append(follower)
        if not all(map(self._is_sound, quoted)):
            found = Standing.UNUSABLE
        return 1 + leads, (found, tuple(quoted))

    def _is_sound(self, block: Block) -> bool:
        """Whether it may be quoted by an article in this language, today."""
        if block.kind is Kind.LISTING:
            return True
        if block.kind is Kind.TABLE:
            return all(len(cell) <= MAX_CELL for line in block.lines for cell in line.split("\t"))
        if block.kind is not Kind.PARAGRAPH and any(
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
