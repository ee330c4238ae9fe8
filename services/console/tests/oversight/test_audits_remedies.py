"""Remedies of audits that need the broker and the monitor: a page is published again, a message is replayed, a schedule resumed."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aio_pika
import asyncpg
import httpx
import pytest

from chassis.testing import eventually, running
from envelope import new_event_id
from monitor.app import build as build_monitor
from monitor.settings import Settings as MonitorSettings
from orchestrator.article_workflow.store import insert_content
from writing import Article

KEY = "test-service-key-0123456789"
AUDITS = "/b/acme/audits"
PAGE = "https://acme.example/moka-pot"
COMMANDS = "research-commands"


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]], broker_urls: dict[str, str], orchestrator_url: str
) -> AsyncIterator[dict[str, str]]:
    settings = {
        "database_url": await make_database("monitor"),
        "rabbitmq_url": broker_urls["monitor"],
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": orchestrator_url,
    }
    async with running(build_monitor(MonitorSettings.model_validate(settings))) as monitor:
        yield {
            "orchestrator_url": orchestrator_url,
            "monitor_url": f"http://127.0.0.1:{monitor.port}",
        }


@pytest.fixture
async def database(orchestrator_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(orchestrator_database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def broker(rabbitmq_url: str) -> AsyncIterator[aio_pika.abc.AbstractChannel]:
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        yield await connection.channel()


async def next_message(
    broker: aio_pika.abc.AbstractChannel, queue: str
) -> aio_pika.abc.AbstractIncomingMessage:
    """Takes a message off the queue of a stopped service."""
    waiting = await broker.get_queue(queue)

    async def got() -> Any:
        return await waiting.get(fail=False, no_ack=False)

    message: aio_pika.abc.AbstractIncomingMessage = await eventually(got)
    return message


@asynccontextmanager
async def audited(console: Any, person: httpx.AsyncClient, kind: str) -> AsyncIterator[Any]:
    """Audits on the screen, and yields what presses the button of the one finding of this kind."""
    made = await person.post(AUDITS, data={"once": f"audit {kind}"})
    address = made.headers["location"].partition("?")[0]
    found = (await console.orchestrator.get_audit("acme", address.rpartition("/")[2]))["findings"]
    [place] = [number for number, each in enumerate(found) if each["kind"] == kind]
    shown = (await person.get(address)).text
    assert f'name="finding" value="{place}"' in shown

    async def press(once: str = kind) -> httpx.Response:
        return await person.post(f"{address}/remedy", data={"once": once, "finding": str(place)})

    yield press


@pytest.mark.extended
async def test_a_message_that_died_is_replayed_by_a_press_and_once(
    console: Any, acme: None, person: httpx.AsyncClient, broker: aio_pika.abc.AbstractChannel
) -> None:
    await console.orchestrator.submit_keywords("acme", b"moka pot", content_type="text/plain")
    asked = await next_message(broker, COMMANDS)
    body = asked.body
    # As the broker does with a message that the service refuses.
    await asked.reject(requeue=False)

    async def failed() -> bool:
        [item] = (await console.orchestrator.search_for_keywords(brand="acme"))["items"]
        return bool(item["state"] == "failed" and item["reason"].startswith("dead letter on "))

    await eventually(failed)
    async with audited(console, person, "dead_letter") as press:
        for _ in range(2):
            done = await press()
            assert done.headers["location"].endswith("?done=replay")
        assert "What failed is sent again." in (await person.get(done.headers["location"])).text
        again = await next_message(broker, COMMANDS)
        assert json.loads(again.body)["payload"] == json.loads(body)["payload"]
        assert (await (await broker.get_queue(COMMANDS)).get(fail=False)) is None
        shown = (await person.get("/dead-letters", params={"state": "any"})).text
        [letter] = set(re.findall(r'href="(/dead-letters/[0-9a-f-]{36})"', shown))
        # The name of the person, not that of their key.
        assert "<dd>Ada</dd>" in (await person.get(letter)).text
        # Another press finds nothing that is still open.
        refused = await press("another")
        assert refused.status_code == 409
        assert "waits to be sent again" in refused.text


async def test_a_page_that_does_not_answer_is_published_again_at_its_own_home(
    console: Any,
    acme: None,
    person: httpx.AsyncClient,
    database: asyncpg.Connection,
    broker: aio_pika.abc.AbstractChannel,
) -> None:
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
    await database.execute("update content set published_url = $2 where content_id = $1", content_id, PAGE)
    await database.execute(
        "insert into links (brand_slug, kind, address, content_id, outcome, detail, since, rounds, looked_at)"
        " values ('acme', 'page', $1, $2, 'gone', 'answers 404', now(), 1, now())",
        PAGE,
        content_id,
    )
    async with audited(console, person, "page_unanswered") as press:
        for _ in range(2):
            assert (await press()).headers["location"].endswith("?done=publish")
    told = json.loads((await next_message(broker, "publisher-commands")).body)
    assert (told["type"], told["payload"]["content_id"], told["payload"]["target"]) == (
        "content.publish",
        str(content_id),
        "site",
    )
    assert (await (await broker.get_queue("publisher-commands")).get(fail=False)) is None


@pytest.mark.extended
async def test_a_schedule_that_was_given_up_is_resumed(
    console: Any, acme: None, person: httpx.AsyncClient, database: asyncpg.Connection
) -> None:
    at = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    await console.orchestrator.set_schedule("acme", "launch", keywords=["moka pot"], at=at)
    await database.execute(
        "update schedules set state = 'parked', reason = 'the brand was away' where name = 'launch'"
    )
    async with audited(console, person, "schedule_parked") as press:
        for _ in range(2):
            assert (await press()).headers["location"].endswith("?done=resume")
    assert (await console.orchestrator.get_schedule("acme", "launch"))["state"] == "active"
