"""Selects the units of an article: an opening one, then others by relevance and novelty. Pure."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from operator import mul
from typing import Final

from writing.extractive.blocks import PassageBlockKind
from writing.extractive.sentences import jaccard, shingles, split
from writing.extractive.times import age_weight
from writing.extractive.topic import DEFINES, DOES, Topic
from writing.extractive.units import Key, Unit

TARGET_WORDS = 700
MAX_WORDS = 950
MAX_SOURCE_WORDS = 330
# Sentences that share this part of their three-word runs say the same.
DUPLICATE = 0.5
NOVELTY = 0.35
# Another definition of the keyword that is this close to the first is a repetition in other words.
DEFINED_AGAIN = 0.35
# A unit worth less than this part of the best one would be filler. The bar is lowered step by step while the
# article is short or has too few sources.
WORTH = (0.45, 0.3, 0.2)
WANTED_WORDS = 500
WANTED_SOURCES = 4
REPEAT_DISCOUNT = 0.93
NAMED: Final = 2.4
"""The rating of a manual page's description: above a passing definition of something else, below a full sentence."""
OPENS: Final = 0.7
"""The rating of the first paragraph of the page on the keyword that names it."""

# Instructions in the middle of a procedure.
_ORDER = re.compile(
    r"^(?:do not|don't|never|always|please|just|simply|ignore|use|run|set|add|make|show|print|list|create|remove|delete|open|"
    r"close|start|stop|try|check|choose|click|select|enter|type|press|put|get|give|take|keep|let|turn|move|copy|install|"
    r"configure|enable|disable|specify|allow|force|apply|write|read|return|call|execute|perform|test|tell|change|edit|save|"
    r"load|find|look|update|switch|reset|stash|pass|ensure|avoid|prefer|limit|output|display|skip|treat|instead|place|pour|"
    r"grind|mix|wait|store|clean|rinse|fill|heat)\b(?!,)",
    re.IGNORECASE,
)


def choose_lead(topic: Topic, units: Sequence[Unit]) -> Unit | None:
    """Returns the unit that says what the keyword is, or at least something about it; None if no unit does."""

    def rank(unit: Unit) -> tuple[float, float, int, tuple[int, ...]]:
        return (
            _answers(topic, unit),
            round(topic.named_by(unit.source.title) - unit.technicality, 1),
            -unit.source.n,
            tuple(-each for each in unit.place),
        )

    best = max(units, key=rank)
    return best if _answers(topic, best) > 0 else None


def _answers(topic: Topic, unit: Unit) -> float:
    """Rates a unit as the opening, by its first sentence or one right after it."""
    if unit.term:
        return _told_by_term(topic, unit)
    named = max(topic.named_by(unit.source.title), topic.named_by(unit.heading)) > 0
    first = topic.definition(unit.opening, named=named)
    if unit.in_glossary and first > 0:
        return max(first, NAMED)
    if first >= DOES or (named and first > 0):
        return first
    if _ORDER.match(unit.opening):
        return 0.0
    begin = [split(block.text)[0] for block in unit.blocks if block.kind is PassageBlockKind.PARAGRAPH]
    soon = max(topic.definition(sentence, named=named) for sentence in (*unit.sentences[:3], *begin))
    if soon >= DEFINES:
        return 0.6 * soon
    return OPENS if unit.begins and topic.is_foremost(unit.opening) else 0.0


def _told_by_term(topic: Topic, unit: Unit) -> float:
    if not unit.is_name:
        return 3.0
    # "Manage reflog information" says less of reflogs than of what the command does.
    return OPENS if topic.is_circular(unit.sentences[0]) else NAMED


def choose(topic: Topic, units: Sequence[Unit], lead: Unit, *, today: date) -> list[Unit]:
    """Returns the units of the article, the opening first."""
    worth = _worths(topic, units, today)
    chosen = [lead]
    for bar in WORTH:
        _add_best(topic, chosen, units, worth, bar=bar * max(worth.values()))
        if (
            sum(unit.words for unit in chosen) >= WANTED_WORDS
            and len({u.source.n for u in chosen}) >= WANTED_SOURCES
        ):
            break
    return chosen


