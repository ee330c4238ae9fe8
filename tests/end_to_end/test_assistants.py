"""An assistant, by the official client of the Model Context Protocol, beside the real services: it submits, reads and proposes; people publish."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from brandctl.local import services
from chassis.testing import eventually
from tests.fixtures.running_services import running_services

KEY = "a-key-for-tests-only"
BRAND = "daily-grind"
NAMES = ("orchestrator", "research", "publisher", "social")


@pytest.fixture
async def stack(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[services.ServiceAddresses]:
    """The services that make an article and publish it."""
    async with running_services(
        NAMES, broker_urls=broker_urls, make_database=make_database, service_key=KEY, folder=tmp_path
    ) as addresses:
        yield addresses


@pytest.fixture
async def operator(stack: services.ServiceAddresses) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        headers={"X-Service-Key": KEY}, base_url=stack.url("orchestrator"), timeout=60, trust_env=False
    ) as client:
        (await client.put(f"/v1/brands/{BRAND}", json={"name": "The Daily Grind"})).raise_for_status()
        (await client.put("/v1/brands/rival", json={"name": "Rival"})).raise_for_status()
        yield client


async def make_key(operator: httpx.AsyncClient, name: str, *scopes: str, brand: str = BRAND) -> str:
    made = await operator.post("/v1/keys", json={"name": name, "scopes": scopes, "brands": [brand]})
    assert made.is_success, made.text
    key: str = made.json()["key"]
    return key


def urls(stack: services.ServiceAddresses) -> dict[str, str]:
    return {f"{name.upper()}_URL": stack.url(name) for name in ("orchestrator", "publisher", "social")}


def by_pipe(stack: services.ServiceAddresses, key: str, folder: Path) -> StdioServerParameters:
    """`brandctl mcp` as an assistant starts it."""
    file = folder / "assistant.key"
    file.write_text(key)
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "brandctl", "mcp", "--key-file", str(file)],
        env=urls(stack),
        cwd=folder,
    )


@asynccontextmanager
async def serving_http(stack: services.ServiceAddresses, port: int, folder: Path) -> AsyncIterator[str]:
    """`brandctl mcp --http`, for several assistants."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "brandctl", "mcp", "--http", f"127.0.0.1:{port}"),
        env={**os.environ, **urls(stack)},
        cwd=folder,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:

        async def is_up() -> bool:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return True
            return False

        await eventually(is_up)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def by_http(url: str, key: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
        ) as connection,
        Client(streamable_http_client(url, http_client=connection)) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    return str(answer.content[0].text)  # type: ignore[union-attr]


@pytest.mark.extended
async def test_an_assistant_submits_and_reads_and_a_person_publishes(
    stack: services.ServiceAddresses,
    operator: httpx.AsyncClient,
    tmp_path: Path,
    free_port: Callable[[], int],
) -> None:
    key = await make_key(operator, "assistant", "read", "submit")
    async with Client(by_pipe(stack, key, tmp_path)) as assistant:
        version = await submits_and_reads(assistant)
        version = await proposes(assistant, version, operator)
    logged = (await operator.get("/v1/audit-log", params={"limit": 200})).text
    assert '"assistant"' in logged
    assert key.rpartition("_")[2] not in logged
    async with serving_http(stack, free_port(), tmp_path) as url:
        key = await make_key(operator, "editors-assistant", "read", "submit", "review")
        async with by_http(url, key) as assistant:
            await edits_and_publishes(assistant, version, stack.url("publisher"))
        key = await make_key(operator, "rivals-assistant", "read", brand="rival")
        async with by_http(url, key) as assistant:
            assert (await told(assistant, "list_brands"))["brands"] == [{"slug": "rival", "name": "Rival"}]
            await refused(assistant, "read_draft", content_id=version["content_id"])
        async with by_http(url, KEY) as assistant:
            # The service key, which may do everything, is none for an assistant.
            assert "API key" in await refused(assistant, "list_brands")
        async with httpx.AsyncClient(trust_env=False) as page:
            # A page of somebody else that has a browser ask this machine.
            rebound = await page.post(url, json={}, headers={"Host": "evil.example"})
            assert rebound.status_code == httpx.codes.MISDIRECTED_REQUEST


