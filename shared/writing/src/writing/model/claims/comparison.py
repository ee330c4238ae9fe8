"""Sets a sentence beside the passages that it cites: which of their sentences come nearest to it. Pure.

The work is bounded: a sentence of at most 60 words against four sentences of at most 600 characters each.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from writing.model.claims.pieces import SentencePiece, meaningful_keys, pieces_of
from writing.model.claims.wording import PRONOUNS, Token, WordKind, normal, sentences_of, tokens_of

MOST_SENTENCES: Final = 4
"""The most sentences of the passages that may support one sentence."""
_CONNECTS: Final = frozenset({"hence", "thus", "therefore", "so", "also", "furthermore", "moreover"})
_RETRACTIONS: Final = frozenset(
    {"false", "wrong", "untrue", "incorrect", "myth", "mistaken", "misconception"}
)
"""Words of a sentence that retract the one before it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One passage with its heading. `id` is what the model cites."""

    id: str
    heading: str | None
    text: str

    def sentences(self) -> list[str]:
        """Returns the asserted sentences: no questions, and not those that the next one retracts."""
        found = [each for each in dict.fromkeys(sentences_of(self.text)) if each[-1:] != "?"]
        return [
            each
            for at, each in enumerate(found)
            if (at + 1 == len(found) or not _retracts(tokens_of(found[at + 1])))
            and not (at and "believe the following" in found[at - 1])
        ]


def _retracts(tokens: Sequence[Token]) -> bool:
    return continues_subject(tokens) and any(each.text.casefold() in _RETRACTIONS for each in tokens)


def continues_subject(tokens: Sequence[Token]) -> bool:
    """Whether a sentence continues with the subject of the one before it, by a pronoun."""
    words = (each.text.casefold() for each in tokens if each.kind is not WordKind.BREAK)
    return next((word for word in words if word not in _CONNECTS), "") in PRONOUNS


@dataclass(frozen=True)
class Statement:
    """A sentence of a passage, with what may name its subject."""

    passage: str
    sentence: SentencePiece
    heading: tuple[Token, ...]
    previous: tuple[Token, ...]
    """The sentence before it."""
    text: str
    before: frozenset[str]
    """Keys of the heading and of the sentence before it."""
    topic: frozenset[str]
    """Keys of the heading and of the passage's first sentence."""

    @cached_property
    def pieces(self) -> tuple[SentencePiece, ...]:
        return pieces_of(self.sentence.tokens)


class Comparison:
    """A sentence, and the sentences of its passages that together contain most of its words."""

    def __init__(self, tokens: Sequence[Token], cited: Sequence[Evidence]) -> None:
        self.claim = SentencePiece(tuple(tokens))
        self.pieces = pieces_of(self.claim.tokens)
        self.stated = [each for one in cited for each in _statements(one)]
        self.known = frozenset(key for each in self.stated for key in each.sentence.keys | each.before)
        self.support = _nearest(self.claim, self.stated)
        self.said = SentencePiece(tuple(token for each in self.support for token in each.sentence.tokens))
        self.claim_keys = frozenset(token.key for token in tokens)
        self.said_pieces = [piece for each in self.support for piece in each.pieces]
        self.said_keys = frozenset(token.key for token in self.said.tokens)

    @cached_property
    def topic(self) -> frozenset[str]:
        """Keys of the headings."""
        return frozenset(key for each in self.support for key in meaningful_keys(each.heading))

    @cached_property
    def drawn(self) -> tuple[tuple[SentencePiece, tuple[SentencePiece, ...]], ...]:
        """Each piece of the sentence with those of the passages that have the most of its words.

        Words of headings count only if there are no others; of pieces with as many words, the shortest is nearest.
        """
        found: list[tuple[SentencePiece, tuple[SentencePiece, ...]]] = []
        for own in self.pieces:
            shared = [
                (_shared(each, own.keys - self.topic), _shared(each, own.keys)) for each in self.said_pieces
            ]
            most = max(shared, default=None)
            near = (
                each
                for each, count in zip(self.said_pieces, shared, strict=True)
                if count == most and count[len(self.pieces) == 1][0]
            )
            found.append((own, tuple(near)))
        return tuple(found)

    def is_drawn_on(self, piece: SentencePiece) -> bool:
        return any(piece is each for _, near in self.drawn for each in near)

    def nearest_text(self) -> str:
        return " … ".join(each.text for each in self.support)

    @property
    def texts(self) -> list[Sequence[Token]]:
        return [each.sentence.tokens for each in self.support]


@lru_cache(256)
def _statements(evidence: Evidence) -> tuple[Statement, ...]:
    """Returns the statements of a passage, which many sentences are held against in turn."""
    heading = tokens_of(normal(evidence.heading or ""))
    named = frozenset(meaningful_keys(heading))
    found: list[Statement] = []
    for text in evidence.sentences():
        clause = SentencePiece(tokens_of(text))
        previous = found[-1].sentence if found else SentencePiece(())
        topic = found[0].topic if found else named | clause.keys
        found.append(
            Statement(
                evidence.id,
                clause,
                heading,
                previous.tokens,
                text,
                previous.keys | named,
                topic,
            )
        )
    return tuple(found)


def _nearest(claim: SentencePiece, stated: Sequence[Statement]) -> list[Statement]:
    """Returns the sentences that together contain most of its words; each adds at least two."""
    left = set(claim.keys)
    chosen: list[Statement] = []
    while len(chosen) < MOST_SENTENCES:
        best = max(stated, key=lambda each: len(left & each.sentence.keys), default=None)
        if best is None or len(left & best.sentence.keys) < (2 if chosen else 1):
            break
        chosen.append(best)
        left -= best.sentence.keys
    return chosen


def _shared(piece: SentencePiece, keys: AbstractSet[str]) -> tuple[int, float]:
    """Returns how many of the words the piece has, and their share in it."""
    count = len(keys & piece.keys)
    return count, count / max(1, len(piece.told))
