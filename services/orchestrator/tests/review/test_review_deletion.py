"""Articles that are deleted: nothing of their text is left, and nothing makes them anew."""

from typing import Any
from uuid import UUID

import pytest

from chassis import Connection
from envelope.brand.payloads import ContentPublished, SocialPosted

SECRET = "Twelve hours are enough"


def types(messages: list[Any]) -> list[str]:
    return [message.type for message in messages]


async def places_of(connection: Connection, text: str) -> list[str]:
    """The tables in which a text stands anywhere."""
    tables = await connection.fetch(
        "select oid::regclass::text as tablename from pg_class where relkind in ('r', 'p')"
        " and relname !~ '^audit_log' and relnamespace = current_schema()::regnamespace and has_table_privilege(oid, 'select')"
    )
    return [
        table
        for (table,) in tables
        if await connection.fetchval(
            f"select exists (select from {table} as t where t::text like $1)",
            f"%{text}%",
        )
    ]


async def test_nothing_of_a_published_article_is_left_but_that_there_was_one(waiting: Any) -> None:
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    about = {"brand_slug": "acme", "content_id": waiting.content_id}
    await waiting.hear(ContentPublished(**about, published_url="https://acme.example/cold-brew"))
    await waiting.hear(SocialPosted(**about, platform="feed", post_url="https://acme.example/posts/1"))
    await waiting.decide("edit", version=1, title="Colder brew")
    await waiting.sent()
    large = f"[{'x' * 70_000}]"
    async with waiting.database.connection() as connection:
        await connection.execute(
            "insert into workflow_steps (workflow_id, step, result) values ($1, 'fetch_research', $2::text::jsonb)",
            waiting.content_id,
            f'["{SECRET}"]',
        )
        await connection.execute("insert into blobs (digest, content, bytes) values ('\\x01', $1, 9)", large)
        await connection.execute(
            "insert into large_results (workflow_id, step, digest, begun_at) values ($1, 'write', '\\x01', now())",
            waiting.content_id,
        )

    answers = [await waiting.decide("delete", reason="It was about a person.") for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert (
        answers[0].json().items()
        >= {
            "address": "cold-brew",
            "published_url": "https://acme.example/cold-brew",
            "deleted_by": "service",
            "reason": "It was about a person.",
        }.items()
    )
    (sent,) = await waiting.sent()
    assert (sent.type, sent.payload.content_id) == ("content.delete", waiting.content_id)
    async with waiting.database.connection() as connection:
        assert await places_of(connection, SECRET) == []
        assert await places_of(connection, "Colder") == []
        assert await connection.fetchval("select count(*) from blobs") == 0
    keyword = await waiting.keyword()
    assert (keyword["state"], [post["state"] for post in keyword["posts"]]) == ("completed", ["page_deleted"])
    assert keyword["reason"] == "its article was deleted by service: It was about a person."
    for path in (f"/v1/content/{waiting.content_id}", f"/v1/drafts/{waiting.content_id}"):
        gone = await waiting.api.get(path)
        assert (gone.status_code, "was deleted by service" in gone.json()["detail"]) == (410, True)
    assert (await waiting.decide("approve", version=1)).status_code == 410


async def test_a_draft_that_is_deleted_ends_its_keyword(waiting: Any) -> None:
    assert (await waiting.decide("delete", reason="no")).json()["address"] == "cold-brew"
    sent = await waiting.sent()
    assert types(sent) == ["content.refused", "content.delete"]
    await waiting.handle(sent[0])
    assert (await waiting.keyword())["state"] == "rejected"


async def test_the_address_of_a_deleted_page_is_given_to_no_other(make_waiting: Any) -> None:
    first = await make_waiting()
    await first.decide("approve", version=1)
    await first.handle(*await first.sent())
    await first.hear(
        ContentPublished(
            brand_slug="acme", content_id=first.content_id, published_url="https://acme.example/cold-brew"
        )
    )
    await first.decide("delete", reason="wrong")
    second = await make_waiting("moka pot")
    await second.decide("approve", version=1)
    assert (await second.article())["slug"] == "cold-brew-2"


@pytest.mark.extended
@pytest.mark.parametrize(("content_id", "reason", "status"), [(None, " ", 422), (UUID(int=9), "wrong", 404)])
async def test_what_cannot_be_deleted_is_refused(
    waiting: Any, content_id: UUID | None, reason: str, status: int
) -> None:
    path = f"/v1/drafts/{content_id or waiting.content_id}/delete"
    assert (await waiting.api.post(path, json={"reason": reason})).status_code == status
    assert (await waiting.draft())["state"] == "waiting"
