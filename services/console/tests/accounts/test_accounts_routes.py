"""Channels and targets beside real services: how they went, settings, and refusals without the right."""

from typing import Any

import asyncpg
import httpx
import pytest

from client import Address
from client.services.publisher import AsyncPublisher

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
ACCOUNTS = "/b/acme/accounts"
WORDPRESS = f"{ACCOUNTS}/targets/wordpress"


async def test_the_page_shows_channels_and_targets_and_leads_to_the_forms(
    acme: None, person: httpx.AsyncClient
) -> None:
    listed = (await person.get(ACCOUNTS)).text
    assert "Nothing was sent yet" in listed
    assert f'href="{ACCOUNTS}/connect/mastodon"' in listed
    assert f'href="{ACCOUNTS}/connect/wordpress"' in listed
    assert "No account is connected yet" in listed


@pytest.mark.extended
async def test_a_target_gets_settings_and_loses_them_after_the_password(
    console: Any, acme: None, person: httpx.AsyncClient, service_urls: dict[str, str]
) -> None:
    form = {"once": "s1", "categories": "News\nCoffee", "author": "ada", "cover": "1"}
    saved = await person.post(WORDPRESS, data=form)
    assert saved.headers["location"] == f"{ACCOUNTS}?done=target_set"
    assert "The settings are saved." in (await person.get(saved.headers["location"])).text
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as publisher:
        settings = (await publisher.get_target("acme", "wordpress"))["settings"]
        assert settings["categories"] == ["News", "Coffee"]
        refused = await person.post(WORDPRESS, data={"once": "s2", "address": "ftp://<b>"})
        assert refused.status_code == 422
        assert "ftp://&lt;b&gt;" in refused.text
        connection = await asyncpg.connect(console.database_url)
        try:
            await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
        finally:
            await connection.close()
        asked = await person.post(f"{WORDPRESS}/remove", data={"once": "s3"})
        assert asked.status_code == 403
        assert (await publisher.list_targets("acme"))["items"] != []
        removed = await person.post(f"{WORDPRESS}/remove", data={"once": "s3", "password_again": PASSWORD})
        assert removed.headers["location"] == f"{ACCOUNTS}?done=target_reset"
        assert (await publisher.list_targets("acme"))["items"] == []


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    acme: None, person: httpx.AsyncClient, another: Any
) -> None:
    await person.post(WORDPRESS, data={"once": "s1", "author": "ada"})
    async with another("viewer") as eve:
        listed = (await eve.get(ACCOUNTS)).text
        assert f'action="{ACCOUNTS}' not in listed
        assert "/accounts/connect/" not in listed
        target = (await eve.get(WORDPRESS)).text
        assert "ada" in target
        assert "<fieldset disabled" in target
        assert "Save the settings" not in target
        assert "the right “operate”, which your role (viewer) does not have" in target
        empty = (await eve.get("/b/acme/articles")).text
        assert "the right “submit”, which your role (viewer) does not have" in empty
        assert "Remove the settings" not in target
        for path in (f"{ACCOUNTS}/targets", WORDPRESS, f"{WORDPRESS}/remove"):
            assert (await eve.post(path, data={"once": "x", "name": "y"})).status_code == 403, path
