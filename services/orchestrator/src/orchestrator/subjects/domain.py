"""Decides about keywords of a subject that has an article or another keyword in work. Pure: no I/O, no clock, no randomness.

`keys` decides which keywords are one subject.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias
from uuid import UUID

from orchestrator.subjects.keys import SubjectKey

Place: TypeAlias = tuple[UUID, int]
"""A keyword by its cycle and its position there."""

MOST_TRIES: Final = 2
"""The most keywords of one subject that are tried in turn after failures; the others fail with the last one."""


@dataclass(frozen=True, slots=True)
class SubjectArticle:
    """The brand's article on a subject."""

    content_id: UUID
    keyword: str
    published_url: str | None
    """None for a draft that waits for a person, or for its publication time."""


class HolderState(Enum):
    """The state of the keyword that holds a subject."""

    IN_THE_MAKING = auto()
    REFUSED = auto()
    """The sources are insufficient; nothing went wrong."""
    FAILED = auto()
    LET_GO = auto()
    """It was cancelled, its article was rejected, or no keyword holds the subject."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of a brand: its article, or the state of the keyword that holds it."""

    key: SubjectKey
    standing: SubjectArticle | None = None
    holder: Place | None = None
    keyword: str = ""
    """The holder's keyword; the reason is the holder's, too."""
    fate: HolderState = HolderState.LET_GO
    reason: str = ""
    is_renewed: bool = False
    """True if the holder rewrites the existing article."""
    tries: int = 0
    """The number of holders that failed while other keywords waited for them."""


class SubjectOutcome(Enum):
    GOES = auto()
    """It holds the subject now, and is sent."""
    WAITS = auto()
    """Another keyword holds the subject; this one ends as that one does."""
    STANDS = auto()
    """It ends as completed, with the existing article."""


def decide_turn(subject: Subject, own: Place, *, refresh: bool = False) -> SubjectOutcome:
    """Decides about a keyword that has its turn; with `refresh`, it rewrites a published article."""
    if subject.standing is not None:
        if not refresh or subject.standing.published_url is None:
            return SubjectOutcome.STANDS
        # The holder may still wait for its posts.
        return (
            SubjectOutcome.WAITS
            if _is_being_renewed(subject) and subject.holder != own
            else SubjectOutcome.GOES
        )
    return (
        SubjectOutcome.WAITS
        if subject.fate is HolderState.IN_THE_MAKING and subject.holder != own
        else SubjectOutcome.GOES
    )


class FollowerVerdict(Enum):
    """What to do with the keywords that wait for another one of their subject."""

    WAIT = auto()
    COMPLETE = auto()
    REFUSE = auto()
    FAIL = auto()
    TAKE_TURNS = auto()
    """They wait for their turn again; the first one that gets it holds the subject."""


def decide_followers(subject: Subject) -> FollowerVerdict:
    """Decides about waiting keywords: a refusal concerns the subject and ends them, too; a failure may concern one keyword."""
    if subject.standing is not None:
        return FollowerVerdict.WAIT if _is_being_renewed(subject) else FollowerVerdict.COMPLETE
    match subject.fate:
        case HolderState.IN_THE_MAKING:
            return FollowerVerdict.WAIT
        case HolderState.REFUSED:
            return FollowerVerdict.REFUSE
        case HolderState.FAILED:
            return FollowerVerdict.TAKE_TURNS if subject.tries + 1 < MOST_TRIES else FollowerVerdict.FAIL
        case HolderState.LET_GO:
            return FollowerVerdict.TAKE_TURNS


def _is_being_renewed(subject: Subject) -> bool:
    return subject.is_renewed and subject.fate is HolderState.IN_THE_MAKING


def describe_article(standing: SubjectArticle, keyword: str) -> str:
    """Returns the sentence that says why a keyword needs no article of its own."""
    same = "" if standing.keyword == keyword else f"“{standing.keyword}” is the same subject: "
    if standing.published_url is None:
        return f"{same}its article waits to be published (/v1/drafts/{standing.content_id})"
    return f"{same}its article stands already ({standing.published_url})"


def describe_holder_end(subject: Subject, keyword: str) -> str:
    """Returns the sentence that says why a keyword ends without an article, as its subject's holder did."""
    as_it = (
        "the same keyword, handed in before"
        if subject.keyword == keyword
        else f"“{subject.keyword}”, the same subject"
    )
    return f"as {as_it}: {subject.reason}"
