"""Compares who does what to whom: the subjects of verbs, what stands on either side of a word, whose a name is. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, takewhile
from typing import Final

from writing.model.claims.comparison import Comparison, Statement
from writing.model.claims.pieces import CONDITIONS, FRAME_KEYS, SAYING, is_number, meaningful_keys, plain_word
from writing.model.claims.qualifiers import NOT, OPPOSITES
from writing.model.claims.vocabulary import listed, words
from writing.model.claims.wording import (
    ARTICLES,
    CLAUSES,
    PREPOSITIONS,
    UNIT_KEYS,
    Token,
    WordKind,
    content_key,
    is_past,
)

NEAREST: Final = 10
"""The most words between “more” and “than”."""
LONGEST_STRETCH: Final = 9
"""The most words from one to another that may have changed places with it."""
_OPENERS: Final = CONDITIONS | {"anyone", "everyone", "someone", "besides", "despite", "having", "given"}
"""Words that are capitalised at the beginning of a sentence and are no names."""
_BE: Final = frozenset("is are was were be been being".split())  # noqa: SIM905
_AUXILIARIES: Final = _BE | frozenset(
    "has have had do does did will would can could may might must should shall".split()  # noqa: SIM905
)
_ENDS_SUBJECT: Final = (
    CLAUSES
    | CONDITIONS
    | _AUXILIARIES
    | {"that", "and", "or", "when", "where", "than", "since", "until", "before", "after"}
)
_ENDS_STATEMENT: Final = frozenset({";", ":", "but", "while", "whereas", "although", "though"})
_OFTEN: Final = frozenset("often always never sometimes seldom also still".split())  # noqa: SIM905
"""Between a noun and its verb, and seldom behind a verb."""
_DEGREES: Final = frozenset({"more", "less", "fewer"})
_NO_DEGREES: Final = frozenset({"other", "rather", "over", "under", "per", "never"})
_COUNTS: Final = frozenset({"twice", "half", "double"})
_CONJUNCTIONS: Final = frozenset({"long", "soon", "far"})
_FRACTIONS: Final = words("numbers", "fractions")
_CONVERSES: Final = {
    content_key(word): (row, at < group.index("/"))
    for row, group in enumerate(listed("opposites", "converses"))
    for at, word in enumerate(group)
    if word != "/"
}
_ASIDE: Final = frozenset({"a", "an", "the", "who", "which"})
_RELATIVES: Final = frozenset({"who", "which", "that"})


def is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it looks like a name: capitalised inside the sentence, or with a capital, digit or “_” inside.

    The first word is one if another capitalised word or a verb follows: “Kowalski built”, but not “Growth of sales”.
    """
    token = tokens[at]
    if token.kind is not WordKind.CONTENT or (
        not at and (token.text.casefold() in _OPENERS or token.key in FRAME_KEYS)
    ):
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


@dataclass(frozen=True, slots=True)
class _Verb:
    key: str
    text: str
    subject: tuple[Token, ...]
    """The words of its subject; empty if a pronoun or the beginning of a clause stands there."""
    before: frozenset[str]
    """Keys of the statement before it."""
    after: frozenset[str]
    """Keys of the statement behind it."""
    is_passive: bool

    @property
    def names(self) -> frozenset[str]:
        return frozenset(
            each.key for each in self.subject if each.text[0].isupper() and each.kind is WordKind.CONTENT
        )


