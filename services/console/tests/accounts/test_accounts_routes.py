"""Accounts and targets beside real services: connected, tested, removed, and refused without the right."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
from starlette.responses import JSONResponse

from client import Address
from client.services.gateway import AsyncGateway
from client.services.publisher import AsyncPublisher

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
TOKEN = "token-of-acme-0123456789"
WHO = "GET /api/v1/accounts/verify_credentials"
ACCOUNTS = "/b/acme/accounts"


@pytest.fixture
async def gateway(service_urls: dict[str, str]) -> AsyncIterator[AsyncGateway]:
    async with AsyncGateway(Address(service_urls["gateway_url"], KEY)) as client:
        yield client


async def connected(person: httpx.AsyncClient, other: Any, **more: str) -> httpx.Response:
    other.answer(WHO, {"id": "1", "acct": "acme", "username": "acme", "url": f"{other.url}/@acme"})
    form = {"once": "c1", "name": "mastodon", "setting-url": other.url, "secret": TOKEN, **more}
    return await person.post(f"{ACCOUNTS}/connect/mastodon", data=form)


@asynccontextmanager
async def another(console: Any, role: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as made:
        link = await console.invite("Eve", role)
        answer = await made.post(link, data={"name": "Eve", "password": PASSWORD})
        assert answer.status_code == 303
        yield made


async def test_an_account_is_connected_by_its_key_which_is_shown_and_stored_nowhere(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    form = await person.get(f"{ACCOUNTS}/connect/mastodon")
    assert 'type="password"' in form.text
    assert "docs/connect/mastodon.md" in form.text
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


async def test_a_passing_failure_disconnects_nothing(
    acme: None, person: httpx.AsyncClient, other: Any
) -> None:
    await connected(person, other)
    other.answer(WHO, JSONResponse({"error": "maintenance"}, 503))
    answer = await person.post(f"{ACCOUNTS}/mastodon/test", data={"once": "t1"})
    assert answer.headers["location"].endswith("?done=no_answer")
    page = (await person.get(answer.headers["location"])).text
    assert "Has to be connected again" not in page


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


async def test_a_made_signing_secret_is_shown_once(acme: None, person: httpx.AsyncClient, other: Any) -> None:
    form = {"once": "w1", "name": "hooks", "setting-url": other.url}
    first = await person.post(f"{ACCOUNTS}/connect/webhook", data=form)
    assert first.status_code == 200
    assert "whsec_" in first.text
    assert first.headers["cache-control"] == "no-store"
    again = await person.post(f"{ACCOUNTS}/connect/webhook", data=form)
    assert again.headers["location"] == f"{ACCOUNTS}/hooks?done=unchecked"


async def test_an_account_is_removed_only_after_the_password(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    await connected(person, other)
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    refused = await person.post(f"{ACCOUNTS}/mastodon/remove", data={"once": "r1"})
    assert "/confirm" in refused.headers["location"]
    assert len((await gateway.list_accounts())["items"]) == 1
    await person.post("/confirm", data={"password": PASSWORD, "next": f"{ACCOUNTS}/mastodon"})
    removed = await person.post(f"{ACCOUNTS}/mastodon/remove", data={"once": "r1"})
    assert removed.headers["location"] == f"{ACCOUNTS}?done=removed"
    assert (await gateway.list_accounts())["items"] == []


async def test_a_login_gives_the_networks_link_and_takes_the_address_that_it_ended_at(
    acme: None, person: httpx.AsyncClient, other: Any, gateway: AsyncGateway
) -> None:
    form = {"once": "l1", "name": "acme-x", "return_address": "http://127.0.0.1:8976/callback"}
    unset = await person.post(f"{ACCOUNTS}/login/x", data=form)
    assert unset.status_code == 424
    assert "brandctl accounts app x" in unset.text
    await gateway.set_account_app("x", client_id="acme-app", client_secret="s" * 20)
    begun = await person.post(f"{ACCOUNTS}/login/x", data=form)
    assert begun.status_code == 200
    assert "https://x.com/i/oauth2/authorize" in begun.text
    ended = {"once": "l2", "name": "acme-x", "state": "s1", "address": "http://127.0.0.1/?state=s2&code=c"}
    wrong = await person.post(f"{ACCOUNTS}/login/x/complete", data=ended)
    assert "does not belong to this login" in wrong.text


async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, person: httpx.AsyncClient, other: Any
) -> None:
    await connected(person, other)
    async with another(console, "viewer") as eve:
        for path in (ACCOUNTS, f"{ACCOUNTS}/mastodon", f"{ACCOUNTS}/targets/wordpress"):
            page = await eve.get(path)
            assert page.status_code == 200
            assert f'action="{path}' not in page.text
            assert "/accounts/connect/" not in page.text
        assert (await eve.get(f"{ACCOUNTS}/connect/mastodon")).status_code == 403
        for path in (
            "connect/mastodon",
            "login/x",
            "login/x/complete",
            "mastodon/test",
            "mastodon/remove",
            "targets",
            "targets/wordpress",
            "targets/wordpress/remove",
        ):
            assert (await eve.post(f"{ACCOUNTS}/{path}", data={"once": "x"})).status_code == 403, path


async def test_a_target_gets_settings_once_and_loses_them(
    acme: None, person: httpx.AsyncClient, service_urls: dict[str, str]
) -> None:
    listed = (await person.get(ACCOUNTS)).text
    assert "docs/connect/wordpress.md" in listed
    assert "Not connected" in listed
    address = f"{ACCOUNTS}/targets/wordpress"
    form = {"once": "s1", "categories": "News\nCoffee", "author": "ada", "cover": "1"}
    saved = await person.post(address, data=form)
    assert saved.headers["location"] == f"{ACCOUNTS}?done=target_set"
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as publisher:
        settings = (await publisher.get_target("acme", "wordpress"))["settings"]
        assert settings["categories"] == ["News", "Coffee"]
        assert settings["author"] == "ada"
        refused = await person.post(address, data={"once": "s2", "address": "ftp://<b>"})
        assert refused.status_code == 422
        assert "ftp://&lt;b&gt;" in refused.text
        await person.post(f"{address}/remove", data={"once": "s3"})
        assert (await publisher.list_targets("acme"))["items"] == []
