"""Pages of webhooks and subscriptions at a real events service, gateway and receiver, and in a real browser."""

import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from playwright.async_api import Page
from starlette.responses import PlainTextResponse

from chassis.testing import eventually, running, serving
from client import Address
from client.services.events import AsyncEvents
from client.services.gateway import AsyncGateway
from console import event_types
from console.texts import LANGUAGES, TextCatalogue
from envelope import DomainMessage, MessageKind, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished
from events.app import EventsService, build
from events.log import store as log_store
from events.settings import Settings
from tests.fixtures.accounts.other_side import OtherSide
from tests.fixtures.event_log import published

KEY = "test-service-key-0123456789"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
LIST = "/b/acme/webhooks"
CRM = f"{LIST}/named/crm"


@pytest.fixture
def started() -> list[EventsService]:
    return []


@pytest.fixture
async def service_urls(
    service_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    broker_urls: dict[str, str],
    started: list[EventsService],
) -> AsyncIterator[dict[str, str]]:
    """The services of the folder, and events."""
    settings = {
        "database_url": await make_database("events"),
        "rabbitmq_url": broker_urls["events"],
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": service_urls["orchestrator_url"],
        "gateway_url": service_urls["gateway_url"],
    }
    async with running(build(Settings.model_validate(settings))) as service:
        started.append(service)
        yield service_urls | {"events_url": f"http://127.0.0.1:{service.port}"}


@pytest.fixture
async def events(service_urls: dict[str, str]) -> AsyncIterator[AsyncEvents]:
    async with AsyncEvents(Address(service_urls["events_url"], KEY)) as client:
        yield client


@pytest.fixture
async def hook(service_urls: dict[str, str], console: Any) -> AsyncIterator[OtherSide]:
    """The other side of a webhook that is connected as `crm-hook`; what it answers is hostile."""
    await console.orchestrator.set_brand("acme", name="Acme <script>window.hit = 1</script>")
    other = OtherSide()
    async with (
        serving(other) as url,
        AsyncGateway(Address(service_urls["gateway_url"], KEY)) as gateway,
    ):
        await gateway.connect_account(
            "crm-hook", kind="webhook", brands=["acme"], settings={"url": f"{url}/in"}
        )
        other.answer("POST /in", PlainTextResponse(HOSTILE))
        yield other


@pytest.fixture
def happen(started: list[EventsService]) -> Callable[[int], Awaitable[None]]:
    """Stores so many events of the brand, as if they had come from the broker."""

    async def store(number: int) -> None:
        async with started[0].database.transaction() as tx:
            messages = [
                DomainMessage[ContentPublished](
                    event_id=new_event_id(),
                    type="content.published",
                    source="publisher",
                    timestamp=datetime.now(UTC),
                    payload=published(),
                )
                for _ in range(number)
            ]
            await log_store.append(tx.connection, messages)

    return store


