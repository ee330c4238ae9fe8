"""Passkeys sign their person in and open the API key; one that cannot is refused."""

from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page, Request, expect

PASSWORD = "correct horse battery staple"


async def connect_authenticator(page: Page, *, prf: bool) -> None:
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "ctap2Version": "ctap2_1",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
        "hasPrf": prf,
    }
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


async def open_account(console: Any, page: Page, *, prf: bool) -> str:
    """Signs in at localhost, for which browsers have passkeys without https; returns the address."""
    url: str = console.url.replace("127.0.0.1", "localhost")
    await connect_authenticator(page, prf=prf)
    await page.goto(f"{url}/sign-in?next=/me")
    await page.fill("[name=name]", "Ada")
    await page.fill("[name=password]", PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_label("Name of the device").fill("laptop <b>")
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_role("button", name="Make the passkey").click()
    return url


@pytest.mark.extended
async def test_a_passkey_signs_in_until_it_is_removed(
    console: Any, signed_in: Page, page_checks: Any, database_roles: Any
) -> None:
    page = signed_in
    await console.orchestrator.set_brand("acme", name="Acme Roasters")
    url = await open_account(console, page, prf=True)
    await expect(page.get_by_label("Name", exact=True)).to_have_value("laptop <b>")
    assert await page_checks.accessibility(page) == []
    await page.get_by_label("Name", exact=True).fill("my laptop")
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_role("button", name="Remove my laptop")).to_be_visible()

    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))  # noqa: PLW0108  (Playwright takes no builtin)
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    # The services take the key that the passkey has opened.
    await expect(page.locator("main")).to_contain_text("Acme Roasters")
    (proof,) = [each.post_data for each in sent if each.url.endswith("/sign-in/passkey")]
    async with httpx.AsyncClient(
        base_url=url, headers={"Origin": url, "Content-Type": "application/x-www-form-urlencoded"}, timeout=60
    ) as thief:
        again = await thief.post("/sign-in/passkey", content=proof)
        assert again.status_code == 401
        assert "no valid answer" in again.text

    database = await asyncpg.connect(database_roles.owner(console.database_url))
    try:
        stored = await database.fetchrow("select * from passkeys")
        await database.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await database.close()
    assert b"be_" not in stored["sealed"]

    await page.goto(f"{url}/me")
    await page.get_by_role("button", name="Remove my laptop").click()
    # In place of the password.
    await page.get_by_role("button", name="Go on with a passkey").click()
    await expect(page.get_by_role("button", name="Remove my laptop")).to_have_count(0)
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert").first).to_contain_text("does not know this passkey")


@pytest.mark.extended
async def test_a_passkey_that_could_open_nothing_is_refused(console: Any, signed_in: Page) -> None:
    url = await open_account(console, signed_in, prf=False)
    await expect(signed_in.locator("[data-passkey-problem]")).to_contain_text("lacks the extension PRF")
    await signed_in.goto(f"{url}/me")
    await expect(signed_in.get_by_role("button", name="Rename")).to_have_count(0)


@pytest.mark.extended
async def test_over_plain_http_the_page_says_that_passkeys_need_https(person: httpx.AsyncClient) -> None:
    shown = (await person.get("/me")).text
    assert "Passkeys need https" in shown
    assert "/me/passkeys/add" not in shown
    refused = await person.post("/me/passkeys/add", data={"name": "laptop"})
    assert refused.status_code == 422
    assert (await person.post("/sign-in/passkey/begin")).status_code == 409


@pytest.mark.extended
async def test_what_is_no_answer_of_a_passkey_is_refused(console: Any, person: httpx.AsyncClient) -> None:
    local = {"Host": console.url.removeprefix("http://").replace("127.0.0.1", "localhost")}
    begun = await person.post("/sign-in/passkey/begin", headers={**local, "Sec-Fetch-Site": "same-origin"})
    challenge = begun.json()["challenge"]
    for credential in ("", "{}", "[]", '{"id": "AA", "rawId": "AA", "response": {}, "type": "public-key"}'):
        form = {"challenge": challenge, "credential": credential, "credential_id": "AA", "prf": "AA"}
        headers = {**local, "Sec-Fetch-Site": "same-origin"}
        assert (await person.post("/sign-in/passkey", data=form, headers=headers)).status_code == 401
        added = await person.post(
            "/me/passkeys", data={**form, "name": "x", "once": credential or "-"}, headers=headers
        )
        assert added.status_code == 422
