"""Checks that a sentence keeps what limits a statement: not, some, may, if, said, was, because, the first. Pure."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from writing.model.claims.clauses import SAYING, Clause, meaningful_keys, nearest, plain_word
from writing.model.claims.comparison import Comparison
from writing.model.claims.word_lists import (
    ADDED,
    CAUSES,
    CONDITIONAL,
    DENYING,
    FRACTIONS,
    FRAME_KEYS,
    FRAMED,
    GIVES_CAUSE,
    HELPS,
    LEFT_OUT,
    NO_PREFIX,
    NOT,
    NOT_ONLY,
    OF_THE_NEXT,
    OPPOSITES,
    PURPOSES,
    RANKS,
    SCARCELY,
    UNREAL,
)
from writing.model.claims.wording import PERSONS, PREPOSITIONS, Token, WordKind, is_past

MOSTLY: Final = 0.6
"""If the claim has this share of a passage's clause, the clause's negation applies to it."""
FLOOR: Final = 0.51
"""The least share of meaningful words that the supporting sentences must contain."""
CLAUSE_FLOOR: Final = 0.25
"""The least share in each clause of three words or more; a clause below it is an addition."""
FEWEST_IN_CLAUSE: Final = 3
LONGEST_ADDITION: Final = 3
"""The most words in a row that the passages lack."""
NEAR: Final = 3
_PLACES: Final = PREPOSITIONS | {"above", "below", "beyond", "outside"}
_MORE: Final = frozenset({"more", "less", "fewer", "worse"})
_PRESENT: Final = frozenset({"is", "are", "has", "have"})
_PAST: Final = frozenset({"was", "were", "had"})
_DENYING: Final = DENYING | SCARCELY
_UNTIL: Final = frozenset({"before", "until"})
_HE: Final = frozenset({"he", "him", "his"})
_SHE: Final = PERSONS - _HE
_NO_SUPERLATIVES: Final = frozenset(
    "west test rest forest interest harvest request guest chest nest priest protest contest invest honest modest suggest arrest"  # noqa: SIM905
    " digest manifest conquest quest breakfast crest best pest vest zest latest".split()
)
_BEFORE_BASE: Final = frozenset("to may can could will would did do does might must should not".split())  # noqa: SIM905


def unsaid_words(these: Comparison) -> Iterator[str]:
    """Too many words of its own: in the sentence, in a clause, or in a row."""
    if _share(meaningful_keys(these.claim.tokens), these.said) < FLOOR:
        yield "its passages say too little of this"
    for clause in these.clauses:
        keys = meaningful_keys(clause.tokens)
        if len(keys) >= FEWEST_IN_CLAUSE and _share(keys, these.said) < CLAUSE_FLOOR:
            yield f"its passages say nothing of “{clause.text}”"
    run: list[str] = []
    for token in (each for each in these.claim.tokens if each.kind is WordKind.CONTENT):
        run = [] if token.key in these.said.keys else [*run, token.text]
        if len(run) > LONGEST_ADDITION:
            yield f"its passages do not say “{' … '.join(run)}”"
            return


def _share(keys: Sequence[str], said: Clause) -> float:
    return sum(key in said.keys for key in keys) / max(1, len(keys))


def left_out(word: str) -> str:
    return f"its passage says “{word}” there, which must not be left out"


def left_out_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “some”, “may”, “or” and their like, which the nearest clauses have."""
    for clause in these.clauses:
        near = nearest(clause, these.theirs)
        for words, instead in LEFT_OUT:
            left = (
                []
                if these.claim.words & (words | instead)
                else [_telling(each, words, these.claim) for each in near]
            )
            if left and all(left):
                yield left_out(min(left[0]))


def _telling(clause: Clause, words: AbstractSet[str], claim: Clause) -> set[str]:
    """Returns the words of the clause that concern the claim's subject matter."""
    return {
        word
        for at, token in enumerate(clause.tokens)
        if (word := plain_word(token)) in words
        and not (word in OF_THE_NEXT and _next(clause.tokens, at) not in claim.keys)
        # “the former by its speed”
        and not (
            word in UNREAL and [each.kind in SAYING for each in clause.tokens[at + 1 : at + 2]] != [True]
        )
        and not (word == "or" and not _is_one_of(clause.tokens, at, claim))
        # “not only”, “not all” count as negations.
        and not (at and plain_word(clause.tokens[at - 1]) == "not")
        # A word that merely joins two statements limits nothing.
        and not (word == "but" and token.kind is WordKind.BREAK)
    }