def _verbs(tokens: Sequence[Token]) -> Iterator[_Verb]:
    for at, token in enumerate(tokens):
        if not at or token.kind is not WordKind.CONTENT or token.text[0].isupper():
            continue
        back, helped = _before_verb(tokens, at)
        begin = next((b + 1 for b in range(at - 1, -1, -1) if tokens[b].kind is WordKind.BREAK), 0)
        word = token.text.casefold()
        is_verb = is_past(word) or (word.endswith("s") and not _is_noun(tokens, at, begin))
        if not (helped & _AUXILIARIES or (is_verb and not helped & ARTICLES)):
            continue
        if back >= 0 and plain_word(tokens[back]) in _RELATIVES:
            back -= 1
            back -= back >= 0 and tokens[back].text == ","
            subject = tuple(_words_before(tokens, back + 1))
            if tokens[back + 1].text == ",":
                subject = _subject(tokens[: back + 1])
        else:
            subject = _subject(tokens[: _before_aside(tokens, back) + 1])
        # “But” right before the verb goes on with the subject before it.
        before = at if subject or back < 0 or plain_word(tokens[back]) != "but" else back
        begin = next((b + 1 for b in range(before - 1, -1, -1) if tokens[b].text in _ENDS_STATEMENT), 0)
        end = next((e for e in range(at + 1, len(tokens)) if tokens[e].text in {";", ":"}), len(tokens))
        yield _Verb(
            token.key,
            token.text,
            subject,
            frozenset(each.key for each in tokens[begin:at]),
            frozenset(each.key for each in tokens[at + 1 : end]),
            (bool(helped & _BE) and not word.endswith("ing"))
            or (is_past(word) and [*map(plain_word, tokens[at + 1 : at + 2])] == ["by"]),
        )


def _before_aside(tokens: Sequence[Token], back: int) -> int:
    """Returns the last place before “, a musician from Bath,” or “, who …,” if such an aside ends here."""
    if back < 0 or tokens[back].text != ",":
        return back
    begin = next((at for at in range(back - 1, 0, -1) if tokens[at].kind is WordKind.BREAK), 0)
    aside = begin and tokens[begin].text == "," and plain_word(tokens[begin + 1]) in ARTICLES | _RELATIVES
    return begin - 1 if aside else back


def _before_verb(tokens: Sequence[Token], at: int) -> tuple[int, set[str]]:
    """Returns the place of the last word before the verb and its helpers, and the helpers."""
    helped: set[str] = set()
    back = at - 1
    while back >= 0:
        word = plain_word(tokens[back])
        limits = (
            tokens[back].kind in {WordKind.STRICT, WordKind.LOOSE} and word not in PREPOSITIONS | _RELATIVES
        )
        if not (
            word in _AUXILIARIES | NOT | ARTICLES - _RELATIVES - {"this"} or word.endswith("ly") or limits
        ):
            break
        helped.add(word)
        back -= 1
    return back, helped


