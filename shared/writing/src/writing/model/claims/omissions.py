"""Checks whether a claim may leave out what it leaves out of a passage's sentence. Pure."""

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import Final

from writing.model.claims.alignment import (
    _JOINS,
    bounds_clause,
    is_clause_boundary,
)
from writing.model.claims.wording import (
    ARTICLES,
    FRAMES,
    HARD,
    MOVABLE,
    NEGATIONS,
    PARTICLES,
    PREPOSITIONS,
    QUANTIFIERS,
    UNIT_KEYS,
    Token,
    WordKind,
)

DENSITY: Final = 0.5
"""The least share of significant words to take between the first and the last taken one."""
_ENDS_STATEMENT: Final = _JOINS | {"instead", "rather"}
_RESTRICTS: Final = frozenset({"for", "on", "in", "at", "among", "within", "during", "under", "with"})
_NARROWS: Final = _RESTRICTS - {"on", "in", "at"}
_HOLDS_WHEN: Final = frozenset(
    "before after until when where without since while during under despite except unless".split()  # noqa: SIM905
)
_BOUNDS_BEHIND: Final = _HOLDS_WHEN - {"when", "where", "while", "since"}
"""Behind a comma, the other bounding words are often asides."""
_BEHIND_PARTICIPLES: Final = PREPOSITIONS | frozenset(
    "near beside behind above below outside inside between around".split()  # noqa: SIM905
)
_FACTIVE: Final = frozenset({"follow", "mean", "show", "prov"})
"""Verbs that assert their clause: “This shows that …”."""
_SUBJECTS: Final = frozenset({"it", "they", "he", "she"})
_LACKS: Final = frozenset(
    [
        "lack",
        "lacks",
        "lacked",
        "need",
        "needs",
        "exclude",
        "excludes",
        "excluded",
        "reject",
        "rejects",
        "rejected",
        "oppose",
        "opposes",
        "few",
    ]
)
_ORDINALS: Final = frozenset("first second third fourth fifth sixth seventh eighth ninth".split())  # noqa: SIM905
_BRACKETS: Final = frozenset("(–—")  # noqa: RUF001
_FOREMOST: Final = frozenset({"first", "last", "best", "worst", "most", "only"})
_RELATIVES: Final = frozenset({"that", "who", "which", "whose"})
_AUXILIARY: Final = frozenset({"is", "are", "was", "were", "has", "have", "had"})


def omission_problem(
    text: Sequence[Token], chosen: set[int], elsewhere: set[str], said: Container[str]
) -> str | None:
    """Returns the problem of taking only the `chosen` words of a sentence; `said` are the claim's own words.

    Words that negate or limit must not be left out of the clauses that the claim uses.
    """
    first, last = min(chosen), max(chosen)
    return _torn(text, chosen, said) or _unbound(text, chosen, elsewhere, first, last)


def adverb_problem(
    text: Sequence[Token], taken: Sequence[int], order: Sequence[Token], floating: Container[str]
) -> str | None:
    """Returns a problem if an adverb is outside the clause of the word that it modifies in the claim."""
    for at, token in enumerate(order):
        if token.key not in floating:
            continue
        others = [each.key for each in (*order[at + 1 :], *reversed(order[:at])) if each.weighs]
        near = {_clause(text, place) for place in taken if others and text[place].key == others[0]}
        if near.isdisjoint(_clause(text, place) for place, each in enumerate(text) if each.key == token.key):
            return f"its passage says “{token.text}” of something else"
    return None


def _clause(text: Sequence[Token], place: int) -> int:
    """Returns the beginning of the word's clause."""
    return next((at for at in range(place, -1, -1) if bounds_clause(text, at)), -1)


def _torn(text: Sequence[Token], chosen: set[int], said: Container[str]) -> str | None:
    """Returns a problem if the claim joins words of different statements or things."""
    first, last = min(chosen), max(chosen)
    inside = [at for at in range(first, last + 1) if text[at].kind in {WordKind.CONTENT, WordKind.NUMBER}]
    if sum(at in chosen for at in inside) < DENSITY * len(inside):
        return "it joins words that stand far apart in its passage"
    if any(_jumped(text, one, other, chosen) for one, other in pairwise(sorted(chosen))):
        return "it joins the beginning of one statement of its passage to the end of another"
    return (
        _part_of_more(text, chosen)
        or _bounded_before(text, first)
        or _bounded_behind(text, last)
        or _bounded_inside(text, chosen)
        or _chosen_among(text, chosen, said)
        or _narrowed(text, first, last, chosen, said)
        or (None if _is_any(text, last, chosen, said) else _relative_left_out(text, first, last, said))
    )