def _next(tokens: Sequence[Token], at: int) -> str | None:
    return next((each.key for each in tokens[at + 1 :] if each.kind in SAYING), None)


def _is_one_of(tokens: Sequence[Token], at: int, claim: Clause) -> bool:
    """Whether the claim has one or both of the two things that “or” joins."""
    before = next((each.key for each in reversed(tokens[:at]) if each.kind in SAYING), None)
    return before in claim.keys or _next(tokens, at) in claim.keys


def added_limits(these: Comparison) -> Iterator[str]:
    """“Only”, “all”, “fake” and their like, which the passages lack."""
    for words in ADDED:
        own = these.claim.words & words
        if own and not these.said.words & words:
            yield f"its passages do not say “{min(own)}”"


def dropped_fractions(these: Comparison) -> Iterator[str]:
    """“The patients” for “half of the patients”, “the books” for “the finest books”."""
    for text in these.texts:
        for at, token in enumerate(text):
            is_part = plain_word(token) in FRACTIONS and [
                plain_word(each) for each in text[at + 1 : at + 2]
            ] == ["of"]
            if (is_part or is_superlative(token)) and _is_whole(these.claim, _next(text, at)):
                yield left_out(f"{token.text} of" if is_part else token.text)


def _is_whole(claim: Clause, thing: str | None) -> bool:
    """Whether the claim has the thing without a number, a part or a superlative before it."""
    at = next((at for at, each in enumerate(claim.tokens) if each.key == thing), None)
    if at is None:
        return False
    before = claim.tokens[max(0, at - NEAR) : at]
    counted = any(each.kind is WordKind.NUMBER or is_superlative(each) for each in before)
    return not counted and not claim.words & (FRACTIONS | NOT)


def is_superlative(token: Token) -> bool:
    return token.text.endswith("est") and token.text.islower() and token.text not in _NO_SUPERLATIVES


def negations(these: Comparison) -> Iterator[str]:
    """“Not” left out or added."""
    denied = [frozenset(keys) for each in these.theirs for keys in _denied(each)]
    for clause in these.clauses:
        own = list(_denied(clause))
        near = nearest(clause, these.theirs)
        if own or clause.words & NOT:
            more = sum(1 for _ in _denied(these.claim)) > len(denied)
            of_others = not all(any(each.intersection(keys) for each in denied) for keys in own)
            if (more or of_others) and not any(_denies(each, these.claim) for each in near):
                yield "its passages do not say “not”"
        elif not clause.words & _DENYING and not (
            these.claim.words & _UNTIL and any("until" in each.words for each in near)
        ):
            for each in near:
                mostly = len(each.keys & clause.keys) >= MOSTLY * len(each.keys)
                if any(mostly or _is_affirmed(keys, clause, these) for keys in _denied(each)):
                    yield left_out("not")
    if not these.claim.words & (_DENYING | _UNTIL):
        yield from (left_out("not") for keys in denied if _is_affirmed(sorted(keys), these.claim, these))


def _is_affirmed(keys: Sequence[str], clause: Clause, these: Comparison) -> bool:
    """Whether the clause says what the passages deny, all of it, or what they say nowhere else."""
    said = {key for each in these.theirs if not each.words & (NOT | SCARCELY) for key in each.keys}
    return bool(keys) and (clause.keys.issuperset(keys) or (keys[0] in clause.keys and said.isdisjoint(keys)))


def _denies(clause: Clause, claim: Clause) -> bool:
    """Whether the passage negates with “without”, “unable” or the like where the claim says “not”."""
    return any(
        word in DENYING | {"only", "free"} or (word.startswith("un") and not word.startswith(NO_PREFIX))
        for word in clause.words - claim.words - NOT
    )


def _denied(clause: Clause) -> Iterator[list[str]]:
    """Yields for each negation the next two meaningful words, or the last two before it if none follow.

    “… and never above it” negates nothing before it.
    """
    for at, token in enumerate(clause.tokens):
        rest = clause.tokens[at + 1 :]
        if plain_word(token) in NOT | SCARCELY and not (rest and plain_word(rest[0]) in NOT_ONLY):
            after = meaningful_keys(rest)[:2]
            if after or not (rest and plain_word(rest[0]) in _PLACES):
                yield after or meaningful_keys(clause.tokens[:at])[-2:]


