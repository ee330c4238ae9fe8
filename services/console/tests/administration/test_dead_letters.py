"""Dead letters of a real broker: a service fails, an operator looks, the service is mended, and the message is replayed."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect
from pydantic import SecretStr
from yarl import URL

from chassis.testing import eventually, running
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Record, Service, ServiceSettings, Unprocessable, on_each
from messaging.running_code import running_code
from messaging.testing import Broker

LIST = "/dead-letters"
KEY = "test-service-key-0123456789"
HOSTILE = "<script>window.hit = 1</script>"
MakeDatabase = Callable[..., Awaitable[str]]


class FailingPublisher:
    """A publisher that refuses all commands until it is mended."""

    def __init__(self, broker: Broker, user: str | None) -> None:
        self._broker = broker
        self._user = user
        self.is_mended = False
        self.handled: list[UUID] = []

    async def handle(self, message: DomainMessage[ContentPublish], _: Context) -> Record | None:
        if not self.is_mended:
            raise Unprocessable(f"unknown target {HOSTILE}")
        self.handled.append(message.payload.content_id)
        return None

    async def send(self, brand: str = "acme") -> UUID:
        """Sends it a command, and returns the id of its article."""
        content = new_event_id()
        document = {
            "event_id": str(new_event_id()),
            "type": "content.publish",
            "source": "orchestrator",
            "timestamp": "2026-01-02T03:04:05Z",
            "correlation_id": f"chain-{brand}",
            "payload": {"brand_slug": brand, "content_id": str(content), "target": "site"},
        }
        await self._broker.publish(
            "commands", "publisher-commands", json.dumps(document).encode(), user_id=self._user
        )
        return content


@pytest.fixture
async def publisher(
    console: Any, make_database: MakeDatabase, broker_urls: dict[str, str]
) -> AsyncIterator[FailingPublisher]:
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.set_brand("other", name="Other")
    settings = ServiceSettings(
        rabbitmq_url=SecretStr(broker_urls["publisher"]),
        database_url=SecretStr(await make_database()),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    sender = broker_urls["orchestrator"]
    async with Broker.connected(sender) as broker:
        failing = FailingPublisher(broker, URL(sender).user)
        service = Service("publisher", settings, CATALOGUE)
        service.consume("publisher-commands", on_each(failing.handle, ContentPublish))
        async with running(service):
            yield failing


async def open_letters(person: httpx.AsyncClient, n: int, query: str = "") -> list[str]:
    """Waits until the list has so many open letters, and returns their ids."""

    async def found() -> list[str]:
        shown = (await person.get(LIST + query)).text
        ids = re.findall(r'name="chosen" value="([0-9a-f-]+)"', shown)
        return ids if len(ids) == n else []

    return list(await eventually(found))


async def recorded(monitor_database_url: str, n: int) -> None:
    """Waits until the monitor has so many dead letters."""

    async def are_there() -> bool:
        connection = await asyncpg.connect(monitor_database_url)
        try:
            return await connection.fetchval("select count(*) from dead_messages") == n
        finally:
            await connection.close()

    await eventually(are_there)


def form_of(page: str, **more: str) -> dict[str, str]:
    """The hidden fields of the list's form."""
    fields = page.split('action="/dead-letters"')[1]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', fields)) | more


