"""Chooses sentences of an article that say something by themselves. Pure.

The rules about words are for English; in other languages the form of a sentence decides alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import regex

from social.cutting import comparable, sentences

_MIN_WORDS: Final = {True: 5, False: 3}
"""By whether the sentence is quoted."""
_MIN_LENGTH: Final = 10
"""Characters of a sentence without spaces."""
_MOST_SENTENCES: Final = 6
"""Of one text; the first ones tell most."""
_MAX_LENGTH: Final = 400
"""Longer sentences are read by nobody in a feed."""
_NAMED_STEM: Final = 4
"""So many first letters tell whether two words are forms of one: brew, brewing, brewed."""

# A sentence that begins so needs the one before it.
_DEPENDENT: Final = regex.compile(
    r"(?:it|its|this|that|these|those|they|their|them|he|she|his|her|we|our|i|my|such|both|either|neither|another|others?|same"
    r"|however|but|and|or|nor|so|yet|also|too|then|thus|hence|therefore|consequently|accordingly|moreover|furthermore"
    r"|additionally|besides|still|nevertheless|nonetheless|meanwhile|otherwise|instead|likewise|similarly|conversely|again"
    r"|afterwards?|finally|next|first|firstly|second|secondly|third|here|there|note|suppose|let|consider|recall|see|remember"
    r"|just as|of course|unfortunately|fortunately|luckily|for (?:example|instance|this|that|these|more)|in (?:this|that|these|such|other words|addition|contrast|the (?:first|second|same))"
    r"|by (?:contrast|this|doing)|on the other|as (?:a result|such|this|mentioned|described|shown|noted|above)|at (?:this|that)"
    r"|with (?:this|that|these|it)|after (?:this|that|it)|because of (?:this|that)|due to (?:this|that)|(?:un)?like (?:this|that)"
    r"|the (?:latter|former|same|others?|two|three|four|above|following|next|previous|second|third|rest|result|reason|explanation))\b",
    regex.IGNORECASE,
)
# One of its first words stands for something that was named before.
_PRONOUN: Final = regex.compile(
    r"(?:[\w'’-]+\s+){1,4}(?:it|they|them|its|their|this|these|those|though)\b",  # noqa: RUF001
    regex.IGNORECASE,
)
# A sentence with these points to something that a post does not show.
_POINTER: Final = regex.compile(
    r"\b(?:(?:the )?following|(?:see|shown|described|discussed|mentioned|listed|explained) (?:above|below|earlier|later|in)|above\b[,.)]"
    r"|below\b[,.)]|(?:this|these|that) (?:way|case|example|option|command|setting|approach|figure|table|section|chapter|page|reason"
    r"|article|guide|document)|(?:figure|table|section|chapter|appendix) \d|all (?:two|three|four|five|six)\b)",
    regex.IGNORECASE,
)
_BEGINNING: Final = regex.compile(r"[\"“„«‘'(\[]?[\p{Lu}\p{Lt}\p{Lo}\p{N}]")  # noqa: RUF001
_END: Final = regex.compile(r"(?:(?<!\.)[.!]|[。！]|\p{Lo})[\"”’»)\]]*")  # noqa: RUF001
_CUT: Final = regex.compile(
    r"(?:\b(?:a|an|the|of|and|or|its|their)[.!]?|[,;:–—-])[\"”’»)\]]*$",  # noqa: RUF001
    regex.IGNORECASE,
)
_CODE: Final = regex.compile(r"[_\\=<>{}|$#]|--|\w\(\)|/\w+/|\[\d+\]")
_FIGURE: Final = regex.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|half|twice|double)\b", regex.IGNORECASE
)
_CONTRAST: Final = regex.compile(
    r"\b(?:rather than|instead of|not|never|without|only|but|because|although|while|best|most|least|too|unless|\w+er than|more than|less than)\b",
    regex.IGNORECASE,
)
_DEFINES: Final = regex.compile(r"(?:[\w’'-]+\s+){1,5}(?:is|are) (?:an?|the(?! (?:best|most|\w+est)))\b")  # noqa: RUF001
"""It tells what something is: a good second sentence."""
_CONTINUES: Final = regex.compile(r"(?:\S+\s+){0,7}(?:also|as well|further|likewise|too)\b", regex.IGNORECASE)
_WORD: Final = regex.compile(r"[\p{L}\p{N}]+")
_FEW: Final = 2
_SUBJECT: Final = 60
"""So many first characters tell what a sentence is about."""
_SHORT, _LONG = 50, 180
"""Characters of a sentence that reads well as a hook."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that stands alone, and the sentences after it that need it, in order."""

    sentences: tuple[str, ...]
    origin: int
    """The number of its source, from 1; 0: the article's own words."""

    def beginnings(self) -> Iterator[str]:
        """Its texts of whole sentences, the longest first."""
        for size in range(len(self.sentences), 0, -1):
            yield " ".join(self.sentences[:size])


