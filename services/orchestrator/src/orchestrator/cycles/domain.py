"""The changes that events make to a keyword, and the messages that follow. Pure: no I/O, no clock, no randomness."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256
from typing import NewType, TypeAlias, assert_never
from uuid import UUID

from envelope import Payload, deadline_in_words
from envelope.brand.payloads import (
    ArticleContext,
    ContentGenerate,
    ContentGenerated,
    ContentPublish,
    ContentPublished,
    ContentPublishFailed,
    ContentRefused,
    DeadLetterRecorded,
    KnownPost,
    Priority,
    ResearchCompleted,
    ResearchFailed,
    ResearchRequested,
    SocialCreate,
    SocialFailed,
    SocialPosted,
)
from orchestrator.article_workflow.domain import ContentId
from orchestrator.cycles.facts import (
    COST_REACHED,
    DEADLINE_PASSED,
    Keyword,
    KeywordState,
    PostResult,
    Stage,
    StageCommand,
    StageFailure,
    readable,
)

CycleId = NewType("CycleId", UUID)

NORMAL_ENDS = frozenset({"insufficient_sources", "unsupported_draft", "not_renewed"})
"""Reasons for an end without an article that are no failures."""
DRAFT_WAITS = "needs_review"
DRAFT_REJECTED = "rejected"

CANCELLED = StageFailure("cancelled", refused=True)
"""A refusal, so that no dead letter outweighs it, and so that an older version, which knows no cancelled cycles, accepts it."""

_MOST_CHANNELS = 20
"""Channels of one command."""
BRAND_ARTICLES = 16
"""Default limit: articles of one brand being written or queued."""
BRAND_RESEARCH = 64
"""Default limit: keywords of one brand at research, or waiting for a writer."""

RoutedEvent: TypeAlias = (
    ResearchCompleted
    | ResearchFailed
    | ContentGenerated
    | ContentRefused
    | ContentPublished
    | ContentPublishFailed
    | SocialPosted
    | SocialFailed
    | DeadLetterRecorded
)

_Answer: TypeAlias = (
    ResearchCompleted
    | ResearchFailed
    | ContentGenerated
    | ContentRefused
    | ContentPublished
    | ContentPublishFailed
    | SocialPosted
    | SocialFailed
)
"""The events by which services answer."""
_DEADLINE_PASSED = "deadline_passed"
_COST_REACHED = "cost_reached"
"""Reasons of dead letters, as `messaging.Reason` has them."""


class ReusedKeyError(ValueError):
    """The idempotency key was used for another request; the message names that request's cycle."""

    def __init__(self, cycle_id: UUID) -> None:
        super().__init__(
            f"this Idempotency-Key was used for another request (cycle {cycle_id}); use a new key for a new request"
        )


class StepTurn(Enum):
    """When a keyword may take its next step."""

    NOW = auto()
    LATER = auto()
    """Its brand is at its limits or held up."""
    NEVER = auto()
    """Its cycle is cancelled."""


@dataclass(frozen=True, slots=True)
class StepDecision:
    keyword: Keyword
    messages: tuple[Payload, ...] = ()


