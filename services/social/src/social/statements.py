"""Chooses sentences of an article that say something by themselves. Pure.

The rules about words are for English; in other languages the form of a sentence decides alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final

import regex

from social.cutting import comparable, sentences
from social.technical import can_follow, has_code, tells_readers

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
    r"(?:it|its|this|that|these|those|they|their|them|he|she|his|her|i|my|such|both|either|neither|another|others?|same"
    r"|e\.?g|returning to|however|but|and|or|nor|so|yet|also|too|then|thus|hence|therefore|consequently|accordingly|moreover|furthermore"
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
    r"(?:(?:[\w'’-]+\s+){1,4}(?:it|they|them|this|these|those|though)\b"  # noqa: RUF001
    r"|[^,;:]*\b(?:of|do|does|doing|did|with|like|for) (?:this|these|those|them)\b(?! \w)"
    r"|\w+ly,\s+(?:it|they|this|these|those)\b)",
    regex.IGNORECASE,
)
# Words that count what was named before.
_COUNTED: Final = regex.compile(
    r"\b(?:(?:as|of) one (?:as|and|or|than)\b"
    r"|(?<!\bat )(?<!\bafter )(?<!\babove )(?<!\band )(?<!\bof (?=all))(?:one|some|any|many|few|several|most|all|both|each|none|two|three|four)[,;.])",
    regex.IGNORECASE,
)
# Who speaks, a post does not tell.
_OF_ONE: Final = regex.compile(r"\bI(?:['’]?m| am| was| will| have| had|['’]ve|['’]ll)\b")  # noqa: RUF001
# A sentence with these points to something that a post does not show.
_POINTER: Final = regex.compile(
    r"\b(?:(?:the )?following|as follows|our (?:example|program)\b|(?:the|an?) (?:\w+ )?\w+ (?:above|below)|(?:see|shown|described|discussed|mentioned|listed|explained) (?:above|below|earlier|later|in)|above\b[,.)]"
    r"|\bsee\b.* for (?:more|further|details|an?\b)|below\b[,.)]|(?:this|these|that) (?:way|case|example|program|function|method|list|step|option|command|setting|approach|figure|table|section|chapter|page|reason"
    r"|article|guide|document)|(?:figure|table|section|chapter|appendix) \d|all (?:two|three|four|five|six)\b)",
    regex.IGNORECASE,
)
_BEGINNING: Final = regex.compile(r"[\"“„«‘'(\[]?[\p{Lu}\p{Lt}\p{Lo}\p{N}]")  # noqa: RUF001
_END: Final = regex.compile(r"(?:(?<!\.)[.!]|[。！]|\p{Lo})[\"”’»)\]]*")  # noqa: RUF001
_CUT: Final = regex.compile(
    r"(?:\b(?:a|an|the|of|and|or|its|their|ie|eg)[.!]?|[,;:–—-])[\"”’»)\]]*$",  # noqa: RUF001
    regex.IGNORECASE,
)
_FRAGMENT: Final = regex.compile(
    r"(?:[Bb]ecause|[Hh]ow to)\b[^,]*$|[A-Z][a-z]+s (?:(?:and|or) [a-z]+s )?(?:an?|the|any|whether|if)\b"
    r"|[A-Z][a-z]+ed (?:when|if|by|for|to|in|on)\b[^,]*$"
    r"|An? (?!.*\b(?:is|are|was|were|has|have|had|can|may|might|must|will|would|should|did|\w*[a-rt-z]s)\b)"
)
"""A sentence without a subject, a verb or a main clause, as in "Returns the name" and "A class for names"."""
_THE_THING: Final = regex.compile(
    r"(?:The|(?!(?:About|Above|After|All|At|Before|Behind|Below|Both|By|Despite|During|Even|For|From|Half|If|In|Inside|Into|Like|Most|Nearly|Of"
    r"|On|Once|Only|Over|Since|Through|Under|Unless|Until|What|When|Where|While|With|Within|Without)\b)[A-Z][a-z]+(?<!ing|s)(?: \p{Ll}{2,3})? the)"
    r" (?:[\w-]+ )?(?<!of )(?P<thing>\w+)(?= (?:is|are|was|were|has|have|must|may|can|will|should|shows?|\w+s|to|on|in|off|with|and|shut|open|while|when|until|before|after|at|from|for)\b|[.,;])"
)
"""A thing that the sentences before it named."""
_FIGURE: Final = regex.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|half|twice|double)\b", regex.IGNORECASE
)
_CONTRAST: Final = regex.compile(
    r"\b(?:rather than|instead of|not|never|without|only|but|because|although|while|best|most|least|too|unless|\w+er than|more than|less than)\b",
    regex.IGNORECASE,
)
_DEFINES: Final = regex.compile(r"(?:[\w’'-]+\s+){1,5}(?:is|are) (?:an?|the(?! (?:best|most|\w+est)))\b")  # noqa: RUF001
"""It tells what something is: a good second sentence."""
_OWN: Final = regex.compile(r"(?:we|our)\b", regex.IGNORECASE)
"""Readers look at what is about them rather than at what is about the shop."""
_TERM: Final = regex.compile(r"\b(?:is|are) (?:called|known as|referred to as)\b")
"""It explains a word that the article needs further on."""
_CONTINUES: Final = regex.compile(
    r"^(?:\S+\s+){0,7}(?:also|already|as well|further|likewise|still|too)\b|\b(?:as well|too)\.?$",
    regex.IGNORECASE,
)
_WORD: Final = regex.compile(r"[\p{L}\p{N}]+")
_FEW: Final = 2
_LEAST_INTEREST: Final = 3
"""Less makes nobody look."""
_MOST_DULLER: Final = 2
"""So much less than the best one still opens a post of another channel."""
_TELLING: Final = 5
"""So many letters has a word, and its stem, that ties a sentence to a subject."""
_LIGHT: Final = frozenset(
    "about above after again along almost already always among another around because before being below better between could"  # noqa: SIM905 - a list of words
    " during either enough every first found further given having itself large later least leave least might often other others quite"
    " rather really right should since small still takes taken their there these thing things those three through times under until"
    " using usually where whether which while whole within without would years yours".split()
)
_SUBJECT: Final = 60
"""So many first characters tell what a sentence is about."""
_SHORT, _LONG = 40, 180
"""Characters of a sentence that reads well as a hook."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that stands alone, and the sentences after it that need it, in order."""

    sentences: tuple[str, ...]
    origin: int
    """The number of its source, from 1; 0: the article's own words."""
    is_opening: bool = False
    """Whether it is the quoted beginning of the article."""

    def beginnings(self) -> Iterator[str]:
        """Its texts of whole sentences, the longest first."""
        for size in range(len(self.sentences), 0, -1):
            yield " ".join(self.sentences[:size])


