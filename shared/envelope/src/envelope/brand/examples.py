"""An example message of every type, for documentation: a keyword's way to a post, and the messages of failures."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from envelope.backbone import DeadLetterEdited, DeadLetterResolved
from envelope.brand import payloads, work
from envelope.brand.catalogue import CATALOGUE
from envelope.message import Message, Payload

_START: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _uuid7(moment: datetime, number: int) -> UUID:
    """A UUIDv7 with `number` in place of its random bits, so that examples never change."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | 0b10 << 62 | number)


_RESEARCH: Final = _uuid7(_START + timedelta(seconds=1), 101)
_CONTENT: Final = _uuid7(_START + timedelta(seconds=2), 102)
_REPLAY: Final = _uuid7(_START + timedelta(minutes=20), 103)
_POST: Final = _uuid7(_START + timedelta(seconds=9), 104)
_AUDIT: Final = _uuid7(_START + timedelta(seconds=12), 105)
_CYCLE: Final = _uuid7(_START, 106)
_WORK: Final = work.writing_id("the-daily-grind", _CONTENT)
_CORRELATION: Final = str(_uuid7(_START, 100))

_SUBJECT: Final[dict[str, Any]] = {"brand_slug": "the-daily-grind", "keyword": "pour-over coffee"}
_ARTICLE: Final[dict[str, Any]] = {"brand_slug": "the-daily-grind", "content_id": _CONTENT}
_ERASURE: Final[dict[str, Any]] = {
    "brand_slug": "the-daily-grind",
    "erasure_id": _uuid7(_START + timedelta(days=400), 106),
}
_PAGE: Final = "https://example.org/sites/the-daily-grind/pour-over-coffee"
_SHORT_LINK: Final = "https://example.org/s/mfzwizltob"
_COVER: Final = (
    "https://example.org/sites/the-daily-grind/covers/pour-over-coffee-0123456789abcdef"  # The version, and its
    # format.
)
_PICTURE: Final = payloads.Picture(
    url=f"{_COVER}.png",
    alt="Cover: Pour-over coffee – The Daily Grind",  # noqa: RUF001 - a dash
    media_type="image/png",
    width=1200,
    height=630,
    jpeg_url=f"{_COVER}.jpg",
)

