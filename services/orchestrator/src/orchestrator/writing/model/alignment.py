"""The words of a sentence found in a passage: in what order, out of which clauses, and what was left out between them. Pure."""

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.writing.model.wording import (
    ARTICLES,
    CLAUSES,
    FRAMES,
    HARD,
    MOVABLE,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    UNIT_KEYS,
    Kind,
    Token,
)
from orchestrator.writing.model.work import Work

DENSITY: Final = 0.5
"""Of the words that weigh, from the first to the last that the sentence takes, so many must be taken."""
_JOINS: Final = frozenset({"and", "or"})
_ENDS_PHRASE: Final = _JOINS | {"is", "are", "was", "were", "when", "where", "than", "that"}
_ENDS_STATEMENT: Final = _JOINS | {"instead", "rather"}
_RESTRICTS: Final = frozenset({"for", "on", "in", "at", "among", "within", "during", "under", "with"})
_NARROWS: Final = _RESTRICTS - {"on", "in", "at"}
_HOLDS_WHEN: Final = frozenset(
    "before after until when where without since while during under despite except unless".split()  # noqa: SIM905
)
_BOUNDS_BEHIND: Final = _HOLDS_WHEN - {"when", "where", "while", "since"}
"""Behind a comma the others are as often said by the way."""
_BEHIND_PARTICIPLES: Final = PREPOSITIONS | frozenset(
    "near beside behind above below outside inside between around".split()  # noqa: SIM905
)
_ORDINALS: Final = frozenset("first second third fourth fifth sixth seventh eighth ninth".split())  # noqa: SIM905
_BRACKETS: Final = frozenset("(–—")  # noqa: RUF001
_FOREMOST: Final = frozenset({"first", "last", "best", "worst", "most", "only"})
_RELATIVES: Final = frozenset({"that", "who", "which", "whose"})
_AUXILIARY: Final = frozenset({"is", "are", "was", "were", "has", "have", "had"})


def rotated(tokens: Sequence[Token]) -> list[Token]:
    """With what stands before the first comma put at the end, as “In water, it sinks.” says “It sinks in water.” too."""
    at = next((at for at, token in enumerate(tokens) if token.text == ","), None)
    if at is None:
        return list(tokens)
    body = list(tokens[at + 1 :])
    ending = [body.pop()] if body and body[-1].kind is Kind.BREAK else []
    return [*body, tokens[at], *tokens[:at], *ending]


def variants(parts: Sequence[Sequence[Token]]) -> Iterator[list[Sequence[Token]]]:
    """The window as it is; with its beginning put last; with what its pronouns stand for in their place."""
    yield list(parts)
    last = parts[-1]
    if any(token.text == "," for token in last):
        yield [*parts[:-1], rotated(last)]
    if len(parts) > 1 and (subject := _subject(parts[0])):
        resolved = [each for token in last for each in (subject if _refers(token) else (token,))]
        yield [resolved]
        yield [rotated(resolved)]


def _refers(token: Token) -> bool:
    return token.text.casefold() in {"it", "its", "they", "them", "their"}


def _subject(part: Sequence[Token]) -> Sequence[Token] | None:
    """What a sentence begins with, up to its auxiliary verb; a heading whole."""
    end = next((at for at, token in enumerate(part) if token.text.casefold() in _AUXILIARY), None)
    if end is None:
        end = len(part) if not part or part[-1].text != "." else 0
    named = part[:end]
    return named if named and all(token.kind in {Kind.CONTENT, Kind.FREE} for token in named) else None


def tightest(order: Sequence[Token], text: Sequence[Token], work: Work) -> list[int]:
    """Places in `text` of the longest run of `order` that occurs there in order, in as narrow a span as there is."""
    ours = [token.key for token in order]
    wanted = set(ours)
    # Only what could be taken is compared.
    places = [at for at, token in enumerate(text) if token.weighs and token.key in wanted]
    theirs = [text[at].key for at in places]
    starts = [at for at, key in enumerate(theirs) if key == ours[0]][:3] or [0]
    work.spend(len(text) + (len(ours) + len(starts)) * (len(theirs) + 1))
    rows = _common(ours, theirs)
    found = [[places[at] for at in _chain(ours, theirs, rows, start)] for start in starts]
    return min(found, key=lambda chain: (-len(chain), (chain[-1] - chain[0]) if chain else 0))