def statements_of(texts: Sequence[tuple[str, int]], subject: str = "") -> tuple[Statement, ...]:
    """Returns the statements of paragraphs or points, each with its origin; what another one says is left out.

    A quoted sentence without a word of `subject` or of the first text is left out, too: it was about what stood before it.
    """
    found: list[Statement] = []
    said: list[str] = []
    opening = texts[0][0] if texts else ""
    known = _telling_stems(f"{subject} {opening}")
    for place, (text, origin) in enumerate(texts):
        of_text = list(_statements(text, origin))
        if place == 0 and origin:
            of_text = _with_opening(of_text, text)
        for statement in of_text:
            says = comparable(statement.sentences[0])
            if origin and place and known and known.isdisjoint(_telling_stems(statement.sentences[0])):
                continue
            if all(says not in other and other not in says for other in said):
                said.append(says)
                found.append(statement)
    return tuple(found)


def _with_opening(found: list[Statement], text: str) -> list[Statement]:
    """Marks the one that the text begins with; a short one keeps the next, which says what it is about."""
    if not found or not text.startswith(found[0].sentences[0]):
        return found
    first, rest = replace(found[0], is_opening=True), found[1:]
    begun = " ".join(first.sentences)
    if len(begun) < _SHORT and rest and text.startswith(f"{begun} {rest[0].sentences[0]}"):
        first, rest = replace(first, sentences=first.sentences + rest[0].sentences), rest[1:]
    return [first, *rest]


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
    if is_quoted and (
        _PRONOUN.match(begun) or _COUNTED.search(begun) or _FRAGMENT.match(begun) or _OF_ONE.search(begun)
    ):
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
        and "[…]" not in sentence
        and all(sentence.count(one) == sentence.count(other) for one, other in ("()", "[]", "“”"))
    )


def _telling_stems(text: str) -> frozenset[str]:
    words = (word for word in comparable(text).split() if len(word) >= _TELLING and word not in _LIGHT)
    return frozenset(word[:_TELLING] for word in words)


def names(sentence: str, keyword: str) -> bool:
    """Whether the sentence has a form of each word of the keyword, or of two thirds if it has more than two."""
    stems = _keyword_stems(keyword)
    there = {_named_stem(word) for word in comparable(sentence).split()}
    return 3 * len(stems & there) >= (3 if len(stems) <= _FEW else 2) * len(stems) > 0


@lru_cache(maxsize=32)
def _keyword_stems(keyword: str) -> frozenset[str]:
    # A cache, since all sentences of an article are compared with one keyword.
    # What a function takes, in parentheses, is no subject.
    return frozenset(map(_named_stem, comparable(keyword.partition("(")[0] or keyword).split()))


