import json
import time
from datetime import UTC, datetime
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from envelope import DomainMessage, MessageTooLargeError, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    ArticleContext,
    KnownPost,
    OpenQuestions,
    Picture,
    Priority,
    QuotedSource,
    ResearchRequested,
    SocialCreate,
)
from envelope.message import HttpUrl


def words(max_size: int = 200, min_size: int = 0) -> st.SearchStrategy[str]:
    return st.text(
        st.characters(exclude_characters="\x00", codec="utf-8"), min_size=min_size, max_size=max_size
    )


CONTEXTS = st.builds(
    ArticleContext,
    title=words(min_size=1),
    keyword=words(min_size=1),
    meta_description=words(),
    key_points=st.lists(words(), max_size=5),
    opening=words(),
    headings=st.lists(words(), max_size=3).map(tuple),
    sources=st.lists(st.builds(QuotedSource, title=words(min_size=1)), max_size=3).map(tuple),
    origins=st.lists(st.integers(min_value=0, max_value=3), max_size=6).map(tuple),
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
KNOWN_POSTS = st.builds(
    KnownPost,
    platform=words(20, min_size=1),
    post_url=words(100).map(lambda text: f"https://example.org/{quote(text)}"),
)
FIELDS: dict[str, st.SearchStrategy[object]] = {
    "brand_slug": st.from_regex(r"[a-z0-9]{1,5}(-[a-z0-9]{1,5}){0,3}", fullmatch=True),
    "priority": st.sampled_from(Priority),
    "word_count": st.integers(min_value=0, max_value=2**53),
    "reason": st.sampled_from(["insufficient_sources", "exhausted"]),
    "article_context": CONTEXTS,
    "channels": st.lists(words(20, min_size=1), max_size=4),
    "tags": st.lists(words(20, min_size=1), max_size=4).map(tuple),
    "findings": st.dictionaries(words(20, min_size=1), st.integers(min_value=0, max_value=2**53), max_size=4),
    "elsewhere": st.lists(words(20, min_size=1), max_size=4).map(tuple),
    "elsewhere_count": st.integers(min_value=0, max_value=2**53),
    "removed": st.dictionaries(words(20, min_size=1), st.integers(min_value=0, max_value=2**53), max_size=4),
    "states": st.dictionaries(words(20, min_size=1), st.integers(min_value=0, max_value=2**53), max_size=4),
    "total": st.integers(min_value=0, max_value=2**53),
    "drafts": st.integers(min_value=1, max_value=2**53),
    "posts": st.integers(min_value=0, max_value=2**53),
    "held_up": st.booleans(),
    "overwrite": st.booleans(),
    "approval": st.sampled_from(["everything", "nothing"]),
    **dict.fromkeys(
        ("until", "began_at", "ended_at", "since", "kept_until", "covers_until", "finished_at", "edited_at"),
        MOMENTS,
    ),
    **dict.fromkeys(("as_of", "asked_since"), st.none() | MOMENTS),
    "content": st.dictionaries(words(20, min_size=1), words(20), max_size=3),
    "work_ids": st.lists(st.uuids(), max_size=4).map(tuple),
    "finished_by": st.none() | st.uuids(),
    "known_posts": st.lists(KNOWN_POSTS, max_size=3).map(tuple),
    "picture": st.none()
    | st.builds(
        Picture,
        url=words(100).map(lambda text: f"https://example.org/{quote(text)}"),
        alt=words(100),
        media_type=st.sampled_from(["image/png", "image/jpeg"]),
        width=st.integers(min_value=1, max_value=100_000),
        height=st.integers(min_value=1, max_value=100_000),
        jpeg_url=st.none() | st.just("https://example.org/a.jpg"),
    ),
    "language": st.none() | st.sampled_from(["en", "de-CH"]),
    "channel": words(20, min_size=1),
    "mark": st.from_regex(r"[a-z2-7]{5}", fullmatch=True),
    "short_link": st.none() | st.just("https://example.org/s/mfzwizltob"),
    "not_before": st.none() | st.datetimes(timezones=st.just(UTC)),
    "open_questions": st.none()
    | st.builds(
        OpenQuestions,
        answers_id=st.uuids(),
        questions=st.lists(words(100, min_size=1), min_size=1, max_size=3).map(tuple),
    ),
    "renews": st.none() | st.uuids(),
    "revision": st.none() | st.integers(min_value=2, max_value=10_000),
}


def values(field: str) -> st.SearchStrategy[object]:
    if field in FIELDS:
        return FIELDS[field]
    if field.endswith("_url"):
        return words(100).map(lambda text: f"https://example.org/{quote(text)}")
    return st.uuids() if field.endswith("_id") else words(100, min_size=1)


@st.composite
def messages(draw: st.DrawFn) -> DomainMessage:
    entry = CATALOGUE[draw(st.sampled_from(sorted(CATALOGUE)))]
    payload = entry.payload.model_validate(
        {field: draw(values(field)) for field in entry.payload.model_fields}
    )
    return entry.envelope(
        event_id=draw(st.uuids()),
        type=entry.name,
        source=draw(st.sampled_from(entry.producers)),
        timestamp=draw(st.datetimes(timezones=st.just(UTC))),
        correlation_id=draw(st.none() | st.uuids().map(str)),
        causation_id=draw(st.none() | st.uuids()),
        payload=payload,
    )


@given(messages())
def test_a_message_survives_the_wire_unchanged(message: DomainMessage) -> None:
    entry = CATALOGUE[message.type]

    assert entry.envelope.model_validate_json(message.model_dump_json(exclude_none=True)) == message


@given(messages(), st.dictionaries(st.text(min_size=1).map(lambda s: "x-" + s), st.integers()))
def test_fields_of_a_newer_sender_are_ignored(message: DomainMessage, extra: dict[str, int]) -> None:
    wire = json.loads(message.model_dump_json(exclude_none=True))
    wire |= extra
    wire["payload"] |= extra

    assert CATALOGUE[message.type].envelope.model_validate(wire) == message


def test_the_wire_form_has_exactly_the_documented_fields() -> None:
    message = DomainMessage(
        event_id=UUID("018f9c2e-7b1a-7000-8000-000000000001"),
        type="research.requested",
        source="orchestrator",
        timestamp=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        correlation_id="c-1",
        payload=ResearchRequested(brand_slug="acme", keyword="solar panels"),
    )

    assert json.loads(encode(message)) == {
        "event_id": "018f9c2e-7b1a-7000-8000-000000000001",
        "type": "research.requested",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "c-1",
        "payload": {"brand_slug": "acme", "keyword": "solar panels", "priority": "normal"},
    }


def test_a_message_that_carries_a_document_is_refused_and_told_what_to_do() -> None:
    payload = SocialCreate(
        brand_slug="acme",
        content_id=uuid4(),
        article_context=ArticleContext(
            title="t", keyword="k", meta_description="", key_points=("€" * 2000,) * 20
        ),
        channels=("feed",),
    )
    message = DomainMessage(
        event_id=new_event_id(),
        type="social.create",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        payload=payload,
    )
    assert len(encode(message)) < 128 * 1024
    heavy = message.model_copy(
        update={
            "payload": payload.model_copy(
                update={
                    "article_context": payload.article_context.model_copy(
                        update={"key_points": ("€" * 50_000,)}
                    )
                }
            )
        }
    )

    with pytest.raises(MessageTooLargeError, match="pass a reference"):
        encode(heavy)


@pytest.mark.parametrize(
    "change",
    [
        {"event_id": "not-a-uuid"},
        {"type": "nonoun"},
        {"type": "Research.Requested"},
        {"source": ""},
        {"timestamp": "2026-01-02T03:04:05"},
        {"correlation_id": "a\x00b"},
        {"payload": None},
        {"payload": {"brand_slug": "Acme Inc", "keyword": "k"}},
        {"payload": {"brand_slug": "acme", "keyword": ""}},
        {"payload": {"brand_slug": "acme", "keyword": "a\x00b"}},
    ],
)
def test_what_is_no_proper_message_is_refused(change: dict[str, object]) -> None:
    good = {
        "event_id": str(uuid4()),
        "type": "research.requested",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "payload": {"brand_slug": "acme", "keyword": "k"},
    }
    envelope = CATALOGUE["research.requested"].envelope
    envelope.model_validate(good)

    with pytest.raises(ValidationError):
        envelope.model_validate(good | change)


@pytest.mark.parametrize(
    "address", ["ftp://x.example", "https://u@x.example", "https://x.example/a b", "https://x.example/\n"]
)
def test_an_address_that_no_browser_should_be_sent_to_is_refused(address: str) -> None:
    read = TypeAdapter(HttpUrl).validate_python

    assert read("https://x.example/a?b#c") == "https://x.example/a?b#c"
    with pytest.raises(ValidationError):
        read(address)


def test_limits_of_strings_are_checked_by_compiled_code() -> None:
    """Behind a function they would be functions of Python themselves: see `WITHOUT_NUL`."""
    for entry in CATALOGUE.values():
        entry.envelope.model_rebuild()
        assert "_length_validator" not in repr(entry.envelope.__pydantic_core_schema__), entry.name


def test_an_event_id_tells_the_millisecond_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    event_ids = [new_event_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000

    assert all(event_id.version == 7 and before <= event_id.int >> 80 <= after for event_id in event_ids)
    assert len(set(event_ids)) == 1000


def test_a_payload_outside_the_catalogue_says_where_to_add_it() -> None:
    with pytest.raises(LookupError, match="catalogue"):
        CATALOGUE.type_of(ArticleContext)
