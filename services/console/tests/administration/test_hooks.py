"""Pages of incoming webhooks at a real events service and orchestrator, and in a real browser."""

import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import eventually, running
from client import Address
from client.services.events import AsyncEvents
from console.hooks import views
from console.hooks.views import HookFields
from events.app import build
from events.settings import Settings

KEY = "test-service-key-0123456789"
LIST = "/b/acme/hooks"
CMS = f"{LIST}/named/cms"
FIELDS = {
    "name": "cms",
    "kind": "path",
    "type": "cycle.start",
    "keywords": "/article/title\ncold  brew",
    "priority": "high",
    "approval": "1",
    "when": "/action = published",
}
SECRET = re.compile(r'<code class="secret">/v1/hooks/acme\.cms/([\w-]+)</code>')


@pytest.fixture
async def service_urls(
    service_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], broker_urls: dict[str, str]
) -> AsyncIterator[dict[str, str]]:
    """The services of the folder, and events."""
    settings = {
        "database_url": await make_database("events"),
        "rabbitmq_url": broker_urls["events"],
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": service_urls["orchestrator_url"],
    }
    async with running(build(Settings.model_validate(settings))) as service:
        yield service_urls | {"events_url": f"http://127.0.0.1:{service.port}"}


@pytest.fixture
async def events(service_urls: dict[str, str], console: Any) -> AsyncIterator[AsyncEvents]:
    await console.orchestrator.set_brand("acme", name="Acme <script>window.hit = 1</script>")
    async with AsyncEvents(Address(service_urls["events_url"], KEY)) as client:
        yield client


@pytest.fixture
async def sender(service_urls: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service_urls["events_url"], trust_env=False) as client:
        yield client


@pytest.mark.extended
async def test_a_hook_is_made_used_changed_renewed_and_removed(
    person: httpx.AsyncClient, events: AsyncEvents, sender: httpx.AsyncClient
) -> None:
    assert "No other system sends anything yet" in (await person.get(LIST)).text
    made = [await person.post(f"{LIST}/new", data={"once": "n1", **FIELDS}) for _ in range(2)]
    (secret,) = SECRET.findall(made[0].text)
    assert SECRET.findall(made[1].text) == [secret]
    assert (await events.get_hook("acme", "cms"))["command"] == {
        "type": "cycle.start",
        "data": {
            "keywords": [{"from": "/article/title"}, "cold brew"],
            "priority": "high",
            "approval": "everything",
        },
        "when": {"/action": "published"},
        "events": None,
    }
    taken = await person.post(f"{LIST}/new", data={"once": "n2", **FIELDS})
    assert (taken.status_code, "There is an incoming webhook “cms” already" in taken.text) == (409, True)
    wrong = {**FIELDS, "name": "b", "when": "<b> = 1"}
    refused = await person.post(f"{LIST}/new", data={"once": "n3", **wrong})
    assert (refused.status_code, "&lt;b&gt; = 1</textarea>" in refused.text) == (422, True)

    body = {"action": "published", "article": {"title": "<b>oat milk</b>"}}
    door = f"/v1/hooks/acme.cms/{secret}"
    assert (await sender.post(door, json=body)).json()["status"] == "accepted"
    assert (await sender.post("/v1/hooks/acme.cms/wrong", json=body)).status_code == 403

    async def done() -> bool:
        return any(
            each["state"] == "done" for each in (await events.list_hook_arrivals("acme", "cms"))["items"]
        )

    await eventually(done)
    shown = (await person.get(CMS)).text
    assert "the secret in the address is wrong" in shown
    assert "/b/acme/keywords/" in shown
    assert secret not in shown

    version = html.unescape(re.findall(r'name="version" value="([^"]*)"', shown)[0])
    change = {**FIELDS, "keywords": "tea", "approval": "", "version": version}
    del change["approval"]
    changed = await person.post(CMS, data={"once": "c1", **change})
    assert changed.headers["location"] == f"{CMS}?done=saved"
    assert (await events.get_hook("acme", "cms"))["command"]["data"] == {
        "keywords": ["tea"],
        "priority": "high",
    }
    overtaken = await person.post(CMS, data={"once": "c2", **change})
    assert (overtaken.status_code, "Another person changed this" in overtaken.text) == (409, True)

    renewed = [await person.post(f"{CMS}/rotate", data={"once": "r1"}) for _ in range(2)]
    (other,) = SECRET.findall(renewed[0].text)
    assert SECRET.findall(renewed[1].text) == [other] != [secret]
    for each in (secret, other):
        answer = await sender.post(f"/v1/hooks/acme.cms/{each}", json=body, headers={"webhook-id": each})
        assert answer.status_code == 202
    removed = await person.post(f"{CMS}/remove", data={"once": "x1"})
    assert removed.headers["location"] == f"{LIST}?done=removed"
    assert (await person.post(CMS, data={"once": "c3", **change})).status_code == 404
    assert (await sender.post(door, json=body)).status_code == 404


