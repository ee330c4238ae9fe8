"""Checks that a sentence keeps what limits a statement: not, only, some, may, if, said, was, because, the first. Pure."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.extracts import beside
from writing.model.claims.pieces import (
    BEGINS,
    CONDITIONS,
    SAYING,
    SentencePiece,
    is_year,
    meaningful_keys,
    plain_word,
)
from writing.model.claims.vocabulary import listed, rows, words
from writing.model.claims.wording import NEGATIONS, PERSONS, Token, WordKind, is_past, tokens_of

NEAR: Final = 3
"""The most words between two that count as adjacent."""
NOT: Final = (NEGATIONS | {"not"}) - words("denials", "scarcely")
CONDITIONAL: Final = words("joins", "conditional")
_DENYING: Final = NOT | words("denials", "scarcely")
_DENYING_OTHERWISE: Final = _DENYING | words("denials", "others")
_DENYING_UNDER_CONDITIONS: Final = _DENYING_OTHERWISE | words("denials", "conditions")
_NOT_DONE: Final = frozenset({"not", "never", "cannot"})
_UNLESS: Final = frozenset({"unless", "except", "only", "until"})
_NO_PREFIX: Final = tuple(words("denials", "no_prefix"))
_NOT_ONLY: Final = words("denials", "not_only")
_CAUSES: Final = words("joins", "causes")
_GIVES_CAUSE: Final = words("joins", "gives_cause")
_BEFORE_CAUSE: Final = frozenset({"because", "since"})
_SEVERAL_SENSES: Final = frozenset({"as", "since", "so"})
_CAUSE_NOUNS: Final = frozenset({"reason", "reasons", "cause", "causes"})
_PURPOSES: Final = words("joins", "purposes")
_RANKS: Final = words("ranks", "words")
_NO_SUPERLATIVES: Final = words("ranks", "no_superlatives")
_ANY: Final = frozenset({"any", "anybody", "anything", "anywhere"})
_ANYTHING: Final = _ANY | {"anyone", "all"}
_PRESENT: Final = frozenset({"is", "are", "has", "have"})
_PAST: Final = frozenset({"was", "were", "had", "then"})
_MODAL: Final = frozenset("can may must do does will should".split())  # noqa: SIM905
_RELATIVES: Final = frozenset({"that", "who", "which"})
_HE: Final = frozenset({"he", "him", "his"})
_BEFORE_BASE: Final = frozenset("to may can could will would did do does might must should not".split())  # noqa: SIM905


def _keys(some: Sequence[str] | frozenset[str]) -> frozenset[str]:
    return frozenset(tokens_of(word)[0].key for word in some)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in listed("opposites", "words"):
        at = group.index("/")
        for one, other in ((group[:at], group[at + 1 :]), (group[at + 1 :], group[:at])):
            for key in _keys(one):
                found[key] = found.get(key, frozenset()) | _keys(other)
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
        return cls(own | _keys(own), own | _keys(own) | frozenset(row["instead"].split()))


_LIMITS: Final = tuple(map(_Limit.of, (*rows("limits"), *rows("frames"))))
_ADDITIONS: Final = tuple(map(_Limit.of, rows("additions")))


def left_out_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “some”, “may”, “if”, “is said to” and their like, from the pieces drawn on or their neighbours."""
    ours = these.claim.tokens
    dates = {plain_word(one) for one, other in pairwise(ours) if other.kind is WordKind.NUMBER}
    numbers = {each.key for each in ours if each.kind is WordKind.NUMBER and not is_year(each.key)}
    own = (these.claim.words | {token.key for token in ours}) - dates.intersection(
        {"until", "by", "before", "after"}
    )
    own |= {"should_if"} if these.claim.first == "should" else frozenset()
    for said in these.support:
        for at, piece in enumerate(said.pieces):
            drawn_on = these.is_drawn_on(piece)
            counted = not numbers.isdisjoint(piece.keys)
            if not drawn_on and not counted and not any(map(these.is_drawn_on, beside(said.pieces, at))):
                continue
            for place, token in enumerate(piece.tokens):
                found = {plain_word(token), token.key}
                kinds = [each for each in _LIMITS if found & each.words]
                if (
                    kinds
                    and not any(own & each.same for each in kinds)
                    and _limits(piece, place, these, drawn_on or (counted and token.kind is WordKind.CONTENT))
                ):
                    yield f"its passage says “{token.text}” there, which must not be left out"