def _unbound(
    text: Sequence[Token], chosen: set[int], elsewhere: set[str], first: int, last: int
) -> str | None:
    """Returns a problem if a negating or limiting word was left out of its clause."""
    begin = next((at + 1 for at in range(first - 1, -1, -1) if is_clause_boundary(text[at])), 0)
    end = next((at for at in range(last + 1, len(text)) if is_clause_boundary(text[at])), len(text))
    also = next((at for at in range(last + 1, end) if text[at].text.casefold() in _ENDS_STATEMENT), end)
    is_taken = _taken_next(text, chosen)
    for at in range(begin, end):
        token = text[at]
        if token.text == ";" and first < at < last:
            return "it joins two clauses of its passage that stand apart"
        counts = token.kind is WordKind.STRICT and (
            at < also or (token.key in HARD and text[also].text.casefold() in _JOINS)
        )
        if counts and token.key in QUANTIFIERS and not is_taken[at]:
            continue  # it counts what was left out with it
        if counts and token.key in PARTICLES and not _beside(text, at, chosen):
            continue  # it goes with a verb that was left out with it
        if counts and at not in chosen and token.key not in elsewhere:
            return f"its passage says “{token.text}” there, which must not be left out"
    return None


def _beside(text: Sequence[Token], at: int, chosen: Container[int]) -> bool:
    """Whether the significant word before it, or the word right after it, was taken."""
    before = next((place for place in range(at - 1, -1, -1) if text[place].weighs), -1)
    return before in chosen or at + 1 in chosen


def _taken_next(text: Sequence[Token], chosen: set[int]) -> list[bool]:
    """Returns for each word whether the next significant one was taken."""
    found: list[bool] = []
    is_taken = False
    for at in range(len(text) - 1, -1, -1):
        found.append(is_taken)
        is_taken = at in chosen if text[at].weighs else is_taken
    return found[::-1]


def _part_of_more(text: Sequence[Token], chosen: set[int]) -> str | None:
    """Returns a problem if the claim cuts a unit apart: “2 million”, “1/2”, “Ann's dog”, “than hot coffee”."""
    compared = next((at for at, token in enumerate(text) if token.key == "than"), len(text))
    for one, other in pairwise(range(len(text))):
        if (one in chosen) == (other in chosen):
            continue
        kinds = {text[one].kind, text[other].kind}
        owned = one in chosen and text[one].text.endswith(("'s", "’s")) and text[other].weighs  # noqa: RUF001
        described = other in chosen and one > compared and kinds == {WordKind.CONTENT}
        counted = (
            one in chosen
            and text[one].kind is WordKind.NUMBER
            and text[other].kind is WordKind.CONTENT
            and other < max(chosen)
        )
        ordinal = text[one].kind is WordKind.NUMBER and other in chosen and text[other].key in _ORDINALS
        if kinds == {WordKind.NUMBER} or owned or described or counted or ordinal:
            return (
                f"its passage says “{text[one].text} {text[other].text}”, of which a part is something else"
            )
    return None


def _bounded_before(text: Sequence[Token], first: int) -> str | None:
    """Returns a problem if the claim drops an introduction: “hope that …”, “Before the flood, …”."""
    begin = first
    while begin and text[begin - 1].text.casefold() in ARTICLES - {"that"}:
        begin -= 1
    told = (
        begin > 1 and text[begin - 1].text.casefold() == "that" and text[begin - 2].kind is WordKind.CONTENT
    )
    if told and text[begin - 2].key not in _FACTIVE:
        return f"its passage gives this as what somebody {text[begin - 2].text}"
    comma = next((at for at, token in enumerate(text) if token.text == ","), None)
    if comma is not None and comma < first and text[0].text.casefold() in _HOLDS_WHEN:
        return f"its passage says this “{text[0].text} {text[1].text} …”, which must not be left out"
    return None


def _bounded_behind(text: Sequence[Token], last: int) -> str | None:
    """Returns a problem if the claim drops a limit behind a comma at the end: “…, except in winter”."""
    for comma in range(last + 1, len(text) - 2):
        if text[comma].text == "," and text[comma + 1].text.casefold() in _BOUNDS_BEHIND:
            return f"its passage says this “{text[comma + 1].text} {text[comma + 2].text} …”, which must not be left out"
    return None


def _bounded_inside(text: Sequence[Token], chosen: set[int]) -> str | None:
    """Returns a problem if the claim drops a limit behind a thing: “the dose (for horses)”, “rice grown near the mine”."""
    for one, other in pairwise(sorted(chosen)):
        gap = [at for at in range(one + 1, other) if text[at].text not in _BRACKETS]
        if len(gap) < 2 or not any(text[at].weighs for at in gap):  # noqa: PLR2004
            continue
        begins, then = (text[at].text.casefold() for at in gap[:2])
        told = any(text[at].kind in {WordKind.CONTENT, WordKind.NUMBER} for at in gap[1:])
        participle = (
            begins.endswith(("ed", "wn", "en")) and then in _BEHIND_PARTICIPLES and one == min(chosen)
        )
        narrows = _RESTRICTS if text[one + 1].text in _BRACKETS else _NARROWS
        if (begins in narrows or participle) and told:
            return f"its passage says this of “{text[one].text} {begins} {then} …” alone, which must not be left out"
    return None