async def test_only_who_operates_the_brand_sees_and_changes_hooks(
    console: Any, events: AsyncEvents, signed_in_as: Any
) -> None:
    await events.set_hook("acme", "cms", kind="path", command={"type": "brand.audit"})
    changes = (f"{LIST}/new", CMS, f"{CMS}/rotate", f"{CMS}/remove")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        for path in (LIST, CMS, f"{LIST}/new"):
            assert (await eve.get(path)).status_code == 403
        for path in changes:
            assert (await eve.post(path, data={"once": "x", "name": "a"})).status_code == 403, path
        assert (await otto.get(CMS)).status_code == 200
        assert (await otto.get("/b/other/hooks")).status_code == 404
    assert (await events.get_hook("acme", "cms"))["rotated_at"] is None


def hook_of(**data: Any) -> dict[str, Any]:
    return {
        "name": "cms",
        "kind": "github",
        "command": {
            "type": "cycle.start",
            "data": data,
            "when": {"/a": "1", "/b": 1, "/c": "x y"},
            "events": ["release"],
        },
    }


def test_a_form_keeps_what_it_does_not_have() -> None:
    hook = hook_of(keywords=["tea", {"from": "/t"}], refresh=True, max_cost={"from": "/cost", "default": 1})
    fields = views.fields_of(hook)
    assert fields.when.splitlines() == ['/a = "1"', "/b = 1", "/c = x y"]
    assert views.wanted_command(fields, hook["command"]) == hook["command"] | {
        "data": {**hook["command"]["data"], "priority": "normal"}
    }


@pytest.mark.parametrize("keywords", [{"from": "/tags"}, [{"from": "/t", "default": "x"}], ["/x"]])
def test_keywords_that_lines_cannot_show_stay(keywords: Any) -> None:
    hook = hook_of(keywords=keywords)
    fields = views.fields_of(hook)
    assert (views.keyword_lines(hook["command"]["data"]), fields.keywords) == (None, "")
    assert views.wanted_command(fields, hook["command"])["data"]["keywords"] == keywords


def test_an_audit_has_no_data() -> None:
    fields = HookFields(type="brand.audit", keywords="tea")
    assert views.wanted_command(fields, hook_of(keywords=["tea"])["command"])["data"] == {}


@pytest.mark.extended
async def test_a_person_makes_a_hook_in_a_browser(
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
    events: AsyncEvents,
    sender: httpx.AsyncClient,
) -> None:
    page = signed_in
    await look_at(page, LIST)
    await look_at(page, f"{LIST}/new")
    await page.fill("[name=name]", "cms")
    await page.get_by_label("A secret in the address").check()
    await page.fill("[name=keywords]", "/title")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make the incoming webhook").click()
    door = await page.inner_text("code.secret")
    assert (await sender.post(door, json={"title": "oat milk"})).status_code == 202
    assert (await sender.post(f"{door}x", json={})).status_code == 403

    async def done() -> bool:
        return any(
            each["state"] == "done" for each in (await events.list_hook_arrivals("acme", "cms"))["items"]
        )

    await eventually(done)
    await look_at(page, CMS)
    assert "Refused" in await page.inner_text("table.list")
    await page.get_by_role("link", name="To the keywords").click()
    await page.wait_for_url("**/keywords/**")
    assert "oat milk" in await page.inner_text("main")
    await page.goto(page.url.split("/b/")[0] + CMS)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Remove the incoming webhook cms").click()
    assert "No other system sends anything yet" in await page.inner_text("main")
