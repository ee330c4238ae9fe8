"""Decides which headings a section's sentences and its sources' headings carry. Pure."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.pieces import CONDITIONS, FRAME_KEYS
from writing.model.claims.wording import NEGATIONS, Token, WordKind, normal, tokens_of
from writing.model.drafting import is_clean
from writing.model.praise import find_unattributed_praise
from writing.quality.measures import heading_problem

MAX_SKIPPED: Final = 3
"""Words with a meaning that a heading may leave out between two words of a sentence."""
_PARTS: Final = re.compile(r"[,:;?/]|\s[–—-]\s|\b(?:and|or)\b", re.IGNORECASE)  # noqa: RUF001
_ASKING: Final = frozenset("why how what when where which who whom whose".split())  # noqa: SIM905


def is_carried(heading: str, said: Sequence[str], keyword: str) -> bool:
    """Whether a heading or title says no more than the keyword and these texts: sentences, and headings of sources.

    A heading is carried like a sentence, or if each of its parts around "and" names what one text says in the same order.
    """
    if not is_clean(heading):
        return False
    if check(heading, [Evidence("", None, each) for each in said]).holds:
        return True
    given = _keys(keyword)
    parts = [
        [each for each in _named(part) if each.key not in given] for part in _PARTS.split(normal(heading))
    ]
    statements = [_named(each) for each in said]
    return all(any(_names(part, each) for each in statements) for part in parts if part)


def says_more(heading: str, keyword: str) -> bool:
    """Whether a heading has a word beside the keyword."""
    return bool(_keys(heading) - _keys(keyword))


def choose_heading(
    planned: str | None, titles: Sequence[str], *, keyword: str, taken: Collection[str]
) -> str | None:
    """Returns the planned heading, or the first of the sources' headings that says something and is not taken; or None.

    Args:
        planned: the model's heading if it is carried, else None.
        titles: headings of the cited passages, the most cited first.
        keyword: of the article.
        taken: headings of the sections before.
    """
    for heading in (planned, *titles):
        if heading is None or heading_problem(heading, tuple(taken)):
            continue
        if (
            says_more(heading, keyword)
            and is_clean(heading)
            and not find_unattributed_praise(heading, f"a {heading}")
        ):
            return normal(heading)
    return None


def _keys(text: str) -> frozenset[str]:
    return frozenset(each.key for each in _named(text))


def _named(text: str) -> list[Token]:
    return [each for each in tokens_of(normal(text)) if each.weighs and each.text.casefold() not in _ASKING]


def _names(part: Sequence[Token], statement: Sequence[Token]) -> bool:
    """Whether the statement has the words of the part in their order, near each other, without a limit between them."""
    own = {each.key for each in part}
    if any(_bounds(each) and each.key not in own for each in statement):
        return False
    keys = [each.key for each in statement]
    return any(_follow(part, statement[at:]) for at, key in enumerate(keys) if key == part[0].key)


def _bounds(token: Token) -> bool:
    """Whether it denies, conditions or attributes a whole statement."""
    return token.key == "not" or token.text.casefold() in NEGATIONS | CONDITIONS or token.key in FRAME_KEYS


def _follow(part: Sequence[Token], statement: Sequence[Token]) -> bool:
    wanted = list(part)
    skipped = 0
    for each in statement:
        if each.key == wanted[0].key:
            wanted.pop(0)
            skipped = 0
            if not wanted:
                return True
        elif each.kind is not WordKind.CONTENT or (skipped := skipped + 1) > MAX_SKIPPED:
            return False
    return False
