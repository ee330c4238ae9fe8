"""Keys by the rules of the previous version, because its replicas know no others; so no subject is written twice.

Remove this with `content.subject` and `keywords.subject` once no such replica can run any more.
"""

import re
import unicodedata
from typing import Final

from orchestrator.subjects.keys import SubjectKey

_BETWEEN: Final = re.compile(r"[\s_/,;:!?\"()\[\]{}«»„“”‚‘…|·•-]+|[‐‑‒–—―−]+")  # noqa: RUF001  (dashes and quotes as people type them)
_POSSESSIVE: Final = re.compile(r"['’](?:s\b)?")  # noqa: RUF001
_JOINED_BY: Final = {"and": "and", "&": "and", "vs": "vs", "versus": "vs"}
_SHORT: Final = 3
"""Words up to this length stay unchanged: most are names (DNS, AWS)."""

_IRREGULAR: Final = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "https": "https",
    "knives": "knife",
    "leaves": "leaf",
    "lens": "lens",
    "lenses": "lens",
    "loaves": "loaf",
    "men": "man",
    "mice": "mouse",
    "news": "news",
    "shelves": "shelf",
    "series": "series",
    "species": "species",
    "teeth": "tooth",
    "wives": "wife",
    "wolves": "wolf",
    "women": "woman",
}
_IE: Final = frozenset(
    [
        "brownies",
        "calories",
        "cookies",
        "freebies",
        "genies",
        "hoodies",
        "movies",
        "rookies",
        "selfies",
        "smoothies",
        "veggies",
        "zombies",
    ]
)
_ENDS_ES: Final = re.compile(
    r"(?:sses|xes|zzes|shes|[^aeiou]ches|[eo]aches|[^ao]uses|[^aeiou]oes|wiches|[aeiou]{2}ches)$"
)
"""The ends of plurals that add "es" and not "s" to the word; "houses", "caches" and "shoes" add "s"."""
_IRREGULAR_OES: Final = frozenset(("shoes", "toes", "canoes", "oboes"))


def former_key_of(keyword: str, language: str) -> SubjectKey:
    """Returns the key of a keyword's subject; folds plurals if the `language` (a tag such as `en-GB`) is English."""
    text = unicodedata.normalize("NFKC", keyword).casefold()
    words = [word for part in _BETWEEN.split(_POSSESSIVE.sub("", text)) if (word := part.rstrip("."))]
    if language.partition("-")[0].casefold() == "en":
        words = [_singular(word) for word in words]
    return SubjectKey(_in_order(words) or " ".join(text.split()))


def _singular(word: str) -> str:
    """Returns the singular; another word stays, or becomes one without another meaning."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _SHORT or not (word.isascii() and word.isalpha()):
        return word
    if not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies") and len(word) > _SHORT + 1 and word not in _IE:
        return f"{word[:-3]}y"
    if len(word) > _SHORT + 1 and _ENDS_ES.search(word) and word not in _IRREGULAR_OES:
        return word[:-2]
    return word[:-1]


def _in_order(words: list[str]) -> str:
    """Joins the words, so that spacing and hyphens do not count; sorts both sides of one "and" or "vs"."""
    places = [place for place, word in enumerate(words) if word in _JOINED_BY]
    if len(places) == 1 and 0 < places[0] < len(words) - 1:
        (place,) = places
        one, other = sorted((_together(words[:place]), _together(words[place + 1 :])))
        return f"{one} {_JOINED_BY[words[place]]} {other}"
    return _together(words)


def _together(words: list[str]) -> str:
    text = ""
    for word in words:
        # "Python 3 11" is not "Python 311".
        text += f" {word}" if text[-1:].isdigit() and word[:1].isdigit() else word
    return text
