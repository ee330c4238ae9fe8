"""`brandctl broker-users` as processes of their own, at a real broker and beside the API of the orchestrator."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from brandctl.local import broker_users
from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from messaging.topology import outside
from orchestrator.api import RequestAuthenticator, http_api
from orchestrator.received_commands import store
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    yield Database(connections, relay, "orchestrator", CATALOGUE)
    await connections.close()


@pytest.fixture
async def run(
    database: Database, rabbitmq_url: str, rabbitmq_api_url: str, tmp_path: Path
) -> AsyncIterator[Operator]:
    app = http_api(database, RequestAuthenticator(database, ServiceKey(SecretStr(KEY))))
    async with serving(app) as url:
        yield Operator(
            tmp_path,
            {
                "ORCHESTRATOR_URL": url,
                "SERVICE_KEY": KEY,
                "RABBITMQ_API_URL": rabbitmq_api_url,
                "RABBITMQ_VHOST": broker_users.vhost_of(rabbitmq_url),
            },
        )


async def test_a_user_is_added_listed_renewed_and_removed(
    run: Operator, database: Database, rabbitmq_api_url: str
) -> None:
    unknown = await run("broker-users", "add", "shop")
    made = await run("keys", "create", "shop", "--scope", "submit", "--json")
    key_id = json.loads(made.out)["about"]["key_id"]
    try:
        added = await run("broker-users", "add", "shop")
        again = await run("broker-users", "add", "shop")
        listed = await run("broker-users", "list", "--json")
        renewed = await run("broker-users", "renew", "shop", "--json")
        none = await run("broker-users", "refused", "shop")
        async with database.transaction() as tx:
            await store.insert_refusal(
                tx.connection, key_id, "a-1", "cycle.start", "unknown_brand", "no such"
            )
        refused = await run("broker-users", "refused", "shop")
        removed = await run("broker-users", "remove", "shop", "--yes")
        gone = await run("broker-users", "remove", "shop", "--yes")
        late = await run("broker-users", "renew", "shop")
    finally:
        outside.remove(rabbitmq_api_url, key_id)

    assert (unknown.code, "there is no key shop" in unknown.err) == (1, True)
    user, password = added.out.split()
    assert (added.code, user, password in added.err) == (0, f"outside-{key_id}", False)
    assert (again.code, "already" in again.err) == (1, True)
    (line,) = [each for each in json.loads(listed.out)["items"] if each["user"] == user]
    assert (line["name"], line["state"], line["scopes"]) == ("shop", "open", ["submit"])
    assert json.loads(renewed.out)["password"] != password
    assert (none.code, "nothing was refused" in none.err) == (0, True)
    assert refused.out.splitlines()[1].split("\t")[1:] == ["a-1", "cycle.start", "unknown_brand", "no such"]
    assert (removed.code, gone.code, "has no user" in gone.err) == (0, 1, True)
    assert (late.code, "add one first" in late.err) == (1, True)


async def test_it_says_what_it_needs(run: Operator) -> None:
    await run("keys", "create", "shop", "--scope", "submit")
    without = await run("broker-users", "add", "shop", RABBITMQ_API_URL="")
    away = await run("broker-users", "add", "shop", RABBITMQ_API_URL="http://a:b@127.0.0.1:1")
    lost = await run("broker-users", "add", "shop", RABBITMQ_VHOST="nowhere")
    assert (without.code, "RABBITMQ_API_URL is not set" in without.err) == (2, True)
    assert (away.code, "cannot be reached" in away.err) == (1, True)
    assert (lost.code, "no vhost 'nowhere'" in lost.err) == (1, True)