def _common(ours: Sequence[str], theirs: Sequence[str]) -> list[list[int]]:
    """How long the longest common subsequence of `ours[i:]` and `theirs[j:]` is, for each `i` and `j`."""
    rows = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in range(len(ours) - 1, -1, -1):
        row, below, key = rows[i], rows[i + 1], ours[i]
        for j in range(len(theirs) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], below[j + 1] + (key == theirs[j]))
    return rows


def _chain(
    ours: Sequence[str], theirs: Sequence[str], rows: Sequence[Sequence[int]], start: int
) -> list[int]:
    """A longest common subsequence from `start` on, each match as early as can be."""
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


def takes_up(part: Sequence[Token]) -> bool:
    """Whether a sentence speaks of the subject of the one before it."""
    return bool(part) and part[0].text.casefold() in PRONOUNS


def movable_phrases(order: Sequence[Token]) -> list[tuple[int, ...]]:
    """Places of each movable phrase: what introduces it, and what follows up to the next phrase or clause."""
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
    return _parts_clauses(token) or word in FRAMES or word in _ENDS_PHRASE


def phrase_near(
    text: Sequence[Token], phrase: Sequence[Token], taken: Sequence[int], work: Work
) -> tuple[int, ...] | None:
    """Where the phrase stands as it is, in the clause of `taken`; the words that weigh."""
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
        if not any(_bounds_clause(text, at) for at in between):
            return (*((start,) if token.weighs else ()), *places)
    return None


def _bounds_clause(text: Sequence[Token], at: int) -> bool:
    return _parts_clauses(text[at]) or text[at].text.casefold() in _JOINS


def begins(part: Sequence[Token]) -> int | None:
    return next((at for at, token in enumerate(part) if token.kind is Kind.CONTENT), None)


def is_subject(part: Sequence[Token], taken: set[int]) -> bool:
    return begins(part) in taken


def is_only_subject(part: Sequence[Token], taken: set[int]) -> bool:
    """Whether nothing was passed over from its beginning to the last word that was taken."""
    return all(at in taken or not token.weighs for at, token in enumerate(part[: max(taken) + 1]))


def attached(tokens: Sequence[Token], at: int, taken: Container[int]) -> str | None:
    """The preposition that a word hangs on, over articles and what was not taken; None if it hangs on none."""
    for before in range(at - 1, -1, -1):
        token = tokens[before]
        word = token.text.casefold()
        if word in PREPOSITIONS:
            return word
        passes = word in ARTICLES or (token.kind in {Kind.CONTENT, Kind.NUMBER} and before not in taken)
        if not passes:
            return None
    return None


def spanned(text: Sequence[Token], chosen: set[int], elsewhere: set[str], said: Container[str]) -> str | None:
    """What is wrong with taking the `chosen` words of a sentence and leaving the others; `said` are the claim's own.

    Nothing that turns or bounds the statement may be left out of the clauses it is taken from.
    """
    first, last = min(chosen), max(chosen)
    return _torn(text, chosen, said) or _unbound(text, chosen, elsewhere, first, last)


def _torn(text: Sequence[Token], chosen: set[int], said: Container[str]) -> str | None:
    """Whether words were put together that belong to different statements or different things."""
    first, last = min(chosen), max(chosen)
    inside = [at for at in range(first, last + 1) if text[at].kind in {Kind.CONTENT, Kind.NUMBER}]
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
        or _narrowed(text, first, last, chosen)
        or _relative_left_out(text, first, last, said)
    )


