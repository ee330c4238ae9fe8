"""Compares a sentence with the pieces of the passages that it draws on: its omissions and its own word. Pure.

A sentence in the words of its passages has no words of its own for the parts that it leaves out. So it must have the whole of
each piece that it draws on: it must keep every condition, hedge, attribution and restriction, however worded.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import SAYING, SentencePiece, is_year, meaningful_keys
from writing.model.claims.vocabulary import words
from writing.model.claims.wording import Token, WordKind, keys_of

A_WORD: Final = 2
"""The words of a piece that one word of the sentence's own may stand for."""
FLOOR: Final = 0.51
"""The least share of meaningful words that the supporting sentences must contain; `PIECE_FLOOR` of each piece."""
PIECE_FLOOR: Final = 0.25
FEWEST_IN_PIECE: Final = 3
LONGEST_NAME: Final = 2
"""The most common words, but for those of headings, that only name what another piece is about."""
MOST_TOLD: Final = 6
"""The most words that a writer is told to add."""
LONG: Final = 9
"""The least words of a sentence that one plain word of its passages may be missing from."""
IN_ORDER: Final = 0.6
"""The least share of a sentence's words that one sentence of its passages has in the same order."""
_LIGHT: Final = keys_of(words("kinds", "light"))
_RELATIVES: Final = frozenset({"who", "which", "that"})


def unsaid_words(these: Comparison) -> Iterator[str]:
    """A sentence, or a piece of it, of whose words the passages have too few."""
    pieces = ((each, PIECE_FLOOR) for each in these.pieces if len(each.keys) >= FEWEST_IN_PIECE)
    for piece, floor in ((these.claim, FLOOR), *pieces):
        keys = meaningful_keys(piece.tokens)
        if sum(key in these.said.keys for key in keys) < floor * len(keys):
            yield f"its passages say too little of “{piece.text}”"


def own_word(these: Comparison) -> Iterator[str]:
    """The only word of its own, if it is in the place of another one in a sentence that has its passage's order."""
    own = own_words(these)
    left = _left_out(these)
    if len(own) == len(left) == 1 and _keeps_order(these, own[0]):
        yield f"its passages do not say “{own[0].text}”, but “{left[0].text}”"


def own_words(these: Comparison) -> list[Token]:
    """Returns the words that neither the nearest sentences have nor what names their subject."""
    there = these.said_keys.union(*(each.before | each.topic for each in these.support))
    return [token for piece in these.pieces for token in piece.told if token.key not in there]


def any_own_word(these: Comparison) -> Iterator[str]:
    """Words of its own, which no trusted judge has read."""
    if own := own_words(these):
        yield f"its passages do not say “{'”, “'.join(each.text for each in own[:MOST_TOLD])}”; use their words"


def another_order(these: Comparison) -> Iterator[str]:
    """An order of words that no sentence of the passages has: no trusted judge has read who does what."""
    ours = [each.key for each in these.claim.told]
    orders = (
        SequenceMatcher(None, ours, [each.key for each in text], autojunk=False) for text in these.texts
    )
    same = (sum(each.size for each in order.get_matching_blocks()) for order in orders)
    if max(same, default=0) < IN_ORDER * len(ours):
        yield "it has the words of its passages in another order; keep to one of their sentences and to its order"


def _keeps_order(these: Comparison, own: Token) -> bool:
    """Whether a sentence of the passages has all its other words, in this order."""
    ours = [each.key for each in these.claim.told if each != own]
    for said in these.support:
        named = said.before | said.topic
        rest = iter([each.key for each in said.sentence.tokens])
        if all(key in rest for key in ours if key in said.sentence.keys or key not in named):
            return True
    return False


def left_out_words(these: Comparison) -> Iterator[str]:
    """Words of the pieces drawn on, for which the sentence has none of its own."""
    left = _left_out(these)
    if len(left) > A_WORD * len(own_words(these)) and not _is_minor(left, these):
        told = "”, “".join(each.text for each in left[:MOST_TOLD])
        yield f"its passage says “{told}” there, which must not be left out"


def _is_minor(left: Sequence[Token], these: Comparison) -> bool:
    """Whether one plain word is left out of a long sentence."""
    is_plain = len(left) == 1 and left[0].kind is WordKind.CONTENT and left[0].text.islower()
    return is_plain and len(these.claim.told) >= LONG


def _left_out(these: Comparison) -> list[Token]:
    return [
        token
        for each in these.support
        for at, piece in enumerate(each.pieces)
        if _draws_on(these, piece, each.pieces[at + 1 : at + 2])
        for token in _lacks(piece, these.claim_keys)
    ]


def _draws_on(these: Comparison, piece: SentencePiece, following: Sequence[SentencePiece]) -> bool:
    """Whether the sentence says this piece, the other side of its “or”, or many of its words."""
    named = {each.key for each in piece.told if each.text[0].isupper() or each.kind not in SAYING}
    taken = {each.key for each in piece.told} & these.claim_keys - named - these.topic
    return (
        len(taken) > LONGEST_NAME
        or these.is_drawn_on(piece)
        or any(each.first == "or" and these.is_drawn_on(each) for each in following)
    )


def _lacks(piece: SentencePiece, keys: AbstractSet[str]) -> Iterator[Token]:
    """Yields the words that the sentence lacks; a statement without numbers stays true without adjectives."""
    told = piece.told
    counts = any(each.kind is WordKind.NUMBER and not is_year(each.key) for each in told)
    for at, token in enumerate(piece.tokens):
        follows = piece.tokens[at + 1 : at + 2]
        describes = any(each.kind is WordKind.CONTENT and each.key in keys for each in follows)
        is_loose = describes and not counts and (token is not told[0] or piece.first in _RELATIVES)
        if token in told and token.key not in keys | _LIGHT and not is_loose:
            yield token