def _limits(piece: SentencePiece, at: int, these: Comparison, drawn_on: bool) -> bool:
    """Whether a word limits what the sentence says, and not only a thing or statement that the sentence leaves out."""
    before, behind = (
        [each.key for each in part if each.kind in SAYING]
        for part in (piece.tokens[:at], piece.tokens[at + 1 :])
    )
    if piece.tokens[at].kind is WordKind.BREAK or (not drawn_on and piece.first in BEGINS - CONDITIONS):
        return False
    if not drawn_on and (these.claim.keys.intersection(before) or not at):
        return not at and (piece.first in CONDITIONS or not these.claim.keys.isdisjoint(behind))
    if plain_word(piece.tokens[at]) == "or":
        if [plain_word(each) for each in piece.tokens[at + 1 : at + 2]] == ["so"]:
            return False
        return bool(before) and not these.claim.keys.isdisjoint(before[-1:] + behind[:1])
    return piece.tokens[at].kind is not WordKind.STRICT or not behind or behind[0] in these.claim.keys


def added_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “all”, “fake”, “proven”, “still” and their like, which the passages lack."""
    said = these.said.words | these.said.keys | these.topic
    denied = these.claim.words & (_DENYING | {"than"})
    for some in _ADDITIONS:
        own = these.claim.words & some.words - (_ANY if denied else frozenset())
        if own and not said & some.same:
            yield f"its passages do not say “{min(own)}”"


def negations(these: Comparison) -> Iterator[str]:
    """“Not” left out or added."""
    theirs = [each for said in these.support for each in said.pieces]
    whole = [said.sentence for said in these.support]
    for own in these.pieces:
        denying = [
            each
            for each in whole
            if each.keys & own.keys
            and _denies(each.words - these.claim.words | each.words & _DENYING_OTHERWISE, _DENYING_OTHERWISE)
        ]
        only = these.claim.words & CONDITIONAL and these.said.words & _UNLESS - these.claim.words
        if (any(_denied(own)) and not denying and not only) or _is_asserted(
            [*_denied(own, _NOT_DONE)], theirs
        ):
            yield "its passages do not say “not”"
    for each in () if _denies(these.claim.words, _DENYING_UNDER_CONDITIONS) else theirs:
        drawn_on = these.is_drawn_on(each)
        denied = [keys for keys in _denied(each) if keys]
        if any(keys <= these.claim.keys or (drawn_on and keys & these.claim.keys) for keys in denied):
            yield "its passage says “not” there, which must not be left out"


def _is_asserted(denied: Sequence[AbstractSet[str]], theirs: Sequence[SentencePiece]) -> bool:
    """Whether some piece has what is denied, two words of it, and none that has a word of it denies anything."""
    return any(
        len(keys) > 1
        and any(keys <= each.keys for each in theirs)
        and not any(
            keys & each.keys and _denies(each.words, _DENYING_OTHERWISE)
            for each in theirs
            if keys <= each.keys
        )
        for keys in denied
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
    """The past told as present, and persons that the passages do not have."""
    own = these.claim.words - {"has", "have"} if "been" in these.claim.words else these.claim.words
    others = {word for each in these.stated for word in each.sentence.words & PERSONS}
    for persons in (_HE, PERSONS - _HE):
        if own & persons and others and not others & persons:
            yield f"its passage does not say “{min(own & persons)}”"
    for piece, near in these.drawn:
        there = frozenset(word for each in near if each.first not in _RELATIVES for word in each.words)
        if piece.words & own & _PRESENT and not own & _PAST and there & _PAST and not there & _PRESENT:
            yield "its passage speaks of the past"
    if not own & _PAST and _is_present(these.claim.tokens, these.known) and _is_wholly_past(these):
        yield "its passage speaks of the past"
    yield from _verbs_made_present(these)


def _is_wholly_past(these: Comparison) -> bool:
    """Whether its passages have verbs in the past, and none in the present."""
    past = any(each in _PAST or is_past(each) for each in these.said.words)
    return past and not these.said.words & (_PRESENT | _MODAL) and not any(map(_is_present, these.texts))


def _is_present(tokens: Sequence[Token], known: AbstractSet[str] = frozenset()) -> bool:
    """Whether it has “is” or “are”, or a word in “-s” behind a word with meaning, which may be a verb."""
    return any(
        plain_word(other) in {"is", "are"}
        or (
            other.text.islower()
            and other.text.endswith("s")
            and other.key not in known
            and one.kind is other.kind is WordKind.CONTENT
        )
        for one, other in pairwise(tokens)
    )


def _verbs_made_present(these: Comparison) -> Iterator[str]:
    ours = these.claim.tokens
    for at in range(1, len(ours)):
        word = ours[at].text.casefold()
        if ours[at].kind is not WordKind.CONTENT or is_past(word) or word.endswith("ing"):
            continue
        if ours[at - 1].kind is not WordKind.CONTENT or plain_word(ours[at - 1]) in _BEFORE_BASE:
            continue
        there = [
            (text, place)
            for text in these.texts
            for place, each in enumerate(text)
            if each.key == ours[at].key
        ]
        if there and all(_is_told_as_past(text, place) for text, place in there):
            yield f"its passage says “{there[0][0][there[0][1]].text}”, and not “{ours[at].text}”"


def _is_told_as_past(text: Sequence[Token], at: int) -> bool:
    helped = {plain_word(each) for each in text[max(0, at - 2) : at]}
    return is_past(text[at].text.casefold()) and not helped & {"is", "are", "be", "being", "has", "have"}


def opposites(these: Comparison) -> Iterator[str]:
    """“Rose” for “fell”."""
    ours = {token.key for token in these.claim.tokens}
    theirs = {token.key for text in these.texts for token in text}
    asserted = {
        key for each in these.pieces if "not" not in each.words for key in (one.key for one in each.tokens)
    }
    for key in sorted(asserted & OPPOSITES.keys() - theirs):
        if others := OPPOSITES[key] & theirs - ours:
            yield f"its passage says “{min(others)}”, and not “{key}”"


def ranks(these: Comparison) -> Iterator[str]:
    """“The first”, “the largest”, “leading”, which the passages do not say of it."""
    ours = these.claim.tokens
    theirs = {token.key for text in these.texts for token in text}
    if _beats_all(ours) and not any(map(_tops, these.texts)):
        yield "its passage does not say “than any other” of it"
    for at, token in enumerate(ours):
        before = plain_word(ours[at - 1]) if at else ""
        is_part = before == "per" or (token.key == "third" and before in {"a", "one", "two"})
        if token.text.casefold() in _RANKS and not is_part and not _is_ranked(these, at):
            yield f"its passage does not say “{token.text}” of it"
        is_most = token.text == "most" and plain_word(ours[at - 1]) == "the" and at + 1 < len(ours)
        if (
            _is_superlative(token) or (is_most and ours[at + 1].kind is WordKind.CONTENT)
        ) and token.key not in theirs:
            yield f"its passage does not say “{token.text}”"


def _beats_all(tokens: Sequence[Token]) -> bool:
    """Whether it says “than any other”, “than anyone else”."""
    return any(
        plain_word(one) == "than" and plain_word(other) in _ANYTHING for one, other in pairwise(tokens)
    )


def _tops(tokens: Sequence[Token]) -> bool:
    """Whether it says of something that nothing has more of it."""
    return _beats_all(tokens) or any(
        _is_superlative(each) or each.text.casefold() in _RANKS or plain_word(each) == "most"
        for each in tokens
    )


def _is_superlative(token: Token) -> bool:
    return token.text == "least" or (
        token.text.endswith("est") and token.text.islower() and token.text not in _NO_SUPERLATIVES
    )


def _is_ranked(these: Comparison, at: int) -> bool:
    """Whether the passages have the word near the same next word as the claim, or near the one before it."""
    ours = these.claim.tokens
    sides = (ours[at + 1 :], ours[:at][::-1])
    near = {next((each.key for each in side if each.kind in SAYING), None) for side in sides}
    return any(
        each.key == ours[at].key
        and near & {other.key for other in text[max(0, place - NEAR) : place + NEAR + 1]}
        for text in these.texts
        for place, each in enumerate(text)
    )


def causes(these: Comparison) -> Iterator[str]:
    """“Because”, “therefore”, “so that” between statements that no sentence of the passages joins so."""
    tokens = these.claim.tokens
    for at, token in enumerate(tokens):
        if plain_word(token) not in _CAUSES or not _joins(tokens, at):
            continue
        is_purpose = plain_word(tokens[at + 1]) in {"that", "to"}
        wanted = _PURPOSES if is_purpose else _GIVES_CAUSE
        # At the beginning of a sentence, it joins the parts before and behind the first comma.
        comma = next((place for place, each in enumerate(tokens) if each.text == ","), len(tokens))
        parts = (tokens[:at], tokens[at + 1 :]) if at else (tokens[1:comma], tokens[comma:])
        one, other = (set(meaningful_keys(part)) for part in parts)
        cause = one if plain_word(token) not in _BEFORE_CAUSE or not at else other
        said = (each.sentence for each in these.stated)
        if not any(
            (
                _told_words(each) & wanted
                or "since" in each.words & {plain_word(token)}
                or (is_purpose and _aims(each, other))
            )
            and each.keys & one
            and each.keys & other
            and _gives(each, cause)
            for each in said
        ):
            yield f"its passages do not say “{token.text}”"


def _told_words(said: SentencePiece) -> AbstractSet[str]:
    """Returns its words; “as” only where a clause begins with it, and “so” and “since” where they tell a cause."""
    tokens = said.tokens
    return {
        word
        for at, word in enumerate(map(plain_word, tokens))
        if word not in _SEVERAL_SENSES
        or (
            _joins(tokens, at)
            and (
                word != "as"
                or not at
                or tokens[at - 1].kind is WordKind.BREAK
                or plain_word(tokens[at - 1]) == "and"
            )
        )
    }


def _aims(said: SentencePiece, purpose: AbstractSet[str]) -> bool:
    """Whether it has “to” before a word of the purpose: “to warn”."""
    return any(plain_word(one) == "to" and other.key in purpose for one, other in pairwise(said.tokens))


def _gives(said: SentencePiece, cause: AbstractSet[str]) -> bool:
    """Whether it does not name another cause behind “because”."""
    words = [plain_word(each) for each in said.tokens]
    if "because" not in words[1:]:
        return True
    rest = said.tokens[words.index("because") :]
    given = meaningful_keys([*takewhile(lambda each: each.text not in {";", ":"}, rest)])
    return 2 * len(cause & set(given)) >= len(cause)


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """Whether a cause or purpose follows, unlike in “so many”, “does so”, “since 1990”."""
    if at + 1 == len(tokens):
        return False
    before = plain_word(tokens[at - 1]) if at else ""
    follows = tokens[at + 1]
    if plain_word(tokens[at]) == "so":
        return plain_word(follows) not in {"as", "much", "many"} and before not in {
            "does",
            "do",
            "did",
            "or",
            "doing",
            "done",
        }
    if plain_word(tokens[at]) in _CAUSE_NOUNS:
        return plain_word(follows) in {"why", "for", "of", "that"}
    dated = any(each.kind is WordKind.NUMBER for each in tokens[at + 1 : at + 3])
    is_time = dated or follows.kind is WordKind.BREAK or plain_word(follows) in {"then", "last"}
    return not (plain_word(tokens[at]) == "since" and is_time)