def _chosen_among(text: Sequence[Token], chosen: set[int], said: Container[str]) -> str | None:
    """Returns a problem if the claim takes one of several joined things, or joins them differently."""
    first, last = min(chosen), max(chosen)
    before = next((at for at in range(first - 1, -1, -1) if text[at].text.casefold() not in ARTICLES), None)
    if before is not None and text[before].text.casefold() in _JOINS and not _joins_statements(text, before):
        return f"its passage says this of “{text[first].text}” together with others"
    words = [token.text.casefold() for token in text]
    if "or" not in said and "or" in words[first : min(last + 2, len(words))]:
        return "its passage says “or” there, which must not be left out"
    return "its passage does not say “or”" if "or" in said and "or" not in words else None


def _joins_statements(text: Sequence[Token], join: int) -> bool:
    """Whether it follows the only comma so far: “…, and …” of two statements, and not of a list."""
    commas = [at for at in range(join) if text[at].text == ","]
    return commas == [join - 1] and text[join].text.casefold() == "and"


def _is_any(text: Sequence[Token], last: int, chosen: set[int], said: Container[str]) -> bool:
    """Whether the last word belongs to “a thing” as an object: the statement is true of it without further limits.

    Not in “a dog that bites is dangerous”, “within a mile of Rome”, “avoid a drug that harms”.
    """
    at = last
    while at and at in chosen and text[at].kind is WordKind.CONTENT:
        at -= 1
    before = text[at - 1] if at else None
    return (
        text[at].text.casefold() in {"a", "an"}
        and before is not None
        and (before.kind is WordKind.CONTENT or before.text.casefold() in _AUXILIARY)
        and at - 1 > min(chosen)
        and not any(word in said for word in NEGATIONS | FRAMES | _LACKS)
    )


def _narrowed(
    text: Sequence[Token], first: int, last: int, chosen: set[int], said: Container[str]
) -> str | None:
    """Returns a problem if a word right before or after the taken ones changes the thing: “toy guns”."""
    rest = text[last + 1 :]
    left_out: str | None = None
    if first and text[first - 1].kind is WordKind.CONTENT:
        left_out = f"{text[first - 1].text} {text[first].text}"
    elif rest and rest[0].kind is WordKind.CONTENT and not rest[0].text.endswith("ly"):
        left_out = f"{text[last].text} {rest[0].text}"
    elif (
        len(rest) > 1
        and rest[1].kind is not WordKind.BREAK
        and not _is_any(text, last, chosen, said)
        and _bounds_thing(text, rest[0], last, chosen)
    ):
        left_out = f"{text[last].text} {rest[0].text} {rest[1].text} …"
    return f"its passage says this of “{left_out}” alone, which must not be left out" if left_out else None


def _bounds_thing(text: Sequence[Token], begins: Token, last: int, chosen: set[int]) -> bool:
    """Whether the phrase right behind the last taken word says which thing or how much."""
    word = begins.text.casefold()
    counted = text[last].kind is WordKind.NUMBER or text[last].key in UNIT_KEYS
    foremost = any(text[at].text.casefold().endswith("est") or text[at].key in _FOREMOST for at in chosen)
    return word in _RESTRICTS or (counted and word in {"a", "an"}) or (foremost and word == "of")


def _relative_left_out(text: Sequence[Token], first: int, last: int, said: Container[str]) -> str | None:
    """Returns a problem if the claim drops a clause that defines a thing: “dogs that eat chocolate”."""
    for at in range(first + 1, len(text) - 1):
        word = text[at].text.casefold()
        if at > last and text[at].kind in {WordKind.CONTENT, WordKind.NUMBER, WordKind.BREAK}:
            return None
        if word not in _RELATIVES or word in said:
            continue
        verb = text[at + 1].text.casefold()
        shortened = at < last and word == "that" and verb in _AUXILIARY and verb not in said
        if not shortened and (at > last or word == "that"):
            return f"what its passage adds with “{text[at].text}” must not be left out"
    return None


def _jumped(text: Sequence[Token], one: int, other: int, chosen: set[int]) -> bool:
    """Whether the gap between two words begins a statement, or a phrase, to which the second word belongs."""
    gap = range(one + 1, other)
    last = next((at for at in reversed(gap) if bounds_clause(text, at)), None)
    if last is not None:
        if text[other - 1].text.casefold() in _SUBJECTS:
            return True  # “because its owner fled, and it closed”: it is not the owner that closed
        begin = next((at + 1 for at in range(one, -1, -1) if bounds_clause(text, at)), 0)
        # The subject's first word, or the next one if the first only describes it.
        subject = [at for at in range(begin, one + 1) if text[at].kind is WordKind.CONTENT][:2]
        begun = not subject or bool(set(subject) & chosen)
        if not begun or any(text[at].kind is WordKind.CONTENT for at in range(last + 1, other)):
            return True
    if other - 1 > one and text[other - 1].key in UNIT_KEYS:
        return True
    introduced = text[other - 1].text.casefold()
    skipped = [at for at in gap if at < other - 1]
    heads = any(text[at].kind is WordKind.CONTENT for at in skipped)
    return heads and introduced in MOVABLE and any(text[at].text.casefold() == introduced for at in skipped)