@pytest.mark.extended
async def test_a_message_fails_is_looked_at_replayed_fails_again_and_is_handled_once_mended(
    publisher: FailingPublisher, person: httpx.AsyncClient
) -> None:
    assert "Nothing has failed for good" in (await person.get(LIST)).text
    content = await publisher.send()
    [letter] = await open_letters(person, 1)
    listed = (await person.get(LIST)).text
    assert "Unprocessable" in listed
    assert "One message" in listed
    shown = (await person.get(f"{LIST}/{letter}")).text
    for part in (
        "content.publish",
        "publisher-commands",
        "another attempt cannot help",
        str(content),
        'href="/b/acme">Acme</a>',
    ):
        assert part in shown, part
    assert HOSTILE not in shown

    decide = f"{LIST}/{letter}/decide"
    sent = [
        await person.post(decide, data={"once": "r1", "do": "replay", "reason": "the target is there now"})
        for _ in range(2)
    ]
    assert {each.headers["location"] for each in sent} == {f"{LIST}/{letter}?done=replayed"}
    [again] = await open_letters(person, 1)
    assert again != letter
    first = (await person.get(f"{LIST}/{letter}")).text
    assert f'<a href="{LIST}/{again}">Its replay failed, too</a>' in first
    assert "the target is there now" in first
    assert ">Ada</dd>" in first
    late = await person.post(decide, data={"once": "r2", "do": "replay"})
    assert late.status_code == 409
    assert "cannot be replayed" in late.text

    publisher.is_mended = True
    await person.post(f"{LIST}/{again}/decide", data={"once": "r3", "do": "replay"})

    async def handled() -> bool:
        return "handled as" in (await person.get(f"{LIST}/{again}")).text

    await eventually(handled)
    assert publisher.handled == [content]
    whole = (await person.get(f"{LIST}/{again}/message.json")).json()
    assert whole["payload"]["payload"]["content_id"] == str(content)
    assert str(again) in (await person.get(f"{LIST}?state=any&chain=chain-acme")).text


