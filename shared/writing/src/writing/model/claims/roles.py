"""Compares who does what to whom: names, their order and prepositions, and the subjects of verbs. Pure."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from writing.model.claims.clauses import SAYING, meaningful_keys, nearest, plain_word
from writing.model.claims.comparison import Comparison, Statement
from writing.model.claims.word_lists import NOT, RELATIONS
from writing.model.claims.wording import (
    ARTICLES,
    FRAMES,
    PREPOSITIONS,
    UNIT_KEYS,
    Token,
    WordKind,
    is_past,
)

NEAR: Final = 3
"""The most words between two that count as adjacent."""
ORDER: Final = 0.5
"""The least share of common words that must be in the order of the nearest clause."""
_OPENERS: Final = FRAMES | {"anyone", "everyone", "someone", "besides", "despite", "having", "given"}
"""Words that are capitalised at the beginning of a sentence and are no names."""
_BE: Final = frozenset("is are was were be been being".split())  # noqa: SIM905
_AUXILIARIES: Final = _BE | frozenset(
    "has have had do does did will would can could may might must should shall".split()  # noqa: SIM905
)
_LIMITING: Final = frozenset("in at among for with without after before during within under".split())  # noqa: SIM905
_RELATIVES: Final = frozenset({"who", "which", "that"})
_ROLES: Final = frozenset({"of", "by", "from", "under", "to", "against"})


def is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it looks like a name: capitalised inside the sentence, or with a capital, digit or “_” inside.

    The first word is one if another capitalised word or a verb follows: “Kowalski built”, but not “Growth of sales”.
    """
    token = tokens[at]
    if token.kind is not WordKind.CONTENT or token.text.casefold() in _OPENERS:
        return False
    if any(char.isupper() or char.isdigit() or char == "_" for char in token.text[1:]):
        return True
    if not token.text[0].isupper() or token.key in UNIT_KEYS:
        return False
    if at:
        return True
    follows = tokens[1].text if len(tokens) > 1 else ""
    return follows[:1].isupper() or (
        (follows.casefold() in _AUXILIARIES or is_past(follows)) and not token.text.endswith(("s", "ing"))
    )


def _names(tokens: Sequence[Token]) -> list[tuple[int, str]]:
    return [(at, token.key) for at, token in enumerate(tokens) if is_name(tokens, at)]


def unknown_names(these: Comparison) -> Iterator[str]:
    """Names that neither the nearest sentences have nor what names their subject."""
    there = {key for each in these.support for key in each.sentence.keys | each.before | each.topic}
    for at, key in _names(these.claim.tokens):
        if key not in there and (at or key not in these.known) and not _is_of_a_place(key, there):
            yield f"its passages do not say “{these.claim.tokens[at].text}”"


def _is_of_a_place(key: str, there: AbstractSet[str]) -> bool:
    """Whether it may be the adjective of a place that is there: “Spanish”, “Spain”."""
    return key.endswith(("ish", "ian", "an", "ese", "in")) and any(each[:3] == key[:3] for each in there)


def _hangs_on(tokens: Sequence[Token], at: int) -> str | None:
    """Returns the preposition before a name, across its other words, an article and one noun: “of the teacher Ann Lee”."""
    before = at - 1
    while before >= 0 and tokens[before].text[0].isupper() and tokens[before].kind is WordKind.CONTENT:
        before -= 1
    if before > 0 and tokens[before].kind is WordKind.CONTENT and plain_word(tokens[before - 1]) in ARTICLES:
        before -= 1
    while before >= 0 and plain_word(tokens[before]) in ARTICLES:
        before -= 1
    word = plain_word(tokens[before]) if before >= 0 else ""
    return word if word in PREPOSITIONS else None


def split_names(these: Comparison) -> Iterator[str]:
    """Names that the passages have with their words apart, except reversed around “of”."""
    theirs: set[tuple[str, str]] = set()
    for text in (each.sentence.tokens for each in these.stated):
        for at, token in enumerate(text):
            theirs.update((token.key, behind.key) for behind in text[at + 1 : at + 1 + NEAR])
            if [each.text for each in text[at + 1 : at + 2]] == ["of"]:
                theirs.update((each.key, token.key) for each in text[at + 2 : at + 2 + NEAR])
    ours = these.claim.tokens
    for one, other in pairwise(ours):
        named = all(each.kind is WordKind.CONTENT and each.text[0].isupper() for each in (one, other))
        if named and not owns(one) and one.key in these.known and (one.key, other.key) not in theirs:
            yield f"its passages do not say “{one.text} {other.text}”"


def hung_names(these: Comparison) -> Iterator[str]:
    """Names behind “under”, “by”, “of”, “from” or “to” that the passages do not have behind it."""
    theirs: dict[str, set[str | None]] = {}
    others: dict[str | None, set[str]] = {}
    for text in these.texts:
        for at, key in _names(text):
            word = "of" if owns(text[at]) else _hangs_on(text, at)
            theirs.setdefault(key, set()).add(word)
            others.setdefault(word, set()).add(key)
    ours = these.claim.tokens
    for at, key in _names(ours):
        word = "of" if owns(ours[at]) else _hangs_on(ours, at)
        there = theirs.get(key, set())
        if word not in _ROLES or not there or word in there or (word == "by" and None in there):
            continue
        related = any(each.key in RELATIONS for each in ours[max(0, at - NEAR) : at])
        if others.get(word, set()) - {key} or related:
            yield f"its passage does not say “{word} {ours[at].text}”: keep to who does what to whom"


def owns(token: Token) -> bool:
    return token.text.endswith(("'s", "’s"))  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class _Verb:
    key: str
    text: str
    subject: tuple[Token, ...]
    """The words right before it; empty if a pronoun, “and” or the beginning of a clause stands there."""
    before: tuple[Token, ...]
    """All words of the clause before it."""
    after: tuple[Token, ...]
    """The rest of the clause."""
    is_passive: bool