_PAYLOADS: Final[tuple[tuple[Payload, type[Payload] | None], ...]] = (
    # Each with the payload of the message that caused it.
    (payloads.ResearchRequested(**_SUBJECT), None),
    (payloads.ResearchCompleted(**_SUBJECT, research_id=_RESEARCH), payloads.ResearchRequested),
    (
        payloads.ResearchFailed(
            brand_slug="the-daily-grind",
            keyword="mortgage refinancing",
            reason="insufficient_sources",
            detail="The corpus has too little about “mortgage refinancing”: none of its words occurs there.",
        ),
        payloads.ResearchRequested,
    ),
    (
        payloads.ContentGenerate(**_SUBJECT, content_id=_CONTENT, research_id=_RESEARCH),
        payloads.ResearchCompleted,
    ),
    (
        payloads.ContentGenerated(**_ARTICLE, keyword="pour-over coffee", word_count=612),
        payloads.ContentGenerate,
    ),
    (
        payloads.ContentRefused(
            **_ARTICLE,
            keyword="pour-over coffee",
            reason="insufficient_sources",
            detail="What the sources say about “pour-over coffee” comes to 120 words of 2 independent sources.",
        ),
        payloads.ContentGenerate,
    ),
    (payloads.ContentPublish(**_ARTICLE, target="site"), payloads.ContentGenerated),
    (
        payloads.ContentPublished(
            **_ARTICLE,
            published_url=_PAGE,
            as_of=_START + timedelta(seconds=5),
            target="site",
            picture=_PICTURE,
            short_link=_SHORT_LINK,
        ),
        payloads.ContentPublish,
    ),
    (payloads.ContentDelete(**_ARTICLE), None),
    (
        payloads.ContentPublishFailed(
            **_ARTICLE, target="blog", reason="unknown_target", detail="There is no target “blog”."
        ),
        payloads.ContentPublish,
    ),
    (
        payloads.SocialCreate(
            **_ARTICLE,
            article_context=payloads.ArticleContext(
                title="Pour-over coffee",
                keyword="pour-over coffee",
                meta_description="What the sources say about pour-over coffee.",
                key_points=("Pour slowly and in circles.", "Grind medium-fine."),
                opening="Pour-over coffee is brewed by pouring hot water over ground coffee in a filter.",
                headings=("Ratio", "Water for the dripper"),
                sources=(payloads.QuotedSource(title="Pouring", author="Ada B.", licence="CC BY 4.0"),),
                origins=(1, 1, 0),
            ),
            published_url=_PAGE,
            brand_name="The Daily Grind",
            channels=("feed",),
            picture=_PICTURE,
            language="en",
            short_link=_SHORT_LINK,
            tags=("filter coffee",),
        ),
        payloads.ContentPublished,
    ),
    (payloads.PostSend(**_ARTICLE, post_id=_POST, channel="mastodon"), payloads.SocialCreate),
    (
        payloads.LinkRegister(
            **_ARTICLE, post_id=_POST, channel="mastodon", account="mastodon-eu", mark="k3xa7"
        ),
        payloads.PostSend,
    ),
    (
        payloads.SocialPosted(
            **_ARTICLE, platform="feed", post_url=f"https://example.org/feeds/the-daily-grind/{_POST}"
        ),
        payloads.SocialCreate,
    ),
    (
        payloads.SocialFailed(
            **_ARTICLE, platform="pigeon", reason="unknown_channel", detail="There is no channel “pigeon”."
        ),
        payloads.SocialCreate,
    ),
    (
        payloads.ResearchWaiting(
            brand_slug="the-daily-grind",
            keyword="coffee of the year",
            waits_for="the budget for searches",
            detail="0.00 of the 1.00 dollars that may be spent by the brand the-daily-grind this day are left.",
            until=_START + timedelta(hours=1),
        ),
        payloads.ResearchRequested,
    ),
    (payloads.DeadLettersErase(**_ERASURE), None),
    (
        payloads.BrandErased(**_ERASURE, service="monitor", removed={"dead_letters": 2}),
        payloads.DeadLettersErase,
    ),
    (payloads.ResearchErase(**_ERASURE), payloads.BrandErased),
    (payloads.ContentErase(**_ERASURE), payloads.BrandErased),
    (payloads.SocialErase(**_ERASURE), payloads.BrandErased),
    (payloads.EventsErase(**_ERASURE), payloads.BrandErased),
    (
        payloads.AuditCompleted(
            brand_slug="the-daily-grind",
            audit_id=_AUDIT,
            findings={"stale_article": 3, "keyword_without_article": 1},
        ),
        None,
    ),
    (
        payloads.CycleCompleted(
            brand_slug="the-daily-grind",
            cycle_id=_CYCLE,
            state="completed",
            total=4,
            states={"completed": 3, "refused": 1},
            began_at=_START,
            ended_at=_START + timedelta(seconds=11),
        ),
        payloads.SocialPosted,
    ),
    (
        payloads.DraftsWaiting(
            brand_slug="the-daily-grind", drafts=5, since=_START - timedelta(days=2), held_up=True
        ),
        None,
    ),
    (payloads.DatabaseFellBack(service="research", kept_until=_START - timedelta(minutes=1)), None),
    (
        payloads.DeadLetterRecorded(
            **_SUBJECT,
            content_id=_CONTENT,
            dead_event_id=_uuid7(_START + timedelta(seconds=3), 3),
            queue="orchestrator-commands",
            message_type="content.generate",
            reason="exhausted",
            detail="TimeoutError: research did not answer",
            work_ids=(_WORK,),
        ),
        payloads.ContentGenerate,
    ),
    (
        payloads.WorkFinished(
            brand_slug="the-daily-grind",
            work_id=_WORK,
            covers_until=_START + timedelta(hours=7),
            finished_at=_START + timedelta(hours=7),
            finished_by=_REPLAY,
        ),
        payloads.DeadLetterRecorded,
    ),
    (
        DeadLetterResolved(
            dead_event_id=_uuid7(_START + timedelta(seconds=3), 3),
            replay_event_id=_REPLAY,
            queue="orchestrator-commands",
        ),
        payloads.ContentGenerate,
    ),
    (
        DeadLetterEdited(
            dead_event_id=_uuid7(_START + timedelta(seconds=3), 3),
            edited_event_id=_REPLAY,
            queue="orchestrator-commands",
            edited_at=_START + timedelta(hours=1),
            edited_by="Ada",
            reason="a typing error",
            content={
                "brand_slug": "the-daily-grind",
                "content_id": str(_CONTENT),
                "research_id": str(_RESEARCH),
                "keyword": "pour-over coffee",
            },
        ),
        payloads.ContentGenerate,
    ),
)


def _messages(
    chain: Iterable[tuple[Payload, type[Payload] | None]],
) -> Mapping[str, Message]:
    """Type → message; the chain's number `n` is made `n` seconds after the start."""
    event_ids: dict[type[Payload] | None, UUID] = {}
    messages: dict[str, Message] = {}
    for number, (payload, cause) in enumerate(chain):
        entry = CATALOGUE.type_of(payload)
        made_at = _START + timedelta(seconds=number)
        event_ids[type(payload)] = _uuid7(made_at, number)
        messages[entry.name] = entry.envelope(
            event_id=event_ids[type(payload)],
            type=entry.name,
            source=entry.producers[0],
            timestamp=made_at,
            correlation_id=_CORRELATION,
            causation_id=event_ids.get(cause),
            payload=payload,
        )
    return MappingProxyType(messages)


EXAMPLES: Final = _messages(_PAYLOADS)
"""Type → an example of it. All belong to one request, so they share its `correlation_id`."""
