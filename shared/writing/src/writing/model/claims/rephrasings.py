"""Rephrases a sentence without a change of meaning: reordered, halved, without joining words. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from writing.model.claims.wording import (
    ARTICLES,
    CLAUSES,
    MOVABLE,
    PREPOSITIONS,
    PRONOUNS,
    Token,
    WordKind,
)

FEWEST_OF_HALF: Final = 2
"""The least meaningful words in each half of a divided sentence."""
MOST_OF_NAME: Final = 4
"""The most words of a subject."""
MOST_WITHOUT_VERB: Final = 2
"""The most words of an unmarked subject."""
_AUXILIARY: Final = frozenset({"is", "are", "was", "were", "has", "have", "had"})
_COPULAS: Final = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_PARTICIPLES: Final = ("ed", "wn", "en", "lt", "led", "ade", "ught", "ound")
_RELATIVES: Final = frozenset({"that", "which", "who"})
_CONCLUDES: Final = frozenset({"so", "therefore", "thus", "hence"})
_ENDS_AGENT: Final = MOVABLE | _COPULAS | _AUXILIARY | {"to", "that"}
_SO: Final = Token("so", "so", WordKind.LOOSE)
_BECAUSE: Final = Token("because", "because", WordKind.STRICT)
_OF: Final = Token("of", "of", WordKind.FREE)
_COMMA: Final = Token(",", ",", WordKind.BREAK)


def rotated(tokens: Sequence[Token]) -> list[Token]:
    """Moves the part before the first comma to the end: “In water, it sinks” equals “It sinks in water”."""
    at = next((at for at, token in enumerate(tokens) if token.text == ","), None)
    if at is None:
        return list(tokens)
    body = list(tokens[at + 1 :])
    ending = [body.pop()] if body and body[-1].kind is WordKind.BREAK else []
    return [*body, tokens[at], *tokens[:at], *ending]


def variants(parts: Sequence[Sequence[Token]]) -> Iterator[list[Sequence[Token]]]:
    """Yields readings of the window: unchanged, reordered, with pronouns replaced, in the active voice."""
    yield list(parts)
    last = parts[-1]
    if any(token.text == "," for token in last):
        yield [*parts[:-1], rotated(last)]
    if len(parts) > 1:
        if subject := _subject(parts[0]):
            resolved = [each for token in last for each in (subject if _refers(token) else (token,))]
            yield [resolved]
            yield [rotated(resolved)]
        return
    others = (
        *_of_the_subject(last),
        *_of_what_it_is(last),
        *_of_the_last(last),
        *_by_whom(last),
        *_without_asides(last),
    )
    for each in others:
        yield [each]
    if concluded := _with_reason_last(last):
        yield [concluded]


def halves(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Yields the halves of joined statements: “A, and B”, “A; B”, “A, but B”."""
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.BREAK or token.text in "()!?." or not at:
            continue
        begin = at + 1
        while begin < len(tokens) and (tokens[begin].kind is WordKind.BREAK or tokens[begin].text == "and"):
            begin += 1
        # A bare comma joins a list, or a clause to its main clause.
        joins = begin - at > 1 or token.text not in ",–—"  # noqa: RUF001
        first, second = list(tokens[:at]), list(tokens[begin:])
        if not (joins and second):
            continue
        if second[0].text.casefold() in {"it", "they"} and (named := _named(first)):
            second = [*named, *second[1:]]
        if second[0].text.casefold() not in PRONOUNS and min(map(_says, (first, second))) >= FEWEST_OF_HALF:
            yield first, second


def _named(statement: Sequence[Token]) -> Sequence[Token] | None:
    """Returns the subject if an auxiliary or a verb such as “tastes” marks its end."""
    subject = _subject(statement)
    if subject:
        return subject
    for at in range(1, len(statement)):
        word = statement[at].text.casefold()
        if statement[at].kind is not WordKind.CONTENT or _says(statement[:at]) == 0:
            continue
        if word.endswith("s") and not statement[at - 1].text.casefold().endswith("s") and word[-2:] != "'s":
            return (
                statement[:at]
                if all(each.kind in {WordKind.CONTENT, WordKind.FREE} for each in statement[:at])
                else None
            )
    return None


