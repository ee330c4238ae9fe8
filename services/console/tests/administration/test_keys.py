"""API keys at a real orchestrator, and in a real browser."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from client import Address, RefusedError
from client.services.orchestrator import AsyncOrchestrator

KEYS = "/keys"
PASSWORD = "correct horse battery staple"
SECRET = re.compile("be_[0-9A-Za-z]{12}_[0-9A-Za-z_-]+")
FIELDS = {"name": "newsroom", "scopes": ["read", "operate"], "last_day": "2030-01-31", "per_minute": "30"}


async def named(console: Any, name: str) -> Any:
    return next(each for each in (await console.orchestrator.list_keys())["items"] if each["name"] == name)


@pytest.mark.extended
async def test_a_key_is_shown_once_made_once_and_works(
    console: Any, person: httpx.AsyncClient, service_urls: dict[str, str]
) -> None:
    made, again = [await person.post(KEYS, data={"once": "k1", **FIELDS}) for _ in range(2)]
    (secret,) = SECRET.findall(made.text)
    # The second of two presses gets the same page, so that the secret is not lost; what is stored is sealed, and for minutes only.
    assert SECRET.findall(again.text) == [secret]
    database = await asyncpg.connect(console.database_url)
    try:
        assert secret not in str(await database.fetch("select * from done_once"))
        await database.execute("update done_once set begun_at = begun_at - interval '3 minutes'")
    finally:
        await database.close()
    late = await person.post(KEYS, data={"once": "k1", **FIELDS})
    assert late.headers["location"] == f"{KEYS}?done=shown"
    assert not SECRET.search(late.text)
    shown = (await person.get(late.headers["location"])).text
    assert "not shown again" in shown
    assert secret not in shown
    found = await named(console, "newsroom")
    assert (found["scopes"], found["brands"], found["per_minute"]) == (["read", "operate"], None, 30)
    assert found["expires_at"].startswith("2030-02-01T00:00:00")
    async with AsyncOrchestrator(Address(service_urls["orchestrator_url"], secret)) as program:
        await program.list_brands()

        rotated = await person.post(f"{KEYS}/{found['key_id']}/rotate", data={"once": "k2", "grace": "none"})
        (other,) = SECRET.findall(rotated.text)
        assert other != secret
        with pytest.raises(RefusedError):
            await program.list_brands()

    revoked = [await person.post(f"{KEYS}/{found['key_id']}/revoke", data={"once": "k3"}) for _ in range(2)]
    assert {each.headers["location"] for each in revoked} == {f"{KEYS}?done=revoked"}
    assert (await named(console, "newsroom"))["revoked_by"] == "ada"


@pytest.mark.extended
async def test_a_key_is_limited_as_often_as_is_wanted(console: Any, person: httpx.AsyncClient) -> None:
    await console.orchestrator.create_key(name="newsroom", scopes=["read"])
    key = await named(console, "newsroom")
    path = f"{KEYS}/{key['key_id']}/limit"
    set_to = await person.post(path, data={"once": "l1", "per_minute": "42"}, follow_redirects=True)
    assert "The limit is set." in set_to.text
    assert 'value="42"' in set_to.text
    assert (await named(console, "newsroom"))["per_minute"] == 42
    for number, wrong in enumerate(("many <b>", "0", "999999999")):
        refused = await person.post(path, data={"once": f"no{number}", "per_minute": wrong})
        assert (refused.status_code, 'role="alert"' in refused.text) == (422, True), wrong
    await person.post(path, data={"once": "l2", "per_minute": ""})
    assert (await named(console, "newsroom"))["per_minute"] == key["per_minute"]
    own = await named(console, "ada")
    left = await person.post(f"{KEYS}/{own['key_id']}/limit", data={"once": "l3", "per_minute": "1"})
    assert (left.status_code, "Remove the person instead." in left.text) == (422, True)


async def test_what_is_refused_stays_in_the_form(console: Any, person: httpx.AsyncClient) -> None:
    wanted = FIELDS | {"name": "News Room <b>", "per_minute": "many"}
    refused = await person.post(KEYS, data={"once": "k1", **wanted})
    assert refused.status_code == 422
    assert 'value="News Room &lt;b&gt;"' in refused.text
    assert 'value="many"' in refused.text
    assert "<details open>" in refused.text
    nothing = await person.post(KEYS, data={"once": "k2", "name": "newsroom"})
    assert (nothing.status_code, "A key must allow something" in nothing.text) == (422, True)


@pytest.mark.extended
async def test_the_password_is_asked_again_and_nothing_typed_is_lost(
    console: Any, person: httpx.AsyncClient, forget_passwords: Callable[[], Awaitable[None]]
) -> None:
    await forget_passwords()
    asked = await person.post(KEYS, data={"once": "k1", **FIELDS})
    assert asked.status_code == 403
    assert "newsroom" in asked.text
    key = await named(console, "ada")
    for verb in ("rotate", "revoke"):
        answer = await person.post(f"{KEYS}/{key['key_id']}/{verb}", data={"once": verb})
        assert answer.status_code == 403
    made = await person.post(KEYS, data={"once": "k1", **FIELDS, "password_again": PASSWORD})
    assert SECRET.search(made.text)
    assert PASSWORD not in made.text


@pytest.mark.extended
async def test_keys_of_people_are_left_to_the_page_of_people(console: Any, person: httpx.AsyncClient) -> None:
    key = await named(console, "ada")
    shown = (await person.get(KEYS)).text
    assert "Of the person" in shown
    assert "Revoke ada" not in shown
    for verb in ("rotate", "revoke"):
        answer = await person.post(f"{KEYS}/{key['key_id']}/{verb}", data={"once": verb})
        assert answer.status_code == 422
        assert "Remove the person instead." in answer.text
    assert (await named(console, "ada"))["revoked_at"] is None


@pytest.mark.extended
async def test_only_owners_see_and_make_keys(console: Any, signed_in_as: Any) -> None:
    async with signed_in_as("Olga", "operator") as olga:
        assert KEYS not in (await olga.get("/")).text
        assert (await olga.get(KEYS)).status_code == 403
        for path in (
            KEYS,
            f"{KEYS}/4fX0w8QbVn2L/rotate",
            f"{KEYS}/4fX0w8QbVn2L/revoke",
            f"{KEYS}/4fX0w8QbVn2L/limit",
        ):
            assert (await olga.post(path, data={"once": "x", **FIELDS})).status_code == 403, path


@pytest.mark.extended
async def test_a_person_makes_and_revokes_a_key_in_a_browser(
    console: Any, signed_in: Page, look_at: Callable[[Page, str], Awaitable[None]]
) -> None:
    page = signed_in
    await page.goto(console.url + KEYS)
    await page.locator("summary", has_text="Make a key").click()
    await page.fill("[name=name]", "newsroom")
    await page.get_by_label("Change brands, settings and pauses").check()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Make a key").dblclick()
    assert SECRET.fullmatch(await page.inner_text(".secret"))
    await look_at(page, KEYS)
    await page.evaluate("document.querySelector('details').open = true")
    wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    async with page.expect_navigation():
        await page.get_by_role("button", name="Revoke newsroom").click()
    assert "It works nowhere any more." in await page.inner_text("main")
