"""Decides by rules on words whether passages support a sentence, without trust in the model. Pure.

A sentence holds if one sentence of a passage, or two in a row, contains all its significant words in the same order,
with the same numbers for the same things. Words that negate or limit (*not*, *some*, *may*, *than*, *if*, *said*) must
be neither added nor left out. A sentence that is true for other reasons, or in other words, does not hold: a lost true
sentence costs less than a published false one.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Final

from writing.model.claims.alignment import (
    align,
    begins,
    continues_subject,
    is_only_subject,
    is_subject,
    movable_phrases,
    phrase_near,
    preposition_before,
    words_elsewhere,
)
from writing.model.claims.clauses import SAYING
from writing.model.claims.comparison_budget import (
    CHECK_STEPS,
    PASSAGE_STEPS,
    ComparisonBudget,
    TooMuchWorkError,
)
from writing.model.claims.counting import counted
from writing.model.claims.omissions import adverb_problem, omission_problem
from writing.model.claims.qualifiers import tense_problem
from writing.model.claims.rephrasings import (
    begins_statement,
    halves,
    reworded,
    rotated,
    variants,
)
from writing.model.claims.wording import (
    FLOATING,
    FRAMES,
    PRONOUNS,
    RETRACTIONS,
    UNIT_KEYS,
    Token,
    WordKind,
    normal,
    sentences_of,
    tokens_of,
)

FREELY_PLACED: Final = 8
"""In a sentence of at least this many significant words, one that is neither name nor number may be elsewhere."""
LONGEST: Final = 60
"""The most words and marks of a sentence."""
MOVED: Final = 8
"""The most words in moved phrases; with more, it is a different sentence."""
FEWEST: Final = 2
"""The least significant words of a sentence that can be checked."""
UNRELATED: Final = "its passages say nothing of this"
TOO_MUCH: Final = "its passage repeats itself so much that nothing can be held against it; cite another"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One passage with its heading. `id` is what the model cites."""

    id: str
    heading: str | None
    text: str

    def stated(self) -> list[str]:
        """Returns the heading and the asserted sentences: not those that a neighbour retracts or attributes as a belief."""
        heading = [normal(self.heading)] if self.heading else []
        return [*heading, *_stated(sentences_of(self.text))]

    def windows(self) -> Iterator[tuple[str, ...]]:
        """Yields the spans that may support one statement: a sentence, or two in a row, with the heading as the first."""
        sentences = _stated(sentences_of(self.text))
        yield from ((each,) for each in sentences)
        heading = (normal(self.heading),) if self.heading else ()
        yield from pairwise((*heading, *sentences))