@pytest.mark.extended
async def test_a_webhook_is_made_tried_turned_off_and_removed(
    hook: OtherSide,
    person: httpx.AsyncClient,
    events: AsyncEvents,
    happen: Callable[[int], Awaitable[None]],
) -> None:
    assert "Nothing is sent to another system yet" in (await person.get(LIST)).text
    fields = {"name": "crm", "account": "crm-hook", "types": "content.published", "order": "strict"}
    made = [await person.post(f"{LIST}/new", data={"once": "n1", **fields}) for _ in range(2)]
    assert {each.headers["location"] for each in made} == {f"{CRM}?done=saved"}
    found = await events.get_webhook("acme", "crm")
    assert (found["account"], found["types"], found["order"]) == ("crm-hook", ["content.published"], "strict")
    taken = await person.post(f"{LIST}/new", data={"once": "n2", **fields})
    assert (taken.status_code, "There is a webhook “crm” already" in taken.text) == (409, True)
    without = await person.post(f"{LIST}/new", data={"once": "n5", **fields, "name": "b", "account": ""})
    assert (without.status_code, "Connect one of the kind webhook first" in without.text) == (422, True)
    refused = await person.post(f"{LIST}/new", data={"once": "n3", **fields, "name": "b", "types": "no.<b>"})
    assert (refused.status_code, 'value="no.&lt;b&gt;" checked' in refused.text) == (422, True)

    tried = [await person.post(f"{CRM}/test", data={"once": "t1"}) for _ in range(2)]
    assert all("The test event arrived. The receiver answered 200" in each.text for each in tried)
    assert all("&lt;script&gt;window.hit" in each.text for each in tried)
    assert len(hook.came) == 1

    await happen(2)

    async def arrived() -> bool:
        return len((await events.list_webhook_deliveries("acme", "crm"))["items"]) == 2

    await eventually(arrived)
    newest = (await events.list_webhook_deliveries("acme", "crm"))["items"][0]
    shown = (await person.get(f"{CRM}/deliveries/{newest['id']}")).text
    assert "&lt;script&gt;window.hit" in shown
    assert newest["event_id"] in shown
    again = await person.post(f"{CRM}/resend", data={"once": "r1", "place": str(newest["place"])})
    assert again.headers["location"] == f"{CRM}?done=resent"
    await eventually(lambda: len(hook.came) == 4)
    since = await person.post(f"{CRM}/resend", data={"once": "r2", "since": "2026-01-01"})
    assert since.headers["location"] == f"{CRM}?done=resending"
    await eventually(lambda: len(hook.came) == 6)
    wrong = await person.post(f"{CRM}/resend", data={"once": "r3", "since": "soon"})
    assert (wrong.status_code, "The day cannot be understood" in wrong.text) == (422, True)

    await person.post(f"{CRM}/disable", data={"once": "d1"})
    assert "Turn it on" in (await person.get(CRM)).text
    await person.post(f"{CRM}/enable", data={"once": "e1", "skip": "1"})
    shown = (await person.get(CRM)).text
    version = html.unescape(re.findall(r'name="version" value="([^"]*)"', shown)[0])
    changed = await person.post(
        CRM, data={"once": "c1", **fields, "types": "", "order": "none", "version": version}
    )
    assert changed.headers["location"] == f"{CRM}?done=saved"
    found = await events.get_webhook("acme", "crm")
    assert (found["state"], found["types"], found["order"]) == ("on", None, "none")
    overtaken = await person.post(CRM, data={"once": "c3", **fields, "version": version})
    assert (overtaken.status_code, "Another person changed this" in overtaken.text) == (409, True)
    assert (await events.get_webhook("acme", "crm"))["order"] == "none"
    removed = await person.post(f"{CRM}/remove", data={"once": "x1"})
    assert removed.headers["location"] == f"{LIST}?done=removed"
    late = await person.post(CRM, data={"once": "c2", **fields})
    assert late.status_code == 404
    assert (await events.list_webhooks("acme"))["items"] == []


async def test_only_who_operates_the_brand_sees_and_changes_webhooks(
    console: Any, hook: OtherSide, events: AsyncEvents, signed_in_as: Any
) -> None:
    await events.set_webhook("acme", "crm", account="crm-hook")
    await events.set_subscription("warehouse")
    changes = (
        f"{LIST}/new",
        CRM,
        *(f"{CRM}/{each}" for each in ("enable", "disable", "test", "resend", "remove")),
    )
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for path in (LIST, CRM, "/subscriptions"):
            assert (await eve.get(path)).status_code == 403
        for path in (
            *changes,
            "/subscriptions",
            "/subscriptions/warehouse/revive",
            "/subscriptions/warehouse/remove",
        ):
            assert (await eve.post(path, data={"once": "x", "name": "a"})).status_code == 403, path
        assert (await otto.get(CRM)).status_code == 200
        assert (await otto.get("/b/other/webhooks")).status_code == 404
        # A subscription to all brands is none of this operator's.
        assert "warehouse" not in (await otto.get("/subscriptions")).text
        assert (await otto.post("/subscriptions/warehouse/remove", data={"once": "y"})).status_code == 404
    assert hook.came == []
    assert (await events.get_subscription("warehouse"))["brands"] is None


def test_forms_offer_all_types_of_events_and_say_what_each_means() -> None:
    events = {name for name, entry in CATALOGUE.items() if entry.kind is MessageKind.EVENT}
    assert set(event_types.ALL) == events
    assert len(event_types.ALL) == len(events)
    named = {name for name in events if "brand_slug" in CATALOGUE[name].payload.model_fields}
    assert set(event_types.OF_BRANDS) == named
    texts = TextCatalogue()
    for language in LANGUAGES:
        assert texts.keys(language) >= {f"event_types.{each}" for each in events}


