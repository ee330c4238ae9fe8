"""A keyword through all processes to accounts of others: each post once, failures said in plain words, and credentials nowhere but sealed."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from brandctl.local import services
from chassis.testing import eventually
from chassis.testing.spans import SpanReceiver
from fakes.channels.discord import FakeDiscord
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.x import FakeX
from fakes.serving.server import in_thread

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
KEYS_OF_THE_GATEWAY = "3vJ5Q6m0bqv3yq2yVZkzv1mG2k8mJQ5m8m3m0bqv3yQ="
SECRETS = {
    "x": "canary-of-x-0123456789abcdef",
    "x, for another": "canary-of-refreshing-0123456789",
    "telegram": "7000000001:canary_of_telegram_0123456789abcdef",
    "discord": "canary-of-discord-0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcd",
    "slack": "canaryofslack0123456789ab",
}


@dataclass
class Place:
    folder: Path
    addresses: services.ServiceAddresses
    databases: dict[str, str]
    others: dict[str, Any]

    def api(self, service: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.addresses.url(service), headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
        )

    async def rows(self) -> str:
        """Everything in every table of every service, as text."""
        found = []
        for url in self.databases.values():
            connection = await asyncpg.connect(url)
            for table in await connection.fetch(
                "select oid::regclass::text as name from pg_class"
                " where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace"
            ):
                found += [
                    row["row"]
                    for row in await connection.fetch(f"select t::text as row from {table['name']} as t")
                ]
            await connection.close()
        return "\n".join(found)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.rglob("*.log"))


@pytest.fixture
async def place(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[tuple[Place, SpanReceiver]]:
    addresses = services.choose_addresses()
    databases, children = {}, []
    others = {
        "x": FakeX(SECRETS["x"]),
        "telegram": FakeTelegram(SECRETS["telegram"]),
        "discord": FakeDiscord(token=SECRETS["discord"]),
        "slack": FakeSlack(f"T00000000/B00000000/{SECRETS['slack']}"),
    }
    with ExitStack() as stack:
        receiver = stack.enter_context(SpanReceiver.running())
        for each in others.values():
            stack.enter_context(in_thread(each))
        try:
            for name in services.PROCESSES:
                databases[name] = await make_database(name)
                environment = services.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=broker_urls.get(name),
                    database_url=databases[name],
                    service_key=KEY,
                    corpus=ROOT / "deploy" / "demo" / "corpus",
                )
                more = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "LOG_LEVEL": "debug"}
                if name == "gateway":
                    more |= {
                        "GATEWAY_KEYS": KEYS_OF_THE_GATEWAY,
                        "EGRESS_REACHABLE_NETWORKS": "127.0.0.0/8",
                    }
                children.append(services.start(name, environment | more, tmp_path))
            await asyncio.to_thread(services.wait_until_ready, children, addresses)
            yield Place(tmp_path, addresses, databases, others), receiver
        finally:
            await asyncio.to_thread(services.stop, children)


async def test_each_post_goes_out_once_and_no_credential_is_written_down(
    place: tuple[Place, SpanReceiver],
) -> None:
    at, receiver = place
    await connect(at)
    at.others["x"].faults.inject("expired", "POST /2/tweets", times=None)
    at.others["discord"].faults.inject("reset_after", "POST /api/*")
    async with at.api("orchestrator") as api, at.api("social") as social:
        brand = {"name": "Acme", "channels": ["feed", *at.others]}
        (await api.put("/v1/brands/acme", json=brand)).raise_for_status()
        accepted = await api.post("/v1/brands/acme/research", json={"keywords": ["pour-over coffee"]})

        async def settled() -> dict[str, Any] | None:
            found: dict[str, Any] = {}
            for state in ("posted", "failed", "in_doubt"):
                shown = await social.get("/v1/posts", params={"brand": "acme", "state": state})
                found |= {post["channel"]: post for post in shown.json()["items"]}
            found.pop("feed", None)
            return found if found.keys() == at.others.keys() else None

        found = await eventually(settled)
        cycle = (await api.get(f"/v1/cycles/{accepted.json()['cycle_id']}")).json()
        receipts = (await social.get("/v1/receipts")).text

    assert {channel: post["state"] for channel, post in found.items()} == {
        "x": "failed",
        "telegram": "posted",
        "discord": "in_doubt",
        "slack": "posted",
    }
    assert {name: len(other.accepted) for name, other in at.others.items()} == {
        "x": 0,
        "telegram": 1,
        "discord": 1,
        "slack": 1,
    }
    assert "connect" in found["x"]["detail"]
    seen = [brandctl(at, *asked) for asked in (("receipts", "list"), ("accounts", "list"), ("posts", "list"))]
    await eventually(lambda: receiver.found("gateway", {}))
    kept = {
        "databases": await at.rows(),
        "logs": at.logs(),
        "spans": repr(receiver.spans),
        "answers": json.dumps([found, cycle, receipts]),
        "brandctl": "".join(seen),
        "metrics": "".join([await metrics(at, name) for name in services.PROCESSES]),
    }
    for where, text in kept.items():
        assert "discord" in text or where == "metrics", where
        for secret in (*SECRETS.values(), KEYS_OF_THE_GATEWAY, "canary-of", "canary_of", "canaryof"):
            assert secret not in text, (
                where,
                secret,
                text[text.index(secret) - 300 : text.index(secret) + 60],
            )


async def connect(at: Place) -> None:
    webhook = f"https://discord.com/api/webhooks/223704706495545344/{SECRETS['discord']}"
    hook = f"https://hooks.slack.com/services/T00000000/B00000000/{SECRETS['slack']}"
    given: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        "x": ({}, {"access": SECRETS["x"], "refresh": SECRETS["x, for another"]}),
        "telegram": ({"chat": "@acme_coffee"}, {"token": SECRETS["telegram"]}),
        "discord": ({}, {"url": webhook}),
        "slack": ({}, {"url": hook}),
    }
    async with at.api("gateway") as gateway:
        for kind, (settings, credentials) in given.items():
            asked = {
                "kind": kind,
                "brands": ["acme"],
                "settings": settings | {"api_url": at.others[kind].url},
                "credentials": credentials,
            }
            answer = await gateway.put(f"/v1/accounts/{kind}", json=asked)
            assert answer.is_success, answer.text
            checked = await gateway.post(f"/v1/accounts/{kind}/check")
            assert checked.json()["state"] == "ok", checked.text


async def metrics(at: Place, service: str) -> str:
    async with at.api(service) as api:
        return (await api.get("/metrics")).text


def brandctl(at: Place, *asked: str) -> str:
    told = {f"{name.upper()}_URL": at.addresses.url(name) for name in services.PROCESSES}
    done = subprocess.run(
        [sys.executable, "-m", "brandctl", *asked, "--json"],
        env=os.environ | told | {"SERVICE_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr
