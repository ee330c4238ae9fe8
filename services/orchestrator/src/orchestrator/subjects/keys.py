"""What makes two keywords one subject: the key that both have. Pure but for the dictionary, which is read once, when a word calls for it.

Two keywords of which a reader would say that they are the same word for word have one key. Case, accents, spacing, hyphens and
punctuation do not count, nor do the possessive, singular and plural, British spelling, figures for small numbers, or the order of two words
that "and" joins. Synonyms, verb forms and another order of words make another subject: a wrong fold keeps an article from being written,
a missed one costs an article more.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Final, NewType

from orchestrator.subjects import words as data

SubjectKey = NewType("SubjectKey", str)

VERSION: Final = 2
"""Of the columns that hold these keys. A new version has columns of its own, and releases beside each other claim both keys."""
REVISION: Final = 2
"""Of these rules and their words, `simplemma`'s dictionaries among them. Raise it whenever a key may change.

Brands whose keys another revision has made get them anew (`rekeying`): when the database is migrated, or before anybody decides about them.
"""
PREFIX: Final = f"{VERSION}:"
"""Keys of these rules begin with it. A key of the first version is never so: a colon separated words there."""
OWN_PREFIX: Final = f"{VERSION}="
"""Of subjects that one spelling has to itself."""

_APOSTROPHES: Final = str.maketrans("’‘ʼ`´", "'''''")  # noqa: RUF001  (as people type them)
_BETWEEN: Final = re.compile(r"[\s_/,;:!?\"()\[\]{}«»„“”‚‘…|·•-]+|[‐‑‒–—―−]+")  # noqa: RUF001  (dashes and quotes as people type them)
_THOUSANDS: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_GERMAN_THOUSANDS: Final = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.])")
_INITIALS: Final = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.){2,}(?:[^\W\d_](?![^\W_]))?")
_DOT_WITHIN: Final = re.compile(r"(?<=[^\W_])\.(?=[^\W\d_])")
_PERCENT: Final = re.compile(r"(?<=\d)\s*(?:%|per cent\b)")
_DECADE: Final = re.compile(r"(?<=\d0)'s\b")
_IS: Final = re.compile(r"\b(what|how|where|who|when|why|that|there|here|it)'s\b", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"'(?:s\b)?", re.IGNORECASE)
_PLURAL_ACRONYM: Final = re.compile(r"[A-Z]{2,}s")
_JOINED_BY: Final = {"and": "and", "&": "and", "vs": "vs", "versus": "vs"}
_BY_COMMAS: Final = frozenset(("de", "es", "it", "pt", "nl", "da", "id", "tr"))
"""Languages that set off thousands by dots."""
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_TYPED_UMLAUT: Final = re.compile("[ao]e|(?<![aeq])ue")
_OF_TYPED: Final = {"ae": "ä", "oe": "ö", "ue": "ü"}
_LETTERS: Final = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d"})
_ACCENTS_BEFORE_THE_END: Final = frozenset(("ca", "es", "fr", "it", "nl", "pt"))
"""Languages in which only the last vowel's accent makes another word of one: marché and marche, papá and papa."""
_KEPT_MARKS: Final = {"es": "\u0303", "pt": "\u0327\u0303", "ca": "\u0327"}
"""Marks that make letters of their own: the tilde of año, the cedilla of roça."""
_SHORT: Final = 3
"""Letters of a word that is left as it is: most such are names (DNS, AWS)."""
_ENDS_OF_LONG_NAMES: Final = frozenset(name[-1] for name in data.LONG_NAMES_IN_PLURAL)
_CALLED_IN_PLURAL: Final = frozenset[str]().union(*(names for names, _ in data.CALLED_IN_PLURAL))
_ENDS_ES: Final = re.compile(
    r"(?:sses|xes|zzes|shes|[^aeiou]ches|[eo]aches|[^ao]uses|[^aeiou]oes|wiches|[aeiou]{2}ches)$"
)


