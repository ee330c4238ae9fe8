"""What follows for a keyword whose subject another one has in hand, or has an article. Pure: no I/O, no clock, no randomness.

What makes two keywords one subject is in `keys`.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias
from uuid import UUID

from orchestrator.subjects.keys import SubjectKey

Place: TypeAlias = tuple[UUID, int]
"""A keyword: its cycle and its position there."""

MOST_TRIES: Final = 2
"""So many keywords of those that were handed in together are tried, one after the other, if one fails; the rest fail with the last."""


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
