"""What an event teaches about a keyword, and what follows from it. Pure: no I/O, no clock, no randomness."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256
from typing import NewType, TypeAlias, assert_never
from uuid import UUID

from envelope import Payload
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
from orchestrator.cycles.facts import Command, Keyword, KeywordState, Post, Setback, Stage, readable
from orchestrator.writing.domain import ContentId

CycleId = NewType("CycleId", UUID)

NORMAL_ENDS = frozenset({"insufficient_sources", "unsupported_draft", "not_renewed"})
"""Reasons for which there is no article although nothing went wrong."""
DRAFT_WAITS = "needs_review"
DRAFT_REJECTED = "rejected"

CANCELLED = Setback("cancelled", refused=True)
"""A refusal, so that no dead letter outweighs it, and for the version before, which knows nothing of cancelled cycles."""

_MOST_CHANNELS = 20
"""Of one command."""
BRAND_ARTICLES = 16
"""Of one brand that are being written or queued for it at a time, unless the settings say otherwise."""
BRAND_RESEARCH = 64
"""Keywords of one brand that are at research, or wait for a writer, at a time, unless the settings say otherwise."""

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


class ReusedKeyError(ValueError):
    """An idempotency key stands for one request; the message says which cycle that one began."""

    def __init__(self, cycle_id: UUID) -> None:
        super().__init__(
            f"this Idempotency-Key was used for another request (cycle {cycle_id}); use a new key for a new request"
        )


class Turn(Enum):
    """Whether the next step of a keyword may be taken."""

    NOW = auto()
    LATER = auto()
    """Its brand has no room for it, or nothing of it may be begun for now."""
    NEVER = auto()
    """Its cycle is cancelled."""


@dataclass(frozen=True, slots=True)
class Decision:
    keyword: Keyword
    messages: tuple[Payload, ...] = ()


def decide(
    keyword: Keyword,
    event: RoutedEvent,
    *,
    now: datetime,
    fresh_content_id: ContentId,
    article: ArticleContext | None,
    turn: Turn = Turn.NOW,
) -> Decision:
    """What an event changes, and what is to be sent because of it.

    `fresh_content_id` is used only when the keyword needs its first one. `article` is what is stored of the keyword's
    article, None while there is none. Whether its article is written is a matter of `turn`; later, `take_turn` goes on. An event
    that teaches nothing new (a duplicate, a straggler) changes nothing.
    """
    learned = _learn(keyword, event, fresh_content_id)
    if learned == keyword:
        return Decision(keyword)
    # What waits for its turn in a stage that it has left, or ended in, waits no longer.
    awaits_turn = learned.awaits_turn and learned.state is keyword.state
    follows = learned.follows and learned.state is keyword.state
    learned = replace(learned, moved_at=now, awaits_turn=awaits_turn, follows=follows)
    messages: list[Payload] = []
    if keyword.content_id is None and isinstance(event, ResearchCompleted):
        match turn:
            case Turn.NOW:
                messages.append(_generate(learned, event.keyword))
            case Turn.LATER:
                learned = replace(learned, awaits_turn=True)
            case Turn.NEVER:
                learned = _set_back(replace(learned, cancelled=True), Stage.WRITING, CANCELLED)
            case _ as unreachable:
                assert_never(unreachable)
    if learned.generated and not keyword.generated and learned.published_url is None:
        messages.append(_publish(learned))
    # Answers to a request that nobody knows of are of one that this database has lost, and social may have lost them, too.
    has_posts = learned.unanswered or _answers_that_stand(learned)
    if learned.published_url and has_posts and article and not learned.promoted:
        messages.append(_promote(learned, learned.published_url, article))
        learned = replace(learned, promoted=True)
    return Decision(learned, tuple(messages))


def take_turn(keyword: Keyword, name: str, priority: Priority, *, now: datetime) -> Decision:
    """A keyword called `name`, which has waited for its turn, is researched or written now."""
    learned = replace(keyword, awaits_turn=False, moved_at=now)
    match keyword.state:
        case KeywordState.QUEUED:
            wanted = ResearchRequested(
                brand_slug=keyword.brand_slug,
                keyword=name,
                priority=priority,
                not_before=None if keyword.renews is None else now,
            )
            return Decision(learned, (wanted,))
        case KeywordState.WRITING if keyword.research_id is not None:
            return Decision(learned, (_generate(learned, name),))
        case _:
            return Decision(learned)  # its article came from elsewhere meanwhile


@dataclass(frozen=True, slots=True)
class SecondRequest:
    """What a keyword that nobody answered for asks once more."""

    payload: Payload
    stage: Stage
    event_id: UUID | None
    """The id to send it under: that of the first. None: a new one."""


def ask_again(
    keyword: Keyword,
    name: str,
    priority: Priority,
    command: Command | None,
    article: ArticleContext | None = None,
) -> SecondRequest | None:
    """What a keyword that nobody answered for asks once more; None if it has done so, or if somebody else asked for the stage.

    Research, publishing and posting are answered from what is there, whichever command asks. The second request has a new id, because
    who has carried out the first, and whose answer is lost, takes a copy of it for a duplicate and answers nothing. Writing costs
    something, and its outcome stands in this database beside the command: its second request has the id of the first.

    `article` is what is stored of the keyword's article, None while there is none.
    """
    stage = keyword.stage
    if stage is None or (command is not None and command.again and command.stage is stage):
        return None
    match keyword.state:
        case KeywordState.PUBLISHING:
            return SecondRequest(_publish(keyword), stage, None)
        case KeywordState.PROMOTING if article is not None and keyword.published_url is not None:
            return SecondRequest(_promote(keyword, keyword.published_url, article), stage, None)
        case KeywordState.QUEUED | KeywordState.WRITING if command is not None and command.stage is stage:
            messages = take_turn(keyword, name, priority, now=keyword.moved_at).messages
            same = command.event_id if stage is Stage.WRITING else None
            return SecondRequest(messages[0], stage, same) if messages else None
        case _:
            return None


def content_id_of(cycle_id: UUID, position: int) -> ContentId:
    """The id of a keyword's article: the same each time, so that no second page is made after this database has forgotten the first.

    It is a UUIDv7 of the time in the id of the cycle, and some milliseconds later: articles of a cycle are in the order of its keywords.
    """
    digest = int.from_bytes(sha256(cycle_id.bytes + position.to_bytes(8)).digest()[:10])
    time, variable = ((cycle_id.int >> 80) + position) << 80, digest & (1 << 76) - 1
    return ContentId(UUID(int=time | 7 << 76 | variable & ~(3 << 62) | 2 << 62))


def confirm_posts(keyword: Keyword, article: ArticleContext, *, asked_since: datetime) -> SocialCreate | None:
    """Asks once more for posts that may have been forgotten since then; None if there are none.

    What was refused, failed or was rejected is not asked for again.
    """
    asked = keyword.promoted and keyword.unanswered
    if keyword.published_url is None or not (asked or _answers_that_stand(keyword)):
        return None
    forgotten = replace(keyword, promoted=False)
    return _promote(forgotten, keyword.published_url, article, asked_since=asked_since)


def research_again(keyword: Keyword, name: str, priority: Priority, *, now: datetime) -> Decision:
    """A keyword called `name`, whose article is not begun, is researched once more: its research may be gone."""
    unresearched = replace(keyword, research_id=None, content_id=None, awaits_turn=False, moved_at=now)
    return take_turn(unresearched, name, priority, now=now)


def write_again(keyword: Keyword, name: str, *, now: datetime) -> Decision:
    """The article of a keyword called `name`, which failed to be written or stands still, is sent to be written once more."""
    setbacks: dict[Stage, Setback] = {**keyword.setbacks}
    setbacks.pop(Stage.WRITING, None)
    learned = replace(keyword, setbacks=setbacks, moved_at=now)
    return Decision(learned, (_generate(learned, name),))


def cancel_writing(keyword: Keyword, *, by: str, now: datetime) -> Keyword:
    """Its article is not written, because somebody says so."""
    cancelled = replace(keyword, cancelled=True, awaits_turn=False, moved_at=now)
    why = replace(CANCELLED, reason=readable(f"{CANCELLED.reason} by {by}"))
    return _set_back(cancelled, Stage.WRITING, why)


def give_up(keyword: Keyword, *, waited: str, now: datetime, asked_twice: bool = False) -> Keyword:
    """A keyword nobody answered for. An answer that comes after all takes it up again.

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
            setback = Setback(f"no outcome after {waited} in {stage.value}{twice}")
            return replace(_set_back(keyword, stage, setback), moved_at=now)
        case _ as unreachable:
            assert_never(unreachable)