def decide(
    keyword: Keyword,
    event: RoutedEvent,
    *,
    now: datetime,
    fresh_content_id: ContentId,
    article: ArticleContext | None,
    turn: StepTurn = StepTurn.NOW,
    deadline: datetime | None = None,
) -> StepDecision:
    """Applies an event to a keyword; returns its new facts and the messages to send.

    `fresh_content_id` becomes the id of the keyword's article if it has none. `article` is the stored article of the
    keyword, if any. `turn` says whether writing may begin; if later, `take_turn` sends it. `deadline` is the event's. An event
    without news (a duplicate, a late one) changes nothing.
    """
    learned = (
        _lost(keyword, event, deadline)
        if isinstance(event, DeadLetterRecorded)
        else _learn(keyword, event, fresh_content_id)
    )
    if learned == keyword:
        return StepDecision(keyword)
    # A keyword that has left its stage, or ended in it, no longer waits for a turn there.
    awaits_turn = learned.awaits_turn and learned.state is keyword.state
    follows = learned.follows and learned.state is keyword.state
    learned = replace(learned, moved_at=now, awaits_turn=awaits_turn, follows=follows)
    messages: list[Payload] = []
    if keyword.content_id is None and isinstance(event, ResearchCompleted):
        match turn:
            case StepTurn.NOW:
                messages.append(_generate(learned, event.keyword))
            case StepTurn.LATER:
                learned = replace(learned, awaits_turn=True)
            case StepTurn.NEVER:
                learned = _set_back(replace(learned, cancelled=True), Stage.WRITING, CANCELLED)
            case _ as unreachable:
                assert_never(unreachable)
    if learned.generated and not keyword.generated and learned.published_url is None:
        messages.append(_publish(learned))
    # Answers without a known request mean that this database lost the request, and social may have lost the posts.
    has_posts = learned.unanswered or _answers_that_stand(learned)
    if learned.published_url and has_posts and article and not learned.promoted:
        messages.append(_promote(learned, learned.published_url, article))
        learned = replace(learned, promoted=True)
    return StepDecision(learned, tuple(messages))


def take_turn(keyword: Keyword, name: str, priority: Priority, *, now: datetime) -> StepDecision:
    """Sends a waiting keyword called `name` to research or to the writers."""
    learned = replace(keyword, awaits_turn=False, moved_at=now)
    match keyword.state:
        case KeywordState.QUEUED:
            wanted = ResearchRequested(
                brand_slug=keyword.brand_slug,
                keyword=name,
                priority=priority,
                not_before=None if keyword.renews is None else now,
            )
            return StepDecision(learned, (wanted,))
        case KeywordState.WRITING if keyword.research_id is not None:
            return StepDecision(learned, (_generate(learned, name),))
        case _:
            return StepDecision(learned)  # its article came from elsewhere meanwhile


@dataclass(frozen=True, slots=True)
class RepeatedRequest:
    """The second request of a keyword without an answer."""

    payload: Payload
    stage: Stage
    event_id: UUID | None
    """The message id: the first request's, or None for a new one."""


def ask_again(
    keyword: Keyword,
    name: str,
    priority: Priority,
    command: StageCommand | None,
    article: ArticleContext | None = None,
) -> RepeatedRequest | None:
    """The second request for a stage without an answer; None if it was made, or if another sender made the first one.

    Research, publishing and posting answer from their stores. Their second request has a new id: after a lost answer,
    they would ignore a copy of the first as a duplicate. Writing costs
    money, and its outcome is in this database beside the command: its second request has the id of the first.

    `article` is the stored article of the keyword, if any.
    """
    stage = keyword.stage
    if stage is None or (command is not None and command.again and command.stage is stage):
        return None
    match keyword.state:
        case KeywordState.PUBLISHING:
            return RepeatedRequest(_publish(keyword), stage, None)
        case KeywordState.PROMOTING if article is not None and keyword.published_url is not None:
            return RepeatedRequest(_promote(keyword, keyword.published_url, article), stage, None)
        case KeywordState.QUEUED | KeywordState.WRITING if command is not None and command.stage is stage:
            messages = take_turn(keyword, name, priority, now=keyword.moved_at).messages
            same = command.event_id if stage is Stage.WRITING else None
            return RepeatedRequest(messages[0], stage, same) if messages else None
        case _:
            return None


def content_id_of(cycle_id: UUID, position: int) -> ContentId:
    """The id of a keyword's article. It is always the same, so that no second page is made if this database forgets the first.

    It is a UUIDv7 with the cycle's time plus some milliseconds: articles of a cycle sort in the order of its keywords.
    """
    digest = int.from_bytes(sha256(cycle_id.bytes + position.to_bytes(8)).digest()[:10])
    time, variable = ((cycle_id.int >> 80) + position) << 80, digest & (1 << 76) - 1
    return ContentId(UUID(int=time | 7 << 76 | variable & ~(3 << 62) | 2 << 62))


