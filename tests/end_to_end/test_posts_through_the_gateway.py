"""Posts go out through the real gateway: it puts the credentials on, and knows of each account what its channel needs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from envelope.brand import CATALOGUE
from fakes import Fake, serving
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from messaging import Database, Service, ServiceSettings
from receipts import Effect, EffectInDoubt, EffectPerformed, EffectRefused, EffectsGateway, Receipts
from services.social.tests.channels.conftest import Cover, composed
from social.channels import CHANNELS
from tests.fixtures.gateways import KEY, gateway_before
from tests.fixtures.sites import Names

THROUGH_THE_GATEWAY = [case for case in CASES if case.credentials is not None]


@asynccontextmanager
async def receipts_database(url: str) -> AsyncIterator[Database]:
    settings = {
        "rabbitmq_url": "amqp://nobody:nothing@127.0.0.1:1/",
        "database_url": url,
        "service_key": "a-key-for-tests-only",
        "http_port": 0,
    }
    service = Service("social", ServiceSettings.model_validate(settings), CATALOGUE)
    await service.connections.open()
    yield service.database
    await service.connections.close()


async def connected(api: httpx.AsyncClient, case: ChannelCase, network: Fake) -> str:
    """The name of an account of the network, which the gateway has looked at."""
    assert case.credentials is not None
    name = case.name.replace(" ", "-").replace(",", "")
    account = {
        "kind": case.channel,
        "brands": ["acme"],
        "settings": {**case.settings, "api_url": network.url},
        "credentials": dict(case.credentials(network)),
    }
    (await api.put(f"/v1/accounts/{name}", json=account)).raise_for_status()
    (await api.post(f"/v1/accounts/{name}/check")).raise_for_status()
    view = (await api.get(f"/v1/accounts/{name}")).json()
    assert view["state"] in {"ok", "expiring"}, view
    return name


async def performed(receipts: Receipts, case: ChannelCase, account: str) -> EffectPerformed | EffectInDoubt:
    sending = CHANNELS[case.channel].sending
    assert sending is not None
    prepared = sending.prepare(composed(case), datetime.now(UTC))
    effect = Effect(uuid4(), case.channel, account, "acme", "a post", prepared)
    return await receipts.perform(effect, sending.steps(prepared, Cover()))


async def test_every_channel_posts_once_through_the_gateway_and_says_when_it_is_let_in_no_more(
    make_database: Callable[[str], Awaitable[str]],
) -> None:
    gateway_url, url = await make_database("gateway"), await make_database("receipts")
    reachable = {"egress_reachable_networks": "127.0.0.0/8"}
    async with (
        gateway_before(Names(), gateway_url, **reachable) as api,
        receipts_database(url) as database,
        AsyncExitStack() as networks,
    ):
        door = EffectsGateway(str(api.base_url), SecretStr(KEY))
        networks.push_async_callback(door.aclose)
        receipts = Receipts(database, door)
        for case in THROUGH_THE_GATEWAY:
            network = await networks.enter_async_context(serving(case.fake()))
            name = await connected(api, case, network)
            result = await performed(receipts, case, name)
            assert isinstance(result, EffectPerformed), case.name
            assert network.accepted[0].url in {None, result.remote.get("url")}, case.name
            assert [each.kind for each in network.accepted].count("post") == 1, case.name

            before = network.accepted
            network.faults.inject("expired", "POST *")
            with pytest.raises(EffectRefused) as refused:
                await performed(receipts, case, name)
            assert refused.value.reason == "needs_reconnecting", case.name
            account = (await api.get(f"/v1/accounts/{name}")).json()
            assert account["state"] == "needs_reconnecting", case.name
            assert network.accepted == before, case.name
    assert {case.channel for case in THROUGH_THE_GATEWAY} >= {
        "x", "linkedin", "instagram", "threads", "telegram", "discord", "slack"
    }  # fmt: skip
