"""What makes two keywords one subject, and what follows for the one that comes second. Pure: no I/O, no clock, no randomness.

Two keywords of which a reader would say that they are the same word for word have one key: case, spacing, hyphens, punctuation, the
possessive, singular and plural do not count, nor which of two comes first that "and" or "vs" joins. What goes further (synonyms,
"brewing" for "brew", another order of words: a milk chocolate is no chocolate milk) changes a subject too often; articles that come out
alike nevertheless are told by their texts.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NewType, TypeAlias
from uuid import UUID

SubjectKey = NewType("SubjectKey", str)
Place: TypeAlias = tuple[UUID, int]
"""A keyword: its cycle and its position there."""

MOST_TRIES: Final = 2
"""So many keywords of those that were handed in together are tried, one after the other, if one fails; the rest fail with the last."""

_BETWEEN: Final = re.compile(r"[\s_/,;:!?\"()\[\]{}«»„“”‚‘…|·•-]+|[‐‑‒–—―−]+")  # noqa: RUF001  (dashes and quotes as people type them)
_POSSESSIVE: Final = re.compile(r"['’](?:s\b)?")  # noqa: RUF001
_JOINED_BY: Final = {"and": "and", "&": "and", "vs": "vs", "versus": "vs"}
_SHORT: Final = 3
"""Letters of a word that is left as it is: most such are names (DNS, AWS), and none needs its plural folded."""

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
"""Of plurals that add "es" and not "s" to the word; "houses", "caches" and "shoes" add "s"."""
_IRREGULAR_OES: Final = frozenset(("shoes", "toes", "canoes", "oboes"))


def key_of(keyword: str, language: str) -> SubjectKey:
    """The key of the subject that a keyword names; plurals are folded where the `language` (a tag such as `en-GB`) is English."""
    text = unicodedata.normalize("NFKC", keyword).casefold()
    words = [word for part in _BETWEEN.split(_POSSESSIVE.sub("", text)) if (word := part.rstrip("."))]
    if language.partition("-")[0].casefold() == "en":
        words = [_singular(word) for word in words]
    return SubjectKey(_in_order(words) or " ".join(text.split()))


def _singular(word: str) -> str:
    """What a word may be the plural of; a word that is none stays, or becomes one that means nothing else."""
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
    """The words as one, so that spacing and hyphens do not count; on both sides of one "and" or "vs", in the order of letters."""
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


@dataclass(frozen=True, slots=True)
class Standing:
    """The article that a brand has on a subject."""

    content_id: UUID
    keyword: str
    published_url: str | None
    """None: a draft that waits for a person, or for its time."""


class Fate(Enum):
    """What became of the keyword that has a subject in hand."""

    IN_THE_MAKING = auto()
    REFUSED = auto()
    """There is too little to write from, and nothing has gone wrong."""
    FAILED = auto()
    LET_GO = auto()
    """It was cancelled, or a person did not want its article; or nobody has the subject."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of a brand: its article, or else what became of the keyword that has it in hand."""

    key: SubjectKey
    standing: Standing | None = None
    holder: Place | None = None
    keyword: str = ""
    """The holder's, as the reason is."""
    fate: Fate = Fate.LET_GO
    reason: str = ""
    is_renewed: bool = False
    """The holder writes the article that stands anew."""
    tries: int = 0
    """How many keywords that had it in hand have failed while others waited for them."""


class Outcome(Enum):
    GOES = auto()
    """It has the subject in hand now, and is sent."""
    WAITS = auto()
    """Another has, and it ends as that one."""
    STANDS = auto()
    """It ends as completed, with the article that stands."""


def on_its_turn(subject: Subject, own: Place, *, refresh: bool = False) -> Outcome:
    """What a keyword does when its turn has come; with `refresh`, it writes a published article anew."""
    if subject.standing is not None:
        if not refresh or subject.standing.published_url is None:
            return Outcome.STANDS
        # Whoever made it may still wait for its posts.
        return Outcome.WAITS if _is_being_renewed(subject) and subject.holder != own else Outcome.GOES
    return Outcome.WAITS if subject.fate is Fate.IN_THE_MAKING and subject.holder != own else Outcome.GOES


class Verdict(Enum):
    """What follows for the keywords that wait for another one of their subject."""

    WAIT = auto()
    COMPLETE = auto()
    REFUSE = auto()
    FAIL = auto()
    TAKE_TURNS = auto()
    """They wait for their turn again; the first of them to have it takes the subject in hand."""


def verdict(subject: Subject) -> Verdict:
    """A refusal is what research found of the subject, and is theirs, too; a failure may have been one keyword's alone."""
    if subject.standing is not None:
        return Verdict.WAIT if _is_being_renewed(subject) else Verdict.COMPLETE
    match subject.fate:
        case Fate.IN_THE_MAKING:
            return Verdict.WAIT
        case Fate.REFUSED:
            return Verdict.REFUSE
        case Fate.FAILED:
            return Verdict.TAKE_TURNS if subject.tries + 1 < MOST_TRIES else Verdict.FAIL
        case Fate.LET_GO:
            return Verdict.TAKE_TURNS


def _is_being_renewed(subject: Subject) -> bool:
    return subject.is_renewed and subject.fate is Fate.IN_THE_MAKING


def told(standing: Standing, keyword: str) -> str:
    """Why a keyword needs no article of its own."""
    same = "" if standing.keyword == keyword else f"“{standing.keyword}” is the same subject: "
    if standing.published_url is None:
        return f"{same}its article waits to be published (/v1/drafts/{standing.content_id})"
    return f"{same}its article stands already ({standing.published_url})"


def told_of_holder(subject: Subject, keyword: str) -> str:
    """Why a keyword ends without an article as the one before it."""
    as_it = (
        "the same keyword, handed in before"
        if subject.keyword == keyword
        else f"“{subject.keyword}”, the same subject"
    )
    return f"as {as_it}: {subject.reason}"