def _subject(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Returns the words at the end that may be a subject: “the editors of Trellis”."""
    begin = len(tokens)
    while (
        begin
        and tokens[begin - 1].kind is not WordKind.BREAK
        and plain_word(tokens[begin - 1]) not in _ENDS_SUBJECT
        and not (
            tokens[begin - 1].kind in SAYING and {*map(plain_word, tokens[begin : begin + 1])} & ARTICLES
        )
        and not (is_past(tokens[begin - 1].text) and begin < len(tokens))
    ):
        begin -= 1
    return tuple(tokens[begin:]) if tokens and tokens[-1].kind in SAYING else ()


def _words_before(tokens: Sequence[Token], end: int) -> Sequence[Token]:
    begin = end
    while begin and tokens[begin - 1].kind in SAYING:
        begin -= 1
    return tokens[begin:end]


def _heads(subject: Sequence[Token]) -> frozenset[str]:
    """Returns the keys before the first preposition inside; one of them is the noun that acts."""
    end = next(
        (at for at, each in enumerate(subject) if at and plain_word(each) in PREPOSITIONS), len(subject)
    )
    if subject and plain_word(subject[0]) in PREPOSITIONS:
        end = len(subject)
    return frozenset(each.key for each in subject[:end] if each.kind in SAYING)


def _is_noun(tokens: Sequence[Token], at: int, begin: int) -> bool:
    """Whether a word in “-s” is no verb: counted, behind a preposition, or in a clause with another verb."""
    beside = [*range(begin, at), *range(at + 1, min(at + 2, len(tokens)))]
    verb = any(plain_word(tokens[each]) in _AUXILIARIES or is_past(tokens[each].text) for each in beside)
    other = any(
        tokens[each].text.endswith("s") and tokens[each].text.islower() and not _is_counted(tokens, each)
        for each in beside
    )
    ends = any(
        each.kind is WordKind.BREAK or plain_word(each) in _OFTEN or each.text.endswith("ly")
        for each in tokens[at + 1 : at + 2]
    )
    return verb or other or ends or _is_counted(tokens, at) or tokens[at].key in UNIT_KEYS


def _is_counted(tokens: Sequence[Token], at: int) -> bool:
    """Whether a number or preposition stands before it, as before nouns."""
    before = tokens[at - 1 : at]
    return any(each.kind is WordKind.NUMBER or plain_word(each) in PREPOSITIONS for each in before)


def other_subjects(these: Comparison) -> Iterator[str]:
    """Verbs with another subject than in the passages, which speak of that subject elsewhere."""
    theirs: dict[str, list[tuple[_Verb, Statement]]] = {}
    for each in these.support:
        for verb in _verbs(each.sentence.tokens):
            theirs.setdefault(verb.key, []).append((verb, each))
    for own in _verbs(these.claim.tokens):
        there = theirs.get(own.key, [])
        if _heads(own.subject) and there and not any(_same_subject(own, *each, these) for each in there):
            yield f"its passage does not say that “{' '.join(each.text for each in own.subject)}” {own.text}"


def _same_subject(own: _Verb, there: _Verb, said: Statement, these: Comparison) -> bool:
    same_voice = own.is_passive == there.is_passive
    texts = (these.claim.tokens, *these.texts)
    common = {each.key for text in texts for each in text if each.text.islower()}
    if same_voice and own.names - there.names - common and there.names - own.names - common:
        return False
    heads = _heads(own.subject)
    if heads & {each.key for each in there.subject} or not heads & these.known:
        return True
    if not there.subject:
        named = said.before | said.topic | there.before
        return (
            bool(heads & (named | own.names & said.earlier))
            and own.names - common <= said.earlier | named | said.sentence.keys
        ) or not same_voice
    return bool(heads & (there.before if same_voice else there.after))


def other_relations(these: Comparison) -> Iterator[str]:
    """“A pupil of Ann”, “more success”, where the passages say a pupil of Ben, and less success."""
    theirs = dict[tuple[str, str], frozenset[str]]()
    for text in these.texts:
        for place, word, others in _relations(text):
            theirs[place, word] = theirs.get((place, word), frozenset()) | others
    for place, word, others in _relations(these.claim.tokens):
        there = theirs.get((place, word), others)
        if not others & there:
            yield f"its passage has “{word}” with “{min(there)}”, and not with “{min(others)}”"


def _relations(tokens: Sequence[Token]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yields nouns with the names behind “of”, and words with “more”, “less” before them."""
    for at, token in enumerate(tokens[:-1]):
        if token.kind is not WordKind.CONTENT:
            continue
        if plain_word(tokens[at + 1]) == "of":
            end = at + 2
            while end < len(tokens) and (
                tokens[end].kind is WordKind.CONTENT or plain_word(tokens[end]) in ARTICLES
            ):
                end += 1
            names = frozenset(tokens[each].key for each in range(at + 2, end) if is_name(tokens, each))
            if names and token.text.islower():
                yield "of", token.key, names
        if at and plain_word(tokens[at - 1]) in _DEGREES:
            yield "degree", token.key, frozenset({"more" if plain_word(tokens[at - 1]) == "more" else "less"})


def converses(these: Comparison) -> Iterator[str]:
    """Two names in each other's part: “Ben was Ann's teacher”, “Ann learned from Ben” for “Ann taught Ben”."""
    theirs = [each for said in these.stated for each in _parts_of(said.sentence.tokens)]
    for row, one, other in _parts_of(these.claim.tokens):
        there = [(first, second) for place, first, second in theirs if place == row]
        if any(one & second and other & first for first, second in there) and not any(
            one & first and other & second for first, second in there
        ):
            yield f"its passage has “{' '.join(sorted(one))}” and “{' '.join(sorted(other))}” the other way round"


def _parts_of(tokens: Sequence[Token]) -> Iterator[tuple[int, frozenset[str], frozenset[str]]]:
    """Yields the names on either side of “teach”, “pupil”, “hire”: the one that teaches or hires comes first."""
    for at, token in enumerate(tokens):
        if token.key in _CONVERSES:
            row, acts = _CONVERSES[token.key]
            one, other = _named(tokens, range(at - 1, -1, -1)), _named(tokens, range(at + 1, len(tokens)))
            passive = [*map(plain_word, tokens[at + 1 : at + 2])] == ["by"]
            if one and other:
                yield (row, one, other) if acts != passive else (row, other, one)


def _named(tokens: Sequence[Token], places: Sequence[int]) -> frozenset[str]:
    """Returns the keys of the first name at these places, within a few words."""
    found: list[str] = []
    for at in islice(places, LONGEST_STRETCH):
        if is_name(tokens, at):
            found.append(tokens[at].key)
        elif found:
            # “Was taught by Ann and became the teacher of Eve”: of somebody else than Ann.
            acts_not = at < places[0] and plain_word(tokens[at]) in {"by", "from", "under"}
            return frozenset() if acts_not else frozenset(found)
    return frozenset(found)


def mistaken_asides(these: Comparison) -> Iterator[str]:
    """“Ann Lee, a baker from Bath,” where the passages say that of Eve Lee."""
    theirs = [each for said in these.stated for each in _asides(said.sentence.tokens)]
    for name, aside in _asides(these.claim.tokens):
        others = [there for there, told in theirs if aside and aside <= told]
        if others and not any(name <= there or there <= name for there in others):
            yield f"its passage says that of “{' '.join(sorted(others[0]))}”"


def _asides(tokens: Sequence[Token]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yields names with what “, a …,” or “, who …,” behind them says."""
    for at in range(1, len(tokens) - 1):
        if tokens[at].text == "," and plain_word(tokens[at + 1]) in _ASIDE:
            name = _named(tokens, [*takewhile(lambda each: is_name(tokens, each), range(at - 1, -1, -1))])
            aside = takewhile(lambda each: each.kind is not WordKind.BREAK, tokens[at + 1 :])
            if name:
                yield name, frozenset(meaningful_keys([*aside]))


def unknown_names(these: Comparison) -> Iterator[str]:
    """Names that neither the passages have nor what is above them."""
    for at, token in enumerate(these.claim.tokens):
        if is_name(these.claim.tokens, at) and token.key not in these.known:
            yield f"its passages do not have the name {token.text}"


def mixed_statements(these: Comparison) -> Iterator[str]:
    """A piece made of the words of several sentences that are about different things."""
    for piece in these.pieces:
        known = piece.keys & these.known
        left = [known - each.sentence.keys - each.before - each.topic for each in these.stated]
        if known and min(map(len, left), default=0) > 1:
            words = " ".join(each.text for each in piece.tokens)
            yield f"no sentence of its passages joins “{words}”"


def split_names(these: Comparison) -> Iterator[str]:
    """Names with words that the passages have, but not together."""
    told = [
        (one, other)
        for one, other in pairwise(these.claim.tokens)
        if all(each.kind is WordKind.CONTENT and each.text[0].isupper() for each in (one, other))
        and {one.key, other.key} <= these.known
        and not one.text.endswith(("'s", "’s"))  # noqa: RUF001
    ]
    texts = [text for each in these.stated for text in (each.sentence.tokens, each.heading)] if told else []
    theirs = {
        (each.key, other.key)
        for text in texts
        for at, each in enumerate(text)
        for other in text[at + 1 : at + 4]
    }
    for one, other in told:
        if (one.key, other.key) not in theirs:
            yield f"its passages do not say “{one.text} {other.text}”"


def turned_round(these: Comparison) -> Iterator[str]:
    """Two words in each other's place, with the same words between: “Ann taught Ben” for “Ben taught Ann”."""
    theirs = {each for text in these.texts for each in _stretches(text)}
    for first, between, last, joins in _stretches(these.claim.tokens):
        told = (first, between, last, joins) in theirs
        if first != last and (last, between, first, joins) in theirs and not told:
            yield f"its passage has “{last}” and “{first}” the other way round"


def _stretches(tokens: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...], str, frozenset[str]]]:
    """Yields pairs of names or of other words with the words between them, and whether “by” or “'s” is there.

    Words of one name count as one, and numbers may stand side by side.
    """
    told: list[tuple[str, int, bool]] = []
    for at, token in enumerate(tokens):
        if token.kind not in SAYING and token.kind is not WordKind.STRICT:
            continue
        named = is_name(tokens, at)
        if named and told and told[-1][2] and told[-1][1] == at - 1:
            told[-1] = (f"{told[-1][0]} {token.key}", at, True)
        else:
            told.append((token.key, at, named))
    for begin, (first, place, named) in enumerate(told):
        for end in range(begin + 1, min(len(told), begin + LONGEST_STRETCH)):
            last, to, last_named = told[end]
            between = tuple(key for key, _, _ in told[begin + 1 : end])
            numbers = tokens[place].kind is tokens[to].kind is WordKind.NUMBER
            if (named == last_named or not place) and (between or numbers):
                texts = (plain_word(each) for each in tokens[place:to])
                yield (
                    first,
                    between,
                    last,
                    frozenset(each[-2:] for each in texts if each == "by" or each.endswith("'s")),
                )


