"""Compares a sentence with the pieces of the passages that it draws on: what it leaves out of them, what it adds. Pure.

A sentence in the words of its passages has nothing of its own to stand for what it leaves out. So it must have the whole of
each piece that it draws on: a condition, a hedge, an attribution or a restriction cannot go, in whatever words it stands.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import dropwhile, islice, takewhile
from typing import Final

from writing.model.claims.comparison import Comparison, Statement
from writing.model.claims.pieces import SAYING, SentencePiece, is_number, is_year, meaningful_keys, plain_word
from writing.model.claims.vocabulary import words
from writing.model.claims.wording import ARTICLES, PREPOSITIONS, Token, WordKind, content_key, is_past

LONGEST_NAME: Final = 3
"""The most words that only name what another piece is about."""
A_WORD: Final = 2
"""The words of a piece that one word of the sentence's own may stand for."""
FLOOR: Final = 0.51
"""The least share of meaningful words that the supporting sentences must contain."""
PIECE_FLOOR: Final = 0.25
"""The least share in each piece of three words or more; a piece below it is an addition."""
FEWEST_IN_PIECE: Final = 3
LONGEST_ADDITION: Final = 3
"""The most words in a row that the passages lack."""

_LOOSE_PHRASES: Final = frozenset({"from", "by", "of", "to", "on", "into"})
_EXACT: Final = frozenset(
    [
        "not",
        "never",
        "none",
        "nothing",
        "nobody",
        "all",
        "every",
        "each",
        "any",
        "most",
        "only",
        "half",
        "few",
        "fewer",
        "less",
        "first",
        "last",
    ]
)
_MEASURES: Final = frozenset({"by", "for", "with", "of", "at"})
_HAPPENED: Final = frozenset({"was", "were", "had"})
_LIGHT: Final = frozenset(map(content_key, words("kinds", "light")))
_FRACTIONS: Final = words("numbers", "fractions")
_MONTHS: Final = frozenset(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_PLACES: Final = frozenset({"of", "in", "on", "at"})
_RELATIVES: Final = frozenset({"who", "which", "that"})
_TAKE_UP: Final = frozenset({"and", "but", "yet"})


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
    if len(own) == len(left) == 1 and _keeps_order(these, own[0]):
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
    if len(left) > A_WORD * len(own_words(these)):
        yield f"its passage says “{left[0]}” there, which must not be left out"


def _left_out(these: Comparison) -> list[str]:
    keys = {token.key for token in these.claim.tokens}
    return [
        text
        for each in these.support
        if not _only_names(each, these)
        for at in range(len(each.pieces))
        for text in _left_out_of(each.pieces, at, keys, these)
    ]


def _only_names(said: Statement, these: Comparison) -> bool:
    """Whether the sentence takes but a name from it, for what another says of that: “the lagoon in Swansea Bay”."""
    others = {key for each in these.support if each is not said for key in each.sentence.keys}
    taken = [at for at, each in enumerate(these.claim.tokens) if each.key in said.sentence.keys - others]
    if said is these.support[0] or not taken:
        return False
    before = [plain_word(each) for each in these.claim.tokens[: taken[0]]]
    named = these.claim.tokens[taken[0] : taken[-1] + 1]
    return next((each for each in reversed(before) if each not in ARTICLES), "") in _PLACES and all(
        each.key in said.sentence.keys or plain_word(each) in PREPOSITIONS | ARTICLES for each in named
    )


def _left_out_of(
    pieces: Sequence[SentencePiece], at: int, keys: AbstractSet[str], these: Comparison
) -> Iterator[str]:
    piece = pieces[at]
    has = {each.key for each in piece.told if each.key in keys and each.kind in SAYING}
    follows = pieces[at + 1 : at + 2]
    or_else = [each for each in follows if each.first == "or"]
    if any(map(these.is_drawn_on, (piece, *or_else))) or len(has) > LONGEST_NAME:
        if not any(_takes_up(piece, each, keys) for each in follows):
            yield from _lacks(piece, keys)
    elif (
        piece.told
        and not has
        and piece.is_held
        and any(these.is_drawn_on(each) or (each.keys and each.keys <= keys) for each in beside(pieces, at))
    ):
        yield piece.text


def _takes_up(piece: SentencePiece, other: SentencePiece, keys: AbstractSet[str]) -> bool:
    """Whether the sentence has its subject only, for what the other says of that: “They take heat, and are cheap”."""
    more = other.first in _TAKE_UP and other.keys & keys - piece.keys and other.keys <= keys
    rest = dropwhile(lambda each: each.key in keys, piece.told)
    dated = any(each.kind is WordKind.NUMBER and each.key in keys for each in rest)
    return bool(more and piece.told) and piece.told[0].key in keys and not dated


def _lacks(piece: SentencePiece, keys: AbstractSet[str]) -> Iterator[str]:
    """Yields the words that the sentence lacks, but for mere descriptions.

    Without numbers, “not” and “all”, a statement stays true without an adjective, and without “from …” or “by …”.
    """
    is_exact = any(
        (each in piece.told and (plain_word(each) in _EXACT or each.text.endswith("est")))
        or _is_quantity(piece.tokens, at)
        for at, each in enumerate(piece.tokens)
    )
    gone = _details(piece, keys, is_exact)
    phrase = ""
    for at, token in enumerate(piece.tokens):
        phrase = plain_word(token) if plain_word(token) in PREPOSITIONS else phrase
        if token not in piece.told or token.key in keys:
            phrase = phrase if plain_word(token) in PREPOSITIONS | ARTICLES else ""
            continue
        described = any(
            each.kind is WordKind.CONTENT and each.key in keys for each in piece.tokens[at + 1 : at + 2]
        )
        adjective = described and (token is not piece.told[0] or piece.first in _RELATIVES)
        loose = phrase in _LOOSE_PHRASES and token.kind is not WordKind.NUMBER and token.text[0].islower()
        is_loose = at in gone or (not is_exact and (adjective or loose or _is_manner(token)))
        if not is_loose and not _describes(piece, token, keys):
            yield token.text


def _details(piece: SentencePiece, keys: AbstractSet[str], is_exact: bool) -> frozenset[int]:
    """Returns the places of phrases that the sentence lacks as a whole, and without which the piece stays true.

    They say by how much; of one event in the past, when and where it was; of a place, where that is.
    """
    tokens = piece.tokens
    happened = [at for at, each in enumerate(tokens) if is_past(each.text) or plain_word(each) in _HAPPENED]
    is_event = bool(happened) and not is_exact
    years = {each for each in keys if is_year(each)}
    gone: set[int] = set()
    phrases = [] if piece.is_held and piece.first not in PREPOSITIONS else list(_phrases(tokens))
    for begin, end in phrases:
        told = [each for each in tokens[begin:end] if each in piece.told]
        if not told or any(each.key in keys for each in told):
            if is_event and all(each.text in _MONTHS or each.kind is WordKind.NUMBER for each in told):
                gone.update(at for at in range(begin, end) if tokens[at].text in _MONTHS)
            continue
        starts = plain_word(tokens[begin])
        behind = happened and happened[0] < begin
        measure = (
            starts in _MEASURES and (behind or starts in {"by", "for"}) and _measures(tokens, begin, end)
        )
        dated = (
            starts in _PLACES
            and not years - piece.keys
            and all(each.kind is WordKind.NUMBER or each.text in _MONTHS for each in told)
        )
        placed = (starts in _PLACES or starts not in keys) and any(each.text[0].isupper() for each in told)
        named = begin > 1 and tokens[begin - 1].text[0].isupper()
        beside = [each for each in phrases if each[1] == begin or each[0] == end]
        around = placed and (
            (named and tokens[begin - 1].key in keys)
            or any(_is_place(tokens[at - 1]) and tokens[at - 1].key in keys for _, at in beside)
        )
        if measure or around or (is_event and (dated or (placed and (behind or named)))):
            gone.update(range(begin, end))
    return frozenset(gone)


def _is_place(token: Token) -> bool:
    return token.text[0].isupper() and token.text not in _MONTHS


def _phrases(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yields where phrases begin and end: “in June 2018”, “by up to two hours”, “at the Cape”."""
    for begin, token in enumerate(tokens):
        if plain_word(token) not in PREPOSITIONS or (begin and plain_word(tokens[begin - 1]) == "up"):
            continue
        end = begin + 1
        while end < len(tokens) and not _ends_phrase(tokens, end):
            end += 1
        yield begin, end


def _ends_phrase(tokens: Sequence[Token], at: int) -> bool:
    before, word = tokens[at - 1], plain_word(tokens[at])
    dated = before.text in _MONTHS or (before.kind is WordKind.NUMBER and not _is_quantity(tokens, at - 1))
    is_date = tokens[at].text in _MONTHS or tokens[at].kind is WordKind.NUMBER
    return (
        (word in PREPOSITIONS and plain_word(before) != "up")
        or (word in ARTICLES and before.kind in SAYING)
        or is_past(tokens[at].text)
        or word in _HAPPENED
        or (dated and not is_date)
    )


def _measures(tokens: Sequence[Token], begin: int, end: int) -> bool:
    """Whether it says how much, and is no part of “by 6 points to 58 percent”."""
    counts = any(_is_quantity(tokens, at) for at in range(begin, end))
    to = [plain_word(each) for each in tokens[end : end + 1]] == ["to"]
    return (counts and not to) or any(each.key in _FRACTIONS for each in tokens[begin:end])


def _is_quantity(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is a number, and not one of a date."""
    beside = (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2])
    return (
        is_number(tokens, at)
        and not is_year(tokens[at].key)
        and not any(each.text in _MONTHS for each in beside)
    )


def _is_manner(token: Token) -> bool:
    return token.kind is WordKind.CONTENT and token.text.endswith("ly")


def _describes(piece: SentencePiece, token: Token, keys: AbstractSet[str]) -> bool:
    """Whether it only describes a name right behind it that the sentence has: “the bakery chain Dorsten”."""
    behind = takewhile(lambda each: each.kind is WordKind.CONTENT, piece.tokens[piece.tokens.index(token) :])
    described = dropwhile(lambda each: each.key not in keys, behind)
    return token.kind is WordKind.CONTENT and any(each.text[0].isupper() for each in islice(described, 1))


def beside(pieces: Sequence[SentencePiece], at: int) -> Sequence[SentencePiece]:
    """Returns the piece before this one; if it begins a statement, the rest of that."""
    before = at - 1
    while before > 0 and not pieces[before].keys and not pieces[before].ends_statement:
        before -= 1
    if at and not pieces[before].ends_statement:
        return pieces[before : before + 1]
    end = next((place for place in range(at, len(pieces)) if pieces[place].ends_statement), len(pieces))
    return pieces[at + 1 : end + 1]
