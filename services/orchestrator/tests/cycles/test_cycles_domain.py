"""Decisions about a keyword: given facts and an event, the expected facts and messages."""

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Picture,
    Priority,
    ResearchCompleted,
    ResearchFailed,
    SocialCreate,
    SocialFailed,
    SocialPosted,
)
from orchestrator.article_workflow.domain import ContentId
from orchestrator.brands.domain import BrandSlug
from orchestrator.cycles.domain import RoutedEvent, decide, fold_duplicates, give_up
from orchestrator.cycles.facts import Bucket, Keyword, KeywordState, bucket, percent, readable

NOW = datetime(2026, 7, 1, tzinfo=UTC)
BRAND = BrandSlug("daily-grind")
CONTENT = ContentId(UUID(int=1))
RESEARCH = UUID(int=2)
URL = "http://site.test/cold-brew"
ARTICLE = ArticleContext(
    title="Cold brew", keyword="cold brew", meta_description="How.", key_points=("Wait.",)
)

RESEARCHED = ResearchCompleted(brand_slug=BRAND, research_id=RESEARCH, keyword="cold brew")
REFUSED = ResearchFailed(
    brand_slug=BRAND, keyword="cold brew", reason="insufficient_sources", detail="nothing on it"
)
BROKEN = ResearchFailed(brand_slug=BRAND, keyword="cold brew", reason="provider_down", detail="no answer")
UNWRITTEN = ContentRefused(
    brand_slug=BRAND,
    content_id=CONTENT,
    keyword="cold brew",
    reason="insufficient_sources",
    detail="80 words of it",
)
UNSUPPORTED = UNWRITTEN.model_copy(update={"reason": "unsupported_draft", "detail": "40 words of it"})
HELD = UNWRITTEN.model_copy(update={"reason": "needs_review", "detail": "240 words, of at least 250"})
GENERATED = ContentGenerated(brand_slug=BRAND, content_id=CONTENT, keyword="cold brew", word_count=400)
PICTURE = Picture(url=f"{URL}.png", alt="Cold brew", media_type="image/png", width=1200, height=630)
PUBLISHED = ContentPublished(brand_slug=BRAND, content_id=CONTENT, published_url=URL, picture=PICTURE)
UNPUBLISHED = ContentPublishFailed(
    brand_slug=BRAND, content_id=CONTENT, target="site", reason="unknown_target"
)


def posted(platform: str) -> SocialPosted:
    return SocialPosted(
        brand_slug=BRAND, content_id=CONTENT, platform=platform, post_url=f"http://{platform}.test/1"
    )


def not_posted(platform: str) -> SocialFailed:
    return SocialFailed(
        brand_slug=BRAND, content_id=CONTENT, platform=platform, reason="too_long", detail="300 signs"
    )


def dead(message_type: str, queue: str) -> DeadLetterRecorded:
    return DeadLetterRecorded(
        dead_event_id=UUID(int=9),
        queue=queue,
        message_type=message_type,
        reason="exhausted",
        detail="no answer",
        brand_slug=BRAND,
        keyword="cold brew",
        content_id=CONTENT,
    )


def keyword(*channels: str) -> Keyword:
    return Keyword(brand_slug=BRAND, target="site", channels=channels, moved_at=NOW)


def play(start: Keyword, *events: RoutedEvent) -> tuple[Keyword, list[Payload]]:
    """The article is stored by the time it is announced, so it is there from then on."""
    sent: list[Payload] = []
    announced = False
    for event in events:
        announced = announced or isinstance(event, ContentGenerated)
        decision = decide(
            start, event, now=NOW, fresh_content_id=CONTENT, article=ARTICLE if announced else None
        )
        start = decision.keyword
        sent += decision.messages
    return start, sent


def test_the_whole_way_sends_each_message_once_and_completes() -> None:
    ended, sent = play(keyword("feed"), RESEARCHED, GENERATED, PUBLISHED, posted("feed"))

    assert ended.state is KeywordState.COMPLETED
    assert ended.reason is None
    assert sent == [
        ContentGenerate(brand_slug=BRAND, content_id=CONTENT, research_id=RESEARCH, keyword="cold brew"),
        ContentPublish(brand_slug=BRAND, content_id=CONTENT, target="site"),
        SocialCreate(
            brand_slug=BRAND,
            content_id=CONTENT,
            article_context=ARTICLE,
            published_url=URL,
            channels=("feed",),
            picture=PICTURE,
        ),
    ]


