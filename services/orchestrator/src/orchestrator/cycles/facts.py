"""The facts of a keyword, and the state that follows from them. Pure: no I/O, no clock, no randomness.

Facts are its research, article, address, posts, and the failures of stages. State and reason are *derived* from the
facts, never stepped from state to state. Facts only accumulate, so events may come late, twice, or in any order, and the
keyword ends in the same state.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from envelope.brand.payloads import Picture, PostsApproval
from orchestrator.article_workflow.domain import ContentId
from orchestrator.brands.domain import BrandSlug

MAX_REASON = 500
"""Stored characters of a reason; the full text is in the dead letter or the log."""


POST_WAITS = "needs_review"
"""Code of `social.failed`: the post waits for a person."""
POST_IS_PLANNED = "scheduled"
"""Code: the post is scheduled."""
POST_IN_DOUBT = "in_doubt"
"""Code: a person has to find out whether the post was sent."""


DEADLINE_PASSED = "the deadline of "
COST_REACHED = "the cost limit was reached "
"""How the reasons of stages begin that ended with a limit of their request."""


class Stage(StrEnum):
    """A stage of a keyword's way."""

    RESEARCH = "research"
    WRITING = "writing"
    PUBLISHING = "publishing"
    PROMOTING = "promoting"


class KeywordState(StrEnum):
    QUEUED = "queued"
    """At research, or waiting for its turn."""
    WRITING = "writing"
    PUBLISHING = "publishing"
    PROMOTING = "promoting"
    COMPLETED = "completed"
    REFUSED = "refused"
    """Ended without an article: there is too little material on the subject."""
    NEEDS_REVIEW = "needs_review"
    """Its article is stored and waits for a person's decision."""
    REJECTED = "rejected"
    """A person rejected its article."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """It, or its cycle, was cancelled before it was written."""


class Bucket(StrEnum):
    """The groups of states that a cycle's progress counts."""

    PENDING = "pending"
    PROCESSING = "processing"
    WAITING = "waiting"
    """Waits for a person, or for its scheduled time."""
    COMPLETED = "completed"
    FAILED = "failed"


class CycleState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    """Unsent keywords are held back until a person resumes the cycle."""
    WAITING = "waiting"
    """All open keywords wait for a person's decision."""
    COMPLETED = "completed"
    """Every keyword has ended, at least one well; `failed` counts the others."""
    FAILED = "failed"
    """Every keyword has ended, none well. The cycle continues if a keyword does."""
    CANCELLED = "cancelled"
    """Every keyword has ended, some by a cancellation of the cycle."""


@dataclass(frozen=True, slots=True)
class StageFailure:
    """A stage's failure or refusal. A later success of the stage outweighs it."""

    reason: str
    refused: bool = False

    @property
    def is_over_limit(self) -> bool:
        """Whether the request's deadline or cost ended it: then the work is not done, and may be done after all.

        The reason tells, as a version before accepts no further field.
        """
        return self.reason.startswith((DEADLINE_PASSED, COST_REACHED))


@dataclass(frozen=True, slots=True)
class StageCommand:
    """The last command for a keyword's stage; a message with the same id is the same request to its receiver."""

    stage: Stage
    event_id: UUID
    again: bool = False
    """It was the second request, after the first got no answer."""


@dataclass(frozen=True, slots=True)
class PostResult:
    """A channel's answer: the post's URL, or the reason for its absence."""

    platform: str
    url: str | None = None
    reason: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for a person or its time; another answer follows."""
        return self.url is None and (self.reason or "").startswith(
            (POST_WAITS, POST_IS_PLANNED, POST_IN_DOUBT)
        )


@dataclass(frozen=True, slots=True)
class Keyword:
    """The facts of one keyword. After its publication it awaits answers of `channels`."""

    brand_slug: BrandSlug
    target: str
    channels: tuple[str, ...]
    moved_at: datetime
    research_id: UUID | None = None
    content_id: ContentId | None = None
    generated: bool = False
    held: bool = False
    """Its article waits for a person; `generated` outweighs it."""
    rejected: bool = False
    """A person rejected its article."""
    cancelled: bool = False
    """It or its cycle was cancelled before it was written; an article outweighs it."""
    published_url: str | None = None
    short_link: str | None = None
    """The article's, as its target told of it with the address; None: it has none."""
    picture: Picture | None = None
    """Likewise."""
    tags: tuple[str, ...] = ()
    """Likewise."""
    brand_name: str | None = None
    """The brand's current name, for messages; None if not needed."""
    posts_approval: PostsApproval = "nothing"
    """The brand's current setting, for messages."""
    language: str | None = None
    """The brand's current language, for messages."""
    short_links: bool = False
    """The brand's current setting: whether posts use the article's short link."""
    promoted: bool = False
    may_be_promoted_since: datetime | None = None
    """Since when a request for its posts may be lost with commits of this database; None: none was lost."""
    awaits_turn: bool = False
    """Its next step has not been sent: its brand is at its limits or held up."""
    follows: bool = False
    """It waits for another keyword on its subject, and ends as that one does."""
    standing_id: UUID | None = None
    """The brand's existing article on its subject; an article of its own outweighs it."""
    standing_why: str | None = None
    """Why it ended with that article."""
    renews: UUID | None = None
    """The brand's article to be rewritten."""
    setbacks: Mapping[Stage, StageFailure] = field(default_factory=dict)
    posts: tuple[PostResult, ...] = ()

    @property
    def unanswered(self) -> tuple[str, ...]:
        answered = {post.platform for post in self.posts}
        return tuple(channel for channel in self.channels if channel not in answered)

    @property
    def stage(self) -> Stage | None:
        """The stage that must succeed next; None when the keyword is done."""
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
        """Whether it ended with an existing article."""
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
        """Why it failed or waits, which posts it lacks, or why it has an existing article; None if all is well."""
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


def _said_of(post: PostResult) -> str:
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
    """Whole per cent, rounded down: 100 only when all have ended."""
    return ended * 100 // total if total else 100


def readable(text: str) -> str:
    """The text on one line, without control characters, cut to `MAX_REASON` characters."""
    # Nearly every text; looking at each character takes longer than the rest of a keyword.
    visible = (
        text
        if text.isprintable()
        else "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
    )
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
class CycleProgress:
    """Keywords of a cycle by state, as the database counts them."""

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
    """Queued keywords that were not sent to research yet."""
    awaiting_writing: int = 0
    """Writing keywords that were not sent to the writers yet."""
    following: int = 0
    """Queued keywords that wait for another one on their subject."""

    def of(self, state: KeywordState) -> int:
        count: int = getattr(self, state.value)
        return count

    def within(self, wanted: Bucket) -> int:
        """Number of keywords with a state in this bucket."""
        return sum(self.of(state) for state in KeywordState if bucket(state) is wanted)

    @property
    def total(self) -> int:
        return sum(self.of(state) for state in KeywordState)

    @property
    def ended(self) -> int:
        return self.within(Bucket.COMPLETED) + self.within(Bucket.FAILED)


def cycle_state(progress: CycleProgress, *, paused: bool) -> CycleState:
    if progress.within(Bucket.PENDING) or progress.within(Bucket.PROCESSING):
        return CycleState.PAUSED if paused else CycleState.RUNNING
    if progress.within(Bucket.WAITING):
        return CycleState.WAITING
    if progress.cancelled:
        return CycleState.CANCELLED
    return CycleState.COMPLETED if progress.completed else CycleState.FAILED
