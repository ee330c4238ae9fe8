"""`brandctl events` and `brandctl subscriptions` as processes of their own, beside the API of `events`."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished
from events.http_api import create_api
from events.live.follower import EventFollower
from events.log import store
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from tests.fixtures.commands.brandctl import Operator
from tests.fixtures.event_log import published

KEY = "test-service-key-0123456789"


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("events"), name="events test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    yield Database(connections, relay, "events", CATALOGUE)
    await connections.close()


@pytest.fixture
async def run(database: Database, tmp_path: Path) -> AsyncIterator[Operator]:
    # Nothing here watches live.
    follower = EventFollower(Connections("postgresql://nobody@127.0.0.1:1/none", name="none", size=1), most=0)
    async with serving(create_api(database, ServiceKey(SecretStr(KEY)), follower)) as url:
        yield Operator(tmp_path, {"EVENTS_URL": url, "SERVICE_KEY": KEY})


async def happen(database: Database, *payloads: ContentPublished) -> None:
    async with database.transaction() as tx:
        messages = [
            DomainMessage[ContentPublished](
                event_id=new_event_id(),
                type="content.published",
                source="publisher",
                timestamp=datetime.now(UTC),
                payload=each,
            )
            for each in payloads
        ]
        await store.append(tx.connection, messages)


async def test_events_are_listed_page_by_page(database: Database, run: Operator) -> None:
    nothing = await run("events", "list")
    await happen(database, published(), published("other"), published())
    first = await run("events", "list", "--limit", "2")
    rest = await run("events", "list", "--after", "2", "--json")
    of_brand = await run("events", "list", "--brand", "other", "--type", "content.published")
    unknown = await run("events", "list", "--type", "no.such")

    assert (nothing.code, "no such event is kept" in nothing.err) == (0, True)
    heading, one, two = first.out.splitlines()
    assert heading == "place\ttime\ttype\tbrand\tabout"
    assert [one.split("\t")[0], *one.split("\t")[2:]] == [
        "1",
        "content.published",
        "acme",
        "https://acme.example/a",
    ]
    assert (two.split("\t")[3], "--after 2" in first.err) == ("other", True)
    assert [each["sequence"].lstrip("0") for each in json.loads(rest.out)["items"]] == ["3"]
    assert [line.split("\t")[0] for line in of_brand.out.splitlines()[1:]] == ["2"]
    assert (unknown.code, "there are no events 'no.such'" in unknown.err) == (1, True)


async def test_a_subscription_is_made_looked_at_and_removed(database: Database, run: Operator) -> None:
    await happen(database, published(), published())
    nothing = await run("subscriptions", "list")
    made = await run("subscriptions", "create", "crm", "--begin", "oldest", "--max-deliveries", "1")
    again = await run("subscriptions", "create", "crm", "--type", "social.posted")
    async with database.transaction() as tx:
        await tx.connection.execute(
            "insert into deliveries (subscription, position, lease_id, available_at, number, died_at)"
            " values ('crm', 1, gen_random_uuid(), now(), 1, now())"
        )
        await tx.connection.execute("update subscriptions set position = 1")
    shown = await run("subscriptions", "show", "crm")
    dead = await run("subscriptions", "dead-letters", "crm")
    revived = await run("subscriptions", "revive", "crm", "1")
    well = await run("subscriptions", "show", "crm")
    asked = await run("subscriptions", "delete", "crm")
    gone = await run("subscriptions", "delete", "crm", "--yes")
    unknown = await run("subscriptions", "show", "crm")

    assert "there is no subscription" in nothing.err
    assert (made.code, "POST /v1/subscriptions/crm/pull" in made.err) == (0, True)
    assert (again.code, "for other events" in again.err) == (1, True)
    assert (shown.code, "1 to come, 0 with its reader, 0 to come again, 1 dead letters" in shown.err) == (
        1,
        True,
    )
    assert dead.out.splitlines()[1].split("\t")[0] == "1"
    assert (revived.code, "1 delivered anew" in revived.err) == (0, True)
    assert (well.code, "1 to come again" in well.err) == (0, True)
    assert (asked.code, "Add --yes" in asked.err) == (2, True)
    assert gone.code == 0
    assert (unknown.code, "there is no subscription 'crm'" in unknown.err) == (1, True)
