"""Compares a sentence with the pieces of the passages that it draws on: what it leaves out of them, what it puts in. Pure.

A sentence in the words of its passages has nothing of its own to stand for what it leaves out. So it must have the whole of each
piece that it draws on: a condition, a hedge, an attribution or a restriction can then not go, in whatever words it stands.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile, islice, takewhile
from typing import Final

from writing.model.claims.clauses import SAYING, meaningful_keys, plain_word
from writing.model.claims.comparison import Comparison
from writing.model.claims.numbers import is_number
from writing.model.claims.wording import PREPOSITIONS, Token, WordKind

LONGEST_NAME: Final = 3
"""The most words in a row that only name what another piece is about."""
A_WORD: Final = 2
"""The words of a piece that one word of the sentence's own may stand for."""
_JOINS: Final = frozenset("and but yet nor while whereas which who whose because so although though".split())  # noqa: SIM905
_LIMITS: Final = frozenset("if unless except provided when where whenever once until before after as according or".split())  # noqa: SIM905
_BEGINS: Final = _JOINS | _LIMITS - {"as", "before", "after", "according", "or"}
_HELD: Final = _LIMITS | PREPOSITIONS | {"who", "which"}


@dataclass(frozen=True)
class Piece:
    """Words between two marks or joining words."""

    tokens: tuple[Token, ...]
    ends_at_mark: bool
    """Whether it ends a statement: “;”, “:”, “.”."""
    after_mark: bool
    """Whether a mark stands before it."""

    @cached_property
    def told(self) -> tuple[Token, ...]:
        return tuple(
            each
            for at, each in enumerate(self.tokens)
            if plain_word(each) not in _BEGINS | PREPOSITIONS | {"otherwise"}
            and (
                each.kind is WordKind.CONTENT
                or each.kind is WordKind.STRICT
                or (each.kind is WordKind.NUMBER and is_number(self.tokens, at))
            )
        )

    @property
    def is_held(self) -> bool:
        """Whether it limits the piece beside it."""
        word = plain_word(self.tokens[0])
        return word in _HELD and not (word in _JOINS and self.after_mark)


def pieces_of(tokens: Sequence[Token]) -> list[Piece]:
    found: list[Piece] = []
    part: list[Token] = []
    mark = True
    for at, token in enumerate(tokens):
        is_mark = token.kind is WordKind.BREAK and not token.text.isalpha() and not _is_in_time(tokens, at)
        if part and (is_mark or plain_word(token) in _BEGINS):
            found.append(Piece(tuple(part), token.text in {";", ":", ".", "!"}, mark))
            part, mark = [], is_mark
        mark = mark or is_mark
        if not is_mark:
            part.append(token)
    return [*found, Piece(tuple(part), True, mark)] if part else found


def _is_in_time(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is a mark of “2:07:41”."""
    return 0 < at < len(tokens) - 1 and all(
        tokens[beside].kind is WordKind.NUMBER for beside in (at - 1, at + 1)
    )


def own_words(these: Comparison) -> list[Token]:
    """Returns the words that neither the nearest sentences have nor what names their subject."""
    there = {token.key for each in these.support for token in each.sentence.tokens}
    there |= {key for each in these.support for key in each.before | each.topic}
    return [
        token for piece in pieces_of(these.claim.tokens) for token in piece.told if token.key not in there
    ]


def own_word(these: Comparison) -> Iterator[str]:
    """The only word of its own in a sentence that has the order of its passage: one that is added or exchanged."""
    own = own_words(these)
    if len(own) != 1 or not _keeps_order(these, own[0]):
        return
    left = _left(these)
    if len(left) < A_WORD:
        yield f"its passages do not say “{own[0].text}”, but “{' '.join(left)}”"


def _keeps_order(these: Comparison, own: Token) -> bool:
    """Whether a sentence of the passages has all its other words, in this order."""
    ours = [each.key for piece in pieces_of(these.claim.tokens) for each in piece.told if each != own]
    for text in these.texts:
        rest = iter([each.key for each in text])
        if all(key in rest for key in ours):
            return True
    return False


def _left(these: Comparison) -> list[str]:
    keys = {token.key for token in these.claim.tokens}
    return [text for each in these.support for text in _left_out(pieces_of(each.sentence.tokens), keys, these)]


def left_out_words(these: Comparison) -> Iterator[str]:
    """Words of the pieces drawn on, for which the sentence has none of its own."""
    left = _left(these)
    if len(left) > A_WORD * len(own_words(these)):
        yield f"its passage says “{left[0]}” there, which must not be left out"


def _left_out(pieces: Sequence[Piece], keys: set[str], these: Comparison) -> Iterator[str]:
    main = [each for each in pieces if _is_main(each, these)]
    for at, piece in enumerate(pieces):
        lacks = [each.text for each in piece.told if each.key not in keys and not _describes(piece, each, keys)]
        if not lacks:
            continue
        has = [place for place, each in enumerate(piece.told) if each.key in keys and each.kind in SAYING]
        or_else = [each for each in pieces[at + 1 : at + 2] if plain_word(each.tokens[0]) == "or"]
        if piece in main or (has and not _only_names(has)) or any(each in main for each in or_else):
            yield from lacks
        elif not has and piece.is_held:
            if any(each in main for each in _beside(pieces, at)):
                yield " ".join(each.text for each in piece.tokens)


def _describes(piece: Piece, token: Token, keys: set[str]) -> bool:
    """Whether it only describes a name right behind it that the sentence has: “the bakery chain Dorsten”."""
    behind = takewhile(lambda each: each.kind is WordKind.CONTENT, piece.tokens[piece.tokens.index(token) :])
    described = dropwhile(lambda each: each.key not in keys, behind)
    return token.kind is WordKind.CONTENT and any(each.text[0].isupper() for each in islice(described, 1))


def _beside(pieces: Sequence[Piece], at: int) -> Sequence[Piece]:
    """Returns the piece before this one; if it begins a statement, the rest of that."""
    if at and not pieces[at - 1].ends_at_mark:
        return pieces[at - 1 : at]
    end = next((place for place in range(at, len(pieces)) if pieces[place].ends_at_mark), len(pieces))
    return pieces[at + 1 : end + 1]


def _only_names(places: Sequence[int]) -> bool:
    return len(places) <= LONGEST_NAME


def _is_main(piece: Piece, these: Comparison) -> bool:
    """Whether a piece of the sentence has more in common with it than with any other piece."""
    return any(piece in each for each in _mains(these))


def _mains(these: Comparison) -> list[list[Piece]]:
    topic = {key for each in these.support for key in meaningful_keys(each.heading)}
    others = [each for said in these.support for each in pieces_of(said.sentence.tokens)]
    found = []
    for own in pieces_of(these.claim.tokens):
        keys = {each.key for each in own.told if each.kind in SAYING}
        shared = [(_shared(other, keys - topic), _shared(other, keys)) for other in others]
        most = max(shared, default=((0, 0.0),) * 2)
        found.append([other for other, count in zip(others, shared, strict=True) if count == most and most[0][0]])
    return found


def _shared(piece: Piece, keys: Set[str]) -> tuple[int, float]:
    """Returns how many of the words the piece has, and their share in it."""
    count = len(keys & {each.key for each in piece.told})
    return count, count / max(1, len(piece.told))
