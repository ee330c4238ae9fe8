"""Notifications through the real gateway: what providers see of them, and mail at a real server."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from starlette.responses import JSONResponse, PlainTextResponse

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.client import Peer
from chassis.testing import eventually, running, serving
from envelope.brand import CATALOGUE
from gateway.app import GatewayApp as GatewayProcess
from gateway.settings import Settings as GatewaySettings
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor.dead_letters import DeadLetterOperations
from monitor.http_api import create_api
from monitor.notifications import Notifier, NotifierGateway, SummaryComposer
from tests.fixtures.accounts.other_side import KEY, OtherSide, client

ROOT = Path(__file__).parents[3]
TOKEN = "7000000001:AArecognisable-1"
SECRET = "whsec_" + base64.b64encode(b"recognisable-recognisable").decode()


@pytest.fixture
async def gateway(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[GatewayProcess]:
    settings = GatewaySettings.model_validate(
        {
            "database_url": await make_database("gateway"),
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": Fernet.generate_key().decode(),
            "egress_reachable_networks": "127.0.0.1/32",
        }
    )
    async with running(GatewayProcess(settings)) as process:
        yield process


@pytest.fixture
async def monitor(
    gateway: GatewayProcess, make_database: Callable[[str], Awaitable[str]]
) -> AsyncIterator[httpx.AsyncClient]:
    """Its API over HTTP; the test itself sends test messages to routes."""
    connections = Connections(await make_database("monitor"), name="monitor test", size=8)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none"))
    database = Database(connections, relay, "monitor", CATALOGUE)
    asked = NotifierGateway(
        Peer("the gateway", f"http://127.0.0.1:{gateway.port}", "GATEWAY_URL", SecretStr(KEY))
    )
    notifier = Notifier(database, asked, SummaryComposer(database, None, asked))
    app = create_api(database, DeadLetterOperations(database), ServiceKey(SecretStr(KEY)), asked, notifier)
    try:
        async with (
            serving(app) as origin,
            httpx.AsyncClient(
                base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
            ) as http,
        ):
            yield http
    finally:
        await asked.aclose()
        await connections.close()


async def connect(gateway: GatewayProcess, name: str, kind: str, settings: Any, credentials: Any) -> None:
    body = {"kind": kind, "brands": ["*"], "settings": settings, "credentials": credentials}
    async with client(gateway) as api:
        answer = await api.put(f"/v1/accounts/{name}", json=body)
    assert answer.is_success, answer.text


async def tried(monitor: httpx.AsyncClient, name: str, **how: Any) -> dict[str, Any]:
    made = await monitor.put(f"/v1/notifications/routes/{name}", json={"account": name, **how})
    assert made.is_success, made.text
    sent: dict[str, Any] = (await monitor.post(f"/v1/notifications/routes/{name}/test")).json()
    return sent


async def test_the_gateway_lets_every_form_through_and_providers_see_it(
    gateway: GatewayProcess, monitor: httpx.AsyncClient
) -> None:
    other = OtherSide()
    async with serving(other) as url:
        bot = {"chat": "-1001", "api_url": url}
        await connect(gateway, "bot", "telegram", bot, {"token": TOKEN})
        await connect(
            gateway,
            "slack",
            "slack",
            {"api_url": url},
            {"url": "https://hooks.slack.com/services/T0001/B0001/recognisable1"},
        )
        discord = "https://discord.com/api/webhooks/223704706495545344/discord-recognisable-1"
        await connect(gateway, "discord", "discord", {"api_url": url}, {"url": discord})
        await connect(gateway, "hook", "webhook", {"url": f"{url}/in"}, {"secret": SECRET})
        other.answer(f"POST /bot{TOKEN}/sendMessage", {"ok": True, "result": {"message_id": 1}})
        other.answer("POST /services/T0001/B0001/recognisable1", PlainTextResponse("ok"))
        other.answer("POST /api/v10/webhooks/223704706495545344/discord-recognisable-1", {"id": "1"})
        other.answer("POST /in", {})

        sent = {name: await tried(monitor, name) for name in ("bot", "slack", "discord", "hook")}

        assert {name: (each["state"], each["problem"]) for name, each in sent.items()} == dict.fromkeys(
            sent, ("sent", None)
        )
        telegram, slack, of_discord, hook = other.came
        assert (telegram.json["chat_id"], telegram.json["parse_mode"]) == ("-1001", "HTML")
        assert slack.json["blocks"][0]["text"]["text"] == "Test of notifications"
        assert (of_discord.query, of_discord.json["allowed_mentions"]) == ({"wait": "true"}, {"parse": []})
        assert hook.headers["webhook-id"] == f"msg_{sent['hook']['id']}"
        signed = f"{hook.headers['webhook-id']}.{hook.headers['webhook-timestamp']}.".encode() + hook.body
        expected = hmac.new(b"recognisable-recognisable", signed, hashlib.sha256).digest()
        assert hook.headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"

        # In their own words, and with nothing that is secret.
        other.answer(
            f"POST /bot{TOKEN}/sendMessage",
            JSONResponse({"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}, 400),
        )
        other.answer("POST /services/T0001/B0001/recognisable1", PlainTextResponse("no_service", 404))
        for name, problem in (
            ("bot", "telegram answered 400: Bad Request: chat not found"),
            ("slack", "make another webhook and connect again"),
        ):
            failed = (await monitor.post(f"/v1/notifications/routes/{name}/test")).json()
            assert failed["state"] == "failed"
            assert problem in failed["problem"]
            assert "recognisable" not in failed["problem"]


@pytest.fixture
def mail_server(free_port: Callable[[], int]) -> Iterator[dict[str, Any]]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="brand-engine-mail-") as made:
        # The server delivers as nobody, who has to get there; into what pytest makes, nobody does.
        Path(made).chmod(0o711)
        folder = os.environ.get("MAIL_SERVER_FOLDER", made)
        script = ROOT / "deploy/local/servers/mail.sh"
        started = subprocess.run([script, folder, str(port)], capture_output=True, text=True, check=False)
        if started.returncode:
            pytest.skip(f"no mail server can be had here: {started.stderr.strip()[-300:]}")
        yield json.loads((Path(folder) / "credentials.json").read_text())
        subprocess.run([script, folder, str(port), "stop"], check=True)


@pytest.mark.real
async def test_mail_arrives_at_a_real_server(
    gateway: GatewayProcess, monitor: httpx.AsyncClient, mail_server: dict[str, Any]
) -> None:
    authority = await asyncio.to_thread(Path(mail_server["authority"]).read_text)
    settings = {
        "host": "127.0.0.1",
        "port": mail_server["port"],
        "sender": "Brand Engine <engine@example.org>",
        "authority": authority,
    }
    login = {"user": mail_server["user"], "password": mail_server["password"]}
    await connect(gateway, "mail", "smtp", settings, login)
    name = f"ops-{mail_server['port']}"

    sent = await tried(monitor, "mail", to=[f"{name}@example.org", "gone@example.org"])

    assert (sent["state"], "550" in sent["problem"], "gone@example.org" in sent["problem"]) == (
        "sent",
        True,
        True,
    )
    arrived = Path(mail_server["mail"]) / name / "new"
    (file,) = await eventually(lambda: list(arrived.glob("*")))
    mail = message_from_bytes(await asyncio.to_thread(file.read_bytes), policy=default)
    assert mail["Message-ID"] == f"<{sent['id']}@brand-engine.invalid>"
    assert mail["Subject"] == "Test of notifications"
    text = mail.get_body(("plain",))
    assert text is not None
    assert "notifications on this route arrive here" in text.get_content()

    greylisted = await tried(monitor, "mail", to=["busy@example.org"])
    assert (greylisted["state"], "451" in greylisted["problem"]) == ("failed", True)
    await connect(gateway, "mail", "smtp", settings, login | {"password": "another"})
    refused = await tried(monitor, "mail", to=["ops@example.org"])
    assert (refused["state"], "connect again" in refused["problem"]) == ("failed", True)
