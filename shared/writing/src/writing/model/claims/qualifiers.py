"""Checks that a sentence keeps what limits a statement: not, only, some, may, if, said, was, because, the first. Pure."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import (
    BEGINS,
    CONDITIONS,
    SentencePiece,
    beside,
    meaningful_keys,
    plain_word,
)
from writing.model.claims.vocabulary import listed, rows, words
from writing.model.claims.wording import NEGATIONS, Token, WordKind, is_past, keys_of

NEAREST: Final = 10
"""The most words between “more” and “than”."""
NOT: Final = (NEGATIONS | {"not"}) - words("denials", "scarcely")
CONDITIONAL: Final = words("joins", "conditional")
_DENYING: Final = NOT | words("denials", "scarcely")
_DENYING_OTHERWISE: Final = _DENYING | words("denials", "others")
_DENYING_UNDER_CONDITIONS: Final = _DENYING_OTHERWISE | words("denials", "conditions")
_NOT_DONE: Final = frozenset({"not", "never", "cannot"})
_NO_PREFIX: Final = tuple(words("denials", "no_prefix"))
_NOT_ONLY: Final = words("denials", "not_only")
_CAUSES: Final = words("joins", "causes")
_GIVES_CAUSE: Final = words("joins", "gives_cause")
_PURPOSES: Final = words("joins", "purposes")
_RANKS: Final = words("ranks", "words")
_NO_SUPERLATIVES: Final = words("ranks", "no_superlatives")
_MORE_OR_LESS: Final = frozenset({"more", "less", "fewer"})
_NO_COMPARATIVES: Final = words("ranks", "no_comparatives")
_IS: Final = frozenset({"is", "are"})
_WAS: Final = frozenset({"was", "were"})


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in listed("opposites", "words"):
        at = group.index("/")
        for one, other in ((group[:at], group[at + 1 :]), (group[at + 1 :], group[:at])):
            for key in keys_of(one):
                found[key] = found.get(key, frozenset()) | keys_of(other)
    return found


OPPOSITES: Final = _opposites()


@dataclass(frozen=True, slots=True)
class _Limit:
    """Words that limit a statement, and those with which a sentence may say the same."""

    words: frozenset[str]
    same: frozenset[str]

    @classmethod
    def of(cls, row: dict[str, str]) -> "_Limit":
        own = frozenset(row["words"].split())
        return cls(own | keys_of(own), own | keys_of(own) | frozenset(row["instead"].split()))


_LIMITS: Final = tuple(map(_Limit.of, (*rows("limits"), *rows("frames"))))
_ADDITIONS: Final = tuple(map(_Limit.of, rows("additions")))


def left_out_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “some”, “may”, “if”, “is said to” and their like, from the pieces drawn on or their neighbours."""
    own = these.claim.words | these.claim_keys
    for said in these.support:
        for at, piece in enumerate(said.pieces):
            drawn_on = these.is_drawn_on(piece)
            if not drawn_on and not any(map(these.is_drawn_on, beside(said.pieces, at))):
                continue
            for place, token in enumerate(piece.tokens):
                kinds = [each for each in _LIMITS if {plain_word(token), token.key} & each.words]
                kept = any(own & each.same for each in kinds)
                if kinds and not kept and _limits(piece, place, these, drawn_on=drawn_on):
                    yield f"its passage says “{token.text}” there, which must not be left out"


def _limits(piece: SentencePiece, at: int, these: Comparison, *, drawn_on: bool) -> bool:
    """Whether a word limits what the sentence says, and not only a thing or statement that the sentence leaves out."""
    before, behind = (meaningful_keys(part) for part in (piece.tokens[:at], piece.tokens[at + 1 :]))
    if piece.tokens[at].kind is WordKind.BREAK or (not drawn_on and piece.first in BEGINS - CONDITIONS):
        return False
    if not drawn_on and (these.claim.keys.intersection(before) or not at):
        return not at
    if plain_word(piece.tokens[at]) == "or":
        return bool(before) and not these.claim.keys.isdisjoint(before[-1:] + behind[:1])
    return piece.tokens[at].kind is not WordKind.STRICT or not behind or behind[0] in these.claim.keys