async def submits_and_reads(assistant: Client) -> dict[str, Any]:
    """What a key may that may not review; returns id and version of the draft."""
    offered = {each.name: each for each in (await assistant.list_tools()).tools}
    assert {"list_brands", "find", "submit_keywords", "follow_keywords", "read_draft"} <= offered.keys()
    assert offered["read_draft"].annotations is not None
    assert offered["read_draft"].annotations.read_only_hint
    assert (await told(assistant, "list_brands"))["brands"] == [{"slug": BRAND, "name": "The Daily Grind"}]

    request = {"brand": BRAND, "keywords": ["grind size"], "request_id": "first-request"}
    submitted = await told(assistant, "submit_keywords", **request)
    assert submitted["waits_for_a_person"] is True
    # The same request again is the same.
    assert await told(assistant, "submit_keywords", **request) == submitted

    async def written() -> Any:
        (one,) = (await told(assistant, "follow_keywords", cycle_id=submitted["cycle_id"]))["keywords"]
        return one if one["state"] == "needs_review" else None

    keyword = await eventually(written)
    (draft,) = (await told(assistant, "list_drafts", brand=BRAND))["drafts"]
    assert draft["content_id"] == keyword["content_id"]
    read = await told(assistant, "read_draft", content_id=draft["content_id"])
    assert read["draft"] == draft
    assert read["carried"] == read["total"] > 3
    numbers = {each["number"] for each in read["sources"]}
    assert all(set(each["sources"]) <= numbers for each in read["sentences"])
    assert any(each["sources"] and each["text"] in read["text"] for each in read["sentences"])

    version = {"content_id": draft["content_id"], "version": draft["version"]}
    invented = f"{read['text']}\n\nGrinders were invented on Mars in 1742.\n"
    checked = await told(assistant, "check_text", **version, text=invented)
    assert [each["text"] for each in checked["to_look_at"]] == ["Grinders were invented on Mars in 1742."]

    # It cannot publish, and learns what to do instead.
    for tool, more in (("approve_draft", {}), ("edit_draft", {"comment": "Mars.", "text": invented})):
        assert "Propose it" in await refused(assistant, tool, **version, **more)
    assert "at most 20" in await refused(
        assistant, "submit_keywords", **request | {"keywords": [f"word {n}" for n in range(21)]}
    )
    assert "rival" in await refused(assistant, "find", brand="rival", text="grind")
    return version


async def proposes(assistant: Client, version: dict[str, Any], operator: httpx.AsyncClient) -> dict[str, Any]:
    """What it would change waits for a person; returns the version after it was accepted."""
    wish = version | {"title": "Grind size for every pot", "comment": "It is what people search for."}
    made = await told(assistant, "propose_edit", **wish)
    assert made == await told(assistant, "propose_edit", **wish)
    assert (await told(assistant, "read_draft", content_id=version["content_id"]))["draft"]["version"] == 1
    later = version | {"comment": "Ready.", "publish_at": "2099-01-01T09:00:00Z"}
    too_early = await told(assistant, "propose_publication", **later)
    place = f"/v1/drafts/{version['content_id']}/proposals"
    accepted = await operator.post(f"{place}/{made['proposal_id']}/accept")
    assert accepted.json()["title"] == "Grind size for every pot"
    dismissed = await operator.post(f"{place}/{too_early['proposal_id']}/dismiss", json={"reason": "Sooner."})
    assert dismissed.is_success
    after = (await told(assistant, "list_proposals", content_id=version["content_id"]))["proposals"]
    assert {(each["kind"], each["state"], each["reason"]) for each in after} == {
        ("edit", "accepted", ""),
        ("publication", "dismissed", "Sooner."),
    }
    return version | {"version": accepted.json()["version"]}


async def edits_and_publishes(assistant: Client, read: dict[str, Any], publisher: str) -> None:
    edited = await told(assistant, "edit_draft", **read, title="Grinding coffee", comment="A shorter title.")
    assert (edited["title"], edited["version"]) == ("Grinding coffee", read["version"] + 1)
    # What was read before is not the newest any more.
    stale = await refused(assistant, "approve_draft", **read)
    assert "version" in stale
    now = read | {"version": edited["version"]}
    await told(assistant, "approve_draft", **now)

    async def published() -> Any:
        (article,) = (await told(assistant, "find", brand=BRAND, text="grinding"))["articles"]
        return article["published_url"]

    assert (await eventually(published)).startswith(publisher)
    assert (await told(assistant, "read_measures", brand=BRAND))["views"] == 0
    assert (await told(assistant, "read_calendar", brand=BRAND))["is_cut"] is False


async def test_a_server_that_is_away_and_a_key_for_everything_are_told(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        **{f"{name.upper()}_URL": "http://127.0.0.1:1" for name in ("orchestrator", "publisher", "social")},
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "brandctl", "mcp"),
        env={**environment, "SERVICE_KEY": KEY},
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, error = await process.communicate()
    assert process.returncode == 2
    assert b"brandctl keys create assistant --scope read --scope submit" in error

    file = tmp_path / "assistant.key"
    file.write_text("be_4fX0w8QbVn2L_secret")
    away = StdioServerParameters(
        command=sys.executable,
        args=["-m", "brandctl", "mcp", "--key-file", str(file)],
        env={name: value for name, value in environment.items() if name.endswith("_URL")},
        cwd=tmp_path,
    )
    async with Client(away) as assistant:
        told_so = await refused(assistant, "list_brands")
        assert "orchestrator" in told_so
        assert "Try again" in told_so
