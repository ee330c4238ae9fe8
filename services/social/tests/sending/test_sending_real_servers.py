"""Posts on servers that really run: a PDS of the AT protocol, and snac, which speaks Mastodon's API. `make test ARGS="-m real"`."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from envelope.brand.payloads import SocialCreate
from gateway.app import GatewayApp
from services.social.tests.sending.conftest import KEY
from services.social.tests.sending.test_sending_posts import COVER, told

SERVERS = Path(__file__).parents[4] / "deploy" / "local" / "servers"
KEPT = Path(__file__).parents[4] / "build" / "servers"
"""What was installed stays there."""
pytestmark = pytest.mark.real


@asynccontextmanager
async def started(name: str, folder: Path, port: int) -> AsyncIterator[dict[str, str]]:
    """Its credentials, while it runs; skips where its packages cannot be had."""
    environment = os.environ | {f"{name.upper()}_APP": str(KEPT / name)}

    async def run(*arguments: str) -> int:
        program = ["bash", str(SERVERS / f"{name}.sh"), str(folder), str(port), *arguments]
        process = await asyncio.create_subprocess_exec(*program, env=environment)
        return await process.wait()

    try:
        if await run() != 0:
            log = folder / "install.log"
            pytest.skip(f"{name} did not start: {log.read_text()[-500:] if log.exists() else 'see above'}")
        credentials: dict[str, str] = json.loads((folder / "credentials.json").read_text())
        yield credentials
    finally:
        await run("stop")


async def connect(gateway: GatewayApp, kind: str, url: str, credentials: dict[str, str]) -> None:
    body = {
        "kind": kind,
        "brands": ["daily-grind"],
        "settings": {"url": url},
        "credentials": credentials,
    }
    address, headers = f"http://127.0.0.1:{gateway.port}", {"X-Service-Key": KEY}
    async with httpx.AsyncClient(base_url=address, headers=headers, trust_env=False, timeout=60) as api:
        answer = await api.put(f"/v1/accounts/{kind}", json=body)
        assert answer.status_code == 200, answer.text
        checked = await api.post(f"/v1/accounts/{kind}/check")
        assert checked.json()["state"] == "ok", checked.text


async def test_bluesky(
    social: Any,
    gateway: GatewayApp,
    new_command: Callable[..., SocialCreate],
    tmp_path: Path,
    free_port: Callable[[], int],
) -> None:
    async with started("bluesky", tmp_path, free_port()) as account:
        login = {"identifier": account["handle"], "password": account["password"]}
        await connect(gateway, "bluesky", account["url"], login)
        command = new_command(channels=("bluesky",), language="en", picture=COVER)
        await social.send(command)
        first = await told(social, 1)
        assert first["bluesky"].startswith("https://bsky.app/profile/daily-grind.test/post/"), first
        async with httpx.AsyncClient(base_url=account["url"], trust_env=False) as pds:
            listed = await pds.get(
                "/xrpc/com.atproto.repo.listRecords",
                params={"repo": account["did"], "collection": "app.bsky.feed.post"},
            )
        [record] = listed.json()["records"]
        value = record["value"]
        assert value["embed"]["external"]["uri"] == command.published_url
        assert value["embed"]["external"]["thumb"]["mimeType"] == "image/png"
        assert value["langs"] == ["en"]
        parts = [
            value["text"].encode()[f["index"]["byteStart"] : f["index"]["byteEnd"]].decode()
            for f in value["facets"]
        ]
        assert parts[0] == command.published_url
        assert all(part.startswith("#") for part in parts[1:])
        # The command comes again: the post stands.
        await social.send(command)
        assert await told(social, 1) == first


async def test_mastodon(
    social: Any,
    gateway: GatewayApp,
    new_command: Callable[..., SocialCreate],
    tmp_path: Path,
    free_port: Callable[[], int],
) -> None:
    async with started("mastodon", tmp_path, free_port()) as account:
        await connect(gateway, "mastodon", account["url"], {"token": account["token"]})
        command = new_command(channels=("mastodon",), language="en", picture=COVER)
        await social.send(command)
        first = await told(social, 1)
        assert first["mastodon"].startswith(account["url"]), first
        async with httpx.AsyncClient(base_url=account["url"], trust_env=False) as snac:
            # It ends a connection after an answer without saying so.
            headers = {"Authorization": f"Bearer {account['token']}", "Connection": "close"}
            me = (await snac.get("/api/v1/accounts/verify_credentials", headers=headers)).json()
            [status] = (await snac.get(f"/api/v1/accounts/{me['id']}/statuses", headers=headers)).json()
        assert command.published_url in status["content"]
        assert [each["description"] for each in status["media_attachments"]] == [COVER.alt]
        await social.send(command)
        assert await told(social, 1) == first