def statements_of(texts: Sequence[tuple[str, int]]) -> tuple[Statement, ...]:
    """Returns the statements of paragraphs or points, each with its origin; what another one says is left out."""
    found: list[Statement] = []
    said: list[str] = []
    for text, origin in texts:
        for statement in _statements(text, origin):
            says = comparable(statement.sentences[0])
            if all(says not in other and other not in says for other in said):
                said.append(says)
                found.append(statement)
    return tuple(found)


def _statements(text: str, origin: int) -> Iterator[Statement]:
    current: list[str] = []
    for sentence in islice(sentences(text), _MOST_SENTENCES):
        if stands_alone(sentence, is_quoted=origin > 0):
            if current:
                yield Statement(tuple(current), origin)
            current = [sentence]
        elif current and _is_whole(sentence, is_quoted=True):
            current.append(sentence)
        else:
            # Behind a gap nothing follows.
            if current:
                yield Statement(tuple(current), origin)
            current = []
    if current:
        yield Statement(tuple(current), origin)


def stands_alone(sentence: str, *, is_quoted: bool = True) -> bool:
    """Whether the sentence is whole and can be understood without any other.

    Points in the article's own words were written to stand alone, and need no full stop.
    """
    begun = sentence.lstrip("\"“„«‘'([")  # noqa: RUF001
    if not _is_whole(sentence, is_quoted=is_quoted) or _DEPENDENT.match(begun):
        return False
    if is_quoted and _PRONOUN.match(begun):
        return False
    words = len(sentence.split())
    # Some scripts have no spaces.
    return words >= _MIN_WORDS[is_quoted] or (
        words == 1 and not sentence.isascii() and len(sentence) >= _MIN_LENGTH
    )


def _is_whole(sentence: str, *, is_quoted: bool) -> bool:
    return (
        len(sentence) <= _MAX_LENGTH
        and _BEGINNING.match(sentence) is not None
        and _CUT.search(sentence) is None
        and not sentence.endswith(("…", "?", "..."))
        and (not is_quoted or _END.search(sentence[-4:]) is not None)
        and _POINTER.search(sentence) is None
        and all(sentence.count(one) == sentence.count(other) for one, other in ("()", "[]", "“”"))
    )


def names(sentence: str, keyword: str) -> bool:
    """Whether the sentence has a form of each word of the keyword, or of two thirds if it has more than two."""
    stems = {word[:_NAMED_STEM] for word in comparable(keyword).split()}
    there = {word[:_NAMED_STEM] for word in comparable(sentence).split()}
    return 3 * len(stems & there) >= (3 if len(stems) <= _FEW else 2) * len(stems) > 0


def by_interest(statements: Sequence[Statement], keyword: str) -> tuple[Statement, ...]:
    """Returns the statements in the order in which they make readers look: figures and contrasts, briefly put, first.

    Those of the source that opens the article come before others, which say something about their own subjects.
    """
    main = {statements[0].origin, 0} if statements else set()
    return tuple(
        sorted(statements, key=lambda each: (each.origin not in main, -_interest(each.sentences[0], keyword)))
    )


def _interest(sentence: str, keyword: str) -> int:
    return (
        2 * (_FIGURE.search(sentence) is not None)
        + 2 * (_CONTRAST.search(sentence) is not None)
        + 2 * names(sentence, keyword)
        + names(sentence[:_SUBJECT], keyword)
        + (_SHORT <= len(sentence) <= _LONG)
        - 2 * (_DEFINES.match(sentence) is not None)
        - 2 * (_CONTINUES.match(sentence) is not None)
        - 3 * (_CODE.search(sentence) is not None)
    )