@pytest.mark.extended
async def test_pages_tell_whether_the_code_that_failed_has_changed_since(
    console: Any, rabbitmq_url: str, person: httpx.AsyncClient, signed_in_as: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    present = running_code(CATALOGUE.system, "orchestrator")
    former = "0" * 16
    async with Broker.connected(rabbitmq_url) as broker:

        async def fail(service: str, code: str | None) -> None:
            document = {
                "event_id": str(new_event_id()),
                "type": "content.publish",
                "source": "orchestrator",
                "timestamp": "2026-01-02T03:04:05Z",
                "payload": {"brand_slug": "acme", "content_id": str(new_event_id()), "target": "site"},
            }
            facts = {"failure-reason": "permanent", "failure-message": "x", "failure-service": service}
            facts |= {"failure-code": code, "failure-version": "0.0.9"} if code else {}
            await broker.publish(
                "dead-letters", "publisher-commands", json.dumps(document).encode(), headers=facts
            )

        for service, code in (
            ("orchestrator", former),
            ("orchestrator", former),
            ("orchestrator", present.hash),
            ("publisher", former),
            ("publisher", None),
        ):
            await fail(service, code)
    await open_letters(person, 5)
    told = "2 of 5 failures ran code that has changed since. Of 2 it is not known. No answer from: publisher."
    listed = (await person.get(LIST)).text
    assert told in listed
    group = re.search(r"\?group=([0-9a-f]+)", listed)
    assert group is not None
    shown = (await person.get(f"{LIST}?group={group[1]}")).text
    assert told in shown
    assert shown.count("changed since</span>") == 1
    assert shown.count("runs now</span>") == 1
    old = await open_letters(person, 3, f"?group={group[1]}&code={former}")
    letters = {one: (await person.get(f"{LIST}/{one}")).text for one in old}
    assert sum("This code has changed since." in text for text in letters.values()) == 2
    assert sum("not known. No answer from: publisher." in text for text in letters.values()) == 1
    [now] = await open_letters(person, 1, f"?code={present.hash}")
    assert "This code runs now." in (await person.get(f"{LIST}/{now}")).text
    # Who is bound to a brand may not ask the services.
    async with signed_in_as("Otto", "operator", ["acme"]) as otto:
        bound = (await otto.get(f"{LIST}/{now}")).text
        assert "0.0.9" in bound
        assert "changed since." not in bound


@pytest.mark.extended
async def test_what_is_hidden_is_shown_in_full_on_demand_and_noted(
    console: Any, rabbitmq_url: str, person: httpx.AsyncClient, signed_in_as: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    document = {
        "event_id": str(new_event_id()),
        "type": "content.generate",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "payload": {"brand_slug": "acme", "comment": "zoe dislikes the headline", "keyword": "coffee"},
    }
    async with Broker.connected(rabbitmq_url) as broker:
        facts = {"failure-reason": "permanent", "failure-message": "x"}
        await broker.publish(
            "dead-letters", "orchestrator-commands", json.dumps(document).encode(), headers=facts
        )
    [letter] = await open_letters(person, 1)
    shown = (await person.get(f"{LIST}/{letter}")).text
    assert "coffee" in shown
    assert "payload.comment" in shown
    assert "zoe" not in shown + (await person.get(f"{LIST}/{letter}/message.json")).text
    async with signed_in_as("Otto", "operator") as otto, signed_in_as("Eve", "editor") as eve:
        assert "zoe dislikes" in (await otto.post(f"{LIST}/{letter}/reveal", data={"once": "r"})).text
        refused = await eve.post(f"{LIST}/{letter}/reveal", data={"once": "r"})
        assert (refused.status_code, "zoe" in refused.text) == (403, False)
    assert "zoe" not in (await person.get(f"{LIST}/{letter}/reveal", follow_redirects=True)).text
    log = (await person.get("/audit-log")).text
    assert "/reveal" in log
    assert "otto" in log


@pytest.mark.extended
async def test_all_that_matched_are_replayed_and_what_came_later_stays(
    publisher: FailingPublisher, person: httpx.AsyncClient
) -> None:
    contents = {await publisher.send() for _ in range(4)}
    await open_letters(person, 4)
    page = (await person.get(LIST)).text
    form = form_of(page, which="all", do="replay")
    later = await publisher.send()
    await open_letters(person, 5)
    publisher.is_mended = True
    for _ in range(2):
        told = (await person.post(LIST, data=form, follow_redirects=True)).text
        assert "4 messages are sent again." in told
    await open_letters(person, 1)
    await eventually(lambda: set(publisher.handled) == contents)
    assert later not in publisher.handled

    [left] = await open_letters(person, 1)
    without = await person.post(LIST, data={"once": "d1", "do": "discard", "chosen": left})
    assert without.status_code == 422
    assert "Reason" in without.text
    discard = {"once": "d2", "do": "discard", "chosen": left, "reason": "a test"}
    told = (await person.post(LIST, data=discard, follow_redirects=True)).text
    assert "One message is discarded." in told
    assert (
        "Nothing was done"
        in (await person.post(LIST, data=discard | {"once": "d3"}, follow_redirects=True)).text
    )
    assert (await person.post(LIST, data={"once": "x", "do": "burn"})).status_code == 422


@pytest.mark.extended
async def test_the_filter_finds_groups_and_a_brands_operator_sees_the_brands_own(
    publisher: FailingPublisher, person: httpx.AsyncClient, signed_in_as: Any
) -> None:
    for brand in ("acme", "acme", "other"):
        await publisher.send(brand)
    await open_letters(person, 3)
    listed = (await person.get(LIST)).text
    group = re.search(r'href="\?(group=[^"&]+)"', listed)
    assert group
    await open_letters(person, 3, f"?{group[1]}")
    await open_letters(person, 3, "?type=content.publish&queue=publisher-commands")
    assert "No dead letter matches" in (await person.get(f"{LIST}?type=nothing")).text
    assert (await person.get(f"{LIST}?after=nonsense&state=nonsense")).status_code == 200
    [other] = await open_letters(person, 1, "?chain=chain-other")
    # A forged field that nobody can read does not widen what all that match means.
    forged = form_of((await person.get(LIST)).text, which="all", do="discard", reason="forged", id="x")
    told = await person.post(LIST, data=forged, follow_redirects=True)
    assert (told.status_code, "cannot be read" in told.text) == (422, True)
    await open_letters(person, 3)
    async with signed_in_as("Otto", "operator", ["acme"]) as otto, signed_in_as("Eve", "editor") as eve:
        await open_letters(otto, 2)
        assert (await otto.get(f"{LIST}/{other}")).status_code == 404
        assert (
            await otto.post(f"{LIST}/{other}/decide", data={"once": "o", "do": "replay"})
        ).status_code == 404
        every = form_of((await otto.get(LIST)).text, which="all", do="discard", reason="not mine")
        assert "2 messages are discarded" in (await otto.post(LIST, data=every, follow_redirects=True)).text
        for path in (LIST, f"{LIST}/{other}", f"{LIST}/{other}/message.json"):
            assert (await eve.get(path)).status_code == 403, path
        for path in (LIST, f"{LIST}/{other}/decide"):
            assert (await eve.post(path, data={"once": path, "do": "replay"})).status_code == 403, path
        assert LIST not in (await eve.get("/")).text
    await open_letters(person, 1)


@pytest.mark.extended
async def test_letters_are_searched_for_and_all_that_match_are_decided_about(
    publisher: FailingPublisher, person: httpx.AsyncClient
) -> None:
    contents = [await publisher.send() for _ in range(3)]
    letters = await open_letters(person, 3)
    shown = (await person.get(f"{LIST}/{letters[0]}")).text
    [message] = re.findall(r"<dt>Id of the message</dt><dd><code>([0-9a-f-]+)<", shown)
    [about] = [each for each in contents if str(each) in shown]
    for query in (f"?id={message}", f"?id={letters[0]}", f"?text={about}", f"?text={about}&error=UNKNOWN"):
        assert await open_letters(person, 1, query) == [letters[0]]
    await open_letters(person, 3, "?error=UNKNOWN target&least=1&most=1&since=2026-01-01T00:00")
    for query in ("?error=nothing", "?least=2", "?before=2026-01-01T00:00", f"?text={str(about).upper()}"):
        assert "No dead letter matches" in (await person.get(LIST + query)).text, query
    for query in ("?id=nonsense", "?least=-1", "?most=x", "?since=yesterday", "?before=2026-13-01T00:00"):
        wrong = await person.get(LIST + query)
        assert (wrong.status_code, "cannot be read" in wrong.text) == (422, True), query
        assert letters[0] not in wrong.text

    form = form_of((await person.get(f"{LIST}?text={about}")).text, which="all", do="discard", reason="no")
    told = await person.post(LIST, data=form, follow_redirects=True)
    assert "One message is discarded." in told.text
    assert told.url.params["text"] == str(about)
    assert set(await open_letters(person, 2)) == set(letters[1:])
    chain = form_of(
        (await person.get(f"{LIST}?chain=chain-acme")).text, which="all", do="discard", reason="no"
    )
    told = await person.post(LIST, data=chain, follow_redirects=True)
    assert "2 messages are discarded." in told.text


async def test_the_first_page_names_dead_letters_to_those_who_decide(
    publisher: FailingPublisher, person: httpx.AsyncClient, signed_in_as: Any
) -> None:
    await publisher.send()
    await open_letters(person, 1)
    assert "One message failed for good" in (await person.get("/")).text
    async with signed_in_as("Eve", "editor") as eve:
        assert "failed for good" not in (await eve.get("/")).text


async def test_discarded_messages_are_restored_once(
    publisher: FailingPublisher, person: httpx.AsyncClient
) -> None:
    for _ in range(3):
        await publisher.send()
    letters = await open_letters(person, 3)
    form = form_of((await person.get(LIST)).text, which="all", do="discard", reason="a mistake")
    await person.post(LIST, data=form)
    gone = f"{LIST}?state=discarded"
    listed = (await person.get(gone)).text
    assert (listed.count('name="chosen"'), "Discard " in listed.split("<fieldset")[1]) == (3, False)
    without = await person.post(f"{LIST}/{letters[0]}/decide", data={"once": "r0", "do": "restore"})
    assert (without.status_code, "Reason" in without.text) == (422, True)

    restore = {"do": "restore", "reason": "it is needed"}
    one = await person.post(f"{LIST}/{letters[0]}/decide", data={"once": "r1", **restore})
    assert one.headers["location"] == f"{LIST}/{letters[0]}?done=restored"
    shown = (await person.get(one.headers["location"])).text
    for part in (
        "The message is restored.",
        "it is needed",
        "Restored by",
        "a mistake",
        "Replay this message",
    ):
        assert part in shown, part
    # What was to be done with open messages does nothing to discarded ones.
    every = form_of(listed, which="all", do="discard", reason="no")
    assert "Nothing was done" in (await person.post(LIST, data=every, follow_redirects=True)).text
    every = form_of(listed, which="all", **restore)
    for once, told in (("r2", "2 messages are restored."), ("r2", "2 messages"), ("r3", "Nothing was done")):
        answer = await person.post(LIST, data=every | {"once": once}, follow_redirects=True)
        assert told in answer.text, once
    await open_letters(person, 3)
    log = (await person.get("/audit-log")).text
    assert "Restored failed work that was discarded" in log
    assert "Decided about all failed work that matches" in log


@pytest.mark.extended
async def test_a_discarded_message_is_restored_and_replayed_in_a_browser(
    publisher: FailingPublisher, console: Any, signed_in: Page, page_checks: Any, monitor_database_url: str
) -> None:
    page, url = signed_in, console.url
    await publisher.send()
    await recorded(monitor_database_url, 1)
    await page.goto(url + LIST)
    await page.locator("tbody th a").first.click()
    await page.get_by_label("Reason why nothing is to be done").fill("a mistake")
    await page.get_by_role("button", name="Discard this message").click()
    await expect(page.locator("main")).to_contain_text("The message is discarded.")
    await page.get_by_label("Reason why it is to be decided again").fill("it is needed")
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await page_checks.accessibility(page) == []
    await page.get_by_role("button", name="Restore this message").click()
    await expect(page.locator("main")).to_contain_text("The message is restored.")
    publisher.is_mended = True
    await page.get_by_role("button", name="Replay this message").click()
    await expect(page.locator("main")).to_contain_text("handled as", timeout=60_000)
    assert len(publisher.handled) == 1


@pytest.mark.extended
async def test_dead_letters_in_a_browser(
    publisher: FailingPublisher, console: Any, signed_in: Page, page_checks: Any, monitor_database_url: str
) -> None:
    page, url = signed_in, console.url
    for _ in range(3):
        await publisher.send()
    await recorded(monitor_database_url, 3)
    await page.goto(url + LIST)
    await page.locator("[name=chosen]").first.check()
    await expect(page.get_by_role("button", name="Replay one message")).to_be_visible()
    await page.get_by_label("all 3 that match").check()
    publisher.is_mended = True
    await page.get_by_role("button", name="Replay 3 messages").click()
    await expect(page.locator("main")).to_contain_text("3 messages are sent again.")
    # The list follows by itself, without a reload.
    await expect(page.locator("main")).to_contain_text("Nothing has failed for good", timeout=60_000)
    assert len(publisher.handled) == 3
    await page.goto(f"{url}{LIST}?state=resolved")
    await page.locator("tbody th a").first.click()
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        for path in ("", "?state=resolved", "?text=nothing"):
            await page.goto(url + LIST + path)
            assert not await page.evaluate("window.hit")
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            assert await page_checks.accessibility(page) == []


@pytest.mark.extended
async def test_a_group_is_replayed_step_by_step_in_a_browser(
    publisher: FailingPublisher, console: Any, signed_in: Page, page_checks: Any, monitor_database_url: str
) -> None:
    page, url = signed_in, console.url
    for _ in range(3):
        await publisher.send()
    await recorded(monitor_database_url, 3)
    await page.goto(url + LIST)
    await page.locator("section[aria-labelledby=groups] a").first.click()
    await page.get_by_role("button", name="Replay step by step").click()
    await expect(page.locator("main")).to_contain_text("The step-by-step replay runs.")
    # The cause is not gone: the first one fails in the same way, and the others stay where they are.
    canary = page.locator("section[aria-labelledby=canary]")
    await expect(canary).to_contain_text("the same failure came back", timeout=60_000)
    await expect(canary).to_contain_text("1 of 3 sent again")
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await page_checks.accessibility(page) == []
    publisher.is_mended = True
    await page.get_by_role("button", name="Replay step by step").click()
    await expect(canary).to_contain_text("3 of 3 sent again, 0 without an outcome yet", timeout=60_000)
    await expect(canary).to_contain_text("Done", timeout=60_000)
    assert len(publisher.handled) == 3
