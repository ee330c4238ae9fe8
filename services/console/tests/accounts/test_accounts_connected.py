"""Accounts beside real services: connected, tested, removed, and refused without the right."""

import html
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import asyncpg
import httpx
import pytest
from starlette.responses import JSONResponse

from client import Address
from client.services.gateway import AsyncGateway

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
TOKEN = "token-of-acme-0123456789"
WHO = "GET /api/v1/accounts/verify_credentials"
ACCOUNTS = "/b/acme/accounts"
APP_SECRET = "app-secret-0123456789"
POSTS = ("connect/mastodon", "app/x", "login/x", "login/x/complete", "mastodon/test", "mastodon/remove")


@pytest.fixture
async def gateway(service_urls: dict[str, str]) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway(Address(service_urls["gateway_url"], KEY)) as client:
        yield client


async def connected(person: httpx.AsyncClient, other: Any, **more: str) -> httpx.Response:
    other.answer(WHO, {"id": "1", "acct": "acme", "username": "acme", "url": f"{other.url}/@acme"})
    form = {"once": "c1", "name": "mastodon", "setting-url": other.url, "secret": TOKEN, **more}
    return await person.post(f"{ACCOUNTS}/connect/mastodon", data=form)


@pytest.mark.extended
async def test_slots_of_an_account_that_is_not_connected_say_so(
    acme: None, person: httpx.AsyncClient, other: Any
) -> None:
    await connected(person, other)
    unknown = "No account of this brand is named"
    assert unknown in (await person.get("/b/acme/calendar/slots/mastodno")).text
    assert unknown not in (await person.get("/b/acme/calendar/slots/mastodon")).text
    assert '<option value="mastodon">' in (await person.get("/b/acme/calendar")).text