def conditions(these: Comparison) -> Iterator[str]:
    """“If”, “unless” and their like with what they say, left out."""
    for clause in these.clauses:
        near = nearest(clause, these.theirs)
        left = [[each for each in one.conditions if not each.keys & these.claim.keys] for one in near]
        if near and all(left) and not these.claim.words & CONDITIONAL:
            yield left_out(left[0][0].tokens[0].text)


def tenses(these: Comparison) -> Iterator[str]:
    """The past told as present, and persons that the passages do not have."""
    own = these.claim.words - {"has", "have"} if "been" in these.claim.words else these.claim.words
    others = {word for each in these.stated for word in each.sentence.words & PERSONS}
    for persons in (_HE, _SHE):
        if own & persons and others and not others & persons:
            yield f"its passage does not say “{min(own & persons)}”"
    for clause in these.clauses:
        there = frozenset(word for each in nearest(clause, these.theirs) for word in each.words | each.led_up)
        if own & _PRESENT and not own & _PAST and there & _PAST and not there & _PRESENT:
            yield "its passage speaks of the past"
    yield from _verbs_made_present(these)


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
    for clause in these.clauses:
        near = nearest(clause, these.theirs)
        keys = {each.key for each in clause.tokens}
        for key in sorted(keys & OPPOSITES.keys()):
            there = [{token.key for token in each.tokens} for each in near]
            others = [OPPOSITES[key] & each - {token.key for token in these.claim.tokens} for each in there]
            if near and all(others) and not any(key in each for each in there):
                yield f"its passage says “{min(others[0])}” there, and not “{key}”"


def ranks(these: Comparison) -> Iterator[str]:
    """“The first”, “the largest”, “leading”, which the passages do not say of it."""
    theirs = {token.key for text in these.texts for token in text}
    for at, token in enumerate(these.claim.tokens):
        is_fraction = (
            token.key == "third" and at and plain_word(these.claim.tokens[at - 1]) in {"a", "one", "two"}
        )
        if token.text.casefold() in RANKS and not is_fraction and not _is_ranked(these, at):
            yield f"its passage does not say “{token.text}” of it"
        if is_superlative(token) and token.key not in theirs:
            yield f"its passage does not say “{token.text}”"


def _is_ranked(these: Comparison, at: int) -> bool:
    """Whether the passages have the word near the same next word as the claim, or near the one before it."""
    ours = these.claim.tokens
    beside = {_next(ours, at), next((each.key for each in reversed(ours[:at]) if each.kind in SAYING), None)}
    return any(
        each.key == ours[at].key
        and beside & {near.key for near in text[max(0, place - NEAR) : place + NEAR + 1]}
        for text in these.texts
        for place, each in enumerate(text)
    )


def causes(these: Comparison) -> Iterator[str]:
    """“Because”, “therefore”, “so that” between statements that no sentence of the passages joins so."""
    tokens = these.claim.tokens
    for at, token in enumerate(tokens):
        word = plain_word(token)
        follows = [plain_word(each) for each in tokens[at + 1 : at + 2]]
        if word not in CAUSES or (word == "so" and follows in (["as"], ["much"], ["many"])):
            continue
        if word == "so" and at and plain_word(tokens[at - 1]) in {"does", "do", "did", "or", "doing"}:
            continue
        if word == "since" and [each.kind for each in tokens[at + 1 : at + 2]] == [WordKind.NUMBER]:
            continue
        wanted = PURPOSES if follows == ["that"] else GIVES_CAUSE
        one, other = (set(meaningful_keys(part)) for part in _joined_by(tokens, at))
        joined = (
            each.sentence.words & wanted and each.sentence.keys & one and each.sentence.keys & other
            for each in these.stated
        )
        if not any(joined):
            yield f"its passages do not say “{token.text}”"


def _joined_by(tokens: Sequence[Token], at: int) -> tuple[Sequence[Token], Sequence[Token]]:
    """Returns what a joining word joins; at the beginning of a sentence, the parts before and behind the first comma."""
    if at:
        return tokens[:at], tokens[at + 1 :]
    comma = next((place for place, each in enumerate(tokens) if each.text == ","), len(tokens))
    return tokens[1:comma], tokens[comma:]


