"""Dead letters that a person edits: of a real broker, the monitor, and a publisher whose API takes the edit."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID

import asyncpg
import httpx
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
from messaging import Context, Record, Service, ServiceSettings, Unprocessable, on_each
from messaging.backbone_routes import backbone_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.testing import Broker

LIST = "/dead-letters"
KEY = "test-service-key-0123456789"


@dataclass
class Publisher:
    """A publisher that knows one target, and counts what it does."""

    start: Callable[[], Any]
    orchestrator: str = ""
    tried: list[str] = field(default_factory=list)
    handled: list[DomainMessage[ContentPublish]] = field(default_factory=list)

    async def handle(self, message: DomainMessage[ContentPublish], _: Context) -> Record | None:
        self.tried.append(message.payload.target)
        if message.payload.target != "site":
            raise Unprocessable(f"unknown target {message.payload.target}")
        self.handled.append(message)
        return None

    async def send(self, target: str = "sight", *, deadline: str | None = None, **more: Any) -> UUID:
        event_id = new_event_id()
        payload = {"brand_slug": "acme", "content_id": str(new_event_id()), "target": target} | more
        document = {
            "event_id": str(event_id),
            "type": "content.publish",
            "source": "orchestrator",
            "timestamp": "2026-01-02T03:04:05Z",
            "correlation_id": "chain-acme",
            "payload": payload,
        } | ({} if deadline is None else {"deadline": deadline})
        async with Broker.connected(self.orchestrator) as broker:
            await broker.publish(
                "commands",
                "publisher-commands",
                json.dumps(document).encode(),
                user_id=URL(self.orchestrator).user,
            )
        return event_id


@pytest.fixture
async def service_urls(
    service_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    broker_urls: dict[str, str],
    free_port: Callable[[], int],
) -> AsyncIterator[dict[str, str]]:
    return service_urls | {"publisher_url": f"http://127.0.0.1:{free_port()}"}


@pytest.fixture
async def publisher(
    console: Any,
    service_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    broker_urls: dict[str, str],
) -> Publisher:
    """It is away until `start`."""
    await console.orchestrator.set_brand("acme", name="Acme")
    settings = ServiceSettings(
        rabbitmq_url=SecretStr(broker_urls["publisher"]),
        database_url=SecretStr(await make_database("publisher")),
        service_key=SecretStr(KEY),
        http_port=URL(service_urls["publisher_url"]).port or 0,
    )

    @asynccontextmanager
    async def start() -> AsyncIterator[None]:
        service = Service("publisher", settings, CATALOGUE)
        service.consume("publisher-commands", on_each(found.handle, ContentPublish))
        keeper = Peer("the orchestrator", service_urls["orchestrator_url"], "", SecretStr(KEY))
        app = api(
            "Publisher",
            callers_by_key(keeper, SecretStr(KEY), service.closes),
            takes_api_keys=True,
            codes=MESSAGE_CODES,
            larger_bodies=EDIT_BODIES,
        )
        add_routes(app, message_routes(service.database), backbone_routes(service.database))
        keep_audit_log(app, service.database)
        service.serve(app)
        async with running(service):
            yield

    found = Publisher(start, broker_urls["orchestrator"])
    return found


async def letter_of(monitor_database_url: str, event_id: UUID) -> str:
    async def there() -> str | None:
        connection = await asyncpg.connect(monitor_database_url)
        try:
            found = await connection.fetchval(
                "select id::text from dead_messages where event_id = $1", event_id
            )
            return found if found is None else str(found)
        finally:
            await connection.close()

    return str(await eventually(there))


def form_of(page: str, **more: str) -> dict[str, str]:
    """The fields of the form, as a browser would send them."""
    own = page.split('class="edit-message"')[1]
    fields = dict(re.findall(r'type="hidden" name="([\w.]+)" value="([^"]*)"', own))
    fields |= {
        name: unescape(value)
        for name, value in re.findall(r'<input id="[\w-]+" name="(value\.[\w.]+)" value="([^"]*)"', own)
    }
    fields |= {
        name: unescape(value)
        for name, value in re.findall(
            r'<textarea[^>]* name="(value\.[\w.]+)"[^>]*>\n(.*?)</textarea>', own, re.DOTALL
        )
    }
    return fields | {f"value.{name}" if name == "target" else name: value for name, value in more.items()}


@pytest.mark.extended
async def test_a_message_is_edited_sent_once_and_shown_beside_its_original(
    publisher: Publisher, person: httpx.AsyncClient, monitor_database_url: str
) -> None:
    async with publisher.start():
        event_id = await publisher.send()
        letter = await letter_of(monitor_database_url, event_id)
        page = f"{LIST}/{letter}"
        assert f'href="{page}/edit"' in (await person.get(page)).text
        form = (await person.get(f"{page}/edit")).text
        assert "content.publish" in form
        assert 'name="value.content_id"' not in form
        assert 'name="value.brand_slug"' not in form
        # An error stands beside its field, and nothing typed is lost.
        wrong = await person.post(f"{page}/edit", data=form_of(form, target="", reason="its name was wrong"))
        assert wrong.status_code == 422
        assert 'aria-invalid="true"' in wrong.text
        assert 'value="its name was wrong"' in wrong.text
        sent = form_of(wrong.text, target="site", reason="its name was wrong")
        for _ in range(2):  # pressed twice
            told = await person.post(f"{page}/edit", data=sent, follow_redirects=True)
            assert "The message is edited and sent." in told.text
        await eventually(lambda: len(publisher.handled) == 1)

        async def is_resolved() -> bool:
            shown = (await person.get(page)).text
            return "handled as" in shown and "Edited by Ada" in shown

        await eventually(is_resolved)
        shown = (await person.get(page)).text
        for part in ("sight", "site", "its name was wrong", str(publisher.handled[0].event_id)):
            assert part in shown, part
        again = await person.post(f"{page}/edit", data=sent | {"once": "another"})
        assert again.status_code == 409
        assert "was edited by Ada" in again.text
    assert publisher.tried == ["sight", "site"]
    assert publisher.handled[0].causation_id == event_id


@pytest.mark.extended
async def test_while_its_service_is_away_nothing_is_sent_and_nothing_typed_is_lost(
    publisher: Publisher, person: httpx.AsyncClient, monitor_database_url: str
) -> None:
    async with publisher.start():
        letter = await letter_of(monitor_database_url, await publisher.send())
        page = f"{LIST}/{letter}"
        form = form_of((await person.get(f"{page}/edit")).text, target="site", reason="so")
    shown = await person.get(f"{page}/edit")
    assert "The service “publisher” does not answer" in shown.text
    away = await person.post(f"{page}/edit", data=form)
    assert (away.status_code, "Nothing was sent" in away.text) == (503, True)
    kept = form_of(away.text)
    assert kept["value.target"] == "site"
    assert (await person.get(page)).text.count("To be decided") == 1
    async with publisher.start():
        told = await person.post(f"{page}/edit", data=kept | {"reason": "so"}, follow_redirects=True)
        assert "The message is edited and sent." in told.text
        await eventually(lambda: len(publisher.handled) == 1)


@pytest.mark.extended
async def test_what_is_hidden_is_kept_unless_it_is_shown_in_full(
    publisher: Publisher, person: httpx.AsyncClient, monitor_database_url: str
) -> None:
    async with publisher.start():
        name, value = "canonical_url", "https://acme.example/ada@acme.example"
        letter = await letter_of(monitor_database_url, await publisher.send(**{name: value}))
        page = f"{LIST}/{letter}"
        form = (await person.get(f"{page}/edit")).text
        assert "ada@acme.example" not in form
        assert f'name="value.{name}"' not in form
        # A forged field changes nothing, and the mask is never sent.
        forged = await person.post(f"{page}/edit", data=form_of(form) | {f"value.{name}": "***"})
        assert (forged.status_code, "nothing is changed" in forged.text) == (422, True)
        full = await person.post(f"{page}/edit/full", data=form_of(form) | {"reason": "typed"})
        assert "ada@acme.example" in full.text
        assert 'value="typed"' in full.text
        told = await person.post(
            f"{page}/edit", data=form_of(full.text) | {"value.target": "site"}, follow_redirects=True
        )
        assert "The message is edited and sent." in told.text
        await eventually(lambda: len(publisher.handled) == 1)
        log = (await person.get("/audit-log")).text
    assert "Edited failed work" in log


@pytest.mark.extended
async def test_who_may_not_edit_is_refused(
    publisher: Publisher, person: httpx.AsyncClient, signed_in_as: Any, monitor_database_url: str
) -> None:
    async with publisher.start():
        letter = await letter_of(monitor_database_url, await publisher.send())
        page = f"{LIST}/{letter}"
        form = form_of((await person.get(f"{page}/edit")).text, target="site")
        async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
            assert (await eve.get(f"{page}/edit")).status_code == 403
            assert (await eve.post(f"{page}/edit", data=form | {"once": "e"})).status_code == 403
            assert f"{page}/edit" not in (await otto.get(page)).text
            assert (await otto.post(f"{page}/edit", data=form | {"once": "o"})).status_code == 403
        async with signed_in_as("Ola", "operator") as ola:
            told = await ola.post(f"{page}/edit", data=form | {"once": "a"}, follow_redirects=True)
            assert "The message is edited and sent." in told.text
        await eventually(lambda: len(publisher.handled) == 1)
    assert publisher.tried == ["sight", "site"]


@pytest.mark.extended
async def test_a_message_is_edited_in_a_browser(
    publisher: Publisher, console: Any, signed_in: Page, page_checks: Any, monitor_database_url: str
) -> None:
    page = signed_in
    async with publisher.start():
        letter = await letter_of(monitor_database_url, await publisher.send())
        await page.goto(f"{console.url}{LIST}/{letter}")
        await page.get_by_role("link", name="Edit this message").click()
        await page.get_by_label("target").fill("")
        await page.get_by_role("button", name="Send the edited message").click()
        await expect(page.locator("[aria-invalid=true]")).to_have_count(1)
        for width in (1280, 360):
            await page.set_viewport_size({"width": width, "height": 900})
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            assert await page_checks.accessibility(page) == []
        await page.get_by_label("target").fill("site")
        await page.get_by_role("button", name="Send the edited message").click()
        await expect(page.locator("main")).to_contain_text("The message is edited and sent.")
        await expect(page.locator("main")).to_contain_text("handled as", timeout=60_000)
        await expect(page.locator("section[aria-labelledby=edit]")).to_contain_text("sight")
        for width in (1280, 360):
            await page.set_viewport_size({"width": width, "height": 900})
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            assert await page_checks.accessibility(page) == []
    assert publisher.tried == ["sight", "site"]


async def test_a_message_that_was_late_is_edited_with_a_new_deadline(
    publisher: Publisher, person: httpx.AsyncClient, monitor_database_url: str
) -> None:
    async with publisher.start():
        letter = await letter_of(
            monitor_database_url, await publisher.send("sight", deadline="2026-01-02T04:00:00Z")
        )
        page = f"{LIST}/{letter}"
        form = (await person.get(f"{page}/edit")).text
        assert "Hours from now that its request gets" in form
        assert 'name="hours" value="24"' in form
        # Nothing typed is lost when the hours are refused.
        for wrong in ("soon", "0", ""):
            sent = form_of(form, target="site", hours=wrong, once=f"wrong {wrong}")
            refused = await person.post(f"{page}/edit", data=sent)
            assert refused.status_code == 422, wrong
            assert 'role="alert"' in refused.text
            assert f'name="hours" value="{wrong}"' in refused.text
            assert 'value="site"' in refused.text
        for _ in range(2):
            sent = form_of(form, target="site", hours="48", once="now")
            told = await person.post(f"{page}/edit", data=sent, follow_redirects=True)
            assert "The message is edited and sent." in told.text
        await eventually(lambda: len(publisher.handled) == 1)
    assert publisher.tried == ["site"]
    late = publisher.handled[0].deadline
    assert late is not None
    assert timedelta(hours=47) < late - datetime.now(UTC) <= timedelta(hours=48)