def confirm_posts(keyword: Keyword, article: ArticleContext, *, asked_since: datetime) -> SocialCreate | None:
    """The command that repeats requests for posts that may be lost since then; None if there are none.

    Refused, failed and rejected posts are not requested again.
    """
    asked = keyword.promoted and keyword.unanswered
    if keyword.published_url is None or not (asked or _answers_that_stand(keyword)):
        return None
    forgotten = replace(keyword, promoted=False)
    return _promote(forgotten, keyword.published_url, article, asked_since=asked_since)


def research_again(keyword: Keyword, name: str, priority: Priority, *, now: datetime) -> StepDecision:
    """Requests the research of a keyword called `name` again, as its research may be lost; its article is not begun."""
    unresearched = replace(keyword, research_id=None, content_id=None, awaits_turn=False, moved_at=now)
    return take_turn(unresearched, name, priority, now=now)


def write_again(keyword: Keyword, name: str, *, now: datetime) -> StepDecision:
    """Sends the article of a keyword called `name` to the writers again, after a failure or stall."""
    setbacks: dict[Stage, StageFailure] = {**keyword.setbacks}
    setbacks.pop(Stage.WRITING, None)
    learned = replace(keyword, setbacks=setbacks, moved_at=now)
    return StepDecision(learned, (_generate(learned, name),))


def cancel_writing(keyword: Keyword, *, by: str, now: datetime) -> Keyword:
    """Cancels the writing of its article on behalf of `by`."""
    cancelled = replace(keyword, cancelled=True, awaits_turn=False, moved_at=now)
    why = replace(CANCELLED, reason=readable(f"{CANCELLED.reason} by {by}"))
    return _set_back(cancelled, Stage.WRITING, why)


def give_up(keyword: Keyword, *, waited: str, now: datetime, asked_twice: bool = False) -> Keyword:
    """Ends a keyword that got no answer. A late answer continues it.

    `waited` is the time without movement in words, e.g. "6 hours".
    """
    match keyword.state:
        case (
            KeywordState.COMPLETED
            | KeywordState.REFUSED
            | KeywordState.NEEDS_REVIEW
            | KeywordState.REJECTED
            | KeywordState.FAILED
            | KeywordState.CANCELLED
        ):
            return keyword
        case KeywordState.QUEUED | KeywordState.WRITING | KeywordState.PUBLISHING | KeywordState.PROMOTING:
            stage = keyword.stage
            assert stage is not None
            twice = ", nor as long after it was asked for once more" if asked_twice else ""
            setback = StageFailure(f"no outcome after {waited} in {stage.value}{twice}")
            return replace(_set_back(keyword, stage, setback), moved_at=now)
        case _ as unreachable:
            assert_never(unreachable)


def end_late(keyword: Keyword, deadline: datetime, *, now: datetime) -> Keyword:
    """Ends a keyword without an article, as its deadline has passed. A late article continues it."""
    stage = keyword.stage
    if stage not in _WITHOUT_AN_ARTICLE:
        return keyword
    ended = replace(keyword, awaits_turn=False, follows=False, moved_at=now)
    return _set_back(ended, stage, _too_late(stage, deadline))


def fold(keyword: str) -> str:
    """The normal form of a keyword: equal forms mean the same keyword to a reader."""
    return unicodedata.normalize("NFKC", " ".join(keyword.split())).casefold()


def fold_duplicates(keywords: Iterable[tuple[str, Priority]]) -> dict[str, Priority]:
    """Each keyword once, with its first spelling and priority."""
    first: dict[str, tuple[str, Priority]] = {}
    for keyword, priority in keywords:
        first.setdefault(fold(keyword), (keyword, priority))
    return dict(first.values())


def distinct_among(
    keywords: Sequence[str], each: Sequence[bool | None], *, otherwise: bool
) -> frozenset[str]:
    """The keywords that are subjects of their own, in their first spelling. `each` has one setting per keyword, or is empty."""
    first: dict[str, tuple[str, bool]] = {}
    for keyword, given in zip(keywords, each or (None,) * len(keywords), strict=True):
        first.setdefault(fold(keyword), (keyword, otherwise if given is None else given))
    return frozenset(keyword for keyword, is_distinct in first.values() if is_distinct)