def _stated(sentences: Sequence[str]) -> list[str]:
    """Drops sentences that a neighbouring one retracts, or attributes as a belief."""
    words = [{token.text.casefold() for token in tokens_of(sentence)} for sentence in sentences]
    return [
        sentence
        for at, sentence in enumerate(sentences)
        if not (
            at + 1 < len(sentences)
            and continues_subject(tokens_of(sentences[at + 1]))
            and words[at + 1] & RETRACTIONS
        )
        and not (at and "following" in words[at - 1] and words[at - 1] & FRAMES)
    ]


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The result of a check; `problem` is None if the sentence holds, and `passages` then support it."""

    passages: tuple[str, ...] = ()
    problem: str | None = None
    nearest: str = ""
    """The nearest statement of the passages, if the sentence does not hold."""

    @property
    def holds(self) -> bool:
        return self.problem is None


def check(sentence: str, cited: Sequence[Evidence], *, given: frozenset[str] = frozenset()) -> ClaimVerdict:
    """Checks a sentence against the passages that it cites.

    Args:
        sentence: one sentence, in English.
        cited: the cited passages.
        given: keys of words that need no support, such as a source's title before a quotation.
    """
    tokens = tokens_of(normal(sentence))
    budget = ComparisonBudget(CHECK_STEPS)
    whole = _held(_Claim(tokens, given), cited, budget)
    if whole.holds:
        return whole
    for other_words in reworded(tokens):
        if (held := _held(_Claim(other_words, given), cited, budget)).holds:
            return held
    for first, second in halves(tokens):
        one = _held(_Claim(first, given), cited, budget)
        other = _held(_Claim(second, given, begins=True), cited, budget) if one.holds else one
        if other.holds:
            supporting = {*one.passages, *other.passages}
            return ClaimVerdict(tuple(each.id for each in cited if each.id in supporting))
    return whole


def _held(claim: "_Claim", cited: Sequence[Evidence], budget: ComparisonBudget) -> ClaimVerdict:
    if claim.problem:
        return ClaimVerdict(problem=claim.problem)
    supporting: list[str] = []
    nearest = _ClaimMatch(0.0, UNRELATED)
    for evidence in cited:
        work = budget.part(PASSAGE_STEPS)
        try:
            found = claim.against_all(evidence, work)
        except TooMuchWorkError:
            found = _ClaimMatch(1.0, TOO_MUCH)
        if found.problem is None:
            supporting.append(evidence.id)
        nearest = max(nearest, found, key=lambda each: each.share)
    if supporting:
        return ClaimVerdict(tuple(supporting))
    return ClaimVerdict(problem=nearest.problem, nearest=nearest.said)


@dataclass(frozen=True, slots=True)
class _ClaimMatch:
    share: float
    """The nearness of the passage to the claim, 0 to 2."""
    problem: str | None
    """None if it supports the claim."""
    said: str = ""


def unfit(tokens: Sequence[Token], given: frozenset[str]) -> str | None:
    """Returns the problem of a sentence that no passage could fix; None if it has none."""
    if len(tokens) > LONGEST:
        return "it is too long; say one thing in a sentence"
    if sum(token.kind in SAYING and token.key not in given for token in tokens) < FEWEST:
        return "it says nothing that a passage could support"
    if tokens[0].text.casefold() in PRONOUNS:
        return f"it begins with “{tokens[0].text}”; name its subject"
    return None


class _Claim:
    def __init__(self, tokens: Sequence[Token], given: frozenset[str], *, begins: bool = False) -> None:
        """`begins` is true for the second half of a sentence; its subject must begin a statement of the passage."""
        self._tokens = tuple(tokens)
        self._begins = begins
        self._words = [token.text.casefold() for token in self._tokens]
        self._given = given
        self._weighing = [token for token in self._tokens if token.weighs and token.key not in given]
        self._names = {
            token.key
            for at, token in enumerate(self._tokens)
            if at and token.kind is WordKind.CONTENT and token.text[0].isupper()
        }
        self.problem = unfit(self._tokens, given)

    def against_all(self, evidence: Evidence, work: ComparisonBudget) -> _ClaimMatch:
        """Returns the first match that supports the claim, or else the nearest one.

        Raises:
            TooMuchWorkError: the comparison takes too many steps.
        """
        nearest = _ClaimMatch(0.0, UNRELATED)
        # Check repeated sentences of a passage once.
        for window in dict.fromkeys(evidence.windows()):
            share, problem = self._against(window, work)
            found = _ClaimMatch(share, problem, " ".join(window))
            if problem is None:
                return found
            nearest = max(nearest, found, key=lambda each: each.share)
        return nearest

    def _against(self, window: Sequence[str], work: ComparisonBudget) -> tuple[float, str | None]:
        parts = [tokens_of(sentence) for sentence in window]
        work.spend(sum(map(len, parts)))
        readings = list(variants(parts))
        keys = {token.key for reading in readings for part in reading for token in part}
        missing = [token for token in self._weighing if token.key not in keys]
        share = 1 - len(missing) / len(self._weighing)
        if missing:
            return share, _unsaid(missing)
        if any(sentence.endswith("?") for sentence in window):
            return share, "its passage asks this, and does not say it"
        problem, moved = None, frozenset[str]()
        first: str | None = None
        for reading in readings:
            for order in dict.fromkeys((self._tokens, tuple(rotated(self._tokens)))):
                problem, moved = self._aligned(order, reading, work)
                if problem is None:
                    theirs = {token.text.casefold() for part in parts for token in part}
                    problem = self._framed(parts) or tense_problem(set(self._words), theirs, theirs)
                    problem = problem or (
                        counted(self._tokens, parts, moved, work) and counted(order, reading, moved, work)
                    )
                    return share + 1, problem
                first = first or problem
        return share + 1, first

    def _aligned(
        self, order: Sequence[Token], parts: Sequence[Sequence[Token]], work: ComparisonBudget
    ) -> tuple[str | None, frozenset[str]]:
        """Returns the problem of the word order, if any, and the words of phrases that may be elsewhere."""
        text = [token for part in parts for token in part]
        theirs = {token.key for token in text}
        order = [token for token in order if not (token.key in FLOATING and token.key in theirs)]
        whole = [token for token in order if token.weighs and token.key not in self._given]
        taken = align(whole, text, work)
        left_over = words_elsewhere(whole, [text[at] for at in taken])
        moved: frozenset[str] = frozenset()
        if 0 < len(left_over) <= MOVED and (found := self._with_phrases_moved(order, text, work)):
            taken, moved = found
        elif left_over:
            free = len(whole) >= FREELY_PLACED and len(left_over) == 1
            token = left_over[0]
            if not (free and token.kind is WordKind.CONTENT and token.key not in self._names | UNIT_KEYS):
                return (
                    f"“{token.text}” stands elsewhere in its passage: keep to its order, who does what to whom"
                ), moved
        if self._begins and not (taken and begins_statement(text, taken[0])):
            return "its second half has no subject of its own in its passage", moved
        floating = {token.key for token in self._tokens if token.key in FLOATING and token.key in theirs}
        if floating and (problem := adverb_problem(text, taken, self._tokens, floating)):
            return problem, moved
        elsewhere = {token.key for token in left_over} - moved | floating
        # Each taken word is compared with the text up to the next one, at most with all of it.
        work.spend(len(taken) * len(text))
        return self._complete(parts, taken, elsewhere) or _hung(order, text, taken, elsewhere | moved), moved

    def _complete(
        self, parts: Sequence[Sequence[Token]], taken: Sequence[int], elsewhere: set[str]
    ) -> str | None:
        said = set(self._words)
        if len(parts) == 1:
            return omission_problem(parts[0], set(taken), elsewhere, said)
        first, second = parts
        in_first = {at for at in taken if at < len(first)}
        in_second = {at - len(first) for at in taken if at >= len(first)}
        if not (in_first and in_second):
            return "its words stand in several sentences of the passage"
        # The first sentence may only name the subject; its own statement is left out as a whole.
        named = is_subject(first, in_first) and is_only_subject(first, in_first)
        if not (continues_subject(second) and named and begins(second) in in_second):
            return "it mixes what two sentences say of different things"
        return omission_problem(second, in_second, elsewhere, said)

    def _with_phrases_moved(
        self, order: Sequence[Token], text: Sequence[Token], work: ComparisonBudget
    ) -> tuple[list[int], frozenset[str]] | None:
        """Returns the positions of all words after one or two phrases, such as “in 2004”, move within a clause.

        Also returns the words of those phrases; None if that does not align the sentence.
        """
        if any(token.key == "than" for token in order):
            return None
        phrases = movable_phrases(order)[:5]
        for moved in (*((each,) for each in phrases), *combinations(phrases, 2)):
            inside = {at for phrase in moved for at in phrase}
            rest = [
                token
                for at, token in enumerate(order)
                if at not in inside and token.weighs and token.key not in self._given
            ]
            if not rest:
                continue
            taken = align(rest, text, work)
            if len(taken) < len(rest):
                continue
            there = [phrase_near(text, [order[at] for at in phrase], taken, work) for phrase in moved]
            if all(there):
                places = {at for places in there for at in places or ()}
                return sorted({*taken, *places}), frozenset(text[at].key for at in places)
        return None

    def _framed(self, parts: Sequence[Sequence[Token]]) -> str | None:
        said = set(self._words)
        # A first sentence that only names the subject of the second frames nothing.
        for part in parts[-1:] if len(parts) > 1 and continues_subject(parts[-1]) else parts:
            for token in part:
                word = token.text.casefold()
                if word in FRAMES and word not in said and not said & _kin(word):
                    return f"its passage says so with “{token.text}”, which must not be left out"
        return None


def _hung(
    order: Sequence[Token], text: Sequence[Token], taken: Sequence[int], elsewhere: Container[str]
) -> str | None:
    """Returns the problem of a preposition, if any: “bitten by a dog” is not “bit a dog”."""
    chosen = set(taken)
    places = iter(taken)
    at = next(places, None)
    everywhere = range(len(order))
    for own, token in enumerate(order):
        if at is None or not token.weighs or token.key != text[at].key or token.key in elsewhere:
            continue
        place = at
        at = next(places, None)
        if token.kind not in {WordKind.CONTENT, WordKind.NUMBER}:
            continue
        ours, theirs = preposition_before(order, own, everywhere), preposition_before(text, place, chosen)
        if _is_past(said := token.text.casefold()) != _is_past(there := text[place].text.casefold()):
            return f"its passage says “{there}”, and not “{said}”"
        if ours != theirs:
            return f"its passage says {f'“{theirs}”' if theirs else 'nothing'} before “{token.text}”, and not “{ours or ''}”"
    return None


def _is_past(word: str) -> bool:
    return word.endswith("ed") and not word.endswith("eed")


def _unsaid(missing: Sequence[Token]) -> str:
    numbers = [token.text for token in missing if token.kind is WordKind.NUMBER]
    if numbers:
        return f"its passages do not have the number {', '.join(numbers)}"
    return f"its passages do not say {', '.join(f'“{token.text}”' for token in missing[:6])}"


@lru_cache(256)
def _kin(word: str) -> frozenset[str]:
    """Returns other forms of a framing word: `said` for `says`, `believed` for `believes`."""
    root = {"said": "say", "thought": "think", "denied": "deny", "denies": "deny", "myths": "myth"}.get(
        word, word
    )
    root = root.removesuffix("ed").removesuffix("s").removesuffix("e")
    return frozenset(each for each in FRAMES if each.startswith(root)) | (
        {"said"} if root == "say" else set()
    )
