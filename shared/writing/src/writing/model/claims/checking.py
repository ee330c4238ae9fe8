"""Decides by rules on words whether passages may say a sentence, and whether they plainly do, without trust in a model. Pure.

A sentence to which a rule objects is refused, even if a judge supports it. Any other sentence needs the judge's
confirmation. Without a judge it stands only if it is a whole statement of its passages, nearly word for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from writing.model.claims.comparison import Comparison, Evidence, Statement
from writing.model.claims.pieces import FRAME_KEYS, SAYING, plain_word
from writing.model.claims.qualifiers import CONDITIONAL, NOT
from writing.model.claims.rules import RULES, STRICT_RULES
from writing.model.claims.wording import (
    ARTICLES,
    PREPOSITIONS,
    PRONOUNS,
    Token,
    WordKind,
    is_past,
    normal,
    tokens_of,
)

LONGEST: Final = 60
"""The most words and marks of a sentence."""
FEWEST: Final = 2
"""The least significant words of a sentence that can be checked."""
LONGEST_SUBJECT: Final = 6
"""Words, without articles, of a subject that the passage takes up by a pronoun."""
MOST_PROBLEMS: Final = 4
"""The most that a writer is told of one sentence."""
NOT_WHOLE: Final = "it is no whole statement of its passages, in their words"
_ASIDE: Final = frozenset({"while", "whereas", "but"})
_VERBS: Final = frozenset("is are was were has have had can may must will".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The result of a check; `problem` is None if the sentence holds, and `passages` then support it."""

    passages: tuple[str, ...] = ()
    problem: str | None = None
    nearest: str = ""
    """The nearest statements of the passages, if the sentence does not hold."""
    conceivable: bool = False
    """Whether no rule objects: its passages may say it in other words, and a judge may confirm that."""

    @property
    def holds(self) -> bool:
        return self.problem is None


def check(
    sentence: str, cited: Sequence[Evidence], *, given: frozenset[str] = frozenset(), strict: bool = False
) -> ClaimVerdict:
    """Checks a sentence against the passages that it cites.

    Args:
        sentence: one sentence, in English.
        cited: the cited passages.
        given: keys of words that need no support, such as a source's title before a quotation; the rest may then be any
            run of words of a passage.
        strict: with the rules for judges that have not passed their exam.
    """
    tokens = tokens_of(normal(sentence))
    if problem := _unfit(tokens, given):
        return ClaimVerdict(problem=problem)
    these = Comparison(tokens, cited)
    objecting = (problem for rule in (STRICT_RULES if strict else RULES).values() for problem in rule(these))
    problems = () if given else tuple(islice(dict.fromkeys(objecting), MOST_PROBLEMS))
    if problems:
        return ClaimVerdict(problem="; ".join(problems), nearest=these.nearest_text())
    parts = [{each.passage for each in these.stated if _says(each, part, given)} for part in _parts(tokens)]
    if not all(parts):
        parts = [{each.passage for each in these.stated if _says(each, tokens, given)}]
    if all(parts):
        supporting = frozenset().union(*parts)
        return ClaimVerdict(tuple(each.id for each in cited if each.id in supporting), conceivable=True)
    return ClaimVerdict(problem=NOT_WHOLE, nearest=these.nearest_text(), conceivable=not given)


def _unfit(tokens: Sequence[Token], given: frozenset[str]) -> str | None:
    """Returns the problem of a sentence that no passage could fix; None if it has none."""
    if len(tokens) > LONGEST:
        return "it is too long; say one thing in a sentence"
    if sum(token.kind in SAYING and token.key not in given for token in tokens) < FEWEST:
        return "it says nothing that a passage could support"
    if tokens[0].text.casefold() in PRONOUNS and not _is_cleft(tokens):
        return f"it begins with “{tokens[0].text}”; name its subject"
    return None


def _is_cleft(tokens: Sequence[Token]) -> bool:
    """Whether it begins like “It is the board that moves the air”."""
    first, second, *rest = map(plain_word, tokens)
    return first == "it" and second in {"is", "was"} and not {"that", "who"}.isdisjoint(rest)


def _parts(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Returns the statements that the sentence sets side by side: around “;”, “, while”, “, but”."""
    for at, token in enumerate(tokens[:-1]):
        joins = token.text == "," and plain_word(tokens[at + 1]) in _ASIDE
        if token.text == ";" or joins:
            return [tokens[:at], tokens[at + 1 + joins :]]
    return [tokens]


def _says(statement: Statement, tokens: Sequence[Token], given: frozenset[str]) -> bool:
    """Whether the sentence is a whole statement of this one, beginning and end included."""
    text = statement.sentence.tokens
    theirs = [at for at, each in enumerate(text) if _counts(each)]
    keys = [_form(text[at]) for at in theirs]
    ours = [_form(each) for each in tokens if _counts(each) and each.key not in given]
    for start in range(len(keys) - len(ours) + 1):
        whole = bool(given) or _is_whole(text, theirs[start], theirs[start + len(ours) - 1])
        if whole and keys[start : start + len(ours)] == ours:
            return True
    if ours in ([_form(each) for each in _turned(part) if _counts(each)] for part in (text, text[:-1])):
        return True
    return _continues(statement, [each for each in tokens if _counts(each)])


def _continues(statement: Statement, ours: Sequence[Token]) -> bool:
    """Whether it says of the subject before it, by a pronoun, what the sentence says of that by name."""
    text = statement.sentence.tokens
    if not text or text[0].text.casefold() not in PRONOUNS:
        return False
    theirs = [at for at, each in enumerate(text) if _counts(each)]
    for before in (statement.previous, statement.heading):
        named = [at for at, each in enumerate(before) if _counts(each)]
        for size in range(1, min(LONGEST_SUBJECT, len(named), len(ours) - 1) + 1):
            follows = before[named[size - 1] + 1 : named[size - 1] + 2]
            rest = [_form(each) for each in ours[size:]]
            if (
                all(plain_word(each) in _VERBS or is_past(each.text) for each in follows)
                and [before[at].key for at in named[:size]] == [each.key for each in ours[:size]]
                and [_form(text[at]) for at in theirs[: len(rest)]] == rest
                and _is_whole(text, 0, theirs[len(rest) - 1])
            ):
                return True
    return False


def _counts(token: Token) -> bool:
    return token.weighs or plain_word(token) in PREPOSITIONS


def _form(token: Token) -> tuple[str, bool]:
    return token.key, is_past(token.text.casefold())


def _turned(tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns the sentence with what stands before its only comma behind the rest."""
    commas = [at for at, each in enumerate(tokens) if each.text == ","]
    return [*tokens[commas[0] + 1 :], *tokens[: commas[0]]] if len(commas) == 1 else tokens


def _is_whole(text: Sequence[Token], first: int, last: int) -> bool:
    """Whether these words begin and end a statement of the text, and nothing around them limits it."""
    before = [each for each in text[:first] if plain_word(each) not in ARTICLES]
    after = text[last + 1 :]
    if [each.text for each in after[:2]] == [",", "and"]:
        after = ()
    begins = (
        not before
        or before[-1].text in {";", ":"}
        or (plain_word(before[-1]) in {"and", "but", "while"} and len(before) > 1 and before[-2].text == ",")
    )
    ends = not after or after[0].kind is WordKind.BREAK or plain_word(after[0]) == "because"
    return (
        begins
        and ends
        and not any(
            plain_word(each) in CONDITIONAL | NOT or each.key in FRAME_KEYS for each in (*before, *after)
        )
    )
