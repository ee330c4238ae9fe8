"""How well a text answers a keyword, told from the places of its words. Pure.

Positions are word positions counted by PostgreSQL's full-text parser, so that "the same word" means the same here and in the
index.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from research.domain import normalise_keyword

# Below this share of the keyword's weight a passage is about something else: with "cybersecurity small business",
# a passage about small businesses covers less than half, because the rare word is the one that is missing.
MIN_COVERAGE = 0.6
# Words further apart than this are two topics on one page. Measured between the outermost matched words,
# on top of the keyword's own length.
MAX_GAP = 6
# A verb and its object: "encrypt the whole disk" has two words between them.
MAX_OBJECT_GAP = 3

Places = Mapping[str, Sequence[int]]
"""Of stemmed words in a text."""


@dataclass(frozen=True, slots=True)
class Term:
    """A stemmed word of the keyword, its place in the keyword, and how many passages of the corpus use it.

    `equal` and `near` are other stemmed words for it, as of `research.synonyms`.
    """

    lexeme: str
    offset: int
    frequency: int
    equal: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Query:
    keyword: str
    terms: tuple[Term, ...]
    corpus_passages: int

    # Asked for each passage, and several times: they are made once.
    @cached_property
    def normalised(self) -> str:
        return normalise_keyword(self.keyword)

    @cached_property
    def lexemes(self) -> frozenset[str]:
        return frozenset(term.lexeme for term in self.terms)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """All stemmed words by which passages are found: those of the keyword, and others for them."""
        others = (term.equal | (term.near if len(self.terms) > 1 else frozenset()) for term in self.terms)
        return self.lexemes.union(*others)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Of each lexeme: rare words weigh more."""
        weight_of = {
            term.lexeme: math.log(1 + (self.corpus_passages - term.frequency + 0.5) / (term.frequency + 0.5))
            for term in self.terms
        }
        return {lexeme: weight_of[lexeme] for lexeme in self.lexemes}

    @cached_property
    def _total(self) -> float:
        return sum(self.weights.values())

    def coverage(self, hits: Places) -> float:
        """Share (0..1) of the keyword's weight that the hit words carry."""
        if not self._total:
            return 0.0
        return sum(weight for lexeme, weight in self.weights.items() if hits.get(lexeme)) / self._total


def translated(query: Query, hits: Places, *, loosely: bool) -> Places:
    translated: dict[str, Sequence[int]] = {}
    for term in query.terms:
        words = {term.lexeme} | term.equal | (term.near if loosely else frozenset())
        if places := sorted({place for word in words for place in hits.get(word, ())}):
            translated[term.lexeme] = places
    return translated


def is_above_floor(query: Query, body: Places, *, named: bool) -> bool:
    """Whether a passage with these words says enough; `named`: its title or heading carries the keyword."""
    if len(query.lexemes) == 1:
        (lexeme,) = query.lexemes
        # One use is little; the document is asked for more of them.
        return bool(body.get(lexeme))
    matched = [lexeme for lexeme in query.lexemes if body.get(lexeme)]
    if named:
        # The page says what it is about; its passages need not repeat the whole keyword each time.
        return bool(matched)
    if len(matched) < 2 or query.coverage(body) < MIN_COVERAGE:  # noqa: PLR2004 - "two distinct words" is the rule
        return False
    return _tightest_window(query, body) <= len(matched) + MAX_GAP


def is_worded(query: Query, body: Places) -> bool:
    """True when the keyword's wording itself occurs: at least two of its words in a row, or as verb and object.

    Who looks for "disk encryption" is answered by "to encrypt the whole disk".
    """
    if len(query.lexemes) == 1:
        return True
    return any(runs(pair, body) or _are_close(pair, body) for pair in pairwise(query.terms))


def _are_close(pair: Sequence[Term], hits: Places) -> bool:
    first, second = (hits.get(term.lexeme, ()) for term in pair)
    gaps = range(-MAX_OBJECT_GAP, MAX_OBJECT_GAP + 1)
    return not {place + gap for place in second for gap in gaps}.isdisjoint(first)


def names(query: Query, hits: Places) -> bool:
    """True when a title or heading carries every word of the keyword."""
    return all(hits.get(lexeme) for lexeme in query.lexemes)


def saturated(count: int, *, half: float) -> float:
    return count / (count + half)


def runs(terms: Sequence[Term], hits: Places) -> int:
    """How often the terms stand there at the distances they have in the keyword (inflections, hyphens aside)."""
    first, *rest = terms
    positions = {term.lexeme: frozenset(hits.get(term.lexeme, ())) for term in rest}
    return sum(
        all(start + term.offset - first.offset in positions[term.lexeme] for term in rest)
        for start in hits.get(first.lexeme, ())
    )


def _tightest_window(query: Query, hits: Places) -> int:
    """Words from the first to the last of the closest group that has each matched word once."""
    occurrences = sorted(_occurrences(query, hits))
    wanted = len({lexeme for _, lexeme in occurrences})
    latest: dict[str, int] = {}
    tightest = 1 << 20
    for position, lexeme in occurrences:
        latest[lexeme] = position
        if len(latest) == wanted:
            tightest = min(tightest, position - min(latest.values()) + 1)
    return tightest


def _occurrences(query: Query, hits: Places) -> Iterator[tuple[int, str]]:
    for lexeme in query.lexemes:
        for position in hits.get(lexeme, ()):
            yield position, lexeme