def _learn(keyword: Keyword, event: _Answer, fresh_content_id: ContentId) -> Keyword:  # noqa: PLR0911  (one for each event)
    match event:
        case ResearchCompleted():
            if keyword.research_id is not None:
                return keyword
            content_id = keyword.content_id or fresh_content_id
            return replace(keyword, research_id=event.research_id, content_id=content_id)
        case ResearchFailed() | ContentRefused():
            return _without_article(keyword, event)
        case ContentGenerated():
            content_id = keyword.content_id or ContentId(event.content_id)
            return replace(keyword, generated=True, content_id=content_id)
        case ContentPublished():
            return _with_address(keyword, event)
        case ContentPublishFailed():
            return _set_back(keyword, Stage.PUBLISHING, StageFailure(_why(event.reason, event.detail)))
        case SocialPosted():
            return _answered(keyword, PostResult(event.platform, url=event.post_url))
        case SocialFailed():
            return _answered(keyword, PostResult(event.platform, reason=_why(event.reason, event.detail)))
        case _ as unreachable:
            assert_never(unreachable)


def _with_address(keyword: Keyword, event: ContentPublished) -> Keyword:
    """With the address, short link, picture and tags of the first such event, so that a second request for posts is like the first."""
    content_id = keyword.content_id or ContentId(event.content_id)
    if keyword.published_url is not None:
        return replace(keyword, content_id=content_id)
    return replace(
        keyword,
        content_id=content_id,
        published_url=event.published_url,
        short_link=event.short_link,
        picture=event.picture,
        tags=event.tags,
    )


_STAGE_OF_TYPE = {
    "research.requested": Stage.RESEARCH,
    "research.completed": Stage.RESEARCH,
    "research.failed": Stage.RESEARCH,
    "content.generate": Stage.WRITING,
    "content.generated": Stage.WRITING,
    "content.refused": Stage.WRITING,
    "content.publish": Stage.PUBLISHING,
    "content.published": Stage.PUBLISHING,
    "content.publish_failed": Stage.PUBLISHING,
    "social.create": Stage.PROMOTING,
    "social.posted": Stage.PROMOTING,
    "social.failed": Stage.PROMOTING,
}
"""The stage that fails when a message of this type is lost."""
_WITHOUT_CONSEQUENCE = frozenset({"research.waiting", "post.send"})
"""Message types that may be lost without effect: the work continues, or its service has answered."""


def _without_article(keyword: Keyword, event: ResearchFailed | ContentRefused) -> Keyword:
    setback = StageFailure(_why(event.reason, event.detail), refused=event.reason in NORMAL_ENDS)
    if isinstance(event, ResearchFailed):
        return _set_back(keyword, Stage.RESEARCH, setback)
    if event.standing_id is not None:
        why = readable(event.detail or event.reason)
        return replace(keyword, standing_id=event.standing_id, standing_why=why)
    if keyword.rejected:
        return keyword
    if event.reason == DRAFT_REJECTED:
        return replace(_set_back(keyword, Stage.WRITING, replace(setback, refused=True)), rejected=True)
    if event.reason == DRAFT_WAITS:
        # Also a refusal: an older version knows no review, and no dead letter outweighs a refusal.
        return replace(_set_back(keyword, Stage.WRITING, replace(setback, refused=True)), held=True)
    return keyword if keyword.held or keyword.cancelled else _set_back(keyword, Stage.WRITING, setback)


def _lost(keyword: Keyword, event: DeadLetterRecorded, deadline: datetime | None) -> Keyword:
    stage = _STAGE_OF_TYPE.get(event.message_type or "") or keyword.stage
    if stage is None or event.message_type in _WITHOUT_CONSEQUENCE:
        return keyword
    if event.reason == _DEADLINE_PASSED:
        return _set_back(keyword, stage, _too_late(stage, deadline))
    if event.reason == _COST_REACHED:
        return _set_back(keyword, stage, _too_dear(stage, event.detail))
    why = f"dead letter on {event.queue}: {_why(event.reason, event.detail)}"
    return _set_back(keyword, stage, StageFailure(readable(why)))


