"""Compares a sentence with the pieces of the passages that it draws on: its omissions and its additions. Pure.

A sentence in the words of its passages has no words of its own for the parts that it leaves out. So it must have the whole of
each piece that it draws on: it must keep every condition, hedge, attribution and restriction, however worded.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import takewhile
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import SAYING, SentencePiece, is_year, meaningful_keys, plain_word
from writing.model.claims.vocabulary import words
from writing.model.claims.wording import ARTICLES, Token, WordKind, content_key

A_WORD: Final = 2
"""The words of a piece that one word of the sentence's own may stand for."""
FLOOR: Final = 0.51
"""The least share of meaningful words that the supporting sentences must contain."""
PIECE_FLOOR: Final = 0.25
"""The least share in each piece of three words or more; a piece below it is an addition."""
FEWEST_IN_PIECE: Final = 3
LONGEST_NAME: Final = 2
"""The most common words, but for those of headings, that only name what another piece is about."""
MOST_TOLD: Final = 6
"""The most words that a writer is told to add."""
LONGEST_ADDITION: Final = 3
"""The most words in a row that the passages lack."""

LONG: Final = 9
"""The least words of a sentence that one plain word of its passages may be missing from."""

_EXACT: Final = words("kinds", "exact")
_LIGHT: Final = frozenset(map(content_key, words("kinds", "light")))
LONGEST_TITLE: Final = 4
"""The most words of a title before a name, its first word among them."""
_OF_PLACE: Final = frozenset({"of", "in", "from"})
_RELATIVES: Final = frozenset({"who", "which", "that"})


def unsaid_words(these: Comparison) -> Iterator[str]:
    """Too many words of its own: in the sentence, in a piece, or in a row."""
    if _share(meaningful_keys(these.claim.tokens), these.said) < FLOOR:
        yield "its passages say too little of this"
    for piece in these.pieces:
        keys = meaningful_keys(piece.tokens)
        if len(keys) >= FEWEST_IN_PIECE and _share(keys, these.said) < PIECE_FLOOR:
            yield f"its passages say nothing of “{piece.text}”"
    run: list[str] = []
    for token in (each for each in these.claim.tokens if each.kind is WordKind.CONTENT):
        run = [] if token.key in these.said.keys else [*run, token.text]
        if len(run) > LONGEST_ADDITION:
            yield f"its passages do not say “{' … '.join(run)}”"
            return


def _share(keys: Sequence[str], said: SentencePiece) -> float:
    return sum(key in said.keys for key in keys) / max(1, len(keys))


def own_word(these: Comparison) -> Iterator[str]:
    """The only word of its own, if it is in the place of another one in a sentence that has its passage's order."""
    own = own_words(these)
    left = _left_out(these)
    if len(own) == len(left) == 1 and content_key(left[0]) not in _LIGHT and _keeps_order(these, own[0]):
        yield f"its passages do not say “{own[0].text}”, but “{left[0]}”"


def own_words(these: Comparison) -> list[Token]:
    """Returns the words that neither the nearest sentences have nor what names their subject."""
    there = {token.key for text in these.texts for token in text}
    there |= {key for each in these.support for key in each.before | each.topic}
    return [token for piece in these.pieces for token in piece.told if token.key not in there]


def _keeps_order(these: Comparison, own: Token) -> bool:
    """Whether a sentence of the passages has all its other words, in this order."""
    ours = [each.key for piece in these.pieces for each in piece.told if each != own]
    for said in these.support:
        theirs = [each.key for each in said.sentence.tokens]
        rest = iter(theirs)
        if all(key in rest for key in ours if key in theirs or key not in said.before | said.topic):
            return True
    return False


def left_out_words(these: Comparison) -> Iterator[str]:
    """Words of the pieces drawn on, for which the sentence has none of its own."""
    left = [each for each in _left_out(these) if content_key(each) not in _LIGHT]
    minor = (
        len(left) == 1
        and left[0].islower()
        and len(these.claim.told) >= LONG
        and not _restricts(left[0], these)
    )
    if len(left) > A_WORD * len(own_words(these)) and not minor:
        told = "”, “".join(left[:MOST_TOLD])
        yield f"its passage says “{told}” there, which must not be left out"