def reworded(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yields the statement in its alternative wordings."""
    shorter = reduced(tokens)
    if len(shorter) < len(tokens):
        yield shorter
    because = [_BECAUSE if _gives_reason(tokens, at) else token for at, token in enumerate(tokens)]
    if because != list(tokens):
        yield because
    yield from _of_whom(tokens)
    yield from _with_reason_first(tokens)


def _with_reason_first(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Turns “Paper needs a rinse because it tastes bitter” into “Paper tastes bitter, so it needs a rinse”."""
    at = next((at for at, token in enumerate(tokens) if token.key == "because"), len(tokens))
    if at + 1 >= len(tokens) or tokens[at + 1].text.casefold() not in {"it", "they"}:
        return
    for end in range(1, min(MOST_OF_NAME, at) + 1):
        last = tokens[end - 1]
        if last.kind not in {WordKind.CONTENT, WordKind.FREE}:
            return
        if last.kind is WordKind.CONTENT and not last.text.endswith(("'s", "’s")):  # noqa: RUF001
            yield [*tokens[:end], *tokens[at + 2 :], _COMMA, _SO, *tokens[end:at]]


def _gives_reason(tokens: Sequence[Token], at: int) -> bool:
    """Whether “since” or “as” gives a reason and cannot mean a time: “because” in a passage must not come from a time."""
    follows = tokens[at + 1 : at + 2]
    opens = at == 0 or tokens[at - 1].text == ","
    return (
        tokens[at].text.casefold() == "since"
        and opens
        and bool(follows)
        and follows[0].kind is not WordKind.NUMBER
    )


def _of_whom(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Turns “The king's horse” into “the horse of the king”, and back."""
    for at, token in enumerate(tokens):
        if token.text.casefold().endswith(("'s", "’s")):  # noqa: RUF001
            owner = _run_back(tokens, at)
            for end in range(at + 2, min(at + 5, len(tokens) + 1)):
                if tokens[end - 1].kind is not WordKind.CONTENT:
                    break
                if [each.text for each in tokens[end : end + 1]] == ["of"]:
                    continue
                yield [*tokens[:owner], *tokens[at + 1 : end], _OF, *tokens[owner : at + 1], *tokens[end:]]
        elif token.text == "of" and at and at + 1 < len(tokens):
            begin = _run_back(tokens, at - 1)
            start = at + 1 + (tokens[at + 1].text.casefold() in ARTICLES)
            end = start
            while end < len(tokens) and tokens[end].kind is WordKind.CONTENT:
                end += 1
                if [each.text for each in tokens[end : end + 1]] == ["of"]:
                    continue
                yield [*tokens[:begin], *tokens[start:end], *tokens[begin:at], *tokens[end:]]


def _run_back(tokens: Sequence[Token], at: int) -> int:
    """Returns the position of the first word of a name that ends at this one."""
    while at and tokens[at - 1].kind is WordKind.CONTENT:
        at -= 1
    return at


def reduced(tokens: Sequence[Token]) -> list[Token]:
    """Turns “Letters, which were written in Rome” into “letters written in Rome”."""
    left: list[Token] = []
    at = 0
    while at < len(tokens):
        words = [token.text.casefold() for token in tokens[at : at + 4]]
        comma = words[:1] == [","]
        who, is_, done = (*words[comma : comma + 3], "", "", "")[:3]
        if who in {"which", "that", "who"} and is_ in _COPULAS and done.endswith(_PARTICIPLES):
            at += comma + 2
            continue
        left.append(tokens[at])
        at += 1
    return left


def begins_statement(text: Sequence[Token], first: int) -> bool:
    """Whether a statement with its own subject begins here."""
    at = first - 1
    while at >= 0 and text[at].text.casefold() in ARTICLES | MOVABLE | {"there"}:
        at -= 1
    return at < 0 or text[at].text in ";:." or text[at].text.casefold() in {"while", "whereas", "although"}


def _says(tokens: Sequence[Token]) -> int:
    return sum(token.kind in {WordKind.CONTENT, WordKind.NUMBER} for token in tokens)


def _refers(token: Token) -> bool:
    return token.text.casefold() in {"it", "its", "they", "them", "their"}


def _subject(part: Sequence[Token]) -> Sequence[Token] | None:
    """Returns the subject: the words up to the auxiliary verb; a heading as a whole."""
    end = next((at for at, token in enumerate(part) if token.text.casefold() in _AUXILIARY), None)
    if end is None:
        end = len(part) if not part or part[-1].text != "." else 0
    named = part[:end]
    return (
        named if named and all(token.kind in {WordKind.CONTENT, WordKind.FREE} for token in named) else None
    )


def _of_the_subject(part: Sequence[Token]) -> Iterator[list[Token]]:
    """Derives “Paper traps oil” from “Paper is used because it traps oil”."""
    subject = _subject(part)
    if not subject or len(subject) == len(part) or part[len(subject)].text.casefold() not in _COPULAS:
        return
    at = next((at for at in range(len(subject) + 1, len(part) - 1) if _opens(part[at])), None)
    # Further on, the pronoun might mean something named in between.
    if at is not None and part[at + 1].text.casefold() in {"it", "they"}:
        rest = part[at + 2 :]
        yield [*subject, *(each for token in rest for each in (subject if _refers(token) else (token,)))]


def _of_what_it_is(part: Sequence[Token]) -> Iterator[list[Token]]:
    """Derives “Basil needs sun” from “Basil is an herb that needs sun”, if the clause can refer to nothing else."""
    subject = _subject(part)
    if (
        not subject
        or len(subject) + 2 >= len(part)
        or part[len(subject) + 1].text.casefold() not in {"a", "an", "the"}
    ):
        return
    copula = part[len(subject)]
    if copula.text.casefold() not in _COPULAS:
        return
    for at in range(len(subject) + 2, len(part) - 1):
        word = part[at].text.casefold()
        if word in _RELATIVES:
            yield [*subject, *part[at + 1 :]]
            return
        if word.endswith(_PARTICIPLES) and part[at + 1].text.casefold() in PREPOSITIONS:
            yield [*subject, copula, *part[at:]]
            return
        if part[at].kind is not WordKind.CONTENT and part[at].text != ",":
            return


def _of_the_last(part: Sequence[Token]) -> Iterator[list[Token]]:
    """Derives “files are large” from “It is cut into files, which are large”; not from “the wife of the king, who …”."""
    for at in range(2, len(part) - 2):
        if part[at].text != "," or part[at + 1].text.casefold() not in {"which", "who"}:
            continue
        begin = at
        while begin and part[begin - 1].kind is WordKind.CONTENT:
            begin -= 1
        before = part[begin - 1].text.casefold() if begin else ""
        if begin < at and before in {"a", "an", "the"} and begin > 1:
            before = part[begin - 2].text.casefold()
        if begin < at and before in {"into", "as", "to", "is", "are"}:
            yield [*part[begin:at], *part[at + 2 :]]


def _without_asides(part: Sequence[Token]) -> Iterator[list[Token]]:
    """Removes brackets, except those that limit the words before them: “(for horses)”."""
    left: list[Token] = []
    depth = 0
    for at, token in enumerate(part):
        follows = part[at + 1].text.casefold() if at + 1 < len(part) else ""
        if token.text == "(" and (depth or follows in {"where", "which", "e", "i", "see", "also", "usually"}):
            depth += 1
        elif token.text == ")" and depth:
            depth -= 1
        elif not depth:
            left.append(token)
    if len(left) < len(part) and not depth:
        yield left


def _opens(token: Token) -> bool:
    return token.kind is WordKind.BREAK or token.key in CLAUSES or token.text.casefold() == "and"


def _by_whom(part: Sequence[Token]) -> Iterator[list[Token]]:
    """Derives “Ann built the mill in 1900” from “The mill, built by Ann in 1900, burned”."""
    for at in range(1, len(part) - 1):
        if part[at + 1].text.casefold() != "by" or not part[at].text.casefold().endswith(_PARTICIPLES):
            continue
        end = at + 2
        while end < len(part) and not (_opens(part[end]) or part[end].text.casefold() in _ENDS_AGENT):
            end += 1
        agent = part[at + 2 : end]
        before = at
        while before and (
            part[before - 1].text.casefold() in _COPULAS | _AUXILIARY | {","}
            or part[before - 1].kind is WordKind.STRICT
        ):
            before -= 1
        begin = before
        while begin and not _opens(part[begin - 1]):
            begin -= 1
        words = [token.text.casefold() for token in part[before:at]]
        if "," in words and set(words) & _COPULAS:
            continue  # “Bob, unlike Carl, was hired by Eve”
        bounds = [token for token in part[before:at] if token.kind is WordKind.STRICT]
        stop = next((here for here in range(end, len(part)) if _opens(part[here])), len(part))
        if end < len(part) and part[end].text.casefold() in _COPULAS | _AUXILIARY:
            stop = end  # what is said of the thing itself
        patient = _last_named(part[begin:before])
        if patient and _says(agent):
            yield [*agent, *bounds, part[at], *patient, *part[end:stop]]


def _last_named(tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns the last thing named: from its article on, or its capitalised words; or all words if they are too few for a verb."""
    begin = next(
        (at for at in range(len(tokens) - 1, -1, -1) if tokens[at].text.casefold() in ARTICLES), None
    )
    if begin is None:
        begin = len(tokens)
        while begin and tokens[begin - 1].text[0].isupper():
            begin -= 1
        if begin == len(tokens) and len(tokens) <= MOST_WITHOUT_VERB:
            begin = 0
    named = tokens[begin:]
    return named if _says(named) and named[-1].kind is WordKind.CONTENT else ()


def _with_reason_last(part: Sequence[Token]) -> list[Token] | None:
    """Turns “A, so B” into “B, because A”."""
    for at in range(1, len(part) - 2):
        if part[at].kind is not WordKind.BREAK:
            continue
        word = at + 2 if part[at + 1].text.casefold() == "and" else at + 1
        if part[word].text.casefold() not in _CONCLUDES or part[word + 1].text.casefold() == "that":
            continue
        reason, result = part[:at], list(part[word + 1 :])
        ending = [result.pop()] if result and result[-1].kind is WordKind.BREAK else []
        return [*result, _COMMA, _BECAUSE, *reason, *ending]
    return None
