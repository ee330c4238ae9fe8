"""What is known of a keyword, and the state that follows from it. Pure: no I/O, no clock, no randomness.

A keyword collects facts: its research, its article, its address, its posts, and what kept a stage from being
passed. State and reason are *derived* from the facts, never stepped from state to state. Facts only ever accumulate,
so events may come late, twice, or in any order, and the keyword ends in the same state.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from envelope.brand.payloads import Picture, PostsApproval
from orchestrator.brands.domain import BrandSlug
from orchestrator.writing.domain import ContentId

MAX_REASON = 500
"""Characters of a reason that are kept; the whole story is in the dead letter or in the log."""


POST_WAITS = "needs_review"
"""The code of `social.failed` for a post that a person has to see first."""
POST_IS_PLANNED = "scheduled"
"""That of a post that has its time, at which it goes out."""
POST_IN_DOUBT = "in_doubt"
"""That of a post of which a person has to find out whether it is out."""


class Stage(StrEnum):
    """The part of the way a keyword is on."""

    RESEARCH = "research"
    WRITING = "writing"
    PUBLISHING = "publishing"
    PROMOTING = "promoting"


class KeywordState(StrEnum):
    QUEUED = "queued"
    """Asked of research, which has not answered yet."""
    WRITING = "writing"
    PUBLISHING = "publishing"
    PROMOTING = "promoting"
    COMPLETED = "completed"
    REFUSED = "refused"
    """Ended honestly without an article: there is not enough material on the subject."""
    NEEDS_REVIEW = "needs_review"
    """Its article is stored and not published: something about it is for a person to decide."""
    REJECTED = "rejected"
    """A person rejected its article."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """It was cancelled before it was written, or its cycle was."""


class Bucket(StrEnum):
    """What a cycle's progress counts."""

    PENDING = "pending"
    PROCESSING = "processing"
    WAITING = "waiting"
    """For a person, or for the time that a person has set."""
    COMPLETED = "completed"
    FAILED = "failed"


class CycleState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    """What has not been sent is held back until somebody has it resumed."""
    WAITING = "waiting"
    """What has not ended waits for a person to decide about its draft."""
    COMPLETED = "completed"
    """Every keyword has ended, and at least one as it should; `failed` counts the others."""
    FAILED = "failed"
    """Every keyword has ended, and none as it should. It moves again if one of them does."""
    CANCELLED = "cancelled"
    """Every keyword has ended, and some because the cycle was cancelled."""


@dataclass(frozen=True, slots=True)
class Setback:
    """What kept a stage from being passed. A later success of the stage outweighs it."""

    reason: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """What a keyword's stage was asked for last, by the id of the message: the same id is the same request to whoever gets it."""

    stage: Stage
    event_id: UUID
    again: bool = False
    """It was sent once more, as nobody had answered."""


@dataclass(frozen=True, slots=True)
class Post:
    """A channel's answer: an address, or the reason why there is none."""

    platform: str
    url: str | None = None
    reason: str | None = None

    @property
    def waits(self) -> bool:
        """Whether a person has to see it first, or it has its time; then another answer comes."""
        return self.url is None and (self.reason or "").startswith(
            (POST_WAITS, POST_IS_PLANNED, POST_IN_DOUBT)
        )


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword of one cycle; `channels` are those whose answer it waits for once it is published."""

    brand_slug: BrandSlug
    target: str
    channels: tuple[str, ...]
    moved_at: datetime
    research_id: UUID | None = None
    content_id: ContentId | None = None
    generated: bool = False
    held: bool = False
    """Its article waits for a person; that it is generated after all outweighs it."""
    rejected: bool = False
    """A person rejected its article."""
    cancelled: bool = False
    """It was cancelled, or its cycle, before it was written; that there is an article after all outweighs it."""
    published_url: str | None = None
    short_link: str | None = None
    """The article's, as its target told of it with the address; None: it has none."""
    picture: Picture | None = None
    """Likewise."""
    brand_name: str | None = None
    """As it is now, for what is sent; None if nobody needs it."""
    posts_approval: PostsApproval = "nothing"
    """Its brand's, as it is now, for what is sent."""
    language: str | None = None
    """Likewise."""
    short_links: bool = False
    """Likewise: whether its posts lead to the article by a short link, where it has one."""
    promoted: bool = False
    may_be_promoted_since: datetime | None = None
    """Its posts may have been asked for since then, as the database has lost commits; None: it has lost none about it."""
    awaits_turn: bool = False
    """Enough of its brand is in hand, or nothing of it may be begun: its next step has not been asked for yet."""
    follows: bool = False
    """Another keyword on its subject is under way: it ends as that one does."""
    standing_id: UUID | None = None
    """The brand's article on its subject, so that it needs none of its own; one that it has after all outweighs it."""
    standing_why: str | None = None
    """What is said of that."""
    renews: UUID | None = None
    """The brand's article that is to be written anew."""
    setbacks: Mapping[Stage, Setback] = field(default_factory=dict)
    posts: tuple[Post, ...] = ()

    @property
    def unanswered(self) -> tuple[str, ...]:
        answered = {post.platform for post in self.posts}
        return tuple(channel for channel in self.channels if channel not in answered)

    @property
    def stage(self) -> Stage | None:
        """The stage that has to succeed next; None when nothing is left to do."""
        if self.published_url is not None:
            return Stage.PROMOTING if self.unanswered else None
        if self.generated:
            return Stage.PUBLISHING
        if self.standing_id is not None:
            return None
        if self.content_id is not None:
            return Stage.WRITING
        return Stage.RESEARCH

    @property
    def has_standing_article(self) -> bool:
        """Whether it has ended with an article that is not its own."""
        return self.standing_id is not None and not self.generated and self.published_url is None

    @property
    def state(self) -> KeywordState:
        stage = self.stage
        if stage is None:
            return KeywordState.COMPLETED
        if self.rejected and stage is Stage.WRITING:
            return KeywordState.REJECTED
        if self.held and stage is Stage.WRITING:
            return KeywordState.NEEDS_REVIEW
        if self.cancelled and stage in {Stage.RESEARCH, Stage.WRITING}:
            return KeywordState.CANCELLED
        if setback := self.setbacks.get(stage):
            return KeywordState.REFUSED if setback.refused else KeywordState.FAILED
        return _state_on(stage)

    @property
    def has_ended(self) -> bool:
        return bucket(self.state) in {Bucket.COMPLETED, Bucket.FAILED}

    @property
    def reason(self) -> str | None:
        """Why it ended as it did or waits, which posts a completed keyword lacks, or whose article it ended with; None if all is well."""
        if self.has_standing_article:
            return self.standing_why
        if (stage := self.stage) is not None:
            setback = self.setbacks.get(stage)
            return setback.reason if setback else None
        waiting = [_said_of(post) for post in self.posts if post.waits]
        missing = [_said_of(post) for post in self.posts if post.url is None and not post.waits]
        parts = (
            f"not posted on {'; '.join(missing)}" if missing else "",
            f"not posted yet on {'; '.join(waiting)}" if waiting else "",
        )
        return readable("; ".join(filter(None, parts))) or None


