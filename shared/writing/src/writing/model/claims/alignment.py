"""Aligns the words of a sentence with a passage: their order, their clauses, and the gaps between them. Pure."""

from bisect import bisect_right
from collections.abc import Container, Sequence
from typing import Final

from writing.model.claims.comparison_budget import ComparisonBudget
from writing.model.claims.wording import (
    ARTICLES,
    CLAUSES,
    FRAMES,
    MOVABLE,
    PREPOSITIONS,
    PRONOUNS,
    Token,
    WordKind,
)

_JOINS: Final = frozenset({"and", "or"})
_ENDS_PHRASE: Final = _JOINS | {"is", "are", "was", "were", "when", "where", "than", "that"}
_CONNECTS: Final = frozenset({"hence", "thus", "therefore", "so", "also", "furthermore", "moreover"})


def align(order: Sequence[Token], text: Sequence[Token], work: ComparisonBudget) -> list[int]:
    """Returns the positions in `text` of its longest common subsequence with `order`, in the narrowest span."""
    ours = [token.key for token in order]
    wanted = set(ours)
    # Compare only words that can match.
    places = [at for at, token in enumerate(text) if token.weighs and token.key in wanted]
    theirs = [text[at].key for at in places]
    starts = [at for at, key in enumerate(theirs) if key == ours[0]][:3] or [0]
    work.spend(len(text) + (len(ours) + len(starts)) * (len(theirs) + 1))
    rows = _common(ours, theirs)
    found = [[places[at] for at in _chain(ours, theirs, rows, start)] for start in starts]
    return min(found, key=lambda chain: (-len(chain), (chain[-1] - chain[0]) if chain else 0))


def _common(ours: Sequence[str], theirs: Sequence[str]) -> list[list[int]]:
    """Returns, for each `i` and `j`, the length of the longest common subsequence of `ours[i:]` and `theirs[j:]`."""
    rows = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in range(len(ours) - 1, -1, -1):
        row, below, key = rows[i], rows[i + 1], ours[i]
        for j in range(len(theirs) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + (key == theirs[j]))
    return rows


def _chain(
    ours: Sequence[str], theirs: Sequence[str], rows: Sequence[Sequence[int]], start: int
) -> list[int]:
    """Returns one longest common subsequence from `start` on, with each match as early as possible."""
    chain: list[int] = []
    i, j = 0, start
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j] and rows[i][j] == rows[i + 1][j + 1] + 1:
            chain.append(j)
            i, j = i + 1, j + 1
        elif rows[i + 1][j] >= rows[i][j + 1]:
            i += 1
        else:
            j += 1
    return chain


def words_elsewhere(order: Sequence[Token], taken: Sequence[Token]) -> list[Token]:
    rest = iter(taken)
    expected = next(rest, None)
    left: list[Token] = []
    for token in order:
        if expected is not None and token.key == expected.key:
            expected = next(rest, None)
        else:
            left.append(token)
    return left


def continues_subject(part: Sequence[Token]) -> bool:
    """Whether a sentence continues with the subject of the one before it, by a pronoun."""
    first = next(
        (
            token
            for token in part
            if token.kind is not WordKind.BREAK and token.text.casefold() not in _CONNECTS
        ),
        None,
    )
    return first is not None and first.text.casefold() in PRONOUNS


def movable_phrases(order: Sequence[Token]) -> list[tuple[int, ...]]:
    """Returns the positions of each movable phrase: its introducing word, and the words up to the next phrase or clause."""
    starts = [at for at, token in enumerate(order) if token.text.casefold() in MOVABLE]
    found: list[tuple[int, ...]] = []
    for start in starts:
        end = next(
            (at for at in range(start + 1, len(order)) if at in starts or _bounds(order[at])), len(order)
        )
        if any(order[at].weighs for at in range(start + 1, end)):
            found.append(tuple(range(start, end)))
    return found


def _bounds(token: Token) -> bool:
    word = token.text.casefold()
    return is_clause_boundary(token) or word in FRAMES or word in _ENDS_PHRASE


def phrase_near(
    text: Sequence[Token], phrase: Sequence[Token], taken: Sequence[int], work: ComparisonBudget
) -> tuple[int, ...] | None:
    """Returns the positions of the phrase's significant words if it occurs unchanged in the clause of `taken`; else None."""
    introduced = phrase[0].text.casefold()
    keys = [token.key for token in phrase[1:] if token.weighs]
    weighing = [at for at, token in enumerate(text) if token.weighs]
    work.spend(len(text))
    for start, token in enumerate(text):
        if token.text.casefold() != introduced:
            continue
        behind = bisect_right(weighing, start)
        places = weighing[behind : behind + len(keys)]
        if [text[at].key for at in places] != keys or not set(places).isdisjoint(taken):
            continue
        work.spend(len(text))
        between = range(min(taken[0], start), max(taken[-1], *places) + 1)
        if not any(bounds_clause(text, at) for at in between):
            return (*((start,) if token.weighs else ()), *places)
    return None


def bounds_clause(text: Sequence[Token], at: int) -> bool:
    return is_clause_boundary(text[at]) or text[at].text.casefold() in _JOINS


def begins(part: Sequence[Token]) -> int | None:
    return next((at for at, token in enumerate(part) if token.kind is WordKind.CONTENT), None)


def is_subject(part: Sequence[Token], taken: set[int]) -> bool:
    return begins(part) in taken


def is_only_subject(part: Sequence[Token], taken: set[int]) -> bool:
    """Whether every significant word from the beginning to the last taken one was taken."""
    return all(at in taken or not token.weighs for at, token in enumerate(part[: max(taken) + 1]))


def preposition_before(tokens: Sequence[Token], at: int, taken: Container[int]) -> str | None:
    """Returns the preposition before a word, across articles and words that were not taken; None if it has none."""
    for before in range(at - 1, -1, -1):
        token = tokens[before]
        word = token.text.casefold()
        if word in PREPOSITIONS:
            return word
        passes = (
            word in ARTICLES
            or word == "("
            or (token.kind in {WordKind.CONTENT, WordKind.NUMBER} and before not in taken)
        )
        if not passes:
            return None
    return None


def is_clause_boundary(token: Token) -> bool:
    return token.kind is WordKind.BREAK or token.key in CLAUSES