@pytest.mark.parametrize(
    ("events", "state", "reason"),
    [
        ((), KeywordState.QUEUED, None),
        ((RESEARCHED,), KeywordState.WRITING, None),
        ((REFUSED,), KeywordState.REFUSED, "insufficient_sources: nothing on it"),
        ((BROKEN,), KeywordState.FAILED, "provider_down: no answer"),
        ((BROKEN, REFUSED, BROKEN), KeywordState.REFUSED, "insufficient_sources: nothing on it"),
        ((BROKEN, RESEARCHED), KeywordState.WRITING, None),
        ((RESEARCHED, REFUSED), KeywordState.WRITING, None),
        ((RESEARCHED, UNWRITTEN), KeywordState.REFUSED, "insufficient_sources: 80 words of it"),
        ((UNWRITTEN, RESEARCHED, UNWRITTEN), KeywordState.REFUSED, "insufficient_sources: 80 words of it"),
        ((RESEARCHED, UNWRITTEN, GENERATED), KeywordState.PUBLISHING, None),
        ((RESEARCHED, UNSUPPORTED), KeywordState.REFUSED, "unsupported_draft: 40 words of it"),
        ((RESEARCHED, HELD), KeywordState.NEEDS_REVIEW, "needs_review: 240 words, of at least 250"),
        ((HELD,), KeywordState.QUEUED, None),
        ((HELD, RESEARCHED, HELD), KeywordState.NEEDS_REVIEW, "needs_review: 240 words, of at least 250"),
        (
            (RESEARCHED, UNWRITTEN, HELD, UNWRITTEN, dead("content.generate", "orchestrator-commands")),
            KeywordState.NEEDS_REVIEW,
            "needs_review: 240 words, of at least 250",
        ),
        ((RESEARCHED, HELD, GENERATED), KeywordState.PUBLISHING, None),
        ((RESEARCHED, GENERATED), KeywordState.PUBLISHING, None),
        ((RESEARCHED, GENERATED, UNPUBLISHED), KeywordState.FAILED, "unknown_target"),
        ((RESEARCHED, GENERATED, UNPUBLISHED, PUBLISHED), KeywordState.PROMOTING, None),
        ((RESEARCHED, GENERATED, PUBLISHED), KeywordState.PROMOTING, None),
        ((RESEARCHED, GENERATED, PUBLISHED, posted("feed")), KeywordState.PROMOTING, None),
        (
            (RESEARCHED, GENERATED, PUBLISHED, posted("feed"), not_posted("x")),
            KeywordState.COMPLETED,
            "not posted on x: too_long: 300 signs",
        ),
        (
            (RESEARCHED, GENERATED, PUBLISHED, not_posted("x"), posted("x"), posted("feed")),
            KeywordState.COMPLETED,
            None,
        ),
        # Nobody asked that platform.
        (
            (RESEARCHED, GENERATED, PUBLISHED, posted("feed"), posted("x"), not_posted("pigeon")),
            KeywordState.COMPLETED,
            None,
        ),
        (
            (dead("research.requested", "research-commands"),),
            KeywordState.FAILED,
            "dead letter on research-commands: exhausted: no answer",
        ),
        (
            (RESEARCHED, dead("content.generate", "orchestrator-commands")),
            KeywordState.FAILED,
            "dead letter on orchestrator-commands: exhausted: no answer",
        ),
        # A dead letter of a stage that succeeded all the same (a replay, another replica) does not matter.
        (
            (RESEARCHED, GENERATED, dead("content.generate", "orchestrator-commands")),
            KeywordState.PUBLISHING,
            None,
        ),
        (
            (RESEARCHED, GENERATED, PUBLISHED, dead("social.create", "social-commands")),
            KeywordState.FAILED,
            "dead letter on social-commands: exhausted: no answer",
        ),
    ],
)
def test_states_and_reasons(events: tuple[RoutedEvent, ...], state: KeywordState, reason: str | None) -> None:
    ended, _ = play(keyword("feed", "x"), *events)

    assert (ended.state, ended.reason) == (state, reason)


def test_without_channels_publishing_completes_and_nothing_is_promoted() -> None:
    ended, sent = play(keyword(), RESEARCHED, GENERATED, PUBLISHED)

    assert ended.state is KeywordState.COMPLETED
    assert [type(message) for message in sent] == [ContentGenerate, ContentPublish]


def test_a_page_seen_before_its_article_was_announced_is_promoted_once_the_article_is_known() -> None:
    early, sent = play(keyword("feed"), RESEARCHED, PUBLISHED)
    assert (early.state, len(sent)) == (KeywordState.PROMOTING, 1)

    decision = decide(early, GENERATED, now=NOW, fresh_content_id=CONTENT, article=ARTICLE)

    assert [type(message) for message in decision.messages] == [SocialCreate]


def test_a_replayed_research_keeps_the_article_it_had() -> None:
    first, _ = play(keyword("feed"), RESEARCHED)

    again = decide(first, RESEARCHED, now=NOW, fresh_content_id=ContentId(UUID(int=77)), article=None)

    assert again.keyword == first
    assert again.messages == ()


