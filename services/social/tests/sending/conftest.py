"""Social with a gateway, an orchestrator with prepared answers, and networks on this machine."""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from chassis.testing import running, serving
from fakes import Fake
from fakes import serving as playing
from fakes.channels.bluesky import FakeBluesky
from fakes.channels.mastodon import FakeMastodon
from fakes.channels.webhook import SECRET, FakeWebhook
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from messaging import Service
from receipts import EffectsGateway
from social.app import build
from social.post_metrics import PostMetricsPoller
from social.settings import Settings

KEY = "test-service-key-0123456789"
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""One pixel."""


@dataclass
class Orchestrator:
    """Says of brands and articles what it is told, and shows a picture; `away`: answers nobody."""

    paused_at: str | None = None
    taken_down_at: str | None = None
    deleted: bool = False
    away: bool = False
    pages_are: int | None = None
    """The status with which pictures are answered; None: with the picture."""
    asked: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.asked.append(request.url.path)
        await self._answer(request.url.path)(scope, receive, send)

    def _answer(self, path: str) -> Response:
        if path.startswith("/sites/"):  # as the publisher serves them
            if self.pages_are is not None:
                return Response(status_code=self.pages_are)
            return Response(PNG, media_type="image/png")
        if self.away:
            return JSONResponse({}, 503)
        if path.startswith("/v1/brands/"):
            return JSONResponse({"paused_at": self.paused_at})
        if self.deleted:
            return JSONResponse({"detail": "it was deleted"}, 410)
        return JSONResponse({"taken_down_at": self.taken_down_at})


class Networks:
    """Other people's servers, and how accounts there are connected at the gateway."""

    def __init__(
        self, api: httpx.AsyncClient, mastodon: FakeMastodon, bluesky: FakeBluesky, webhook: FakeWebhook
    ) -> None:
        self._api = api
        self.mastodon = mastodon
        self.bluesky = bluesky
        self.webhook = webhook

    @property
    def all(self) -> tuple[Fake, ...]:
        return self.mastodon, self.bluesky, self.webhook

    async def connect(self, *kinds: str) -> None:
        """Under the name of its kind, each, for the brand `daily-grind`."""
        for kind in kinds:
            await self.connect_as(kind, kind)

    async def put(self, name: str, account: dict[str, Any]) -> None:
        """Connects an account as it is described, and has the gateway look who it is."""
        answer = await self._api.put(f"/v1/accounts/{name}", json=account)
        assert answer.status_code == 200, answer.text
        await self.check(name)

    async def check(self, name: str) -> None:
        """As the command does that connects an account: the gateway asks the other side who it is."""
        answer = await self._api.post(f"/v1/accounts/{name}/check")
        assert answer.status_code == 200, answer.text

    async def connect_as(self, name: str, kind: str) -> None:
        settings = {
            "mastodon": (self.mastodon.url, {"token": self.mastodon.token}),
            "bluesky": (
                self.bluesky.url,
                {"identifier": self.bluesky.handle, "password": self.bluesky.password},
            ),
            "webhook": (f"{self.webhook.url}/hook", {"secret": SECRET}),
        }
        url, credentials = settings[kind]
        body = {
            "kind": kind,
            "brands": ["daily-grind"],
            "settings": {"url": url, "per_minute": 60_000, "together": 1000},
            "credentials": credentials,
        }
        answer = await self._api.put(f"/v1/accounts/{name}", json=body)
        assert answer.status_code == 200, answer.text


@pytest.fixture
async def gateway(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[GatewayApp]:
    given = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
        "egress_reachable_networks": "127.0.0.1/32",
    }
    async with running(GatewayApp(GatewaySettings.model_validate(given))) as app:
        yield app


@pytest.fixture
async def networks(gateway: GatewayApp) -> AsyncIterator[Networks]:
    url, headers = f"http://127.0.0.1:{gateway.port}", {"X-Service-Key": KEY}
    async with (
        playing(FakeMastodon(keeps_keys=False)) as mastodon,
        playing(FakeBluesky()) as bluesky,
        playing(FakeWebhook()) as webhook,
        httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as api,
    ):
        yield Networks(api, mastodon, bluesky, webhook)


@pytest.fixture
async def orchestrator() -> AsyncIterator[tuple[Orchestrator, str]]:
    made = Orchestrator()
    async with serving(made) as url:
        yield made, url


@pytest.fixture
async def social_settings(
    database_url: str,
    rabbitmq_url: str,
    free_port: Callable[[], int],
    gateway: GatewayApp,
    orchestrator: tuple[Orchestrator, str],
) -> dict[str, Any]:
    port = free_port()
    return {
        "rabbitmq_url": rabbitmq_url,
        "database_url": database_url,
        "http_port": port,
        "public_url": f"http://127.0.0.1:{port}",
        "service_key": KEY,
        "gateway_url": f"http://127.0.0.1:{gateway.port}",
        "orchestrator_url": orchestrator[1],
        "pages_url": orchestrator[1],
        "post_retry_seconds": "0.1,0.1,0.1",
        "post_tick_seconds": 0.2,
    }


@pytest.fixture
def social_service(social_settings: dict[str, Any]) -> Service:
    """Put together with a gateway and an orchestrator."""
    return build(Settings.model_validate(social_settings))


@pytest.fixture
async def looks(social_service: Service, social_settings: dict[str, Any]) -> AsyncIterator[PostMetricsPoller]:
    """As another replica has them."""
    settings = Settings.model_validate(social_settings)
    door = EffectsGateway(settings.gateway_url, settings.key_for_gateway)
    yield PostMetricsPoller(social_service.database, door)
    await door.aclose()