def _unbound(
    text: Sequence[Token], chosen: set[int], elsewhere: set[str], first: int, last: int
) -> str | None:
    """Which word that turns or bounds the statement was left out of its clauses."""
    begin = next((at + 1 for at in range(first - 1, -1, -1) if _parts_clauses(text[at])), 0)
    end = next((at for at in range(last + 1, len(text)) if _parts_clauses(text[at])), len(text))
    also = next((at for at in range(last + 1, end) if text[at].text.casefold() in _ENDS_STATEMENT), end)
    is_taken = _taken_next(text, chosen)
    for at in range(begin, end):
        token = text[at]
        if token.text == ";" and first < at < last:
            return "it joins two clauses of its passage that stand apart"
        counts = token.kind is Kind.STRICT and (
            at < also or (token.key in HARD and text[also].text.casefold() in _JOINS)
        )
        if counts and token.key in QUANTIFIERS and not is_taken[at]:
            continue  # it counts what was left out with it
        if counts and at not in chosen and token.key not in elsewhere:
            return f"its passage says “{token.text}” there, which must not be left out"
    return None


def _taken_next(text: Sequence[Token], chosen: set[int]) -> list[bool]:
    """For each word, whether the next one that weighs was taken."""
    found: list[bool] = []
    is_taken = False
    for at in range(len(text) - 1, -1, -1):
        found.append(is_taken)
        is_taken = at in chosen if text[at].weighs else is_taken
    return found[::-1]


def _part_of_more(text: Sequence[Token], chosen: set[int]) -> str | None:
    """What was torn apart: “2 million”, “1/2”, “Ann's dog”, “than hot coffee”."""
    compared = next((at for at, token in enumerate(text) if token.key == "than"), len(text))
    for one, other in pairwise(range(len(text))):
        if (one in chosen) == (other in chosen):
            continue
        kinds = {text[one].kind, text[other].kind}
        owned = one in chosen and text[one].text.endswith(("'s", "’s")) and text[other].weighs  # noqa: RUF001
        described = other in chosen and one > compared and kinds == {Kind.CONTENT}
        counted = (
            one in chosen
            and text[one].kind is Kind.NUMBER
            and text[other].kind is Kind.CONTENT
            and other < max(chosen)
        )
        ordinal = text[one].kind is Kind.NUMBER and other in chosen and text[other].key in _ORDINALS
        if kinds == {Kind.NUMBER} or owned or described or counted or ordinal:
            return (
                f"its passage says “{text[one].text} {text[other].text}”, of which a part is something else"
            )
    return None


def _bounded_before(text: Sequence[Token], first: int) -> str | None:
    """Whose statement it is, “hope that …”, or when it holds, “Before the flood, …”, as it stands before the first word."""
    begin = first
    while begin and text[begin - 1].text.casefold() in ARTICLES - {"that"}:
        begin -= 1
    if begin > 1 and text[begin - 1].text.casefold() == "that" and text[begin - 2].kind is Kind.CONTENT:
        return f"its passage gives this as what somebody {text[begin - 2].text}"
    comma = next((at for at, token in enumerate(text) if token.text == ","), None)
    if comma is not None and comma < first and text[0].text.casefold() in _HOLDS_WHEN:
        return f"its passage says this “{text[0].text} {text[1].text} …”, which must not be left out"
    return None


def _bounded_behind(text: Sequence[Token], last: int) -> str | None:
    """The same behind a comma at the end: “…, except in winter”."""
    for comma in range(last + 1, len(text) - 2):
        if text[comma].text == "," and text[comma + 1].text.casefold() in _BOUNDS_BEHIND:
            return f"its passage says this “{text[comma + 1].text} {text[comma + 2].text} …”, which must not be left out"
    return None


def _bounded_inside(text: Sequence[Token], chosen: set[int]) -> str | None:
    """What narrows a thing down behind it: “the dose for horses”, “the dose (for horses)”, “rice grown near the mine”."""
    for one, other in pairwise(sorted(chosen)):
        gap = [at for at in range(one + 1, other) if text[at].text not in _BRACKETS]
        if len(gap) < 2 or not any(text[at].weighs for at in gap):  # noqa: PLR2004
            continue
        begins, then = (text[at].text.casefold() for at in gap[:2])
        told = any(text[at].kind in {Kind.CONTENT, Kind.NUMBER} for at in gap[1:])
        participle = (
            begins.endswith(("ed", "wn", "en")) and then in _BEHIND_PARTICIPLES and one == min(chosen)
        )
        narrows = _RESTRICTS if text[one + 1].text in _BRACKETS else _NARROWS
        if (begins in narrows or participle) and told:
            return f"its passage says this of “{text[one].text} {begins} {then} …” alone, which must not be left out"
    return None


