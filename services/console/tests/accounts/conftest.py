"""The services that accounts, targets and sites are asked of, and a Mastodon server that answers as a test says."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet

from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings
from publisher.app import build as build_publisher
from publisher.settings import Settings as PublisherSettings
from social.app import build as build_social
from social.settings import Settings as SocialSettings
from tests.fixtures.accounts.other_side import OtherSide

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"


@pytest.fixture
async def other() -> AsyncIterator[OtherSide]:
    made = OtherSide()
    async with serving(made) as url:
        made.url = url
        yield made


@pytest.fixture
async def publisher_database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("publisher")


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
    publisher_database_url: str,
) -> AsyncIterator[dict[str, str]]:
    async def settings(name: str, **more: Any) -> dict[str, Any]:
        broker = {"rabbitmq_url": broker_urls[name]} if name != "gateway" else {}
        return {
            "database_url": publisher_database_url if name == "publisher" else await make_database(name),
            "service_key": KEY,
            "http_port": 0,
            **broker,
            **more,
        }

    of_orchestrator = OrchestratorSettings.model_validate(await settings("orchestrator"))
    async with running(build_orchestrator(of_orchestrator)) as orchestrator:
        url = f"http://127.0.0.1:{orchestrator.port}"
        of_gateway = await settings(
            "gateway",
            orchestrator_url=url,
            gateway_keys=Fernet.generate_key().decode(),
            egress_reachable_networks="127.0.0.1/32",
        )
        async with (
            running(GatewayApp(GatewaySettings.model_validate(of_gateway))) as gateway,
            running(
                build_publisher(
                    PublisherSettings.model_validate(
                        await settings(
                            "publisher",
                            orchestrator_url=url,
                            gateway_url=f"http://127.0.0.1:{gateway.port}",
                        )
                    )
                )
            ) as publisher,
            running(
                build_social(SocialSettings.model_validate(await settings("social", orchestrator_url=url)))
            ) as social,
        ):
            yield {
                "orchestrator_url": url,
                "gateway_url": f"http://127.0.0.1:{gateway.port}",
                "publisher_url": f"http://127.0.0.1:{publisher.port}",
                "social_url": f"http://127.0.0.1:{social.port}",
            }


@pytest.fixture
async def acme(console: Any) -> None:
    """The brand `acme`, with a channel and two targets."""
    await console.orchestrator.set_brand(
        "acme", name="Acme", channels=["mastodon"], targets=["site", "wordpress"]
    )


@pytest.fixture
def another(console: Any) -> Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]:
    """A context in which Eve, or another person, is signed in, with a role and perhaps bound to brands."""

    @asynccontextmanager
    async def sign_in(
        role: str, brands: list[str] | None = None, name: str = "Eve"
    ) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
        ) as made:
            link = await console.invite(name, role, brands)
            answer = await made.post(link, data={"name": name, "password": PASSWORD})
            assert answer.status_code == 303
            yield made

    return sign_in