def _add_best(
    topic: Topic, chosen: list[Unit], units: Sequence[Unit], worth: Mapping[Key, float], *, bar: float
) -> None:
    """Adds units by greedy maximal marginal relevance, within the limits of words in total and per source."""
    taken = {unit.key for unit in chosen}
    # For each remaining unit, its closeness to the nearest chosen one.
    rest = {
        unit: max(_closeness(unit, other) for other in chosen)
        for unit in units
        if unit.key not in taken and worth[unit.key] >= bar
    }
    seen = [shingles(sentence) for unit in chosen for sentence in unit.sentences]
    said: set[tuple[str, ...]] = set().union(*seen)
    while rest and sum(unit.words for unit in chosen) < TARGET_WORDS:
        of_source = Counter(unit.source.n for unit in chosen)
        unit = min(
            rest,
            key=lambda each: (
                -_gain(worth[each.key], nearest=rest[each], from_same=of_source[each.source.n]),
                each.key,
            ),
        )
        nearest = rest.pop(unit)
        again = topic.definition(unit.opening) >= DEFINES and nearest >= DEFINED_AGAIN
        if again or _repeats(unit, seen, said) or not _fits(unit, chosen):
            continue
        chosen.append(unit)
        seen += [shingles(sentence) for sentence in unit.sentences]
        said.update(*map(shingles, unit.sentences))
        rest = {each: max(close, _closeness(each, unit)) for each, close in rest.items()}


def _fits(unit: Unit, chosen: Sequence[Unit]) -> bool:
    of_source = sum(each.words for each in chosen if each.source.n == unit.source.n)
    total = sum(each.words for each in chosen)
    return total + unit.words <= MAX_WORDS and of_source + unit.words <= MAX_SOURCE_WORDS


def _worths(topic: Topic, units: Sequence[Unit], today: date) -> dict[Key, float]:
    """Rates units: the search's score, the keyword in their sentences, closeness to the common content, age."""
    top = max(unit.score for unit in units) or 1.0
    centre: Counter[str] = Counter()
    for unit in units:
        centre.update(set(unit.vector))
    squares = sum(count**2 for count in centre.values())
    return {
        unit.key: _aboutness(topic, unit)
        * (1 - 0.3 * unit.technicality)
        * age_weight(unit.source.published_on, today)
        * (
            0.35
            + 0.25 * unit.score / top
            + 0.15 * _cosine(unit.vector, unit.squares, centre, squares)
            + 0.25 / unit.source.n
        )
        for unit in units
    }


def _aboutness(topic: Topic, unit: Unit) -> float:
    """Returns how much a unit is about the keyword (0..1): the full phrase counts more than single words."""
    dense = sum(map(topic.share, unit.sentences)) / len(unit.sentences)
    phrase = any(map(topic.has_phrase, unit.sentences))
    named = max(topic.named_by(unit.source.title), topic.named_by(unit.heading))
    return 0.25 * dense + 0.25 * phrase + 0.2 * topic.has_phrase(unit.opening) + 0.3 * named


def _gain(worth: float, *, nearest: float, from_same: int) -> float:
    return (worth - NOVELTY * nearest * worth) * REPEAT_DISCOUNT**from_same


def _repeats(
    unit: Unit, seen: Sequence[frozenset[tuple[str, ...]]], said: AbstractSet[tuple[str, ...]]
) -> bool:
    """Whether a sentence of the unit nearly repeats a chosen one; `said` holds the runs of all chosen ones."""
    # Most share nothing with any, which one set tells faster than pairs.
    known = (own for own in map(shingles, unit.sentences) if not said.isdisjoint(own))
    return any(jaccard(own, other) >= DUPLICATE for own in known for other in seen)


def _closeness(one: Unit, other: Unit) -> float:
    return _cosine(one.vector, one.squares, other.vector, other.squares)


def _cosine(one: Counter[str], squares: int, other: Counter[str], other_squares: int) -> float:
    both = one.keys() & other.keys()
    dot = sum(map(mul, map(one.__getitem__, both), map(other.__getitem__, both)))
    norm = math.sqrt(squares * other_squares)
    return dot / norm if norm else 0.0
