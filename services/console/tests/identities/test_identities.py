"""Signing in at an identity provider: only in the browser that began, once, and nothing that is stored opens a key."""

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from html import unescape
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, expect

from console.sealing import SealedError, token_key, unseal
from tests.fixtures.identity_provider import IdentityProvider

PASSWORD = "correct horse battery staple"
Browser: TypeAlias = Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]


async def at_provider(client: httpx.AsyncClient, path: str) -> str:
    """Follows a link to the provider, and returns the address that it sends the browser back to."""
    left = await client.get(path)
    assert left.status_code == 303, left.text
    async with httpx.AsyncClient(trust_env=False, timeout=60) as elsewhere:
        answer = await elsewhere.get(left.headers["location"])
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def through(client: httpx.AsyncClient, path: str) -> httpx.Response:
    return await client.get(await at_provider(client, path))


async def accept(console: Any, client: httpx.AsyncClient, name: str = "Bob", role: str = "editor") -> None:
    link = urlsplit(await console.invite(name, role)).path
    assert "Begin with Acme ID" in (await client.get(link)).text
    answer = await through(client, f"{link}/provider")
    assert (answer.status_code, answer.headers["location"]) == (303, "/"), answer.text


async def run(console: Any, sql: str) -> list[Any]:
    connection = await asyncpg.connect(console.database_url)
    try:
        return list(await connection.fetch(sql))
    finally:
        await connection.close()


async def is_signed_in(client: httpx.AsyncClient) -> bool:
    return (await client.get("/me")).status_code == 200


@pytest.mark.extended
async def test_who_was_invited_signs_in_without_a_password_until_they_are_removed(
    console: Any, person: httpx.AsyncClient, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob, browser() as elsewhere:
        await accept(console, bob)
        assert "no password" in (await bob.get("/me")).text
        (asked,) = provider.queries
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["state"]) >= 43
        assert len(asked["nonce"]) >= 43
        answer = await through(elsewhere, "/sign-in/provider?next=/me")
        assert (answer.status_code, answer.headers["location"]) == (303, "/me")
        assert "Bob" in (await elsewhere.get("/me")).text
        wrong = await elsewhere.post("/sign-in", data={"name": "Bob", "password": ""})
        assert wrong.status_code == 401

        people = (await console.api.get("/v1/people")).json()["items"]
        (bob_id,) = [each["id"] for each in people if each["name"] == "Bob"]
        removed = await person.post(f"/people/{bob_id}/remove", data={"once": "removes"})
        assert removed.status_code == 303
        assert not await is_signed_in(bob)
        answer = await through(elsewhere, "/sign-in/provider")
        assert answer.status_code == 403
        assert "Ask an owner for an invitation" in answer.text
        keys = (await console.orchestrator.list_keys())["items"]
        assert [each["name"] for each in keys if each["revoked_at"] is not None] == ["bob"]


async def test_what_is_stored_opens_no_key(console: Any, browser: Browser) -> None:
    async with browser() as bob:
        await accept(console, bob)
    (identity,) = await run(console, "select * from identities")
    (someone,) = await run(console, "select * from people where name = 'Bob'")
    assert someone["password_sealed"] == b""
    purpose = f"identity {identity['issuer']} {identity['subject']}"
    for tried in (identity["subject"], identity["issuer"], str(identity["person"]), ""):
        with pytest.raises(SealedError):
            unseal(identity["sealed"], token_key(tried), purpose)