_WHILE = {
    Stage.RESEARCH: "before its research was done",
    Stage.WRITING: "while the article was written",
    Stage.PUBLISHING: "before the article was published",
    Stage.PROMOTING: "before its posts were sent",
}
_WITHOUT_AN_ARTICLE = frozenset({Stage.RESEARCH, Stage.WRITING})


def _too_late(stage: Stage, deadline: datetime | None) -> StageFailure:
    which = "its request" if deadline is None else deadline_in_words(deadline)
    return StageFailure(
        f"{DEADLINE_PASSED}{which} passed {_WHILE[stage]}", refused=stage in _WITHOUT_AN_ARTICLE
    )


def _too_dear(stage: Stage, detail: str) -> StageFailure:
    return StageFailure(
        readable(f"{COST_REACHED}{_WHILE[stage]}: {detail}"),
        refused=stage in _WITHOUT_AN_ARTICLE,
    )


def _set_back(keyword: Keyword, stage: Stage, setback: StageFailure) -> Keyword:
    known = keyword.setbacks.get(stage)
    # A refusal is a result of research; a failure beside it only reports a technical error. Work that was over a limit has no result.
    if known and known.refused and not known.is_over_limit and not setback.refused:
        return keyword
    return replace(keyword, setbacks={**keyword.setbacks, stage: setback})


def _answered(keyword: Keyword, post: PostResult) -> Keyword:
    if post.url is None and post.platform not in keyword.channels:
        return keyword  # no keyword waits for it
    known = next((known for known in keyword.posts if known.platform == post.platform), None)
    if known and (known.url is not None or (post.url is None and (post.waits or not known.waits))):
        return keyword
    others = (other for other in keyword.posts if other.platform != post.platform)
    return replace(keyword, posts=tuple(sorted((*others, post), key=lambda each: each.platform)))


def _why(code: str, detail: str) -> str:
    return readable(f"{code}: {detail}" if detail else code)


def _generate(keyword: Keyword, name: str) -> ContentGenerate:
    assert keyword.content_id is not None
    assert keyword.research_id is not None
    return ContentGenerate(
        brand_slug=keyword.brand_slug,
        content_id=keyword.content_id,
        research_id=keyword.research_id,
        keyword=name,
        renews=keyword.renews,
    )


def _publish(keyword: Keyword) -> ContentPublish:
    assert keyword.content_id is not None
    return ContentPublish(brand_slug=keyword.brand_slug, content_id=keyword.content_id, target=keyword.target)


def _promote(
    keyword: Keyword,
    published_url: str,
    article: ArticleContext,
    *,
    asked_since: datetime | None = None,
) -> SocialCreate:
    """Requests unanswered posts; without a known request, also posts that were answered."""
    assert keyword.content_id is not None
    forgotten = () if keyword.promoted else _answers_that_stand(keyword)
    known = tuple(KnownPost(platform=post.platform, post_url=post.url) for post in forgotten if post.url)
    channels = dict.fromkeys((*keyword.unanswered, *(post.platform for post in forgotten)))
    return SocialCreate(
        brand_slug=keyword.brand_slug,
        content_id=keyword.content_id,
        article_context=article,
        published_url=published_url,
        brand_name=keyword.brand_name,
        channels=tuple(channels)[:_MOST_CHANNELS],
        approval=keyword.posts_approval,
        language=keyword.language,
        picture=keyword.picture,
        tags=keyword.tags,
        short_link=keyword.short_link if keyword.short_links else None,
        known_posts=known[:_MOST_CHANNELS],
        asked_since=asked_since or keyword.may_be_promoted_since,
    )


def _answers_that_stand(keyword: Keyword) -> tuple[PostResult, ...]:
    """Published posts and posts that wait for a person or their time; not refused, rejected or failed ones."""
    return tuple(post for post in keyword.posts if post.url is not None or post.waits)
