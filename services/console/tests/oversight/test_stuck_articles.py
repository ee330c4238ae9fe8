"""An article that is being published: since when, what it waits for, and how an editor publishes it again."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID, uuid4

import aio_pika
import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from chassis.testing import eventually
from console.articles.views import publication_wait
from envelope import new_event_id
from orchestrator.article_workflow.store import insert_content
from writing import Article

CONTENT = {"updated_at": "2030-01-01T08:00:00Z"}
KEYWORD = {"moved_at": "2030-01-01T09:00:00Z", "state": "publishing", "reason": None, "waits": None}


@pytest.fixture
async def database(orchestrator_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(orchestrator_database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def stuck(acme: None, database: asyncpg.Connection) -> UUID:
    """An approved article whose page nobody has confirmed."""
    content_id = new_event_id()
    await insert_content(
        database,
        content_id=content_id,
        brand_slug="acme",
        keyword="moka pot",
        research_id=new_event_id(),
        article=Article("moka-pot", "Moka pot", "", "## A\n\nIt is brewed.\n", 3, (), ()),
        sources=(),
        held_for=(),
        fingerprint=frozenset(),
    )
    await database.execute(
        "update content set updated_at = '2026-01-01 08:00Z' where content_id = $1", content_id
    )
    return content_id


@pytest.fixture
async def sent(rabbitmq_url: str) -> AsyncIterator[Callable[[], Any]]:
    """Takes the next command off the queue of the publisher, which does not run; None if there is none."""
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        queue = await (await connection.channel()).get_queue("publisher-commands")

        async def take() -> Any:
            message = await queue.get(fail=False, no_ack=True)
            return None if message is None else json.loads(message.body)

        yield take


def test_what_needs_a_person_is_told_first() -> None:
    def key(keyword: Any = KEYWORD, letters: Any = (), paused: Any = (), *, is_away: bool = False) -> str:
        return publication_wait(CONTENT, keyword, letters, paused, is_publisher_away=is_away).key

    letter = {"id": "7", "detail": "the disk is full"}
    found = publication_wait(CONTENT, KEYWORD, [letter], (), is_publisher_away=True)
    assert (found.since, found.key, found.path, found.detail) == (
        KEYWORD["moved_at"],
        "letter",
        "/dead-letters/7",
        "the disk is full",
    )
    assert publication_wait(CONTENT, None, (), (), is_publisher_away=False).since == CONTENT["updated_at"]
    assert key(is_away=True) == "away"
    assert key({**KEYWORD, "state": "failed", "reason": "dead_letter: it failed"}) == "failed"
    assert key({**KEYWORD, "waits": "the brand is paused"}) == "other"
    assert key() == "publisher"


async def test_an_editor_publishes_a_stuck_article_again_and_once(
    stuck: UUID, sent: Any, join: Callable[..., Any], console: Any, page_checks: Any
) -> None:
    page: Page = await join("Eve")
    main = page.locator("main")
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 900})
        await page.goto(f"{console.url}/b/acme/articles/{stuck}")
        await expect(main).to_contain_text("Being published since")
        await expect(main).to_contain_text("The publisher does not answer")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert await page_checks.accessibility(page) == []
    await page.get_by_role("button", name="Publish it again").click()
    await expect(page.locator(".told")).to_contain_text("The article is sent to site again.")
    command = await eventually(sent)
    assert command["type"] == "content.publish"
    assert command["payload"]["content_id"] == str(stuck)


async def test_an_audit_counts_a_stuck_article_and_publishes_it_again(
    stuck: UUID, sent: Any, person: httpx.AsyncClient, database: asyncpg.Connection, console: Any
) -> None:
    await database.execute("update content set updated_at = now() - interval '2 hours'")
    made = await person.post("/b/acme/audits", data={"once": "audit"}, follow_redirects=True)
    assert "Nothing needs attention." not in made.text
    assert "Articles that are stuck while being published" in made.text
    [found] = (await console.orchestrator.get_audit("acme", made.url.path.rpartition("/")[2]))["findings"]
    assert found["id"] == str(stuck)
    done = await person.post(f"{made.url.path}/remedy", data={"once": "remedy", "finding": "0"})
    assert done.headers["location"].endswith("?done=publish")
    assert (await eventually(sent))["payload"]["content_id"] == str(stuck)


async def test_a_second_press_and_one_after_its_publication_send_nothing(
    stuck: UUID,
    sent: Any,
    person: httpx.AsyncClient,
    database: asyncpg.Connection,
    another: Callable[..., Any],
) -> None:
    path = f"/b/acme/articles/{stuck}/publish"
    answers = [await person.post(path, data={"once": "one"}) for _ in range(2)]
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert await eventually(sent)
    assert (await person.post(f"/b/acme/articles/{uuid4()}/publish", data={"once": "x"})).status_code == 404
    await database.execute("update content set published_url = 'https://acme.example/moka-pot'")
    late = await person.post(path, data={"once": "late"})
    told = (await person.get(late.headers["location"])).text
    assert "Nothing was sent: the article is no longer being published. Its state now: Published." in told
    assert "Publish it again" not in told
    async with another("author") as author:
        assert (await author.post(path, data={"once": "a"})).status_code == 403
    # The outbox is empty: what was sent arrived before.
    assert await database.fetchval("select count(*) from outbox") == 0
    assert await sent() is None