def _chosen_among(text: Sequence[Token], chosen: set[int], said: Container[str]) -> str | None:
    """Whether one was chosen of several things that are joined, or joined in another way."""
    first, last = min(chosen), max(chosen)
    before = next((at for at in range(first - 1, -1, -1) if text[at].text.casefold() not in ARTICLES), None)
    if before is not None and text[before].text.casefold() in _JOINS:
        return f"its passage says this of “{text[first].text}” together with others"
    words = [token.text.casefold() for token in text]
    if "or" not in said and "or" in words[first : min(last + 2, len(words))]:
        return "its passage says “or” there, which must not be left out"
    return "its passage does not say “or”" if "or" in said and "or" not in words else None


def _narrowed(text: Sequence[Token], first: int, last: int, chosen: set[int]) -> str | None:
    """What stands right before the first or right behind the last word, and makes it another thing: “toy guns”."""
    rest = text[last + 1 :]
    left_out: str | None = None
    if first and text[first - 1].kind is Kind.CONTENT:
        left_out = f"{text[first - 1].text} {text[first].text}"
    elif rest and rest[0].kind is Kind.CONTENT and not rest[0].text.endswith("ly"):
        left_out = f"{text[last].text} {rest[0].text}"
    elif len(rest) > 1 and rest[1].kind is not Kind.BREAK and _bounds_thing(text, rest[0], last, chosen):
        left_out = f"{text[last].text} {rest[0].text} {rest[1].text} …"
    return f"its passage says this of “{left_out}” alone, which must not be left out" if left_out else None


def _bounds_thing(text: Sequence[Token], begins: Token, last: int, chosen: set[int]) -> bool:
    """Whether what a word begins, right behind the last one that was taken, says which thing or how much is meant."""
    word = begins.text.casefold()
    counted = text[last].kind is Kind.NUMBER or text[last].key in UNIT_KEYS
    foremost = any(text[at].text.casefold().endswith("est") or text[at].key in _FOREMOST for at in chosen)
    return word in _RESTRICTS or (counted and word in {"a", "an"}) or (foremost and word == "of")


def _relative_left_out(text: Sequence[Token], first: int, last: int, said: Container[str]) -> str | None:
    """Whether a clause was left out without which a thing is another: “dogs that eat chocolate”."""
    for at in range(first + 1, len(text) - 1):
        word = text[at].text.casefold()
        if at > last and text[at].kind in {Kind.CONTENT, Kind.NUMBER, Kind.BREAK}:
            return None
        if word not in _RELATIVES or word in said:
            continue
        verb = text[at + 1].text.casefold()
        shortened = at < last and word == "that" and verb in _AUXILIARY and verb not in said
        if not shortened and (at > last or word == "that"):
            return f"what its passage adds with “{text[at].text}” must not be left out"
    return None


def _jumped(text: Sequence[Token], one: int, other: int, chosen: set[int]) -> bool:
    """Whether what was left out between two words begins a statement, or a phrase, that the second belongs to."""
    gap = range(one + 1, other)
    last = next((at for at in reversed(gap) if _bounds_clause(text, at)), None)
    if last is not None:
        begin = next((at + 1 for at in range(one, -1, -1) if _bounds_clause(text, at)), 0)
        # The subject's first word, or the one after it where the first only describes it.
        subject = [at for at in range(begin, one + 1) if text[at].kind is Kind.CONTENT][:2]
        begun = not subject or bool(set(subject) & chosen)
        if not begun or any(text[at].kind is Kind.CONTENT for at in range(last + 1, other)):
            return True
    if other - 1 > one and text[other - 1].key in UNIT_KEYS:
        return True
    introduced = text[other - 1].text.casefold()
    skipped = [at for at in gap if at < other - 1]
    heads = any(text[at].kind is Kind.CONTENT for at in skipped)
    return heads and introduced in MOVABLE and any(text[at].text.casefold() == introduced for at in skipped)


def _parts_clauses(token: Token) -> bool:
    return token.kind is Kind.BREAK or token.key in CLAUSES