def _verbs(tokens: Sequence[Token]) -> Iterator[_Verb]:
    for at, token in enumerate(tokens):
        if not at or token.kind is not WordKind.CONTENT or token.text[0].isupper():
            continue
        back = at - 1
        helped: set[str] = set()
        while back >= 0 and (
            plain_word(tokens[back]) in _AUXILIARIES | NOT | ({"the", "a", "an"} if back == at - 1 else set())
            or tokens[back].text.endswith("ly")
            or (
                tokens[back].kind is WordKind.STRICT
                and plain_word(tokens[back]) not in PREPOSITIONS | _RELATIVES
            )
        ):
            helped.add(plain_word(tokens[back]))
            back -= 1
        word = token.text.casefold()
        begin = next((b + 1 for b in range(at - 1, -1, -1) if tokens[b].kind is WordKind.BREAK), 0)
        is_verb = is_past(word) or (word.endswith("s") and not _has_verb(tokens[begin:at]))
        if not (helped & _AUXILIARIES or (is_verb and not helped & ARTICLES)):
            continue
        if back >= 0 and plain_word(tokens[back]) in _RELATIVES:
            back -= 1
            back -= back >= 0 and tokens[back].text == ","
        subject: list[Token] = []
        while back >= 0 and tokens[back].kind in SAYING:
            subject.insert(0, tokens[back])
            back -= 1
        begin = next((b + 1 for b in range(at - 1, -1, -1) if tokens[b].text in {";", ":"}), 0)
        end = next((e for e in range(at + 1, len(tokens)) if tokens[e].text in {";", ":"}), len(tokens))
        yield _Verb(
            token.key,
            token.text,
            tuple(subject),
            tuple(tokens[begin:at]),
            tuple(tokens[at + 1 : end]),
            bool(helped & _BE) and is_past(word),
        )


def _has_verb(tokens: Sequence[Token]) -> bool:
    """Whether another word than one in “-s” is its verb."""
    return any(plain_word(each) in _AUXILIARIES or is_past(each.text) for each in tokens)


def other_subjects(these: Comparison) -> Iterator[str]:
    """Verbs with another subject than the passages give them, of which they speak elsewhere."""
    theirs: dict[str, list[tuple[_Verb, Statement]]] = {}
    for each in these.support:
        for verb in _verbs(each.sentence.tokens):
            theirs.setdefault(verb.key, []).append((verb, each))
    for own in _verbs(these.claim.tokens):
        there = theirs.get(own.key, [])
        if own.subject and there and not any(_same_subject(own, *each, these) for each in there):
            yield f"its passage does not say that “{' '.join(each.text for each in own.subject)}” {own.text}"


def _same_subject(own: _Verb, there: _Verb, said: Statement, these: Comparison) -> bool:
    head = own.subject[-1]
    names = {each.key for each in own.subject if each.text[0].isupper()}
    words = {each.key for each in there.subject}
    named = {each.key for each in there.subject if each.text[0].isupper()}
    if names and named and names - named and named - names and own.is_passive == there.is_passive:
        return False
    if head.key in words or head.key not in these.known:
        return True
    before, after = ({each.key for each in part} for part in (there.before, there.after))
    if not there.subject:
        return head.key in said.before | said.topic | before or own.is_passive != there.is_passive
    return head.key in (after if own.is_passive != there.is_passive else before)


def swapped_names(these: Comparison) -> Iterator[str]:
    """Names in the place of other ones: next to a word that the passages put next to another name only."""
    theirs = {pair for text in these.texts for pair in _beside(text)}
    names = {key for text in these.texts for _, key in _names(text)}
    own = {key for _, key in _names(these.claim.tokens)}
    for one, other in _beside(these.claim.tokens):
        for name, word in ((one, other), (other, one)):
            if name not in own or word in own or {(name, word), (word, name)} & theirs:
                continue
            there = [pair for pair in theirs if (pair[1] == word if name == one else pair[0] == word)]
            others = {pair[0] if name == one else pair[1] for pair in there}
            if others and others <= names:
                yield f"its passage says “{word}” of another name"


def _beside(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields pairs of meaningful words with only function words between them."""
    told = [token for token in tokens if token.kind is not WordKind.FREE]
    for one, other in pairwise(told):
        if one.kind is WordKind.CONTENT and other.kind is WordKind.CONTENT:
            yield one.key, other.key


def dropped_phrases(these: Comparison) -> Iterator[str]:
    """A place, time or group of which alone the passage says so: “in mice”, “after two doses”, “for members”."""
    unsaid = len(these.claim.keys - these.said.keys)
    for clause in these.clauses:
        for near in nearest(clause, these.theirs):
            if len(near.keys & clause.keys) < ORDER * len(near.keys):
                continue
            left = [
                each for each in _phrases(near.tokens) if not set(meaningful_keys(each)) & these.claim.keys
            ]
            if len(left) > unsaid:
                yield f"its passage says this “{' '.join(each.text for each in left[0])}”, which must not be left out"


def _phrases(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yields each preposition that may limit a statement, with the words up to the next one or the end of the clause."""
    for at, token in enumerate(tokens):
        named = tokens[at + 1 : at + 2] and tokens[at + 1].text[0].isupper()
        if plain_word(token) not in _LIMITING or (plain_word(token) == "for" and named):
            continue
        end = at + 1
        while (
            end < len(tokens)
            and tokens[end].kind is not WordKind.BREAK
            and plain_word(tokens[end]) not in PREPOSITIONS
        ):
            end += 1
        if meaningful_keys(tokens[at + 1 : end]):
            yield tokens[at:end]
