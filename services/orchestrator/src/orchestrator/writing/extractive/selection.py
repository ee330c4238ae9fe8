"""Which sentences go into an article: runs that can stand together, chosen by relevance and novelty. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from orchestrator.writing.article import Source
from orchestrator.writing.extractive.sentences import (
    Sentence,
    Standing,
    jaccard,
    sentences_of,
    shingles,
    stems_of,
)
from orchestrator.writing.extractive.topic import COMMON_STEMS, Topic, is_label

TARGET_WORDS = 700
MAX_WORDS = 900
MAX_SOURCE_WORDS = 330
UNIT_WORDS = 90
MAX_UNIT_WORDS = 150
# Sentences that share this part of their three-word runs say the same.
DUPLICATE = 0.5
NOVELTY = 0.35
# A unit worth less than this part of the best one would only fill the page. The bar is lowered step by step while the
# article is short or rests on too few sources.
WORTH = (0.45, 0.3, 0.2)
WANTED_WORDS = 500
WANTED_SOURCES = 3
REPEAT_DISCOUNT = 0.93
LABEL_DISCOUNT = 0.75

Key: TypeAlias = tuple[int, tuple[int, int, int]]
"""Source and place of a unit."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Consecutive sentences of one paragraph of one source. `place` orders units within their source."""

    source: Source
    heading: str | None
    place: tuple[int, int, int]
    score: float
    sentences: tuple[Sentence, ...]

    @cached_property
    def words(self) -> int:
        return sum(sentence.words for sentence in self.sentences)

    @cached_property
    def vector(self) -> Counter[str]:
        stems = (each for sentence in self.sentences for each in stems_of(sentence.text))
        return Counter(each for each in stems if each not in COMMON_STEMS)

    @cached_property
    def squares(self) -> int:
        """The squared length of `vector`."""
        return _squares(self.vector)


def units_of(sources: Sequence[Source], *, strict: bool) -> list[Unit]:
    return [unit for source in sources for unit in _units_of_source(source, strict=strict)]


def _units_of_source(source: Source, *, strict: bool) -> Iterator[Unit]:
    for index, passage in enumerate(source.passages):
        if passage.flags:
            continue
        entry = is_label(passage.heading)
        for line, paragraph in enumerate(passage.text.replace("\0", "").split("\n\n")):
            sentences = sentences_of(" ".join(paragraph.split()), strict=strict, entry=entry)
            for run, members in enumerate(_runs(sentences)):
                yield Unit(source, passage.heading, (index, line, run), passage.score, members)


def _runs(sentences: Sequence[Sentence]) -> Iterator[tuple[Sentence, ...]]:
    """Cut where a sentence is unusable or the run is long enough; never between a sentence and one that needs it."""
    run: list[Sentence] = []
    for sentence in sentences:
        words = sum(each.words for each in run)
        starts = sentence.standing is Standing.INDEPENDENT
        fits = words + sentence.words <= (UNIT_WORDS if starts else MAX_UNIT_WORDS)
        if sentence.standing is Standing.UNUSABLE or not fits:
            if run:
                yield tuple(run)
            run = [sentence] if starts else []
        elif starts or run:
            run.append(sentence)
    if run:
        yield tuple(run)


def lead_of(topic: Topic, units: Sequence[Unit]) -> Unit:
    """The unit that opens the article, cut so that it begins with what says what the keyword is."""

    def rank(entry: tuple[int, Unit]) -> tuple[float, bool, bool, int, float]:
        at, unit = entry
        opening = unit.sentences[at].text
        # "This is also known as Y" defines Y as well, provided that what it takes up goes along.
        following = 0.5 * max(topic.definition(each.text) for each in unit.sentences[at:])
        return (
            max(topic.definition(opening), following),
            topic.has_phrase(opening),
            not is_label(unit.heading),
            -unit.source.n,
            unit.score,
        )

    at, unit = max(((at, unit) for unit in units for at, _ in openers(unit)), key=rank)
    return replace(unit, sentences=unit.sentences[at:])


def openers(unit: Unit) -> Iterator[tuple[int, Sentence]]:
    for at, sentence in enumerate(unit.sentences):
        if sentence.standing is Standing.INDEPENDENT:
            yield at, sentence