@pytest.mark.extended
async def test_a_subscription_is_made_once_and_not_over_another_one(
    console: Any, person: httpx.AsyncClient, events: AsyncEvents
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    fields = {
        "name": "crm",
        "brands": "acme",
        "types": ["content.published", "social.posted"],
        "begin": "oldest",
        "max_deliveries": "3",
    }
    made = [await person.post("/subscriptions", data={"once": "m1", **fields}) for _ in range(2)]
    assert {each.headers["location"] for each in made} == {"/subscriptions/crm?done=made"}
    found = await events.get_subscription("crm")
    assert (found["brands"], found["types"]) == (["acme"], ["content.published", "social.posted"])
    assert (found["max_deliveries"], found["created_by"]) == (3, "ada")
    shown = (await person.get("/subscriptions/crm?done=made")).text
    assert "/v1/subscriptions/crm/pull" in shown
    assert "The subscription is there." in shown
    for number, (change, sentence) in enumerate(
        (
            ({"types": []}, "crm"),
            ({"name": "A <b>"}, "cannot be a name"),
            ({"name": "b", "max_deliveries": "many"}, "max_deliveries"),
            ({"name": "b", "types": "no.<b>"}, "no.&lt;b&gt;"),
        )
    ):
        refused = await person.post("/subscriptions", data={"once": f"r{number}", **fields, **change})
        assert refused.status_code in {409, 422}, change
        assert sentence in refused.text or "Deliveries until" in refused.text, refused.text
        assert 'value="acme" selected' in refused.text
    assert [each["name"] for each in (await events.list_subscriptions())["items"]] == ["crm"]


@pytest.mark.extended
async def test_subscriptions_show_their_backlog_and_dead_letters(
    hook: OtherSide,
    person: httpx.AsyncClient,
    events: AsyncEvents,
    started: list[EventsService],
    happen: Callable[[int], Awaitable[None]],
) -> None:
    assert "No system takes events through a subscription" in (await person.get("/subscriptions")).text
    await events.set_subscription("data", brands=["acme"], max_deliveries=1)
    await happen(3)
    pulled = await events.pull_events("data", batch_size=2)
    async with started[0].database.connection() as connection:
        await connection.execute("update deliveries set available_at = now() - interval '1 hour'")
    await events.pull_events("data", batch_size=1)
    listed = (await person.get("/subscriptions")).text
    assert 'href="/subscriptions/data"' in listed
    shown = (await person.get("/subscriptions/data")).text
    assert pulled["messages"][0]["event"]["id"] in shown
    place = pulled["messages"][0]["event"]["sequence"].lstrip("0")
    done = [
        await person.post("/subscriptions/data/revive", data={"once": "r1", "place": place}) for _ in range(2)
    ]
    assert {each.headers["location"] for each in done} == {"/subscriptions/data?done=revived"}
    assert (await events.get_subscription("data"))["dead"] == 1
    await person.post("/subscriptions/data/revive", data={"once": "r2"})
    assert (await events.get_subscription("data"))["dead"] == 0
    removed = await person.post("/subscriptions/data/remove", data={"once": "x1"})
    assert removed.headers["location"] == "/subscriptions?done=removed"
    assert (await person.get("/subscriptions/data")).status_code == 404


@pytest.mark.extended
async def test_a_person_makes_and_tries_a_webhook_in_a_browser(
    hook: OtherSide,
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
    events: AsyncEvents,
    happen: Callable[[int], Awaitable[None]],
) -> None:
    page = signed_in
    await look_at(page, LIST)
    await look_at(page, f"{LIST}/new")
    await page.fill("[name=name]", "crm")
    await page.get_by_label("Each event waits until the one before it arrived").check()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make the webhook").click()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Send a test event").click()
    assert "The test event arrived." in await page.inner_text("main")
    assert await page.evaluate("window.hit") is None
    await happen(2)
    await eventually(lambda: len(hook.came) == 3)

    async def logged() -> bool:
        return len((await events.list_webhook_deliveries("acme", "crm"))["items"]) == 2

    await eventually(logged)
    await look_at(page, CRM)
    await page.locator("table.list a").first.click()
    await page.wait_for_url("**/deliveries/*")
    assert "content.published" in await page.inner_text("pre >> nth=1")
    await look_at(page, page.url.removeprefix(page.url.split("/b/")[0]))
    await events.set_subscription("data", brands=["acme"], begin="oldest")
    await look_at(page, "/subscriptions")
    await look_at(page, "/subscriptions/data")
    await page.goto(page.url.split("/subscriptions")[0] + CRM)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Remove the webhook crm").click()
    assert "Nothing is sent to another system yet" in await page.inner_text("main")