def frames(these: Comparison) -> Iterator[str]:
    """An attribution, a doubt, a plan left out: “is said to”, “plans to”, “according to”."""
    own = {token.key for token in these.claim.tokens} | (
        {"to be"} if _is_to_be(these.claim.tokens) else set()
    )
    for text in these.texts:
        for at, token in enumerate(text):
            to_be = plain_word(token) == "to" and _is_to_be(text[max(0, at - 1) : at + 2])
            if token.key not in FRAME_KEYS and not to_be:
                continue
            kind = FRAMED[-1] if to_be else next(each for each in FRAMED if token.key in each)
            allowed = kind | ({"to be", "may", "might", "could"} if kind is FRAMED[-1] else set())
            allowed |= {"not", "without"} if kind is FRAMED[2] else set()
            scope = _framed_by(text, at, alone=kind is FRAMED[0])
            shared = len(scope & these.claim.keys)
            if not own & allowed and scope and shared >= min(2, (len(scope) + 1) // 2):
                yield left_out(f"{text[at - 1].text} to" if to_be else token.text)


def dropped_helpers(these: Comparison) -> Iterator[str]:
    """“Built” for “helped to build”, “is” for “used to be”."""
    for text in these.texts:
        for at, token in enumerate(text[:-2]):
            to = next(
                (
                    place
                    for place in range(at + 1, min(at + NEAR + 1, len(text) - 1))
                    if plain_word(text[place]) == "to"
                ),
                0,
            )
            helps = token.key in HELPS and to and text[to + 1].kind is WordKind.CONTENT
            used = (
                plain_word(token) == "used"
                and to == at + 1
                and plain_word(text[at - 1]) not in _PRESENT | _PAST
            )
            done = _next(text, to) if helps or used else None
            said = {each.key for each in these.claim.tokens} & HELPS or these.claim.words & (
                _PAST if used else DENYING | {"can", "must"}
            )
            if done in these.claim.keys and not said:
                yield left_out(f"{token.text} to")


def _is_to_be(tokens: Sequence[Token]) -> bool:
    """Whether something “is to open”: a plan."""
    return any(
        plain_word(tokens[at]) in {"is", "are"}
        and plain_word(tokens[at + 1]) == "to"
        and tokens[at + 2].kind is WordKind.CONTENT
        for at in range(len(tokens) - 2)
    )


def _framed_by(text: Sequence[Token], at: int, *, alone: bool) -> set[str]:
    """Returns the keys that the framing word at this place governs: what follows; if nothing does, what stands before it.

    Only words that attribute may stand `alone` at the end: “…, doctors advise”.
    """
    ends = [
        place for place, each in enumerate(text) if plain_word(each) in {";", ".", "but", "while", "whereas"}
    ]
    begin = max((place for place in ends if place < at), default=-1) + 1
    end = min((place for place in ends if place > at), default=len(text))
    after = meaningful_keys(text[at + 1 : end])
    everything = text[at].text.casefold() == "according" or (alone and not after)
    return set(meaningful_keys(text[begin:at]) + after if everything else after)


def comparisons(these: Comparison) -> Iterator[str]:
    """The compared things on the other side of “than” or “as … as”."""
    for clause in these.clauses:
        own = _sides(clause)
        for there in (_sides(each) for each in nearest(clause, these.theirs)):
            if own is None or there is None:
                continue
            (before, how, after), (there_before, there_how, there_after) = own, there
            turned_round = after & there_before or before & there_after
            if how & there_how and turned_round and not after & there_after:
                yield "its passage compares them the other way round"


def _sides(clause: Clause) -> tuple[frozenset[str], frozenset[str], frozenset[str]] | None:
    """Returns the words only before “than”, the comparing words, and the words only behind it."""
    words = [plain_word(each) for each in clause.tokens]
    at = next((at for at, word in enumerate(words) if word in {"than", "as"} and at > 1), 0)
    if words[at:].count("as") > 1:
        at = len(words) - 1 - words[::-1].index("as")
    if not at:
        return None
    before, after = (
        frozenset(meaningful_keys(each)) for each in (clause.tokens[:at], clause.tokens[at + 1 :])
    )
    how = frozenset(
        token.key
        for token in clause.tokens[:at]
        if plain_word(token) in _MORE or (token.kind is WordKind.CONTENT and token.text.endswith("er"))
    ) | ({"as"} if words[at] == "as" else set())
    return before - after - how, how, after - before