def added_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “all”, “fake”, “proven”, “still” and their like, which the passages lack."""
    said = these.said.words | these.said.keys | these.topic
    for some in _ADDITIONS:
        own = these.claim.words & some.words
        if own and not said & some.same:
            yield f"its passages do not say “{min(own)}”"


def negations(these: Comparison) -> Iterator[str]:
    """“Not” left out or added."""
    ours = these.claim.words
    whole = [said.sentence for said in these.support]
    for own in these.pieces:
        denying = (
            each.words - ours | each.words & _DENYING_OTHERWISE for each in whole if each.keys & own.keys
        )
        unsaid = any(_denied(own)) and not any(_denies(words, _DENYING_OTHERWISE) for words in denying)
        if unsaid or any(_is_asserted(keys, these) for keys in _denied(own, _NOT_DONE)):
            yield "its passages do not say “not”"
    for each in () if _denies(ours, _DENYING_UNDER_CONDITIONS) else these.said_pieces:
        drawn_on = these.is_drawn_on(each)
        left_out = [keys for keys in _denied(each) if keys]
        if any(keys <= these.claim.keys or (drawn_on and keys & these.claim.keys) for keys in left_out):
            yield "its passage says “not” there, which must not be left out"


def _is_asserted(keys: AbstractSet[str], these: Comparison) -> bool:
    """Whether some pieces have these two words, and none of them denies more than the sentence does beside its “not”."""
    telling = [each.words for each in these.said_pieces if keys <= each.keys]
    also_ours = these.claim.words - _NOT_DONE
    return (
        len(keys) > 1
        and bool(telling)
        and not any(_denies(words - also_ours, _DENYING_OTHERWISE) for words in telling)
    )


def _denies(some: AbstractSet[str], denying: frozenset[str]) -> bool:
    """Whether the words negate in any way: with “not”, “without”, “unable”."""
    return any(
        word in denying or (word.startswith("un") and not word.startswith(_NO_PREFIX)) for word in some
    )


def _denied(piece: SentencePiece, denying: frozenset[str] = frozenset()) -> Iterator[frozenset[str]]:
    """Yields for each negation the next two meaningful words, or the last two before it if none follow."""
    for at, token in enumerate(piece.tokens):
        rest = piece.tokens[at + 1 :]
        denies = token.text.casefold() in denying if denying else plain_word(token) in _DENYING
        if denies and not (rest and plain_word(rest[0]) in _NOT_ONLY):
            yield frozenset(meaningful_keys(rest)[:2] or meaningful_keys(piece.tokens[:at])[-2:])


def tenses(these: Comparison) -> Iterator[str]:
    """Verbs of the past told as present."""
    for piece, near in these.drawn:
        there = frozenset(word for each in near for word in each.words)
        if piece.words & _IS and there & _WAS and not these.said.words & _IS:
            yield "its passage speaks of the past"
    for before, token in pairwise(these.claim.tokens):
        word = token.text.casefold()
        is_verb = (
            before.kind is token.kind is WordKind.CONTENT and not is_past(word) and not word.endswith("ing")
        )
        told = [(text, at) for text in these.texts for at, each in enumerate(text) if each.key == token.key]
        if is_verb and told and all(_is_told_as_past(text, at) for text, at in told):
            yield f"its passage speaks of the past, but “{token.text}” of the present"


def _is_told_as_past(text: Sequence[Token], at: int) -> bool:
    helped = {plain_word(each) for each in text[max(0, at - 2) : at]}
    return is_past(text[at].text.casefold()) and not helped & {"is", "are", "be", "being", "has", "have"}


def opposites(these: Comparison) -> Iterator[str]:
    """“Rose” for “fell”."""
    asserted = {token.key for each in these.pieces if "not" not in each.words for token in each.tokens}
    for key in sorted(asserted & OPPOSITES.keys() - these.said_keys):
        if others := OPPOSITES[key] & these.said_keys - these.claim_keys:
            yield f"its passage says “{min(others)}”, and not “{key}”"


def ranks(these: Comparison) -> Iterator[str]:
    """“First”, “largest”, “leading”, which the passages do not say."""
    for token in these.claim.tokens:
        if (token.text.casefold() in _RANKS or _is_superlative(token)) and token.key not in these.said_keys:
            yield f"its passage does not say “{token.text}”"


def _is_superlative(token: Token) -> bool:
    return token.text == "least" or (
        token.text.endswith("est") and token.text.islower() and token.text not in _NO_SUPERLATIVES
    )


def comparisons(these: Comparison) -> Iterator[str]:
    """“More … than”, “older than”, of which the passages say neither this nor its opposite."""
    tokens = these.claim.tokens
    for at, token in enumerate(tokens[:-1]):
        if plain_word(token) != "than" or tokens[at + 1].kind is WordKind.NUMBER:
            continue
        for word in tokens[max(0, at - NEAREST) : at]:
            text = word.text.casefold()
            if text in _MORE_OR_LESS:
                is_added = these.said.words.isdisjoint(_MORE_OR_LESS)
            else:
                same = {word.key} | OPPOSITES.get(word.key, frozenset())
                is_added = (
                    text.endswith("er") and text not in _NO_COMPARATIVES and these.said_keys.isdisjoint(same)
                )
            if is_added:
                yield f"its passages do not say “{text} … than”; compare as they do, or give their figures"


def causes(these: Comparison) -> Iterator[str]:
    """“Because”, “therefore”, “so that” between words that no sentence of the passages joins by such a word."""
    tokens = these.claim.tokens
    for at, token in enumerate(tokens[:-1]):
        is_purpose = plain_word(tokens[at + 1]) in {"that", "to"}
        begins = not at or tokens[at - 1].kind is WordKind.BREAK
        if plain_word(token) not in _CAUSES or (plain_word(token) == "so" and not (is_purpose or begins)):
            continue
        wanted = _PURPOSES if is_purpose else _GIVES_CAUSE
        before, behind = set(meaningful_keys(tokens[:at])), set(meaningful_keys(tokens[at + 1 :]))
        one, other = before - behind or behind, behind - before or behind
        said = (each.sentence for each in these.stated)
        if not any(each.words & wanted and each.keys & one and each.keys & other for each in said):
            yield f"its passages do not say “{token.text}”"
