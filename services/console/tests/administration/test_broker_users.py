"""Users of other systems at a real broker, made in the console."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from messaging.topology import outside

USERS = "/broker-users"


@pytest.fixture
def monitor_settings(rabbitmq_api_url: str) -> dict[str, str]:
    return {"rabbitmq_api_url": rabbitmq_api_url, "broker_public_url": "amqps://broker.example.org:5671"}


@pytest.fixture
def made_keys(rabbitmq_api_url: str) -> Iterator[list[str]]:
    """Ids of keys whose users are removed at the end."""
    ids: list[str] = []
    yield ids
    for each in ids:
        outside.remove(rabbitmq_api_url, each)


async def make_key(console: Any, made_keys: list[str], name: str, *scopes: str, **more: Any) -> str:
    made = await console.orchestrator.create_key(name=name, scopes=scopes, **more)
    made_keys.append(made["about"]["key_id"])
    return str(made_keys[-1])


@pytest.mark.extended
async def test_an_owner_makes_a_user_sees_what_it_may_do_and_removes_it(
    console: Any, signed_in: Page, page_checks: Any, made_keys: list[str], forget_passwords: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    key_id = await make_key(console, made_keys, "shop", "submit", brands=["acme"])
    await make_key(console, made_keys, "reader", "read")
    await forget_passwords()
    page = signed_in
    await page.goto(f"{console.url}{USERS}")
    text = await page.inner_text("main")
    assert "amqps://USER:PASSWORD@broker.example.org:5671" in text
    # A key that may only read could send nothing.
    assert await page.locator("[name=key_id] option").all_inner_texts() == ["shop"]
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await page_checks.accessibility(page) == []
    await page.get_by_label(re.compile("password")).fill("correct horse battery staple")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make a user").click()
    password = await page.inner_text("code.secret")
    assert len(password) > 30
    assert await page_checks.accessibility(page) == []
    await page.goto(f"{console.url}{USERS}")
    assert password not in await page.content()
    line = await page.inner_text("table.list tbody tr:has-text('shop')")
    for words in ("Open", "cycle.start", "brand.audit", f"outside-{key_id}", "For:"):
        assert words in line
    assert "content.publish" not in line
    await page.get_by_role("link", name="shop").click()
    await page.wait_for_url(f"**{USERS}/{key_id}")
    assert "None." in await page.inner_text("main")
    assert await page_checks.accessibility(page) == []
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make another password").click()
    assert await page.inner_text("code.secret") != password
    await console.orchestrator.revoke_key(key_id)
    await page.goto(f"{console.url}{USERS}")
    line = await page.inner_text("table.list tbody tr:has-text('shop')")
    assert "Revoked" in line
    assert "each of its commands is refused" in line
    await page.goto(f"{console.url}{USERS}/{key_id}")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Remove the user of shop").click()
    assert "The user is removed" in await page.inner_text("main")


@pytest.mark.extended
async def test_a_double_click_makes_one_user_and_shows_its_password_again(
    console: Any, person: httpx.AsyncClient, made_keys: list[str], forget_passwords: Any
) -> None:
    key_id = await make_key(console, made_keys, "shop", "submit", "review")
    form = {"once": "u1", "key_id": key_id}
    pages = [(await person.post(USERS, data=form)).text for _ in range(2)]
    found = [re.search('<code class="secret">([^<]+)', each) for each in pages]
    assert all(found)
    assert found[0][1] == found[1][1]  # type: ignore[index]
    again = await person.post(USERS, data={**form, "once": "u2"})
    assert (again.status_code, "has a user at the broker already" in again.text) == (409, True)
    assert "content.publish" in (await person.get(f"{USERS}/{key_id}")).text
    (own,) = [each for each in (await console.orchestrator.list_keys())["items"] if each["name"] == "ada"]
    persons = await person.post(USERS, data={"once": "u3", "key_id": own["key_id"]})
    assert (persons.status_code, "is that of Ada" in persons.text) == (422, True)
    await forget_passwords()
    for path in (USERS, f"{USERS}/{key_id}/renew", f"{USERS}/{key_id}/remove"):
        asked = await person.post(path, data={**form, "once": path})
        assert (asked.status_code, 'name="password_again"' in asked.text) == (403, True)
    assert (await person.get(f"{USERS}/0123456789AB")).status_code == 404


@pytest.mark.extended
async def test_others_look_or_not_even_that(
    console: Any, signed_in_as: Any, person: httpx.AsyncClient, made_keys: list[str]
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    key_id = await make_key(console, made_keys, "shop", "submit")
    await person.post(USERS, data={"once": "u1", "key_id": key_id})
    async with signed_in_as("Otto", "operator") as otto:
        shown = (await otto.get(USERS)).text
        assert f"outside-{key_id}" in shown
        assert "An owner makes users." in shown
        assert (await otto.get(f"{USERS}/{key_id}")).status_code == 200
        for path in (USERS, f"{USERS}/{key_id}/renew", f"{USERS}/{key_id}/remove"):
            assert (await otto.post(path, data={"once": path, "key_id": key_id})).status_code == 403
    async with signed_in_as("Eve", "editor") as eve, signed_in_as("Bo", "operator", ["acme"]) as bound:
        for each in (eve, bound):
            assert (await each.get(USERS)).status_code == 403