def _said_of(post: Post) -> str:
    return f"{post.platform}: {post.reason}"


def bucket(state: KeywordState) -> Bucket:
    match state:
        case KeywordState.QUEUED:
            return Bucket.PENDING
        case KeywordState.WRITING | KeywordState.PUBLISHING | KeywordState.PROMOTING:
            return Bucket.PROCESSING
        case KeywordState.COMPLETED:
            return Bucket.COMPLETED
        case KeywordState.NEEDS_REVIEW:
            return Bucket.WAITING
        case KeywordState.REFUSED | KeywordState.REJECTED | KeywordState.FAILED | KeywordState.CANCELLED:
            return Bucket.FAILED
        case _ as unreachable:
            assert_never(unreachable)


def percent(*, ended: int, total: int) -> int:
    """Whole per cent, rounded down: 100 is shown only when nothing is left."""
    return ended * 100 // total if total else 100


def readable(text: str) -> str:
    """One line that any database and any terminal takes: no control characters, bounded length."""
    visible = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
    line = " ".join(visible.split())
    return line if len(line) <= MAX_REASON else f"{line[: MAX_REASON - 1]}…"


def _state_on(stage: Stage) -> KeywordState:
    match stage:
        case Stage.RESEARCH:
            return KeywordState.QUEUED
        case Stage.WRITING:
            return KeywordState.WRITING
        case Stage.PUBLISHING:
            return KeywordState.PUBLISHING
        case Stage.PROMOTING:
            return KeywordState.PROMOTING
        case _ as unreachable:
            assert_never(unreachable)


@dataclass(frozen=True, slots=True)
class Progress:
    """How many keywords of a cycle are in which state, as the database counts them."""

    queued: int = 0
    writing: int = 0
    publishing: int = 0
    promoting: int = 0
    completed: int = 0
    refused: int = 0
    needs_review: int = 0
    rejected: int = 0
    failed: int = 0
    cancelled: int = 0
    awaiting_research: int = 0
    """Of those queued: not asked of research yet."""
    awaiting_writing: int = 0
    """Of those writing: not sent to the writers yet."""
    following: int = 0
    """Of those queued: waiting for another keyword on their subject."""

    def of(self, state: KeywordState) -> int:
        count: int = getattr(self, state.value)
        return count

    def within(self, wanted: Bucket) -> int:
        """Keywords whose states count as that."""
        return sum(self.of(state) for state in KeywordState if bucket(state) is wanted)

    @property
    def total(self) -> int:
        return sum(self.of(state) for state in KeywordState)

    @property
    def ended(self) -> int:
        return self.within(Bucket.COMPLETED) + self.within(Bucket.FAILED)


def cycle_state(progress: Progress, *, paused: bool) -> CycleState:
    if progress.within(Bucket.PENDING) or progress.within(Bucket.PROCESSING):
        return CycleState.PAUSED if paused else CycleState.RUNNING
    if progress.within(Bucket.WAITING):
        return CycleState.WAITING
    if progress.cancelled:
        return CycleState.CANCELLED
    return CycleState.COMPLETED if progress.completed else CycleState.FAILED