def key_of(keyword: str, language: str) -> SubjectKey:
    """The key of the subject that a keyword names in a `language`, a tag such as `en-GB`."""
    own = language.partition("-")[0].casefold()
    words = _words(keyword, own)
    if own == "en":
        words = [_without_accents(word, own) for word in _without_articles(words)]
        words = [_english(word, place, words) for place, word in enumerate(words)]
    elif own in _SINGULARS:
        words = [_without_accents(_singular(word, own), own) for word in words]
    else:
        words = [_without_accents(word, own) for word in words]
    return SubjectKey(PREFIX + (_in_order(words) or spelling_of(keyword)))


def own_key_of(keyword: str) -> SubjectKey:
    """The key of a subject that this spelling has to itself; white space and case do not count."""
    return SubjectKey(OWN_PREFIX + spelling_of(keyword))


def spelling_of(keyword: str) -> str:
    """What stays of a keyword under every version of the rules."""
    return " ".join(unicodedata.normalize("NFKC", keyword).casefold().split())


def _words(keyword: str, language: str) -> list[str]:
    """In lower case, but for names and acronyms of which their letters tell that they are such."""
    text = unicodedata.normalize("NFKC", keyword).translate(_APOSTROPHES)
    text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    if language in _BY_COMMAS:
        text = _GERMAN_THOUSANDS.sub(lambda found: found[0].replace(".", ""), text)
    text = _PERCENT.sub(" percent", text)
    text = _INITIALS.sub(lambda found: found[0].replace(".", "").upper(), text)
    text = _DOT_WITHIN.sub("", text).replace("&", " & ")
    if language == "en":
        text = _POSSESSIVE.sub("", _IS.sub(r"\1 is", _DECADE.sub("s", text)))
    text = text.replace("'", "")
    words = [word for part in _BETWEEN.split(text) if (word := part.rstrip("."))]
    if language != "en":
        return [word.casefold() for word in words]
    capitals, upper = _case_tells(words)
    lower = [word.casefold() for word in words]
    return [_cased(place, words, lower, capitals=capitals, upper=upper) for place in range(len(words))]


def _case_tells(words: Sequence[str]) -> tuple[bool, bool]:
    """Whether capital letters tell names from words here, and whether words in capitals are acronyms."""
    letters = [word for word in words if word[:1].isalpha()]
    capitals = len(letters) == 1 or any(word[:1].islower() for word in letters)
    upper = len(letters) == 1 or any(not word.isupper() for word in letters)
    return capitals, upper


def _cased(place: int, words: Sequence[str], lower: Sequence[str], *, capitals: bool, upper: bool) -> str:
    word, plain = words[place], lower[place]
    if upper and word in data.ACRONYMS_LIKE_WORDS:
        return word
    if upper and _PLURAL_ACRONYM.fullmatch(word):
        return plain[:-1]
    is_name = word[:1].isupper() and not word.isupper() and capitals
    if is_name and (plain in data.NAMES_LIKE_WORDS or (place > 0 and plain in data.NAMES_WITHIN)):
        return plain.capitalize()
    if is_name and len(words) == 1 and plain in _CALLED_IN_PLURAL:
        return plain.capitalize()
    if beside := data.NAMED_BESIDE.get(plain):
        return plain.capitalize() if beside.intersection(lower) else plain
    return plain


def _without_articles(words: list[str]) -> list[str]:
    """Without "the" between other words, and without any article behind "how to"."""
    is_how_to = words[:2] == ["how", "to"]
    dropped = data.ARTICLES if is_how_to else {"the"}
    return [word for place, word in enumerate(words) if not (word in dropped and 0 < place < len(words) - 1)]


