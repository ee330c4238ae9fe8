"""`brandctl people`, beside a real orchestrator and a real console."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from chassis.testing import running
from client.people_keys import free_name, key_name
from console.app import ConsoleApp
from console.settings import Settings
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def operator(
    api: httpx.AsyncClient, make_database: Callable[[str], Awaitable[str]], tmp_path: Path
) -> AsyncIterator[Operator]:
    settings = {
        "database_url": await make_database("console"),
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": str(api.base_url),
    }
    async with running(ConsoleApp(Settings.model_validate(settings))) as app:
        yield Operator(
            tmp_path,
            {
                "ORCHESTRATOR_URL": str(api.base_url),
                "CONSOLE_URL": f"http://127.0.0.1:{app.port}",
                "SERVICE_KEY": KEY,
            },
        )


async def _keys(api: httpx.AsyncClient) -> dict[str, bool]:
    """Name of each key → whether it is open."""
    return {
        each["name"]: each["revoked_at"] is None
        for each in reversed((await api.get("/v1/keys")).json()["items"])
    }


async def _open(operator: Operator, link: str, name: str) -> None:
    base = operator.variables["CONSOLE_URL"]
    async with httpx.AsyncClient(base_url=base, headers={"Origin": base}, trust_env=False) as browser:
        accepted = await browser.post(
            httpx.URL(link.strip()).path, data={"name": name, "password": "correct horse battery"}
        )
    assert accepted.status_code == 303, accepted.text


@pytest.mark.extended
async def test_a_person_is_invited_reset_and_removed(operator: Operator, api: httpx.AsyncClient) -> None:
    invited = await operator("people", "invite", "Ada Löwe", "--role", "editor", "--brand", "acme")
    assert invited.code == 0, invited.err
    assert "/invitations/" in invited.out
    assert invited.out.strip() not in invited.err
    assert await _keys(api) == {"ada-loewe": True}
    await _open(operator, invited.out, "Ada Löwe")

    (person,) = (await operator("people", "list", "--json")).json()["items"]
    assert (person["name"], person["role"], person["brands"]) == ("Ada Löwe", "editor", ["acme"])
    again = await operator("people", "invite", "ada löwe")
    assert again.code == 1
    assert "reset" in again.err

    reset = await operator("people", "reset", "Ada Löwe")
    assert reset.code == 0, reset.err
    await _open(operator, reset.out, "Ada Löwe")
    (later,) = (await operator("people", "list", "--json")).json()["items"]
    assert later["id"] == person["id"]
    assert later["key_id"] != person["key_id"]

    removed = await operator("people", "remove", "Ada Löwe", "--yes")
    assert removed.code == 0, removed.err
    assert (await operator("people", "list", "--json")).json()["items"] == []
    assert [each["revoked_at"] is None for each in (await api.get("/v1/keys")).json()["items"]] == [
        False,
        False,
    ]


async def test_an_owner_sees_all_brands_and_gets_a_start_link(operator: Operator) -> None:
    refused = await operator("people", "invite", "Ada", "--owner", "--brand", "acme")
    assert refused.code == 2
    invited = await operator("people", "invite", "Ada", "--owner")
    assert "/start/" in invited.out, invited.err


def test_keys_are_named_after_people() -> None:
    assert key_name("Zoë O. Neil") == "zoe-o-neil"
    assert key_name("李") == "person"
    assert free_name("Ada", {"ada", "ada-2"}) == "ada-3"
