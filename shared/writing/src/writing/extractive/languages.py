"""Recognises texts in another language by small words and script. Pure."""

import re
from functools import lru_cache
from typing import Final

_SMALL_WORDS: Final = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to is in that for it with as are this be by on not or from you can an which have when if",
        "de": "der die das und ist nicht ein eine zu den von mit für auf dem werden sich auch wird im als sind oder wenn",
        "fr": "le la les des et est une un du que pour dans qui sur pas par avec ce sont plus vous ou au être cette",
        "es": "el la los las de y es que en un una por con para no se del como son más este puede al lo su",
        "it": "il la di che è un una per non con del della sono si le dei come da nel anche questo più alla gli essere",
        "pt": "o a os as de e é que um uma para com não por do da em se dos mais como são ao pode este",
        "nl": "de het een en van is dat niet te op voor met zijn die in wordt aan als worden ook om bij deze kan",
        "sv": "och att det är en som för på av med den till inte om kan ett från har eller de detta när",
        "da": "og at det er en som for på af med den til ikke om kan et fra har eller de dette når",
        "nb": "og å det er en som for på av med den til ikke om kan et fra har eller de dette når",
        "fi": "ja on ei se että voi ovat tai kun myös joka jos mutta ole sen tämä niin kuin",
        "pl": "i w nie na jest to z się do że dla są lub przez jak po od można tego",
        "cs": "a je se na v že to s z do pro jsou není nebo jako pokud který může",
        "hr": "i je u se na da za su s od ili koji kao može nije ako",
        "ro": "și de la în este nu care pe cu un o din pentru sau sunt mai se",
        "tr": "ve bir bu için ile olarak da de olan daha gibi veya çok ise",
        "id": "yang dan di untuk dengan ini dari adalah dalam tidak atau pada dapat anda",
        "vi": "và là của cho các có được một không trong với để này những",
        "ca": "el la els les de i és que en un una per amb no es del com són més aquest",
        "hu": "a az és hogy nem egy is ez van vagy lehet csak ha mint",
    }.items()
}
_SCRIPTS: Final = {
    "cyrillic": (re.compile(r"[\u0400-\u052f]"), frozenset({"ru", "uk", "bg", "sr", "be", "mk", "kk", "mn"})),
    "greek": (re.compile(r"[\u0370-\u03ff]"), frozenset({"el"})),
    "arabic": (re.compile(r"[\u0600-\u06ff]"), frozenset({"ar", "fa", "ur", "ps"})),
    "hebrew": (re.compile(r"[\u0590-\u05ff]"), frozenset({"he", "yi"})),
    "devanagari": (re.compile(r"[\u0900-\u097f]"), frozenset({"hi", "mr", "ne"})),
    "thai": (re.compile(r"[\u0e00-\u0e7f]"), frozenset({"th"})),
    "hangul": (re.compile(r"[\uac00-\ud7af]"), frozenset({"ko"})),
    "kana": (re.compile(r"[\u3040-\u30ff]"), frozenset({"ja"})),
    "han": (re.compile(r"[\u4e00-\u9fff]"), frozenset({"zh", "ja", "ko"})),
}
_WORD = re.compile(r"[^\W\d_]+")
# With this many more small words of another language than of the article's own, a text is foreign.
_MARGIN: Final = 2
_LOOKED_AT: Final = 2_000
_SCRIPT_SHARE: Final = 0.3


def is_foreign(text: str, language: str) -> bool:
    """Whether a text is plainly in another language than `language`, a BCP 47 tag.

    Short texts, and unknown languages in Latin script, count as the article's language.
    """
    own = language.partition("-")[0].casefold()
    own = "nb" if own in {"no", "nn"} else own
    return own not in _languages_of(text[:_LOOKED_AT], own)


def language_of(text: str) -> str:
    """Returns the language of a text, by its small words; empty if it is in another script, or in no clear language."""
    words = [word.casefold() for word in _WORD.findall(text)]
    counts = {language: sum(map(small.__contains__, words)) for language, small in _SMALL_WORDS.items()}
    first, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    return first if counts[first] >= counts[second] + _MARGIN else ""


@lru_cache(512)
def _languages_of(text: str, own: str) -> frozenset[str]:
    """Returns the possible languages of the text; includes `own` unless the words speak against it."""
    letters = sum(map(str.isalpha, text))
    for pattern, languages in _SCRIPTS.values():
        if letters and len(pattern.findall(text)) >= _SCRIPT_SHARE * letters:
            return languages
    if letters and any(own in languages for _, languages in _SCRIPTS.values()):
        return frozenset({"en"})
    words = [word.casefold() for word in _WORD.findall(text)]
    counts = {language: sum(map(small.__contains__, words)) for language, small in _SMALL_WORDS.items()}
    most = max(counts.values())
    if own not in counts or most < counts[own] + _MARGIN or most < 0.1 * len(words):
        return frozenset({own})
    return frozenset(language for language, count in counts.items() if count == most)