def comparisons(these: Comparison) -> Iterator[str]:
    """Comparatives that no passage has; compared things that have changed sides, or more for less: “Ann is older than Ben” for “Ben is older than Ann”."""
    theirs = [each for text in these.texts for each in _compared(text)]
    for own in _compared(these.claim.tokens):
        if own.word and own.degree and not _has_degree(own, these):
            yield f"its passages do not say “{own.word} … than”; compare as they do, or give their figures"
        for there in theirs:
            second = there.second - there.first
            same, swapped = bool(second & own.second), bool(second & own.first - own.second)
            degree = _same_degree(own, there)
            if same != swapped and degree is not None and degree != (1 if same else -1):
                yield f"its passage compares it with “{' '.join(sorted(second))}” in another way"


def _has_degree(own: "_Compared", these: Comparison) -> bool:
    """Whether the passages say “more” or “less” of anything, or this comparative or its opposite."""
    keys = {token.key for token in these.said.tokens}
    if own.word == "more":
        return bool(these.said.words & _DEGREES)
    return own.word in keys or not keys.isdisjoint(OPPOSITES.get(own.word, ()))


@dataclass(frozen=True, slots=True)
class _Compared:
    degree: int
    """1 for more, -1 for less, 0 for as much; `word` says of what, “” in “as much as”."""
    word: str
    first: frozenset[str]
    second: frozenset[str]