def _english(word: str, place: int, words: Sequence[str]) -> str:
    if word in data.NUMBERS:
        return data.NUMBERS[word]
    before = words[place - 1] if place else ""
    if word in data.OWN_PLURALS and not (
        before in data.PLURALS_AFTER.get(word, ()) or (before in data.NUMBERS or before.isdigit())
    ):
        return word
    if word in _ENDS_OF_LONG_NAMES and any(
        tuple(words[place + 1 - len(name) : place + 1]) == name for name in data.LONG_NAMES_IN_PLURAL
    ):
        return word
    if word in _CALLED_IN_PLURAL and any(
        word in names and not beside.isdisjoint(words) for names, beside in data.CALLED_IN_PLURAL
    ):
        return word
    if len(words) == 1 and word in data.PLURALS_ALONE:
        return word
    singular = data.SINGULARS.get(word) or _singular(word, "en")
    return _american(data.SPELLINGS.get(singular, singular))


def _american(word: str) -> str:
    for british, american in (("isation", "ization"), ("ising", "izing"), ("yse", "yze"), ("yser", "yzer")):
        if word.endswith(british) and len(word) > len(british) + _SHORT and word not in data.NOT_BRITISH:
            return word.removesuffix(british) + american
    if word.startswith("haem") and len(word) > len("haem") + _SHORT:
        return f"hem{word.removeprefix('haem')}"
    if word.endswith("ise") and word.removesuffix("ise") in data.BEFORE_ISE:
        return word.removesuffix("ise") + "ize"
    return word


@lru_cache(maxsize=4096)
def _singular(word: str, language: str) -> str:
    """What a word may be the plural of; a word that is none stays."""
    if len(word) <= _SHORT or not word.isalpha() or word != word.casefold():
        return word
    return _SINGULARS[language](word)


def _english_singular(word: str) -> str:
    if word.endswith("men") and (known := _lemma(word, "en")) == f"{word[:-2]}an":
        return known
    if not word.endswith("s") or word.endswith("ss"):
        return word
    known = _lemma(word, "en")
    if known is None:
        return word if word[:-1] in data.FIRST_NAMES else _by_its_end(word)
    if word.endswith("ies") and (further := _lemma(known, "en")) == f"{word[:-3]}y":
        return further  # of curries the dictionary says currie, and of that curry
    stems = {word[:-1], word[:-2], word[:-3], f"{word[:-3]}y", f"{word[:-3]}f", f"{word[:-3]}fe"}
    return known.casefold() if known.casefold() in stems else word


def _by_its_end(word: str) -> str:
    """Of a word that the dictionary lacks, such as a product's name."""
    if word.endswith(("us", "is", "as", "js", "ys")) and not word.endswith(("ays", "eys", "oys")):
        return word
    if word.endswith("ies") and len(word) > _SHORT + 1:
        return f"{word[:-3]}y"
    if len(word) > _SHORT + 1 and _ENDS_ES.search(word):
        return word[:-2]
    return word[:-1]


def _french_singular(word: str) -> str:
    if not word.endswith(("s", "x")) or word in data.FRENCH_PLURALS:
        return word
    stems = {word[:-1], f"{word[:-3]}al"} if word.endswith("aux") else {word[:-1]}
    return _one_of(stems, word, "fr")


def _spanish_singular(word: str) -> str:
    if not word.endswith("s") or word in data.SPANISH_PLURALS:
        return word
    return _one_of({word[:-1], word[:-2], f"{word[:-3]}z"}, word, "es")


def _portuguese_singular(word: str) -> str:
    if not word.endswith("s") or word in data.PORTUGUESE_PLURALS:
        return word
    stems = {
        word[:-1],
        word[:-2],
        f"{word[:-3]}ão",
        f"{word[:-3]}el",
        f"{word[:-3]}ol",
        f"{word[:-2]}l",
        f"{word[:-2]}m",
    }
    return _one_of(stems, word, "pt")


