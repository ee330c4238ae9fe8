"""Cuts sentences into pieces: the words between two marks or joining words. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from writing.model.claims.vocabulary import rows
from writing.model.claims.wording import PREPOSITIONS, Token, WordKind, content_key

SAYING: Final = frozenset({WordKind.CONTENT, WordKind.NUMBER})
"""The kinds of words that carry meaning of their own."""
CONDITIONS: Final = frozenset({"if", "unless", "except", "provided"})
_ADDS: Final = frozenset(
    "and but yet nor while whereas which who whose because so although though".split()  # noqa: SIM905
)
"""They add a statement, which may be left out."""
_LIMITS: Final = CONDITIONS | {"when", "where", "whenever", "once", "until"}
BEGINS: Final = _ADDS | _LIMITS
FRAME_KEYS: Final = frozenset(content_key(word) for row in rows("frames") for word in row["words"].split())
"""Words that attribute, doubt, deny, limit or announce what stands with them."""
_TELLING: Final = FRAME_KEYS | {
    content_key(word) for word in ("find", "show", "hold", "so", "mean", "provided")
}
"""Behind them, “that” begins no description of a thing."""
_YEAR: Final = re.compile(r"1\d{3}|20\d{2}")
_ENDS: Final = frozenset({";", ":", ".", "!"})


@dataclass(frozen=True)
class SentencePiece:
    tokens: tuple[Token, ...]
    ends_statement: bool = True

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys of the words and numbers that carry meaning."""
        return frozenset(meaningful_keys(self.tokens))

    @cached_property
    def words(self) -> frozenset[str]:
        """All words in lower case; “no”, “cannot” and “n't” become “not”."""
        return frozenset(map(plain_word, self.tokens))

    @cached_property
    def told(self) -> tuple[Token, ...]:
        """The words that a sentence may neither add nor leave out unseen."""
        return tuple(
            each
            for at, each in enumerate(self.tokens)
            if plain_word(each) not in BEGINS | PREPOSITIONS | {"otherwise", "according", "instead"}
            and (each.kind in {WordKind.CONTENT, WordKind.STRICT} or is_number(self.tokens, at))
        )

    @property
    def text(self) -> str:
        return " ".join(token.text for token in self.tokens)

    @property
    def first(self) -> str:
        return plain_word(self.tokens[0])


def meaningful_keys(tokens: Sequence[Token]) -> list[str]:
    return [token.key for token in tokens if token.kind in SAYING]


def plain_word(token: Token) -> str:
    return "not" if token.key == "not" else token.text.casefold()


def is_number(tokens: Sequence[Token], at: int) -> bool:
    """Whether the word is a number, and not the “one” of “a coarser one”."""
    token = tokens[at]
    if token.text.casefold() != "one":
        return token.kind is WordKind.NUMBER
    follows = tokens[at + 1 : at + 2]
    described = at > 0 and tokens[at - 1].kind is WordKind.CONTENT
    return not described and bool(follows) and follows[0].kind in SAYING


def is_year(key: str) -> bool:
    """Whether a number looks like a year."""
    return bool(_YEAR.fullmatch(key))


def pieces_of(tokens: Sequence[Token]) -> tuple[SentencePiece, ...]:
    found: list[SentencePiece] = []
    part: list[Token] = []
    for at, token in enumerate(tokens):
        is_mark = token.kind is WordKind.BREAK and not token.text.isalpha() and not _is_in_time(tokens, at)
        if part and (is_mark or _begins(tokens, at) or _describes(tokens, at)):
            found.append(SentencePiece(tuple(part), token.text in _ENDS))
            part = []
        if not is_mark:
            part.append(token)
    return (*found, SentencePiece(tuple(part))) if part else tuple(found)


def _begins(tokens: Sequence[Token], at: int) -> bool:
    """Whether it begins a piece, unlike the “which” of “some of which”."""
    word = plain_word(tokens[at])
    return word in BEGINS and not (word == "which" and plain_word(tokens[at - 1]) == "of")


def _describes(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is the “that” of “a herb that needs sun”, and not of “they say that”."""
    before = tokens[at - 1]
    return plain_word(tokens[at]) == "that" and before.kind is WordKind.CONTENT and before.key not in _TELLING


def _is_in_time(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is a mark of “2:07:41”."""
    beside = (*tokens[at - 1 : at], *tokens[at + 1 : at + 2])
    return len(beside) > 1 and all(each.kind is WordKind.NUMBER for each in beside)


def beside(pieces: Sequence[SentencePiece], at: int) -> Sequence[SentencePiece]:
    """Returns the piece before this one in its statement; if it begins the statement, the piece behind it."""
    if at and not pieces[at - 1].ends_statement:
        return pieces[at - 1 : at]
    return () if pieces[at].ends_statement else pieces[at + 1 : at + 2]