@pytest.mark.extended
async def test_an_account_is_connected_by_its_key_which_is_shown_and_stored_nowhere(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    form = await person.get(f"{ACCOUNTS}/connect/mastodon")
    assert 'type="password"' in form.text
    assert "/help/connect/mastodon" in form.text
    assert "Your access token" in form.text
    answer = await connected(person, other)
    assert answer.headers["location"] == f"{ACCOUNTS}/mastodon?done=works"
    assert other.came[-1].headers["authorization"] == f"Bearer {TOKEN}"
    again = await connected(person, other)
    assert again.headers["location"] == answer.headers["location"]
    assert (await gateway.get_account("mastodon"))["brands"] == ["acme"]
    page = (await person.get(answer.headers["location"])).text
    assert "The account answered and works." in page
    for shown in (page, (await person.get(ACCOUNTS)).text, answer.text):
        assert TOKEN not in shown
    connection = await asyncpg.connect(console.database_url)
    try:
        stored = await connection.fetchval("select string_agg(done_once::text, '') from done_once")
    finally:
        await connection.close()
    assert TOKEN not in stored


@pytest.mark.extended
async def test_a_refused_account_says_so_in_the_networks_words_and_what_to_do(
    acme: None, person: httpx.AsyncClient, other: Any
) -> None:
    await connected(person, other)
    other.answer(WHO, JSONResponse({"error": "The access token was revoked"}, 401))
    answer = await person.post(f"{ACCOUNTS}/mastodon/test", data={"once": "t1"})
    assert answer.headers["location"].endswith("?done=refused")
    page = (await person.get(answer.headers["location"])).text
    assert "The access token was revoked" in page
    assert "What to do:" in page
    listed = (await person.get(ACCOUNTS)).text
    assert "Has to be connected again" in listed


@pytest.mark.extended
async def test_a_passing_failure_disconnects_nothing(
    acme: None, person: httpx.AsyncClient, other: Any
) -> None:
    await connected(person, other)
    other.answer(WHO, JSONResponse({"error": "maintenance"}, 503))
    answer = await person.post(f"{ACCOUNTS}/mastodon/test", data={"once": "t1"})
    assert answer.headers["location"].endswith("?done=no_answer")
    page = (await person.get(answer.headers["location"])).text
    assert "Has to be connected again" not in page


@pytest.mark.extended
async def test_a_refused_form_keeps_what_was_typed_but_not_the_secret(
    acme: None, person: httpx.AsyncClient
) -> None:
    form = {"once": "c1", "name": "acme-wp", "setting-url": "ftp://x", "user": "editor", "secret": TOKEN}
    answer = await person.post(f"{ACCOUNTS}/connect/wordpress", data=form)
    assert answer.status_code in {400, 422}
    assert 'role="alert"' in answer.text
    assert 'value="editor"' in answer.text
    assert 'value="acme-wp"' in answer.text
    assert TOKEN not in answer.text
    missing = await person.post(f"{ACCOUNTS}/connect/wordpress", data={**form, "secret": "", "once": "c2"})
    assert missing.status_code == 400
    assert "Something is missing" in missing.text


@pytest.mark.extended
async def test_a_name_of_another_brands_account_is_left_alone(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    await console.orchestrator.set_brand("other", name="Other")
    await gateway.connect_account(
        "mastodon",
        kind="mastodon",
        brands=["other"],
        settings={"url": other.url},
        credentials={"token": "token-of-other-0123456789"},
    )
    answer = await connected(person, other)
    assert answer.status_code == 400
    assert "Another account is called mastodon" in answer.text
    assert (await gateway.get_account("mastodon"))["brands"] == ["other"]
    assert (await person.get(f"{ACCOUNTS}/mastodon")).status_code == 404
    assert (await person.post(f"{ACCOUNTS}/mastodon/remove", data={"once": "r"})).status_code == 404


@pytest.mark.extended
async def test_a_made_signing_secret_is_shown_once(acme: None, person: httpx.AsyncClient, other: Any) -> None:
    form = {"once": "w1", "name": "hooks", "setting-url": other.url}
    first = await person.post(f"{ACCOUNTS}/connect/webhook", data=form)
    assert first.status_code == 200
    assert "whsec_" in first.text
    assert first.headers["cache-control"] == "no-store"
    again = await person.post(f"{ACCOUNTS}/connect/webhook", data=form)
    assert again.headers["location"] == f"{ACCOUNTS}/hooks?done=unchecked"


@pytest.mark.extended
async def test_a_webhook_gets_another_signing_secret_which_is_shown_once(
    console: Any, acme: None, person: httpx.AsyncClient, another: Any, other: Any
) -> None:
    made = await person.post(
        f"{ACCOUNTS}/connect/webhook", data={"once": "w1", "name": "hooks", "setting-url": other.url}
    )
    before = re.findall(r"whsec_[^<\s]+", made.text)
    page, path = f"{ACCOUNTS}/hooks", f"{ACCOUNTS}/hooks/rotate"
    assert "Make another secret for hooks" in (await person.get(page)).text
    shown = await person.post(path, data={"once": "r1"})
    after = re.findall(r"whsec_[^<\s]+", shown.text)
    assert len(after) == len(before) == 1
    assert after != before
    assert shown.headers["cache-control"] == "no-store"
    assert re.findall(r"whsec_[^<\s]+", (await person.post(path, data={"once": "r1"})).text) == after
    assert "whsec_" not in (await person.get(page)).text
    await connected(person, other)
    assert "Make another secret" not in (await person.get(f"{ACCOUNTS}/mastodon")).text
    assert (await person.post(f"{ACCOUNTS}/mastodon/rotate", data={"once": "r2"})).status_code == 422
    async with another("operator") as eve:
        told = (await eve.get(page)).text
        assert "Make another secret" not in told
        assert "Only owners can do this; your role is operator." in told
        assert (await eve.post(path, data={"once": "e"})).status_code == 403
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    asked = await person.post(path, data={"once": "r3"})
    assert asked.status_code == 403
    assert "whsec_" not in asked.text


@pytest.mark.extended
async def test_an_account_is_removed_only_after_the_password(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    await connected(person, other)
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    asked = await person.post(f"{ACCOUNTS}/mastodon/remove", data={"once": "r1"})
    assert asked.status_code == 403
    assert len((await gateway.list_accounts())["items"]) == 1
    again = {"once": "r1", "password_again": PASSWORD}
    removed = await person.post(f"{ACCOUNTS}/mastodon/remove", data=again)
    assert removed.headers["location"] == f"{ACCOUNTS}?done=removed"
    assert (await gateway.list_accounts())["items"] == []


@pytest.mark.extended
async def test_a_login_begins_here_ends_here_and_keeps_nothing_secret(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    form = await person.get(f"{ACCOUNTS}/connect/x")
    assert "Register this installation at X" in form.text
    app = {"once": "a1", "client_id": "acme-app", "client_secret": APP_SECRET}
    saved = await person.post(f"{ACCOUNTS}/app/x", data=app)
    assert saved.headers["location"] == f"{ACCOUNTS}/connect/x?done=app_set"
    await gateway.set_account_app(
        "x",
        client_id="acme-app",
        client_secret=APP_SECRET,
        authorize_url=f"{other.url}/authorize",
        token_url=f"{other.url}/token",
    )
    # Its settings stay, so that the log-in asks the test's server.
    await gateway.connect_account(
        "acme-x", kind="x", brands=["acme"], settings={"api_url": other.url}, credentials={"access": TOKEN}
    )
    begun = await person.post(f"{ACCOUNTS}/login/x", data={"once": "l1", "name": "acme-x"})
    assert begun.status_code == 200
    link = html.unescape(re.findall(r'class="button" href="([^"]+)"', begun.text)[0])
    assert link.startswith(f"{other.url}/authorize?")
    asked = parse_qs(urlsplit(link).query)
    assert asked["redirect_uri"] == ["http://127.0.0.1:8016/accounts/logged-in"]

    refused = await person.get("/accounts/logged-in", params={"error": "access_denied", "state": "s"})
    assert "The network refused: access_denied" in refused.text
    strange = await person.get("/accounts/logged-in", params={"code": "c"})
    assert "does not belong to this login" in strange.text

    ended = {"code": "a-code", "state": asked["state"][0]}
    back = await person.get("/accounts/logged-in", params=ended)
    assert "X lets you in" in back.text
    other.answer(
        "POST /token", {"access_token": "access-1-secret", "token_type": "bearer", "expires_in": 7200}
    )
    other.answer("GET /2/users/me", {"data": {"id": "7", "username": "acme"}})
    address = f"{console.url}/accounts/logged-in?{urlencode(ended)}"
    last = {"once": "l2", "name": "acme-x", "state": ended["state"], "address": address}
    for _ in range(2):
        done = await person.post(f"{ACCOUNTS}/login/x/complete", data=last)
        assert done.headers["location"] == f"{ACCOUNTS}/acme-x?done=connected", done.text
    shown = (await person.get(done.headers["location"])).text
    assert "@acme" in shown
    again = await person.post(f"{ACCOUNTS}/login/x/complete", data={**last, "once": "l3"})
    assert again.status_code == 424
    assert "this log-in was used already" in again.text
    for secret in (APP_SECRET, "access-1-secret"):
        assert secret not in shown + again.text + saved.text + begun.text


async def test_a_login_that_this_browser_did_not_begin_is_refused(
    acme: None, person: httpx.AsyncClient
) -> None:
    lost = await person.get("/accounts/logged-in", params={"code": "c", "state": "s"})
    assert lost.status_code == 422
    assert "begun in another browser" in lost.text


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    acme: None, person: httpx.AsyncClient, other: Any, another: Any
) -> None:
    await connected(person, other)
    async with another("viewer") as eve:
        for path in (ACCOUNTS, f"{ACCOUNTS}/mastodon"):
            page = await eve.get(path)
            assert page.status_code == 200
            assert "mastodon" in page.text
            assert f'action="{path}' not in page.text
            assert "/accounts/connect/" not in page.text
        assert (await eve.get(f"{ACCOUNTS}/connect/mastodon")).status_code == 403
        assert (await eve.get("/accounts/logged-in")).status_code == 403
        for path in POSTS:
            assert (await eve.post(f"{ACCOUNTS}/{path}", data={"once": "x"})).status_code == 403, path


@pytest.mark.extended
async def test_a_person_of_some_brands_learns_why_accounts_are_not_shown(
    acme: None, person: httpx.AsyncClient, other: Any, another: Any
) -> None:
    await connected(person, other)
    async with another("operator", ["acme"]) as eve:
        listed = await eve.get(ACCOUNTS)
        assert "only people who may see all brands" in listed.text
        assert "/accounts/mastodon" not in listed.text
        assert (await eve.get(f"{ACCOUNTS}/mastodon")).status_code == 403
        for path in POSTS:
            assert (await eve.post(f"{ACCOUNTS}/{path}", data={"once": "x"})).status_code == 403, path


@pytest.mark.extended
async def test_a_site_is_connected_and_put_to_use_by_a_press(
    console: Any, person: httpx.AsyncClient, other: Any
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme", approval="everything")
    other.answer("GET /wp-json/wp/v2/users/me", {"id": 7, "slug": "editor", "name": "An editor"})
    form = {
        "once": "c1",
        "name": "blog",
        "setting-url": other.url,
        "user": "editor",
        "secret": "abcd efgh ijkl",
    }
    answer = await person.post(f"{ACCOUNTS}/connect/wordpress", data=form)
    assert answer.headers["location"] == f"{ACCOUNTS}/blog?done=works", answer.text
    shown = (await person.get(answer.headers["location"])).text
    assert "No articles of this brand go there yet." in shown
    for _ in range(2):
        used = await person.post(f"{ACCOUNTS}/blog/use", data={"once": "u1"})
        assert used.headers["location"] == f"{ACCOUNTS}/blog?done=target_added", used.text
    about = await console.orchestrator.get_brand("acme")
    assert about["targets"] == ["site", "blog"]
    assert about["policy"]["approval"] == "everything", "what else the brand says stays"
    assert "No articles of this brand" not in (await person.get(f"{ACCOUNTS}/blog")).text

    await connected(person, other, once="c2", name="toots")
    await person.post(f"{ACCOUNTS}/toots/use", data={"once": "u2"})
    assert (await console.orchestrator.get_brand("acme"))["channels"][-1] == "toots"
