"""Measures how well a text answers a keyword, from the positions of its words. Pure.

Positions are word positions from PostgreSQL's full-text parser, so that "the same word" means the same here and in the index.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from reading.ranking.sources import normalise_keyword

# Below this share of the keyword's weight a passage has another subject: for "cybersecurity small business",
# a passage about small businesses covers less than half, because it lacks the rare word.
MIN_COVERAGE = 0.6
# Words further apart than this are two topics on one page. Measured between the outermost matched words,
# on top of the keyword's own length.
MAX_GAP = 6
# A verb and its object: "encrypt the whole disk" has two words between them.
MAX_OBJECT_GAP = 3

Places = Mapping[str, Sequence[int]]
"""Positions of stemmed words in a text."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A stemmed word of the keyword, its place in the keyword, and how many passages of the corpus use it.

    `equal` and `near` are its stemmed synonyms; see `research.synonyms`.
    """

    lexeme: str
    offset: int
    frequency: int
    equal: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()


@dataclass(frozen=True)
class KeywordQuery:
    keyword: str
    terms: tuple[QueryTerm, ...]
    corpus_passages: int

    # Cached: ranking reads these several times per passage.
    @cached_property
    def normalised(self) -> str:
        return normalise_keyword(self.keyword)

    @cached_property
    def lexemes(self) -> frozenset[str]:
        return frozenset(term.lexeme for term in self.terms)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The stemmed words to search for: the keyword's own and their synonyms."""
        others = (term.equal | (term.near if len(self.terms) > 1 else frozenset()) for term in self.terms)
        return self.lexemes.union(*others)

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each lexeme; rare words weigh more."""
        weight_of = {
            term.lexeme: math.log(1 + (self.corpus_passages - term.frequency + 0.5) / (term.frequency + 0.5))
            for term in self.terms
        }
        return {lexeme: weight_of[lexeme] for lexeme in self.lexemes}

    @cached_property
    def _total(self) -> float:
        return sum(self.weights.values())

    def share_of(self, found: AbstractSet[str], wanted: AbstractSet[str]) -> float:
        """Share (0..1) of the weight of the wanted lexemes that those found carry."""
        total = sum(self.weights[each] for each in wanted)
        return sum(self.weights[each] for each in found) / total if total else 0.0

    def coverage(self, hits: Places) -> float:
        """Share (0..1) of the keyword's weight that the hit words carry."""
        if not self._total:
            return 0.0
        return sum(weight for lexeme, weight in self.weights.items() if hits.get(lexeme)) / self._total


def with_synonyms(query: KeywordQuery, hits: Places, *, loosely: bool) -> Places:
    translated: dict[str, Sequence[int]] = {}
    for term in query.terms:
        words = {term.lexeme} | term.equal | (term.near if loosely else frozenset())
        if places := sorted({place for word in words for place in hits.get(word, ())}):
            translated[term.lexeme] = places
    return translated


def is_above_floor(query: KeywordQuery, body: Places, *, named: bool) -> bool:
    """Return whether a passage with these words is relevant; `named`: title or heading has all words of the keyword."""
    if len(query.lexemes) == 1:
        (lexeme,) = query.lexemes
        # One use is little; `source_selection` requires more from the document.
        return bool(body.get(lexeme))
    matched = [lexeme for lexeme in query.lexemes if body.get(lexeme)]
    if named:
        # The page says what it is about; its passages need not repeat the whole keyword each time.
        return bool(matched)
    if len(matched) < 2 or query.coverage(body) < MIN_COVERAGE:  # noqa: PLR2004 - "two distinct words" is the rule
        return False
    return _tightest_window(query, body) <= len(matched) + MAX_GAP


def has_wording(query: KeywordQuery, body: Places) -> bool:
    """Return whether two neighbouring words of the keyword occur in a row, or close together as verb and object.

    "To encrypt the whole disk" answers "disk encryption".
    """
    if len(query.lexemes) == 1:
        return True
    return any(count_phrases(pair, body) or _are_close(pair, body) for pair in pairwise(query.terms))


def _are_close(pair: Sequence[QueryTerm], hits: Places) -> bool:
    first, second = (hits.get(term.lexeme, ()) for term in pair)
    gaps = range(-MAX_OBJECT_GAP, MAX_OBJECT_GAP + 1)
    return not {place + gap for place in second for gap in gaps}.isdisjoint(first)


def has_all_words(query: KeywordQuery, hits: Places) -> bool:
    """Return whether a title or heading has every word of the keyword."""
    return all(hits.get(lexeme) for lexeme in query.lexemes)


def saturate(count: int, *, half: float) -> float:
    return count / (count + half)


def count_phrases(terms: Sequence[QueryTerm], hits: Places) -> int:
    """Count the places with all terms at the distances that they have in the keyword."""
    first, *rest = terms
    positions = {term.lexeme: frozenset(hits.get(term.lexeme, ())) for term in rest}
    return sum(
        all(start + term.offset - first.offset in positions[term.lexeme] for term in rest)
        for start in hits.get(first.lexeme, ())
    )


def _tightest_window(query: KeywordQuery, hits: Places) -> int:
    """Return the length in words of the shortest stretch with every matched word."""
    occurrences = sorted(_occurrences(query, hits))
    wanted = len({lexeme for _, lexeme in occurrences})
    latest: dict[str, int] = {}
    tightest = 1 << 20
    for position, lexeme in occurrences:
        latest[lexeme] = position
        if len(latest) == wanted:
            tightest = min(tightest, position - min(latest.values()) + 1)
    return tightest


def _occurrences(query: KeywordQuery, hits: Places) -> Iterator[tuple[int, str]]:
    for lexeme in query.lexemes:
        for position in hits.get(lexeme, ()):
            yield position, lexeme
