"""Tokenises English for the checks: significant words, other words, and which words are equal. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

import nupunkt

from writing.model.claims.equivalents import PAST_FORMS, SAME, plain

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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _words(
    "not no never none neither nor nothing nobody nowhere without cannot hardly barely scarcely"
)
PRONOUNS: Final = _words(
    "it its they them their theirs this that these those he him his she her hers such both former latter"
)
MOVABLE: Final = _words(
    "in at on for by with from during within since until after before per through under over"
)
"""A phrase that starts with one of these may come before or after the words it modifies."""
PREPOSITIONS: Final = MOVABLE | _words("of to into onto about among against")
"""They say whether a thing happens by, to or with a person."""
ARTICLES: Final = _words("a an the its their his her our your this that these those")
PERSONS: Final = _words("he him his she her hers")
CLAUSES: Final = _words("but while whereas although though which who whose because")
"""Words that begin another statement, often with another subject."""
_STRICT: Final = (
    NEGATIONS
    | CLAUSES
    | _words(
        # How many, how often, how sure.
        "all every each any some few many most several only always often usually sometimes rarely seldom occasionally"
        " frequently generally typically mostly mainly partly perhaps possibly probably likely unlikely maybe may might could"
        " can about approximately nearly almost roughly around exactly"
        # Compared, and bounded.
        " more less fewer least than unlike like twice half double over under above below before after until"
        " since against up down off out away minimum maximum between"
        " rather instead per together jointly combined"
        # When, and whether, the statement holds.
        " when where must should shall will would minus"
        # These words negate the thing that follows: “fake”.
        " toy fake mock former future imitation counterfeit artificial imaginary fictional virtual simulated so-called"
        " slightly merely somewhat partially largely"
    )
)
_LOOSE: Final = _words(
    "so therefore thus hence very too already still yet again soon now today currently best worst better worse"
)
FRAMES: Final = _words(
    "if unless except provided whether claim claims claimed claiming myth myths belief believe believes believed allege"
    " alleges alleged allegedly reportedly supposedly rumour rumor rumours rumors false wrong untrue incorrect said say"
    " says according argue argues argued suggest suggests suggested report reports reported think thinks thought deny"
    " denies denied doubt doubts doubted supposed hypothesis hypothetical formerly once previously originally estimate"
    " seem seems seemed appear appears appeared tend tends tended try tries tried fail fails failed attempt attempts attempted"
    " hope hopes hoped wish wishes wished fear fears feared want wants wanted imagine imagines imagined pretend pretends pretended"
    " dream dreams dreamed promise promises promised threaten threatens threatened intend intends intended forbid forbids forbidden"
    " forbade prohibit prohibits prohibited ban bans banned stop stops stopped avoid avoids avoided refuse refuses refused quit quits"
    " risk risks risked average averages theory theoretically principle hypothetically ideally nominally officially"
    " cease ceases ceased prevent prevents prevented"
    " estimates estimated expect expects expected plan plans planned propose proposes proposed warn warns warned"
)
"""Words that attribute, condition, date or retract the whole sentence."""
_FREE: Final = PRONOUNS - {"former", "latter"} | _words(
    "a an the of to in on at by for with from as is are was were be been being am you your yours yourself we our ours us"
    " i me my mine and or what how there here do does did doing done has have had having also just then into"
    " onto during within through across per via other same own whom even ones simply really actually basically itself themselves oneself"
)
_NEUTRAL: Final = _words("people person someone")
"""Verbs and nouns with too little meaning to count against a sentence."""

PARTICLES: Final = _words("over under up down off out away")
"""Particles that limit nothing in “pour-over” and “built-in”."""
_CONTRASTS: Final = _words("whereas although though however yet")
_SHORT_NAMES: Final = frozenset({"US", "IT", "WHO"})
"""Short names that are other words in lower case."""
_BUT_FOR: Final = _words(
    "all nothing none anything everything anybody everybody any every no cannot last next not"
)

_CONTRACTED: Final = {"can't": "cannot", "won't": "not", "shan't": "not"}
_ONE_TO_TWENTY: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_NUMBERS: Final = {word: str(value) for value, word in enumerate(_ONE_TO_TWENTY.split())} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
    "dozen": "12",
}
UNITS: Final = {
    alias: unit
    for unit, aliases in {
        "%": "% percent",
        "°": "° degree degrees",
        "celsius": "c celsius centigrade",
        "fahrenheit": "f fahrenheit",
        "$": "$ dollar dollars usd",
        "€": "€ euro euros eur",
        "£": "£ pound pounds gbp",
        "g": "g gram grams gramme grammes",
        "kg": "kg kilo kilos kilogram kilograms",
        "mg": "mg milligram milligrams",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "l": "l litre litres liter liters",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "m": "m metre metres meter meters",
        "km": "km kilometre kilometres kilometer kilometers",
        "mile": "mile miles",
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "byte": "byte bytes",
        "kb": "kb kilobyte kilobytes",
        "mb": "mb megabyte megabytes",
        "gb": "gb gigabyte gigabytes",
        "cup": "cup cups",
        "part": "part parts",
    }.items()
    for alias in aliases.split()
}
UNIT_KEYS: Final = frozenset(UNITS.values())

_TOKEN: Final = re.compile(
    r"[Ss]o-called|(?i:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?:one|two|three|four|five|six|seven|eight|nine))\b|(?:(?<![\w.,/:%°])[-\u2212])?\d+(?:[.,]\d+)*|[^\W\d_]\w*(?:['’]\w+)*|[%°$€£]|[,;:()!?]|[–—]|\.(?=\s|$)"  # noqa: RUF001
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
    text = plain(text)
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
    kind = WordKind.FREE if word in _FREE | _NEUTRAL else WordKind.CONTENT
    return content_key(word) if kind is WordKind.CONTENT else word, kind


def is_past(word: str) -> bool:
    """Whether a word in lower case is the past form of a verb; “cut” and its like are not told apart."""
    return word in PAST_FORMS or (word.endswith("ed") and not word.endswith("eed"))


def content_key(word: str) -> str:
    stemmed = stem(PAST_FORMS.get(word, word))
    return UNITS.get(word) or _SAME_STEMS.get(stemmed, stemmed)


def _number(text: str) -> str:
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{fraction}" if fraction else (whole.lstrip("0") or "0")


_ENDINGS: Final = (("ies", "y", 2), ("ing", "", 3), ("ed", "", 3), ("ly", "", 4), ("s", "", 3))
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


def plain_words(text: str) -> list[str]:
    """Returns the words without case and punctuation, to measure copying."""
    return re.findall(r"\w+(?:[.,]\d+)*", normal(text).casefold())
