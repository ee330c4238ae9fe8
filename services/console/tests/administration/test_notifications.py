"""Notification routes at a real monitor and gateway, and in a real browser."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from chassis.testing import serving
from client import Address
from client.services.gateway import AsyncGateway
from client.services.monitor import AsyncMonitor
from tests.fixtures.accounts.other_side import OtherSide

KEY = "test-service-key-0123456789"
LIST = "/notifications"
FIELDS = {"name": "ops", "account": "hook", "group_seconds": "30", "zone": "Europe/Berlin", "at": "08:00"}


@pytest.fixture
async def monitor(service_urls: dict[str, str]) -> AsyncIterator[AsyncMonitor]:
    async with AsyncMonitor(Address(service_urls["monitor_url"], KEY)) as client:
        yield client


@pytest.fixture
async def hook(service_urls: dict[str, str]) -> AsyncIterator[OtherSide]:
    """The other side of a webhook that is connected as `hook`, for all brands."""
    other = OtherSide()
    async with (
        serving(other) as url,
        AsyncGateway(Address(service_urls["gateway_url"], KEY)) as gateway,
    ):
        await gateway.connect_account("hook", kind="webhook", brands=["*"], settings={"url": f"{url}/in"})
        other.answer("POST /in", {})
        yield other


@pytest.mark.extended
async def test_a_route_is_made_changed_tried_and_removed(
    hook: OtherSide, person: httpx.AsyncClient, monitor: AsyncMonitor
) -> None:
    assert "Nobody is told" in (await person.get(LIST)).text
    wanted = FIELDS | {"kinds": ["waiting", "audits"], "quiet_begin": "22:00", "quiet_end": "07:00"}
    made = [await person.post(f"{LIST}/new", data={"once": "n1", **wanted}) for _ in range(2)]
    assert {each.headers["location"] for each in made} == {f"{LIST}?done=saved"}
    found = await monitor.get_notification_route("ops")
    assert (found["account"], found["kinds"], found["group_seconds"]) == ("hook", ["waiting", "audits"], 30)
    assert found["quiet_hours"] == {"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"}

    taken = await person.post(f"{LIST}/new", data={"once": "n2", **FIELDS})
    assert taken.status_code == 409
    assert "There is a route “ops” already." in taken.text

    older = {"version": found["updated_at"], **FIELDS, "weekday": "monday"}
    changed = await person.post(f"{LIST}/routes/ops", data={"once": "c1", **older})
    assert changed.headers["location"] == f"{LIST}?done=saved"
    assert (await monitor.get_notification_route("ops"))["summary"]["weekday"] == "monday"  # type: ignore[index,typeddict-item]
    late = await person.post(f"{LIST}/routes/ops", data={"once": "c2", **older, "group_seconds": "7"})
    assert late.status_code == 409
    assert 'value="7"' in late.text

    tried = [await person.post(f"{LIST}/routes/ops/test", data={"once": "t1"}) for _ in range(2)]
    assert all("The test message of ops was taken." in each.text for each in tried)
    assert len(hook.came) == 1
    await person.post(f"{LIST}/routes/ops/remove", data={"once": "r1"})
    assert (await monitor.list_notification_routes())["items"] == []


@pytest.mark.extended
async def test_what_is_refused_stays_in_the_form_and_a_failed_test_says_why(
    hook: OtherSide, person: httpx.AsyncClient, monitor: AsyncMonitor
) -> None:
    refused = await person.post(f"{LIST}/new", data={"once": "n1", **FIELDS, "group_seconds": "long <b>"})
    assert refused.status_code == 422
    assert 'value="long &lt;b&gt;"' in refused.text
    unknown = await person.post(f"{LIST}/new", data={"once": "n2", **FIELDS, "account": "nobody"})
    assert "no account nobody is connected" in unknown.text

    await monitor.set_notification_route("ops", account="hook")
    hook.answers.clear()
    tried = await person.post(f"{LIST}/routes/ops/test", data={"once": "t1"})
    assert "did not arrive" in tried.text
    (message,) = (await monitor.list_notification_messages())["items"]
    assert message["problem"]
    assert message["problem"].split("'")[0] in tried.text


async def test_only_who_operates_all_brands_changes_routes(
    console: Any, hook: OtherSide, monitor: AsyncMonitor, signed_in_as: Any
) -> None:
    await monitor.set_notification_route("ops", account="hook")
    await console.orchestrator.set_brand("acme", name="Acme")
    changes = (f"{LIST}/new", f"{LIST}/routes/ops", f"{LIST}/routes/ops/test", f"{LIST}/routes/ops/remove")
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Otto", "operator", ["acme"]) as otto:
        assert (await eve.get(LIST)).status_code == 403
        assert LIST not in (await eve.get("/")).text
        shown = (await otto.get(LIST)).text
        assert "Send a test" not in shown
        assert "Add a route" not in shown
        for client in (eve, otto):
            for path in changes:
                assert (await client.post(path, data={"once": "x", **FIELDS})).status_code == 403, path
    assert hook.came == []
    async with signed_in_as("Olga", "operator") as olga:
        assert "Send a test to ops" in (await olga.get(LIST)).text


@pytest.fixture
async def hostile_brand(console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme <script>window.hit = 1</script>")


@pytest.mark.extended
async def test_a_person_makes_and_tries_a_route_in_a_browser(
    hostile_brand: None,
    hook: OtherSide,
    signed_in: Page,
    look_at: Callable[[Page, str], Awaitable[None]],
) -> None:
    page = signed_in
    await look_at(page, f"{LIST}/new")
    await page.fill("[name=name]", "ops")
    await page.select_option("[name=brand]", "acme")
    await page.get_by_label("Money that runs out").check()
    await page.get_by_label("Drafts and posts that wait").check()
    await page.fill("[name=quiet_begin]", "22:00")
    await page.fill("[name=quiet_end]", "07:00")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make the route").click()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Send a test to ops").click()
    assert "The test message of ops was taken." in await page.inner_text("main")
    assert len(hook.came) == 1
    await look_at(page, LIST)
    await look_at(page, f"{LIST}/routes/ops")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Remove the route ops").click()
    assert "Nobody is told" in await page.inner_text("main")
