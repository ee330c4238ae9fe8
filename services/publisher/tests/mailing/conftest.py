"""A publisher's newsletter beside a real gateway and a mail server in this process."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.testing import running
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.http_api import create_app
from publisher.mailing import LetterSender
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from receipts import EffectsGateway
from tests.fixtures.mail_servers import MailServer

KEY = "test-service-key-0123456789"
ORIGIN = "https://blog.example.org"
API = "/v1/brands/daily-grind/newsletter"
PAGE = "/sites/daily-grind/newsletter/"
_LINK = re.compile(rf"{ORIGIN}(/sites/daily-grind/newsletter/\w+/[\w-]+)")


@pytest.fixture
async def mail_server() -> AsyncIterator[MailServer]:
    made = MailServer()
    await made.listen()
    yield made
    made.close()


@dataclass
class Newsletter:
    database: Database
    client: httpx.AsyncClient
    sender: LetterSender
    mail: MailServer
    publication: Callable[..., RenderedArticle]

    async def api(self, method: str, path: str = "", **body: Any) -> httpx.Response:
        return await self.client.request(
            method, f"{API}{path}", headers={"X-Service-Key": KEY}, json=body if method == "PUT" else None
        )

    async def state(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api("GET")).json()
        return found

    async def sign_up(self, address: str, **headers: str) -> httpx.Response:
        return await self.client.post(PAGE, data={"address": address}, headers=headers)

    async def subscribe(self, address: str) -> None:
        """Signs up, sends what is due, and confirms by the link in the mail."""
        assert (await self.sign_up(address)).status_code == 303
        await self.sender.send_due()
        mail = next(each for each in self.mail.mails() if each["To"] == address)
        assert (await self.client.post(link_in(mail.get_content()))).status_code == 200
        self.mail.taken.clear()

    async def publish(self, **changes: Any) -> None:
        """Publishes an article; its letter is due at once."""
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, self.publication(**changes))
            await tx.connection.execute("update newsletter_letters set due_at = clock_timestamp()")

    async def later(self) -> None:
        """Everything that waits is due: pauses are over."""
        async with self.database.transaction() as tx:
            await tx.connection.execute(
                "update newsletter_deliveries set due_at = clock_timestamp() where state = 'waiting'"
            )
            await tx.connection.execute("update newsletters set paused_until = null")

    async def rows(self, statement: str) -> list[Any]:
        async with self.database.connection() as connection:
            return list(await connection.fetch(statement))


def link_in(text: str) -> str:
    """The path of the first link of a newsletter in a text."""
    found = _LINK.search(text)
    assert found is not None, text
    return found[1]


@pytest.fixture
async def gateway_url(
    make_database: Callable[[str], Awaitable[str]], mail_server: MailServer
) -> AsyncIterator[str]:
    """A real gateway to which the mail server is connected as `post`."""
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
        "egress_reachable_networks": "127.0.0.1/32",
    }
    account = {
        "kind": "smtp",
        "brands": ["daily-grind"],
        "settings": {
            "host": "127.0.0.1",
            "port": mail_server.port,
            "security": "plain",
            "sender": "The Daily Grind <news@daily-grind.example>",
            "per_minute": 6000,
            "together": 1000,
        },
        "credentials": {},
    }
    async with running(GatewayApp(GatewaySettings.model_validate(settings))) as gateway:
        url = f"http://127.0.0.1:{gateway.port}"
        async with httpx.AsyncClient(
            base_url=url, headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
        ) as api:
            connected = await api.put("/v1/accounts/post", json=account)
            assert connected.status_code == 200, connected.text
            assert (await api.post("/v1/accounts/post/check")).json()["state"] == "ok"
        yield url


@pytest.fixture
async def newsletter(
    database: Database,
    gateway_url: str,
    mail_server: MailServer,
    publication: Callable[..., RenderedArticle],
) -> AsyncIterator[Newsletter]:
    """The newsletter of a brand with one article from before; it is on."""
    urls = SiteUrls.under(ORIGIN)
    door = EffectsGateway(gateway_url, SecretStr(KEY))
    sites = create_app(database, urls, articles_per_page=5, sign_ups_per_hour=10)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites, door=door)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        made = Newsletter(database, client, LetterSender(database, door, urls), mail_server, publication)
        await made.publish(slug="before")
        on = await made.api("PUT")
        assert on.status_code == 200, on.text
        yield made
    await door.aclose()