def fold(keyword: str) -> str:
    """Two keywords with the same fold are the same keyword to a reader."""
    return unicodedata.normalize("NFKC", " ".join(keyword.split())).casefold()


def fold_duplicates(keywords: Iterable[tuple[str, Priority]]) -> dict[str, Priority]:
    """Each keyword once, spelled and ranked as it came first."""
    first: dict[str, tuple[str, Priority]] = {}
    for keyword, priority in keywords:
        first.setdefault(fold(keyword), (keyword, priority))
    return dict(first.values())


def distinct_among(
    keywords: Sequence[str], each: Sequence[bool | None], *, otherwise: bool
) -> frozenset[str]:
    """Those of the keywords, each as it came first, that are subjects of their own; `each` says so of them one by one, or is empty."""
    first: dict[str, tuple[str, bool]] = {}
    for keyword, given in zip(keywords, each or (None,) * len(keywords), strict=True):
        first.setdefault(fold(keyword), (keyword, otherwise if given is None else given))
    return frozenset(keyword for keyword, is_distinct in first.values() if is_distinct)


def _learn(keyword: Keyword, event: RoutedEvent, fresh_content_id: ContentId) -> Keyword:  # noqa: PLR0911  (one for each event)
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
            return _set_back(keyword, Stage.PUBLISHING, Setback(_why(event.reason, event.detail)))
        case SocialPosted():
            return _answered(keyword, Post(event.platform, url=event.post_url))
        case SocialFailed():
            return _answered(keyword, Post(event.platform, reason=_why(event.reason, event.detail)))
        case DeadLetterRecorded():
            return _lost(keyword, event)
        case _ as unreachable:
            assert_never(unreachable)


