"""The services that channels, targets and sites are asked of."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from chassis.testing import running
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings
from publisher.app import build as build_publisher
from publisher.settings import Settings as PublisherSettings
from social.app import build as build_social
from social.settings import Settings as SocialSettings

KEY = "test-service-key-0123456789"


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]], broker_urls: dict[str, str]
) -> AsyncIterator[dict[str, str]]:
    async def settings(name: str, **more: Any) -> dict[str, Any]:
        return {
            "database_url": await make_database(name),
            "service_key": KEY,
            "http_port": 0,
            "rabbitmq_url": broker_urls[name],
            **more,
        }

    of_orchestrator = OrchestratorSettings.model_validate(await settings("orchestrator"))
    async with running(build_orchestrator(of_orchestrator)) as orchestrator:
        url = f"http://127.0.0.1:{orchestrator.port}"
        async with (
            running(
                build_publisher(
                    PublisherSettings.model_validate(await settings("publisher", orchestrator_url=url))
                )
            ) as publisher,
            running(
                build_social(SocialSettings.model_validate(await settings("social", orchestrator_url=url)))
            ) as social,
        ):
            yield {
                "orchestrator_url": url,
                "publisher_url": f"http://127.0.0.1:{publisher.port}",
                "social_url": f"http://127.0.0.1:{social.port}",
            }


@pytest.fixture
async def acme(console: Any) -> None:
    """The brand `acme`, with a channel and two targets."""
    await console.orchestrator.set_brand(
        "acme", name="Acme", channels=["mastodon"], targets=["site", "wordpress"]
    )