def choose(topic: Topic, units: Sequence[Unit], lead: Unit) -> list[Unit]:
    """The units of the article, the lead first."""
    worth = _worths(topic, units)
    chosen = [lead]
    for bar in WORTH:
        _add_best(chosen, units, worth, bar=bar * max(worth.values()))
        if (
            sum(unit.words for unit in chosen) >= WANTED_WORDS
            and len({u.source.n for u in chosen}) >= WANTED_SOURCES
        ):
            break
    return chosen


def _add_best(chosen: list[Unit], units: Sequence[Unit], worth: Mapping[Key, float], *, bar: float) -> None:
    """Greedy maximal marginal relevance within the budget of words, total and per source."""
    taken = {key_of(unit) for unit in chosen}
    # For each unit that may still be taken, how close the nearest of the chosen ones is.
    rest = {
        unit: max(_closeness(unit, other) for other in chosen)
        for unit in units
        if key_of(unit) not in taken and worth[key_of(unit)] >= bar
    }
    seen = [shingles(sentence.text) for unit in chosen for sentence in unit.sentences]
    while rest and sum(unit.words for unit in chosen) < TARGET_WORDS:
        of_source = Counter(unit.source.n for unit in chosen)
        unit = min(
            rest,
            key=lambda each: (
                -_gain(worth[key_of(each)], nearest=rest[each], from_same=of_source[each.source.n]),
                key_of(each),
            ),
        )
        del rest[unit]
        fresh = _without_repetition(unit, seen)
        if fresh is not None and _fits(fresh, chosen):
            chosen.append(fresh)
            seen += [shingles(sentence.text) for sentence in fresh.sentences]
            rest = {unit: max(nearest, _closeness(unit, fresh)) for unit, nearest in rest.items()}


def _fits(unit: Unit, chosen: Sequence[Unit]) -> bool:
    of_source = sum(each.words for each in chosen if each.source.n == unit.source.n)
    total = sum(each.words for each in chosen)
    return total + unit.words <= MAX_WORDS and of_source + unit.words <= MAX_SOURCE_WORDS


def key_of(unit: Unit) -> Key:
    return unit.source.n, unit.place


def _worths(topic: Topic, units: Sequence[Unit]) -> dict[Key, float]:
    """Relevance of each unit: the search's score, the keyword in its sentences, closeness to what all sources say."""
    top = max(unit.score for unit in units) or 1.0
    centre: Counter[str] = Counter()
    for unit in units:
        centre.update(set(unit.vector))
    squares = _squares(centre)
    return {
        key_of(unit): _aboutness(topic, unit)
        * (
            0.35
            + 0.25 * unit.score / top
            + 0.15 * _cosine(unit.vector, unit.squares, centre, squares)
            + 0.25 / unit.source.n
        )
        for unit in units
    }


def _aboutness(topic: Topic, unit: Unit) -> float:
    """How much of a unit is on the keyword (0..1): its wording counts most, its words sentence by sentence less."""
    sentences = [sentence.text for sentence in unit.sentences]
    dense = sum(topic.share(text) for text in sentences) / len(sentences)
    phrase = any(map(topic.has_phrase, sentences))
    named = max(topic.named_by(unit.source.title), topic.named_by(unit.heading))
    about = 0.3 * dense + 0.35 * phrase + 0.35 * named
    # Descriptions of options read as scraps: their subject stands in the label.
    return about * (LABEL_DISCOUNT if is_label(unit.heading) else 1.0)


def _gain(worth: float, *, nearest: float, from_same: int) -> float:
    return (worth - NOVELTY * nearest * worth) * REPEAT_DISCOUNT**from_same


def _without_repetition(unit: Unit, seen: Sequence[frozenset[tuple[str, ...]]]) -> Unit | None:
    """The unit up to its first sentence that nearly repeats a chosen one; None if nothing is left."""
    kept: list[Sentence] = []
    for sentence in unit.sentences:
        own = shingles(sentence.text)
        if any(
            jaccard(own, other) >= DUPLICATE for other in (*seen, *(shingles(each.text) for each in kept))
        ):
            break
        kept.append(sentence)
    return replace(unit, sentences=tuple(kept)) if kept else None


def _closeness(one: Unit, other: Unit) -> float:
    return _cosine(one.vector, one.squares, other.vector, other.squares)


def _squares(vector: Counter[str]) -> int:
    return sum(count**2 for count in vector.values())


def _cosine(one: Counter[str], squares: int, other: Counter[str], other_squares: int) -> float:
    dot = sum(one[stem] * other[stem] for stem in one.keys() & other.keys())
    norm = math.sqrt(squares * other_squares)
    return dot / norm if norm else 0.0