def _german_singular(word: str) -> str:
    """Of nouns alone, which the dictionary has with a capital letter."""
    if word in data.GERMAN_PLURALS:
        return word
    known = _lemma(word.capitalize(), "de")
    if known is None:
        # Typed where there are no umlauts.
        known = _lemma(_TYPED_UMLAUT.sub(lambda found: _OF_TYPED[found[0]], word).capitalize(), "de")
    if known is None or not known[:1].isupper() or len(known) >= len(word) + 1:
        return word
    return known.casefold()


def _one_of(stems: set[str], word: str, language: str) -> str:
    known = _lemma(word, language)
    if known is None and word.endswith(("as", "es", "os", *(f"{letter}s" for letter in "bcdfglmnprtv"))):
        # A name, or typed without its accents.
        return word[:-1]
    if known is not None and known == _lemma(word[:-1], language):
        return word[:-1]  # both are forms of one word, as vertes and verte are of vert
    is_plural = known is not None and _bare(known, "") in {_bare(stem, "") for stem in stems}
    return known if known is not None and is_plural else word


_SINGULARS: Final[dict[str, Callable[[str], str]]] = {
    "de": _german_singular,
    "en": _english_singular,
    "es": _spanish_singular,
    "fr": _french_singular,
    "pt": _portuguese_singular,
}


def _lemma(word: str, language: str) -> str | None:
    return _dictionary(language)(word)


@cache
def _dictionary(language: str) -> Callable[[str], str | None]:
    # Most processes that know of subjects never ask for a key.
    from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory  # noqa: PLC0415

    return StreamDictionaryFactory(cache_max_size=1).get_dictionary(language).get


_prepared: set[str] = set()


async def prepare(languages: Iterable[str]) -> None:
    """Reads the dictionaries of these languages, tags such as `en-GB`, beside the event loop: each once, in some tenths of a second."""
    for own in {language.partition("-")[0].casefold() for language in languages} - _prepared:
        if own in _SINGULARS:
            await asyncio.to_thread(_dictionary, own)
        _prepared.add(own)


def _without_accents(word: str, language: str) -> str:
    if word.isascii():
        return word
    if language == "de":
        return unicodedata.normalize("NFC", word).translate(_UMLAUTS)
    if language == "en":
        return word if word in data.ACCENTED else _bare(word, "").translate(_LETTERS)
    if language in _ACCENTS_BEFORE_THE_END:
        end = len(word.rstrip("s")) - 1
        return _bare(word[:end], _KEPT_MARKS.get(language, "")) + word[end:]
    return word


def _bare(text: str, kept: str) -> str:
    """Without the marks over and under Latin letters. In other scripts they are letters."""
    bare: list[str] = []
    is_latin = False
    for letter in unicodedata.normalize("NFD", text):
        if unicodedata.combining(letter):
            if is_latin and letter not in kept:
                continue
        else:
            is_latin = letter.isascii() or "LATIN" in unicodedata.name(letter, "")
        bare.append(letter)
    return unicodedata.normalize("NFC", "".join(bare))


def _in_order(words: Sequence[str]) -> str:
    """The words as one, so that spacing and hyphens do not count; two that "and" joins, and both sides of "vs", in the order of letters."""
    places = [place for place, word in enumerate(words) if word in _JOINED_BY]
    if len(places) == 1 and 0 < places[0] < len(words) - 1:
        (place,) = places
        joined, before, after = _JOINED_BY[words[place]], words[:place], words[place + 1 :]
        if joined == "vs":
            before, after = sorted((before, after), key=_together)
        elif before[-1] > after[0]:
            # Garlic and herb butter, and butter with herb and garlic: what else there is belongs to both.
            before, after = [*before[:-1], after[0]], [before[-1], *after[1:]]
        return f"{_together(before)} {joined} {_together(after)}"
    return _together([_JOINED_BY.get(word, word) for word in words])


def _together(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        # "Python 3 11" is not "Python 311".
        text += f" {word}" if text[-1:].isdigit() and word[:1].isdigit() else word
    return text