def _restricts(text: str, these: Comparison) -> bool:
    """Whether a left-out text limits, counts, or is a whole piece."""
    return (
        any(each.text == text and each.kind is not WordKind.CONTENT for each in these.said.tokens)
        or " " in text
    )


def _left_out(these: Comparison) -> list[str]:
    keys = {token.key for token in these.claim.tokens}
    return [
        text
        for each in these.support
        for at in range(len(each.pieces))
        for text in _left_out_of(each.pieces, at, keys, these)
    ]


def _left_out_of(
    pieces: Sequence[SentencePiece], at: int, keys: AbstractSet[str], these: Comparison
) -> Iterator[str]:
    piece = pieces[at]
    has = {each.key for each in piece.told if each.key in keys and each.kind in SAYING}
    taken = {each.key for each in piece.told if not each.text[0].isupper()} & has - these.topic
    or_else = [each for each in pieces[at + 1 : at + 2] if each.first == "or"]
    if any(map(these.is_drawn_on, (piece, *or_else))) or len(taken) > LONGEST_NAME:
        yield from _lacks(piece, keys)
    elif (
        piece.told
        and not has
        and piece.is_held
        and any(these.is_drawn_on(each) or (each.keys and each.keys <= keys) for each in beside(pieces, at))
    ):
        yield piece.text


def _lacks(piece: SentencePiece, keys: AbstractSet[str]) -> Iterator[str]:
    """Yields the words that the sentence lacks; a statement without numbers, “not” and “all” stays true without adjectives."""
    told = piece.told
    is_exact = any(
        plain_word(each) in _EXACT or each.text.endswith("est") or _is_quantity(each) for each in told
    )
    for at, token in enumerate(piece.tokens):
        follows = piece.tokens[at + 1 : at + 2]
        describes = any(each.kind is WordKind.CONTENT and each.key in keys for each in follows)
        is_loose = describes and not is_exact and (token is not told[0] or piece.first in _RELATIVES)
        if (
            token in told
            and token.key not in keys
            and not is_loose
            and not _identifies(piece.tokens, at, keys)
        ):
            yield token.text


def _identifies(tokens: Sequence[Token], at: int, keys: AbstractSet[str]) -> bool:
    """Whether it only says who is meant: “the Dutch firm” before a name, or “of Norway” behind one."""
    behind = tokens[at + 1 : at + 1 + LONGEST_TITLE]
    title = [*takewhile(lambda each: each.kind is WordKind.CONTENT and each.text.islower(), behind)]
    named = behind[len(title) : len(title) + 1]
    begin = at
    while begin and tokens[begin - 1].kind is WordKind.CONTENT:
        begin -= 1
    if any(each.text[0].isupper() and each.key in keys for each in named):
        return not begin or plain_word(tokens[begin - 1]) in ARTICLES
    before = tokens[max(0, begin - 2) : begin]
    return (
        _is_capital(tokens[at])
        and len(before) > 1
        and begin > LONGEST_NAME
        and plain_word(before[1]) in _OF_PLACE
        and _is_capital(before[0])
        and before[0].key in keys
    )


def _is_capital(token: Token) -> bool:
    return token.kind is WordKind.CONTENT and token.text[0].isupper()


def _is_quantity(token: Token) -> bool:
    return token.kind is WordKind.NUMBER and not is_year(token.key)


def beside(pieces: Sequence[SentencePiece], at: int) -> Sequence[SentencePiece]:
    """Returns the piece before this one; if it begins a statement, the rest of that."""
    before = at - 1
    while before > 0 and not pieces[before].keys and not pieces[before].ends_statement:
        before -= 1
    if at and not pieces[before].ends_statement:
        return pieces[before : before + 1]
    end = next((place for place in range(at, len(pieces)) if pieces[place].ends_statement), len(pieces))
    return pieces[at + 1 : end + 1]