def _with_address(keyword: Keyword, event: ContentPublished) -> Keyword:
    """With the address, the short link and the picture of the first such event, so that a second request for posts is like the first."""
    content_id = keyword.content_id or ContentId(event.content_id)
    if keyword.published_url is not None:
        return replace(keyword, content_id=content_id)
    return replace(
        keyword,
        content_id=content_id,
        published_url=event.published_url,
        short_link=event.short_link,
        picture=event.picture,
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
"""The stage that is not passed when a message of this type is lost."""
_WITHOUT_CONSEQUENCE = frozenset({"research.waiting", "post.send"})
"""Types of messages that may be lost: the work goes on, or its service has answered."""


def _without_article(keyword: Keyword, event: ResearchFailed | ContentRefused) -> Keyword:
    setback = Setback(_why(event.reason, event.detail), refused=event.reason in NORMAL_ENDS)
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
        # Refused, too: for the version before, which knows no review, and so that no dead letter outweighs it.
        return replace(_set_back(keyword, Stage.WRITING, replace(setback, refused=True)), held=True)
    return keyword if keyword.held or keyword.cancelled else _set_back(keyword, Stage.WRITING, setback)


def _lost(keyword: Keyword, event: DeadLetterRecorded) -> Keyword:
    why = f"dead letter on {event.queue}: {_why(event.reason, event.detail)}"
    stage = _STAGE_OF_TYPE.get(event.message_type or "") or keyword.stage
    if stage is None or event.message_type in _WITHOUT_CONSEQUENCE:
        return keyword
    return _set_back(keyword, stage, Setback(readable(why)))


def _set_back(keyword: Keyword, stage: Stage, setback: Setback) -> Keyword:
    known = keyword.setbacks.get(stage)
    # A refusal is what research found out; a failure beside it only says that something broke on the way.
    if known and known.refused and not setback.refused:
        return keyword
    return replace(keyword, setbacks={**keyword.setbacks, stage: setback})


def _answered(keyword: Keyword, post: Post) -> Keyword:
    if post.url is None and post.platform not in keyword.channels:
        return keyword  # nobody waits for it
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
    """Asks for the posts that nobody has answered for; and for those, too, that somebody has, if nobody knows of the request."""
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
        short_link=keyword.short_link if keyword.short_links else None,
        known_posts=known[:_MOST_CHANNELS],
        asked_since=asked_since or keyword.may_be_promoted_since,
    )


def _answers_that_stand(keyword: Keyword) -> tuple[Post, ...]:
    """Posts that are out, or wait for a person or their time: not those that were refused or rejected, or have failed."""
    return tuple(post for post in keyword.posts if post.url is not None or post.waits)