def test_an_event_that_teaches_nothing_does_not_count_as_movement() -> None:
    late = NOW + timedelta(hours=1)
    first, _ = play(keyword("feed"), RESEARCHED, GENERATED)

    decision = decide(first, GENERATED, now=late, fresh_content_id=CONTENT, article=ARTICLE)

    assert decision.keyword.moved_at == NOW


# Every outcome that the commands of one keyword can have, some of them more than one (a failure, a replay, a success).
_EVENTS: list[RoutedEvent] = [
    RESEARCHED,
    REFUSED,
    BROKEN,
    UNWRITTEN,
    GENERATED,
    PUBLISHED,
    UNPUBLISHED,
    posted("feed"),
    not_posted("feed"),
    posted("x"),
    not_posted("x"),
    dead("research.requested", "research-commands"),
    dead("content.generate", "orchestrator-commands"),
    dead("content.publish", "publisher-commands"),
    dead("social.create", "social-commands"),
]


@given(data=st.data(), channels=st.sampled_from([(), ("feed",), ("feed", "x")]))
def test_order_and_duplicates_change_neither_the_end_nor_the_number_of_messages(
    data: st.DataObject, channels: tuple[str, ...]
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(_EVENTS), unique=True))
    repeats = data.draw(st.lists(st.sampled_from(chosen), max_size=5)) if chosen else []
    shuffled = data.draw(st.permutations([*chosen, *repeats]))

    in_order, _ = play(keyword(*channels), *chosen)
    ended, sent = play(keyword(*channels), *shuffled)

    assert ended.state == in_order.state
    assert [(post.platform, post.url) for post in ended.posts] == [
        (post.platform, post.url) for post in in_order.posts
    ]
    assert all(count == 1 for count in Counter(type(message) for message in sent).values())


def test_every_order_of_the_normal_run_completes() -> None:
    normal_run: list[RoutedEvent] = [RESEARCHED, GENERATED, PUBLISHED, posted("feed")]
    for events in itertools.permutations(normal_run):
        ended, _ = play(keyword("feed"), *events)
        assert ended.state is KeywordState.COMPLETED


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((), "no outcome after 6 hours in research"),
        ((RESEARCHED,), "no outcome after 6 hours in writing"),
        ((RESEARCHED, GENERATED), "no outcome after 6 hours in publishing"),
        ((RESEARCHED, GENERATED, PUBLISHED), "no outcome after 6 hours in promoting"),
    ],
)
def test_a_stalled_keyword_fails_and_moves_on_when_its_answer_comes_after_all(
    events: tuple[RoutedEvent, ...], reason: str
) -> None:
    stalled, _ = play(keyword("feed"), *events)
    given_up = give_up(stalled, waited="6 hours", now=NOW)
    assert (given_up.state, given_up.reason) == (KeywordState.FAILED, reason)

    ended, _ = play(given_up, RESEARCHED, GENERATED, PUBLISHED, posted("feed"))

    assert ended.state is KeywordState.COMPLETED


@pytest.mark.parametrize(
    "events", [(REFUSED,), (BROKEN,), (RESEARCHED, GENERATED, PUBLISHED, posted("feed"))]
)
def test_what_has_ended_cannot_stall(events: tuple[RoutedEvent, ...]) -> None:
    ended, _ = play(keyword("feed"), *events)

    assert give_up(ended, waited="6 hours", now=NOW + timedelta(days=1)) == ended


def test_every_state_is_counted_once() -> None:
    assert Counter(bucket(state) for state in KeywordState) == {
        Bucket.PENDING: 1,
        Bucket.PROCESSING: 3,
        Bucket.WAITING: 1,
        Bucket.COMPLETED: 1,
        Bucket.FAILED: 4,
    }


@pytest.mark.parametrize(
    ("ended", "total", "expected"), [(0, 3, 0), (1, 3, 33), (2, 3, 66), (3, 3, 100), (999, 1000, 99)]
)
def test_percent_is_rounded_down(ended: int, total: int, expected: int) -> None:
    assert percent(ended=ended, total=total) == expected


def test_duplicates_are_folded_over_case_spacing_and_compatible_forms() -> None:
    # A full-width letter, a sharp s and its capital form are what people paste.
    keywords = ["Cold Brew", "cold  brew", "COLD BREW", "straße", "STRASSE", "\uff23old brew", "espresso"]

    priorities = [Priority.HIGH] + [Priority.LOW] * 6
    assert fold_duplicates(zip(keywords, priorities, strict=True)) == {
        "Cold Brew": "high",
        "straße": "low",
        "espresso": "low",
    }


@pytest.mark.extended
@given(st.text(max_size=2000))
def test_a_reason_is_one_line_that_can_be_stored(text: str) -> None:
    line = readable(text)

    assert len(line) <= 500
    assert line.isprintable() or not any(ord(char) < 32 for char in line)
    line.encode()
