"""Tokenises English for the checks: significant words, other words, and which words are equal. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

import nupunkt

from writing.model.claims.vocabulary import by_word, listed, phrases, words

MAX_PARAGRAPH: Final = 20_000
"""Characters; a longer paragraph is no prose and supports nothing."""
MAX_SENTENCE: Final = 600
"""Characters; a longer sentence is a list or data, and the time of a comparison grows with the square of its length."""


class WordKind(Enum):
    FREE = "free"
    """A function word; may be added and left out."""
    CONTENT = "content"
    """A meaningful word; the passage must have it."""
    NUMBER = "number"
    STRICT = "strict"
    """Negates or limits the statement; must be neither added nor left out."""
    LOOSE = "loose"
    """May be left out, but not added."""
    BREAK = "break"
    """Punctuation between clauses."""


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    key: str
    """Equal for words of the same meaning: `grams` and `g`, `steeping` and `steeped`, `twelve` and `12`."""
    kind: WordKind

    @property
    def weighs(self) -> bool:
        return self.kind in {WordKind.CONTENT, WordKind.NUMBER, WordKind.STRICT, WordKind.LOOSE}


NEGATIONS: Final = words("kinds", "negations")
PRONOUNS: Final = words("kinds", "pronouns")
PREPOSITIONS: Final = words("kinds", "movable") | words("kinds", "prepositions")
"""They say whether a thing happens by, to or with a person."""
ARTICLES: Final = words("kinds", "articles")
CLAUSES: Final = words("kinds", "clauses")
"""Words that begin another statement, often with another subject."""
_STRICT: Final = NEGATIONS | CLAUSES | words("kinds", "strict")
_LOOSE: Final = words("kinds", "loose")
_FREE: Final = PRONOUNS - {"former", "latter"} | words("kinds", "free")
PARTICLES: Final = words("kinds", "particles")
_CONTRASTS: Final = words("kinds", "contrasts")
_BUT_FOR: Final = words("kinds", "but_for")
_SHORT_NAMES: Final = frozenset({"US", "IT", "WHO"})
"""Short names that are other words in lower case."""

SAME: Final = {word: group[0] for group in listed("equal", "words") for word in group}
_PAST_FORMS: Final = {form: forms[0] for forms in listed("equal", "past_forms") for form in forms[1:]}
_PHRASES: Final = phrases()
_CONTRACTED: Final = {"can't": "cannot", "won't": "not", "shan't": "not"}
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS: Final = (
    {word: str(value) for value, word in enumerate(listed("numbers", "one_to_twenty")[0])}
    | {word: str(10 * value) for value, word in enumerate(_TENS.split(), 2)}
    | {"hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000", "dozen": "12"}
)
UNITS: Final = by_word("units")
UNIT_KEYS: Final = frozenset(UNITS.values())

_TOKEN: Final = re.compile(
    rf"[Ss]o-called|(?i:(?:{_TENS.replace(' ', '|')})-(?:one|two|three|four|five|six|seven|eight|nine))\b|(?:(?<![\w.,/:%°])[-\u2212])?\d+(?:[.,]\d+)*|[^\W\d_]\w*(?:['’]\w+)*|[%°$€£]|[,;:()!?]|[–—]|\.(?=\s|$)"  # noqa: RUF001
)
_SIGNS: Final = "-\u2212"
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_INVISIBLE: Final = frozenset({"Cf", "Cc", "Co", "Cn"})


def normal(text: str) -> str:
    """Normalises a text: resolves compatibility characters, drops invisible ones, collapses white space."""
    folded = unicodedata.normalize("NFKC", text)
    visible = (" " if char.isspace() else char for char in folded if char.isspace() or _shows(char))
    return " ".join("".join(visible).split())


def _shows(char: str) -> bool:
    return unicodedata.category(char) not in _INVISIBLE


@lru_cache(2048)
def tokens_of(text: str) -> tuple[Token, ...]:
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        token = _token(match[0])
        if token.text.casefold() in PARTICLES and "-" in text[max(0, match.start() - 1) : match.end() + 1]:
            token = Token(token.text, token.key, WordKind.CONTENT)
        elif _only_contrasts(token, tokens):
            token = Token(token.text, token.key, WordKind.BREAK)
        tokens.append(token)
    return tuple(tokens)


def _only_contrasts(token: Token, before: Sequence[Token]) -> bool:
    """Whether it only joins two statements: “but”, yet not in “all but two”."""
    word = token.text.casefold()
    if word == "but":
        return not before or before[-1].text.casefold() not in _BUT_FOR
    breaks = not before or before[-1].kind is WordKind.BREAK
    return breaks and (word in _CONTRASTS or (word == "while" and bool(before)))


def _token(text: str) -> Token:
    word = text.casefold().replace("’", "'")  # noqa: RUF001
    if word in _CONTRACTED or word.endswith("n't"):
        return Token(text, "not", WordKind.STRICT)
    word = word.removesuffix("'s").split("'", 1)[0] or word
    if text in _SHORT_NAMES or text == "May":
        return Token(text, f"{word}_", WordKind.CONTENT)
    return Token(text, *_read(word))


def _read(word: str) -> tuple[str, WordKind]:
    if word[0] in _SIGNS:
        return f"-{_number(word[1:])}", WordKind.NUMBER
    tens, _, ones = word.partition("-")
    if word[0].isdigit() or word in _NUMBERS or (tens in _NUMBERS and ones in _NUMBERS):
        compound = str(int(_NUMBERS[tens]) + int(_NUMBERS[ones])) if ones else _NUMBERS.get(word)
        return compound or _number(word), WordKind.NUMBER
    if not word[0].isalpha() and word not in UNITS:
        return word, WordKind.BREAK
    if word in _STRICT:
        return ("not" if word in {"no", "cannot"} else SAME.get(word, word)), WordKind.STRICT
    if word in _LOOSE:
        return word, WordKind.LOOSE
    kind = WordKind.FREE if word in _FREE else WordKind.CONTENT
    return content_key(word) if kind is WordKind.CONTENT else word, kind


def keys_of(some: Iterable[str]) -> frozenset[str]:
    return frozenset(tokens_of(word)[0].key for word in some)


def is_past(word: str) -> bool:
    """Whether a word in lower case is the past form of a verb; “cut” and its like are not told apart."""
    return word in _PAST_FORMS or (word.endswith("ed") and not word.endswith("eed"))


def content_key(word: str) -> str:
    stemmed = stem(_PAST_FORMS.get(word, word))
    return UNITS.get(word) or _SAME_STEMS.get(stemmed, stemmed)


def _number(text: str) -> str:
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{fraction}" if fraction else (whole.lstrip("0") or "0")


_ENDINGS: Final = (
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("ing", "", 3),
    ("ed", "", 3),
    ("ly", "", 4),
    ("s", "", 3),
)
_HISSING: Final = ("sses", "xes", "ches", "shes")
_NO_PLURAL: Final = frozenset({"news", "lens", "means", "series", "species"})
_EXTRACTION: Final = 8
_SHORTEST_DOUBLED: Final = 4
_SHORT_AND_SILENT: Final = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
"""“Hop”, “plan”: with a final “e” they are other words, and “hoping” belongs to the other one."""


@lru_cache(8192)
def stem(word: str) -> str:
    """Strips endings of number and tense: `steep`, `steeps`, `steeped` become equal; `coarser` stays apart from `coarse`."""
    if (
        any(char.isdigit() for char in word)
        or "_" in word
        or word.endswith(("ss", "us", "is"))
        or word in _NO_PLURAL
    ):
        return word
    whole = word
    for ending, instead, left in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= left:
            word = word.removesuffix(ending) + instead
            break
    if whole.endswith(_HISSING) and word.endswith("e"):
        word = word[:-1]
    if whole.endswith(("ing", "ed")) and word != whole and _SHORT_AND_SILENT.fullmatch(word):
        return f"{word}e"
    if _SHORT_AND_SILENT.fullmatch(word.removesuffix("e")):
        return word
    if word.endswith("ion") and len(word) >= _EXTRACTION:
        word = word.removesuffix("ion")
    if len(word) >= _SHORTEST_DOUBLED and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) >= _SHORTEST_DOUBLED else word


_SAME_STEMS: Final = {stem(word): stem(same) for word, same in SAME.items() if word not in _STRICT}


@lru_cache(512)
def sentences_of(text: str) -> tuple[str, ...]:
    """Returns the sentences of a text with paragraphs."""
    return tuple(
        sentence
        for paragraph in re.split(r"\n\s*\n", text)
        if len(paragraph) <= MAX_PARAGRAPH
        for begin, end in nupunkt.sent_spans(paragraph)
        if (sentence := normal(paragraph[begin:end])) and len(sentence) <= MAX_SENTENCE
    )
