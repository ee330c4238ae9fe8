"""Splits sentences into clauses, and finds the clauses of a passage that are nearest to one of a claim. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from writing.model.claims.wording import CLAUSES, Token, WordKind

SAYING: Final = frozenset({WordKind.CONTENT, WordKind.NUMBER})
"""The kinds of words that carry meaning of their own."""
CONDITIONS: Final = frozenset({"if", "unless", "except", "provided"})
_BEGINS: Final = CLAUSES | CONDITIONS | {"when", "where", "so", "yet", "that"}
_JOINS: Final = frozenset({"and", "but", "so", "yet", "or", "which", "who", "while"})
_OPENS: Final = CONDITIONS | {
    "when",
    "where",
    "because",
    "since",
    "while",
    "although",
    "though",
    "before",
    "after",
    "until",
}
"""After one of these at the beginning of a sentence, the second clause begins behind the first comma."""
_ENDS: Final = frozenset(";:().!?–—")  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Clause:
    tokens: tuple[Token, ...]
    led_up: frozenset[str] = frozenset()
    """The words of the clause that introduces this one: “doctors hope”, before “that it heals”."""
    conditions: tuple["Clause", ...] = ()
    """The conditional clauses of the same sentence."""
    keys: frozenset[str] = field(init=False)
    """Keys of the words and numbers that carry meaning."""
    words: frozenset[str] = field(init=False)
    """All words in lower case; “no”, “cannot” and “n't” become “not”."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", frozenset(meaningful_keys(self.tokens)))
        object.__setattr__(self, "words", frozenset(map(plain_word, self.tokens)))

    @property
    def text(self) -> str:
        return " ".join(token.text for token in self.tokens)


def meaningful_keys(tokens: Sequence[Token]) -> list[str]:
    return [token.key for token in tokens if token.kind in SAYING]


def plain_word(token: Token) -> str:
    return "not" if token.key == "not" else token.text.casefold()


def clauses_of(tokens: Sequence[Token]) -> tuple[Clause, ...]:
    """Splits a sentence into clauses, brackets last; a part without meaning of its own joins the clause before it."""
    outside, asides = _without_asides(tokens)
    return (*_in_clauses(outside), *(Clause(each) for each in asides))


def _without_asides(tokens: Sequence[Token]) -> tuple[Sequence[Token], list[tuple[Token, ...]]]:
    """Separates the sentence from its brackets."""
    outside: list[Token] = []
    asides: list[list[Token]] = []
    depth = 0
    for token in tokens:
        if token.text == "(":
            asides += [] if depth else [[]]
            depth += 1
        elif token.text == ")" and depth:
            depth -= 1
        elif depth:
            asides[-1].append(token)
        else:
            outside.append(token)
    return outside, [tuple(each) for each in asides if any(token.kind in SAYING for token in each)]


def _in_clauses(tokens: Sequence[Token]) -> tuple[Clause, ...]:
    parts: list[list[Token]] = [[]]
    for at, token in enumerate(tokens):
        if _begins(tokens, at) and any(each.kind in SAYING for each in parts[-1]):
            parts.append([])
        parts[-1].append(token)
    if len(parts) > 1 and not any(each.kind in SAYING for each in parts[-1]):
        parts[-2:] = [parts[-2] + parts[-1]]
    conditions = tuple(Clause(tuple(part)) for part in parts if part and plain_word(part[0]) in CONDITIONS)
    found: list[Clause] = []
    for at, part in enumerate(parts):
        opens = plain_word(part[0]) if part else ""
        led_up = map(plain_word, parts[at - 1]) if at and opens == "that" else ()
        found.append(Clause(tuple(part), frozenset(led_up), () if opens in CONDITIONS else conditions))
    return tuple(found)


def _begins(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    if token.text in _ENDS or token.text.casefold() in _BEGINS:
        return True
    if token.kind is not WordKind.BREAK:
        return False
    if plain_word(tokens[0]) in _OPENS and all(each.text != "," for each in tokens[:at]):
        return True
    follows = tokens[at + 1].text.casefold() if at + 1 < len(tokens) else ""
    return token.text.isalpha() or follows in _JOINS


def nearest(clause: Clause, others: Sequence[Clause]) -> tuple[Clause, ...]:
    """Returns the clauses that share the most words with this one; empty if none shares a word."""
    shared = [len(clause.keys & other.keys) for other in others]
    most = max(shared, default=0)
    return tuple(other for other, count in zip(others, shared, strict=True) if count == most > 0)
