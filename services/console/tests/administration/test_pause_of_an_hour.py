"""A queue whose consumers are paused for an hour: told on every page, and no message is lost or handled twice.

The hour is simulated: the pause and the messages are moved back in time.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from playwright.async_api import Page, expect
from pydantic import SecretStr
from yarl import URL

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.client import Peer
from chassis.http.introspection import callers_by_key
from chassis.testing import eventually, running
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Record, Service, ServiceSettings, on_each
from messaging.backbone_routes import backbone_routes
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.testing import Broker

KEY = "test-service-key-0123456789"
QUEUE = "publisher-commands"
HOUR = timedelta(hours=1)
MESSAGES = 7


class Publisher:
    """A publisher that counts what it handles."""

    def __init__(self, database_url: str, broker_url: str, url: str, orchestrator_url: str) -> None:
        self.database_url = database_url
        self.handled: Counter[UUID] = Counter()
        self._orchestrator_url = orchestrator_url
        self._settings = ServiceSettings(
            rabbitmq_url=SecretStr(broker_url),
            database_url=SecretStr(database_url),
            service_key=SecretStr(KEY),
            http_port=URL(url).port or 0,
        )

    async def handle(self, message: DomainMessage[ContentPublish], _: Context) -> Record | None:
        self.handled[message.event_id] += 1
        return None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        service = Service("publisher", self._settings, CATALOGUE)
        service.consume(QUEUE, on_each(self.handle, ContentPublish))
        keeper = Peer("the orchestrator", self._orchestrator_url, "", SecretStr(KEY))
        keys = callers_by_key(keeper, SecretStr(KEY), service.closes)
        app = api("Publisher", keys, takes_api_keys=True, codes=MESSAGE_CODES)
        add_routes(app, message_routes(service.database), backbone_routes(service.database))
        keep_audit_log(app, service.database)
        service.serve(app)
        async with running(service):
            yield

    async def an_hour_later(self) -> None:
        """Has the pause begun an hour earlier."""
        connection = await asyncpg.connect(self.database_url)
        try:
            moved = await connection.execute(
                "update paused_queues set paused_at = paused_at - $1::interval", HOUR
            )
        finally:
            await connection.close()
        assert moved == "UPDATE 1"


@pytest.fixture
def service_urls(service_urls: dict[str, str], free_port: Callable[[], int]) -> dict[str, str]:
    return service_urls | {"publisher_url": f"http://127.0.0.1:{free_port()}"}


@pytest.fixture
async def publisher(
    service_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    broker_urls: dict[str, str],
) -> Publisher:
    database_url = await make_database("publisher")
    return Publisher(
        database_url,
        broker_urls["publisher"],
        service_urls["publisher_url"],
        service_urls["orchestrator_url"],
    )


async def send(broker_url: str, count: int) -> set[UUID]:
    """Sends commands that were made an hour ago."""
    made = [new_event_id() for _ in range(count)]
    async with Broker.connected(broker_url) as broker:
        for event_id in made:
            document = {
                "event_id": str(event_id),
                "type": "content.publish",
                "source": "orchestrator",
                "timestamp": (datetime.now(UTC) - HOUR).isoformat(),
                "correlation_id": "chain-acme",
                "payload": {"brand_slug": "acme", "content_id": str(new_event_id()), "target": "site"},
            }
            body = json.dumps(document).encode()
            await broker.publish("commands", QUEUE, body, user_id=URL(broker_url).user)
    return set(made)


async def test_messages_wait_for_an_hour_and_are_all_handled_once(
    console: Any,
    publisher: Publisher,
    broker_urls: dict[str, str],
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    page, main = signed_in, signed_in.locator("main")
    line = page.get_by_role("complementary", name="Paused queues")
    row = main.locator("tr", has=page.get_by_role("rowheader", name=QUEUE, exact=True))
    wrong = main.locator("li.task", has_text=QUEUE)

    async with publisher.running():
        await page.goto(f"{console.url}/backbone")
        await main.get_by_text(f"Pause {QUEUE}", exact=True).click()
        form = main.locator("details[open] form")
        await form.get_by_label("Why its messages must wait").fill("the disk is replaced")
        await form.get_by_role("button", name="Pause").click()
        await expect(main).to_contain_text(f"“{QUEUE}” is paused")
        await expect(row).to_contain_text("paused")

        async def rests() -> bool:
            await page.reload()
            return (await row.locator("td").nth(2).inner_text()).endswith("0")

        await eventually(rests)
        sent = await send(broker_urls["orchestrator"], MESSAGES)
        await expect(row.locator("td").first).to_contain_text(str(MESSAGES), timeout=60_000)

    # A restart does not end the pause.
    async with publisher.running():
        await publisher.an_hour_later()
        for path in ("/", "/me", "/backbone"):
            await page.goto(console.url + path)

            async def tells_since_when() -> bool:
                # The line follows within some seconds.
                await page.reload()
                since = await line.locator("time").first.get_attribute("datetime")
                return datetime.now(UTC) - datetime.fromisoformat(since or "") > HOUR - timedelta(minutes=5)

            await eventually(tells_since_when)
            for told in (QUEUE, "by Ada", "the disk is replaced"):
                await expect(line).to_contain_text(told)
        await look_at(page, "/backbone")
        await expect(wrong).to_contain_text(f"The queue {QUEUE} is paused, by Ada")
        await expect(wrong).to_contain_text("the disk is replaced")
        await expect(row.locator("td").first).to_contain_text(str(MESSAGES))
        assert publisher.handled == Counter()

        await main.get_by_role("button", name=f"Resume {QUEUE}").click()
        await expect(main).to_contain_text(f"“{QUEUE}” is resumed")
        await eventually(lambda: len(publisher.handled) == MESSAGES)
        await expect(row.locator("td").first).to_have_text("0", timeout=60_000)
        await expect(main.get_by_text(f"Pause {QUEUE}", exact=True)).to_be_visible()
        await expect(wrong).to_have_count(0)
        await expect(line).to_have_count(0)
    assert publisher.handled == Counter(sent)