def _named_stem(word: str) -> str:
    return (word.removesuffix("s") if len(word) > _FEW else word)[:_NAMED_STEM]


def is_on_subject(statement: Statement, keyword: str) -> bool:
    """Whether it says something about the subject, and no detail of a part of the article.

    The opening does, and so do words of the article's own.
    """
    return not statement.origin or statement.is_opening or names(statement.sentences[0], keyword)


def self_contained(
    statements: Iterable[Statement], titles: Sequence[str], keyword: str, title: str
) -> Iterator[Statement]:
    """Yields the statements without those of pages about something larger, unless they name the subject: there, the page has named it.

    `titles` are those of the sources. A page is about something larger if no word of its title is of the subject.
    """
    subject = _subject_stems(f"{keyword} {title}")
    larger = {each: subject.isdisjoint(_subject_stems(each)) for each in dict.fromkeys(titles)}
    for each in statements:
        if not (each.origin and larger[titles[each.origin - 1]]) or names(each.sentences[0], keyword):
            yield each


def _subject_stems(text: str) -> frozenset[str]:
    words = (word for word in comparable(text).split() if len(word) > _FEW + 1 and word not in _LIGHT)
    return frozenset(map(_named_stem, words))


def leans_on_others(sentence: str, told: str) -> bool:
    """Whether it speaks of "the" thing, or says what to do with it, and the text before does not name that thing."""
    match = _THE_THING.match(sentence)
    return match is not None and _telling_stem(match["thing"]) not in {
        _telling_stem(word) for word in comparable(told).split()
    }


def _telling_stem(word: str) -> str:
    return word.casefold()[:_NAMED_STEM]


def by_interest(statements: Sequence[Statement], keyword: str, title: str) -> tuple[Statement, ...]:
    """Returns the statements that can open a post, the one that makes most readers look first: figures and contrasts, briefly put.

    Those of the source that opens the article come before others, which say something about their own subjects. A quoted one that
    nobody would look at is left out, unless it is about the subject from its first words.
    """
    main = {statements[0].origin, 0} if statements else set()
    rated = [(each, _interest(each, keyword)) for each in statements]
    best = max((interest for _, interest in rated), default=0)
    kept = [
        (each, interest)
        for each, interest in rated
        if _can_open(each, interest, best, keyword, f"{title} {keyword}")
    ]
    return tuple(each for each, _ in sorted(kept, key=lambda pair: (pair[0].origin not in main, -pair[1])))


def _can_open(statement: Statement, interest: int, best: int, keyword: str, subject: str) -> bool:
    sentence = statement.sentences[0]
    if not statement.origin:
        return True
    if has_code(sentence) or _CONTINUES.search(sentence) or len(" ".join(statement.sentences)) < _SHORT:
        return False
    # The opening names the thing that it speaks of; behind it, the text has done so.
    if not statement.is_opening and leans_on_others(sentence, subject):
        return False
    if interest >= max(_LEAST_INTEREST, best - _MOST_DULLER):
        return True
    return statement.is_opening or names(sentence[:_SUBJECT], keyword)


def for_readers_of_feeds(
    statements: Iterable[Statement], keyword: str, title: str, proper: frozenset[str]
) -> tuple[Statement, ...]:
    """Returns the statements of a manual that readers of a feed understand, the most interesting first."""
    subject = f"{title} {keyword}"
    known = _telling_stems(subject)

    def tells(each: Statement) -> bool:
        if not each.origin:
            return True
        sentence = each.sentences[0]
        return (
            _CONTINUES.search(sentence) is None
            and (names(sentence, keyword) or not known.isdisjoint(_telling_stems(sentence)))
            and tells_readers(sentence, proper, subject, is_on_subject=names(sentence[:_SUBJECT], keyword))
        )

    def shortened(each: Statement) -> Statement:
        first, *after = each.sentences
        following = [text for text in after[:1] if can_follow(text, proper)]
        return replace(each, sentences=(first, *following)) if each.origin else each

    kept = [shortened(each) for each in statements if tells(each)]
    return tuple(sorted(kept, key=lambda each: -_interest(each, keyword)))


def _interest(statement: Statement, keyword: str) -> int:
    sentence = statement.sentences[0]
    return (
        2 * (_FIGURE.search(sentence) is not None)
        + 2 * (_CONTRAST.search(sentence) is not None)
        + 2 * names(sentence, keyword)
        + names(sentence[:_SUBJECT], keyword)
        + (_SHORT <= len(sentence) <= _LONG)
        + 2 * statement.is_opening
        - 2 * (_DEFINES.match(sentence) is not None)
        - (_OWN.match(sentence) is not None)
        - 2 * (_TERM.search(sentence) is not None)
        - 2 * (_CONTINUES.search(sentence) is not None)
        - 3 * has_code(sentence)
    )