@pytest.mark.extended
async def test_a_callback_works_in_the_browser_that_began_and_once(
    console: Any, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob, browser() as victim, browser() as copied:
        await accept(console, bob)
        await bob.post("/sign-out")
        back = await at_provider(bob, "/sign-in/provider")
        # Another's browser, which a link has led here, is not signed in as Bob.
        answer = await victim.get(back)
        assert answer.status_code == 400
        assert "not begun in this browser" in answer.text
        assert not await is_signed_in(victim)
        copied.cookies.update(bob.cookies)
        assert (await bob.get(back)).status_code == 303
        assert await is_signed_in(bob)
        assert (await bob.get(back)).status_code == 400
        # Not even with the cookie, nor if the provider takes codes twice.
        provider.takes_codes_twice = True
        assert (await copied.get(back)).status_code == 401
        assert not await is_signed_in(copied)


@pytest.mark.extended
async def test_two_tabs_sign_in_side_by_side(console: Any, browser: Browser) -> None:
    async with browser() as bob:
        await accept(console, bob)
        await bob.post("/sign-out")
        first = await at_provider(bob, "/sign-in/provider?next=/me")
        second = await at_provider(bob, "/sign-in/provider?next=/search")
        for back, page in ((second, "/search"), (first, "/me")):
            answer = await bob.get(back)
            assert (answer.status_code, answer.headers["location"]) == (303, page)
        for _ in range(20):
            await bob.get("/sign-in/provider?next=/me")
            await bob.post("/sign-out")
        assert len([name for name in bob.cookies if name.startswith("console_sign_in_")]) <= 9


@pytest.mark.extended
async def test_a_sign_in_gives_another_session_and_ends_the_former(console: Any, browser: Browser) -> None:
    async with browser() as bob, browser() as before:
        await accept(console, bob)
        before.cookies.update(bob.cookies)
        assert await is_signed_in(before)
        # Signed in already, so by hand: what a planted cookie would be replaced by.
        assert (await through(bob, "/sign-in/provider")).status_code == 303
        assert bob.cookies["console_session"] != before.cookies["console_session"]
        assert not await is_signed_in(before)
        bob.cookies.set("console_session", "planted")
        await run(console, "select 1")


@pytest.mark.extended
@pytest.mark.parametrize(
    "elsewhere",
    [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a b",
        "/" + "x" * 3000,
    ],
)
async def test_nobody_is_led_elsewhere_after_signing_in(
    console: Any, browser: Browser, elsewhere: str
) -> None:
    async with browser() as bob:
        await accept(console, bob)
        left = await bob.get("/sign-in/provider", params={"next": elsewhere})
        async with httpx.AsyncClient(trust_env=False, timeout=60) as provider_page:
            back = (await provider_page.get(left.headers["location"])).headers["location"]
        assert (await bob.get(back)).headers["location"] == "/"


@pytest.mark.extended
@pytest.mark.parametrize(
    "wrong",
    [{"aud": "another"}, {"iss": "https://evil.example"}, {"nonce": "another"}, {"exp": 1}, {"iat": 1}],
    ids=str,
)
async def test_a_token_that_is_not_right_signs_nobody_in(
    console: Any, browser: Browser, provider: IdentityProvider, wrong: dict[str, Any]
) -> None:
    async with browser() as bob:
        await accept(console, bob)
        await bob.post("/sign-out")
        provider.claims = wrong
        answer = await through(bob, "/sign-in/provider")
        assert answer.status_code == 401
        assert "signs nobody in" in answer.text
        assert not await is_signed_in(bob)
        provider.claims, provider.forge = {}, "none"
        assert (await through(bob, "/sign-in/provider")).status_code == 401


@pytest.mark.extended
async def test_another_issuer_or_an_error_is_refused_in_our_own_words(console: Any, browser: Browser) -> None:
    async with browser() as bob:
        for more, status in (
            ("&iss=https://evil.example", 400),
            ("&error=access_denied&error_description=<b>call+0900</b>", 401),
        ):
            back = await at_provider(bob, "/sign-in/provider")
            state = parse_qs(urlsplit(back).query)["state"][0]
            answer = await bob.get(f"/sign-in/callback?state={state}&code=x{more}")
            assert answer.status_code == status
            assert "0900" not in answer.text
            assert "evil" not in answer.text


@pytest.mark.extended
async def test_while_the_provider_is_away_passwords_work(
    console: Any, person: httpx.AsyncClient, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob:
        await accept(console, bob)
        await bob.post("/sign-out")
        provider.away = True
        answer = await through(bob, "/sign-in/provider")
        assert answer.status_code == 503
        assert "Acme ID does not answer now" in answer.text
        provider.away = False
        assert (await through(bob, "/sign-in/provider")).status_code == 303
    await person.post("/sign-out")
    answer = await person.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
    assert answer.status_code == 303


@pytest.mark.extended
async def test_an_account_belongs_to_one_person(
    console: Any, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob, browser() as carl:
        await accept(console, bob)
        link = urlsplit(await console.invite("Carl", "viewer")).path
        answer = await through(carl, f"{link}/provider")
        assert answer.status_code == 409
        # The link is still good, for another account.
        provider.person = "subject-of-carl"
        assert (await through(carl, f"{link}/provider")).status_code == 303
        used = await through(carl, f"{link}/provider")
        assert (await carl.get(used.headers["location"])).status_code == 404
        provider.person = "subject-of-nobody"
        assert (await through(bob, "/sign-in/provider")).status_code == 403


async def begin_link(client: httpx.AsyncClient, **fields: str) -> str:
    """Goes from the own page to the provider, and returns the address that it sends the browser back to."""
    shown = await client.post("/me/identity", data={"once": "links", **fields})
    assert shown.status_code == 200, shown.text
    (address,) = re.findall(r'class="button" href="([^"]+)"', shown.text)
    async with httpx.AsyncClient(trust_env=False, timeout=60) as elsewhere:
        answer = await elsewhere.get(unescape(address))
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def link(client: httpx.AsyncClient, **fields: str) -> httpx.Response:
    return await client.get(await begin_link(client, **fields))


@pytest.mark.extended
async def test_a_person_with_a_password_links_an_account_signs_in_with_either_and_removes_it(
    console: Any, person: httpx.AsyncClient, browser: Browser, provider: IdentityProvider
) -> None:
    provider.person = "subject-of-ada"
    await run(console, "update sessions set confirmed_at = now() - interval '1 hour'")
    asked = await person.post("/me/identity", data={"once": "l1"})
    assert asked.status_code == 403
    assert "password_again" in asked.text
    linked = await link(person, password_again=PASSWORD)
    assert (linked.status_code, linked.headers["location"]) == (303, "/me?done=linked#identity"), linked.text
    assert "This account of Acme ID lets you in from now on." in (await person.get("/me?done=linked")).text
    async with browser() as elsewhere:
        assert (await through(elsewhere, "/sign-in/provider?next=/me")).headers["location"] == "/me"
        assert "Ada" in (await elsewhere.get("/me")).text
        # Her own key is opened: what needs it works.
        assert (await elsewhere.get("/")).status_code == 200
        await elsewhere.post("/sign-out")
        form = {"name": "Ada", "password": PASSWORD}
        assert (await elsewhere.post("/sign-in", data=form)).status_code == 303
        await elsewhere.post("/sign-out")

        removed = await person.post("/me/identity/remove", data={"once": "r1"})
        assert removed.headers["location"] == "/me?done=unlinked#identity"
        assert (await through(elsewhere, "/sign-in/provider")).status_code == 403


@pytest.mark.extended
async def test_an_account_of_another_or_a_link_that_another_began_is_not_linked(
    console: Any, person: httpx.AsyncClient, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob:
        await accept(console, bob)
        taken = await link(person)
        assert taken.status_code == 409
        assert "Somebody else here signs in with this account of Acme ID" in taken.text
        # Bob, who has no password, keeps his only way in.
        kept = await bob.post("/me/identity/remove", data={"once": "r1"})
        assert kept.status_code == 409
        assert "your only way in" in kept.text

        # No link elsewhere begins it, and what Ada began in a browser links nothing for Bob, who signs in there meanwhile.
        assert (await bob.get("/me/identity")).headers["location"] == "/me"
        provider.person = "subject-of-eve"
        backs = [await begin_link(person, once=each) for each in ("l2", "l3")]
        for name, value in person.cookies.items():
            if name not in bob.cookies:
                bob.cookies.set(name, value)
        refused = await bob.get(backs[0])
        # Nor does one that she ends an hour after she gave her password.
        await run(console, "update sessions set confirmed_at = now() - interval '1 hour'")
        for answer in (refused, await person.get(backs[1])):
            assert answer.status_code == 403
            assert "Begin again on your own page." in answer.text
    assert {each["subject"] for each in await run(console, "select subject from identities")} == {
        "subject-of-bob"
    }


@pytest.mark.extended
async def test_a_grave_act_asks_for_another_sign_in_of_the_same_person(
    console: Any, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob:
        await accept(console, bob)
        await run(console, "update sessions set confirmed_at = now() - interval '1 hour'")
        form = {"once": "codes"}
        asked = await bob.post("/me/recovery-codes", data=form)
        assert asked.status_code == 403
        assert "/sign-in/provider/confirm" in asked.text
        assert "password_again" not in asked.text
        provider.person = "subject-of-eve"
        assert (await through(bob, "/sign-in/provider/confirm")).status_code == 403
        provider.person, provider.claims = "subject-of-bob", {"auth_time": 1_700_000_000}
        assert (await through(bob, "/sign-in/provider/confirm")).status_code == 403
        assert (await bob.post("/me/recovery-codes", data=form)).status_code == 403
        provider.claims = {}
        confirmed = await through(bob, "/sign-in/provider/confirm")
        assert confirmed.status_code == 200
        assert (provider.queries[-1]["prompt"], provider.queries[-1]["max_age"]) == ("login", "0")
        assert (await bob.post("/me/recovery-codes", data=form)).status_code == 200
        chosen = await bob.post("/me/password", data={"new_password": PASSWORD})
        assert chosen.status_code == 303
        await bob.post("/sign-out")
        answer = await bob.post("/sign-in", data={"name": "Bob", "password": PASSWORD})
        assert answer.status_code == 303
        assert (await through(bob, "/sign-in/provider")).status_code == 303


@pytest.mark.extended
async def test_a_long_ago_sign_in_at_the_provider_does_not_count_for_grave_acts(
    console: Any, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as bob:
        provider.claims = {"auth_time": 1_700_000_000}
        await accept(console, bob)
        assert (await bob.post("/me/recovery-codes", data={"once": "codes"})).status_code == 403


@pytest.mark.extended
async def test_a_session_of_the_provider_ends_after_its_own_time(console: Any, browser: Browser) -> None:
    async with browser() as bob:
        await accept(console, bob)
        (session,) = await run(console, "select ends_at - created_at as good_for from sessions")
        assert 11.9 < session["good_for"].total_seconds() / 3600 < 12.1
        await run(console, "update sessions set ends_at = now() - interval '1 second'")
        assert not await is_signed_in(bob)


@pytest.mark.extended
async def test_a_reset_ends_the_identity(console: Any, browser: Browser) -> None:
    async with browser() as bob, browser() as other:
        await accept(console, bob)
        key = await console.orchestrator.create_key(
            name="bob-2", scopes=["read"], brands=None, per_minute=6000
        )
        reset = await console.api.post(
            "/v1/people/invitations", json={"name": "Bob", "key": key["key"], "reset": True}
        )
        link = urlsplit(reset.json()["url"]).path
        answer = await other.post(link, data={"name": "Bob", "password": PASSWORD})
        assert answer.status_code == 303
        assert not await is_signed_in(bob)
        assert (await through(bob, "/sign-in/provider")).status_code == 403


@pytest.mark.extended
async def test_many_failures_slow_the_network_and_nobodys_password(
    console: Any, person: httpx.AsyncClient, browser: Browser, provider: IdentityProvider
) -> None:
    async with browser() as eve:
        statuses = [(await through(eve, "/sign-in/provider")).status_code for _ in range(45)]
        assert statuses[0] == 403
        assert statuses[-1] == 429
    await person.post("/sign-out")
    answer = await person.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
    assert answer.status_code == 303


@pytest.mark.extended
async def test_in_a_browser(
    console: Any,
    new_browser_context: Callable[..., Awaitable[Any]],
    page_checks: Any,
    provider: IdentityProvider,
) -> None:
    """The links lead through the provider and back under the content policy; a form's input outlives the session."""
    context = await new_browser_context()
    page: Page = await context.new_page()
    await page.goto(await console.invite("Bob", "owner"))
    assert await page_checks.accessibility(page) == []
    await page.click("text=Begin with Acme ID")
    await page.wait_for_url(f"{console.url}/")
    await page.goto(f"{console.url}/people")
    await page.fill("[name=name]", "Carl")
    await run(console, "delete from sessions")
    await page.evaluate("document.querySelector('form[action$=\"/people/invite\"]').submit()")
    await page.wait_for_selector("text=Your session has ended")
    assert await page_checks.accessibility(page) == []
    async with context.expect_page() as opened:
        await page.click("text=Sign in with Acme ID")
    other = await opened.value
    await other.wait_for_url(f"{console.url}/")
    await page.click("text=Send it now")
    await page.wait_for_selector("code")
    shown = await page.text_content("code")
    assert re.search(r"/invitations/[\w-]{43}", shown or "")
    for path in ("/sign-in", "/me"):
        await context.clear_cookies() if path == "/sign-in" else None
        await page.goto(console.url + path)
        assert await page_checks.accessibility(page) == []


@pytest.mark.extended
async def test_a_person_links_an_account_in_a_browser_signs_in_with_it_and_removes_it(
    console: Any, signed_in: Page, page_checks: Any, provider: IdentityProvider
) -> None:
    page = signed_in
    provider.person = "subject-of-ada"
    await run(console, "update sessions set confirmed_at = now() - interval '1 hour'")
    await page.goto(f"{console.url}/me")
    form = page.locator("form[action$='/me/identity']")
    await form.locator("[name=password_again]").fill(PASSWORD)
    async with page.expect_navigation():
        await form.get_by_role("button", name="Acme ID").click()
    assert await page_checks.accessibility(page) == []
    await page.locator("main a.button").click()
    await page.wait_for_url(f"{console.url}/me?done=linked#identity")
    await expect(page.get_by_text("This account of Acme ID lets you in from now on.")).to_be_visible()
    assert await page_checks.accessibility(page) == []

    await page.get_by_role("button", name="Sign out").click()
    await page.goto(f"{console.url}/sign-in")
    await page.get_by_role("link", name="Sign in with Acme ID").click()
    await page.wait_for_url(f"{console.url}/")
    await expect(page.locator(".bar .person")).to_have_text("Ada")

    await page.goto(f"{console.url}/me")
    async with page.expect_navigation():
        await page.locator("form[action$='/me/identity/remove'] button").click()
    assert page.url == f"{console.url}/me?done=unlinked#identity"
    await expect(page.locator("form[action$='/me/identity/remove']")).to_have_count(0)