def _same_degree(own: _Compared, there: _Compared) -> int | None:
    """Returns 1 if both say more or both less, -1 if one says more and the other less, 0 if one says as much."""
    if own.word and there.word and own.word != there.word:
        return -1 if there.word in OPPOSITES.get(own.word, ()) else None
    return own.degree * there.degree


def _compared(tokens: Sequence[Token]) -> Iterator[_Compared]:
    words = [plain_word(each) for each in tokens]
    for at in range(1, len(tokens) - 1):
        if words[at] not in {"than", "as"}:
            continue
        begin = next((b + 1 for b in range(at - 1, -1, -1) if tokens[b].kind is WordKind.BREAK), 0)
        end = next((e for e in range(at + 1, len(tokens)) if tokens[e].kind is WordKind.BREAK), len(tokens))
        before, behind = words[max(begin, at - NEAREST) : at], tokens[at + 1 : end]
        counted = is_number(tokens, at + 1) or any(each.key in _COUNTS for each in behind[:2])
        if counted or NOT.intersection(before):
            continue
        more = [
            each for each in before if each in _DEGREES or (each.endswith("er") and each not in _NO_DEGREES)
        ]
        if words[at] == "than" and more:
            degree = -1 if more[-1] in {"less", "fewer"} else 1
            word = "more" if more[-1] in _DEGREES else content_key(more[-1])
        elif words[at] == "as" and "as" in before and words[at - 1] not in _CONJUNCTIONS:
            some = {*words[max(begin, at - NEAREST - 2) : at]}
            degree = -1 if some & _FRACTIONS else int(bool(some & {"twice", "times", "double"}))
            word = ""
        else:
            continue
        sides = (frozenset(meaningful_keys(each)) for each in (tokens[begin:at], behind))
        yield _Compared(degree, word, *sides)
