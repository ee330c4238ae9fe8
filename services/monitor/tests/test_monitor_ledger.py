"""The ledger on a real broker and real databases: an orchestrator that sends, a research that handles, and the monitor between them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.http.api import add_routes, api
from chassis.http.client import Peer
from chassis.testing import eventually, running, serving
from envelope import DeadLetterResolved, DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchFailed, ResearchRequested
from messaging import RetryLater, Service, ServiceSettings, Transaction, Unprocessable, on_batch
from messaging.message_routes import message_routes
from messaging.testing import Broker
from monitor import dead_letters
from monitor.dead_letters import DeadLetterOperations
from monitor.erased import ERASURES
from monitor.http_api import create_api
from monitor.ledger import LedgerReconciler, RemotePeer
from monitor.notifications import PeerClient

KEY = "test-service-key-0123456789"
QUEUE = "research-commands"
AT_ONCE = timedelta()


mended: set[UUID] = set()
"""Messages of the keyword `never` whose replays are handled."""


async def treat(given: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    for message in given:
        match message.payload.keyword:
            case "later":
                tx.fail(message, RetryLater("the shelf is locked", after=timedelta(hours=2)))
            case "never" if message.causation_id not in mended:
                tx.fail(message, Unprocessable("no such shelf"))


async def treat_event(given: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    """Needs nothing: the inbox notes that they were handled."""


def settings_of(rabbitmq_url: str, database_url: str) -> ServiceSettings:
    return ServiceSettings.model_validate(
        {
            "rabbitmq_url": rabbitmq_url,
            "database_url": database_url,
            "service_key": KEY,
            "http_port": 0,
            "retry_base_seconds": 0.3,
            "shutdown_grace_seconds": 10,
        }
    )


@dataclass
class LedgerWorld:
    """Services with their APIs; none of them consumes before a test runs it."""

    broker: Broker
    orchestrator: Service
    research: Service
    monitor: Service
    addresses: dict[str, str]
    client: httpx.AsyncClient
    clients: list[PeerClient] = field(default_factory=list)

    def reconciler(
        self, *, overdue: timedelta = timedelta(minutes=10), quiet: timedelta = AT_ONCE
    ) -> LedgerReconciler:
        peers = {}
        for name, url in self.addresses.items():
            client = PeerClient(Peer(name, url, f"{name.upper()}_URL", SecretStr(KEY)))
            self.clients.append(client)
            peers[name] = RemotePeer(client)
        return LedgerReconciler(
            self.monitor.database, peers, CATALOGUE, overdue=overdue, grace=AT_ONCE, quiet=quiet
        )

    async def send(self, *keywords: str, event_id: UUID | None = None) -> list[UUID]:
        """Sends commands from the orchestrator; returns once the broker has confirmed them."""
        async with self.orchestrator.database.transaction() as tx:
            ids = [
                tx.send(ResearchRequested(brand_slug="acme", keyword=each), event_id=event_id)
                for each in keywords
            ]
        await eventually(self._nothing_unsent)
        return ids

    async def remove(self, queue: str) -> bytes:
        """Takes the first message out of a queue, as nobody should; returns its body."""
        return (await self.broker.take(queue)).body

    async def _nothing_unsent(self) -> bool:
        async with self.orchestrator.database.connection() as connection:
            return not await connection.fetchval("select count(*) from outbox")

    async def has_outcomes(self, number: int) -> bool:
        async with self.research.database.connection() as connection:
            return bool(await connection.fetchval("select count(*) >= $1 from processed_events", number))

    @asynccontextmanager
    async def consuming(self) -> AsyncIterator[None]:
        """Research handles its messages; its API answers afterwards too."""
        async with running(self.research):
            yield
        await self.research.connections.open()

    async def retries(self, number: int) -> bool:
        async with self.research.database.connection() as connection:
            return bool(await connection.fetchval("select count(*) = $1 from outbox", number))

    async def letters(self, state: str, number: int = 1) -> bool:
        async with self.monitor.database.connection() as connection:
            found = await connection.fetchval("select count(*) from dead_messages where state = $1", state)
        return bool(found == number)

    async def replay(self) -> UUID:
        """Replays the open dead letter; returns the new message."""
        letters = await self.client.get("/v1/dead-letters", params={"state": "open"})
        (letter,) = letters.json()["items"]
        replayed = await self.client.post(f"/v1/dead-letters/{letter['id']}/replay")
        assert replayed.is_success, replayed.text
        return UUID(replayed.json()["replay_event_id"])

    async def ledger(self) -> dict[str, Any]:
        answer = await self.client.get("/v1/ledger")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        counts = found["last_24_hours"]
        assert counts["accepted"] == sum(number for name, number in counts.items() if name != "accepted")
        return found

    async def counts(self) -> dict[str, int]:
        """Those of research's queue that are not 0."""
        found = {each.pop("queue"): each for each in (await self.ledger())["queues"]}
        return {name: number for name, number in found.get(QUEUE, {}).items() if number}

    async def messages(self, **query: Any) -> list[dict[str, Any]]:
        answer = await self.client.get("/v1/ledger/messages", params={"queue": QUEUE} | query)
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items


def message_api(service: Service) -> Any:
    app = api(service.name, ServiceKey(SecretStr(KEY)), answers=service.database)
    add_routes(app, message_routes(service.database))
    return app


@pytest.fixture
async def world(
    rabbitmq_url: str, make_database: Callable[[str], Awaitable[str]]
) -> AsyncIterator[LedgerWorld]:
    services = {
        name: Service(name, settings_of(rabbitmq_url, await make_database(name)), CATALOGUE)
        for name in ("orchestrator", "research", "monitor")
    }
    services["research"].consume(QUEUE, on_batch(treat, ResearchRequested))
    services["monitor"].consume_dead_letters(dead_letters.record)
    services["monitor"].consume("monitor-commands", on_batch(dead_letters.resolve, DeadLetterResolved))
    async with AsyncExitStack() as stack:
        for each in services.values():
            await each.connections.open()
            stack.push_async_callback(each.connections.close)
        addresses = {
            name: await stack.enter_async_context(serving(message_api(services[name])))
            for name in ("orchestrator", "research")
        }
        monitor = services["monitor"]
        app = create_api(monitor.database, DeadLetterOperations(monitor.database), ServiceKey(SecretStr(KEY)))
        client = await stack.enter_async_context(
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app),
                base_url="http://monitor",
                headers={"X-Service-Key": KEY},
            )
        )
        broker = await stack.enter_async_context(Broker.connected(rabbitmq_url))
        made = LedgerWorld(broker, services["orchestrator"], services["research"], monitor, addresses, client)
        yield made
        for one in made.clients:
            await one.aclose()


async def test_each_message_is_done_waits_or_has_a_dead_letter(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator), running(world.research), running(world.monitor):
        _done, waiting, dead = await world.send("k", "later", "never")
        await eventually(lambda: world.has_outcomes(2))
        await eventually(lambda: world.retries(1))
        await eventually(lambda: world.letters("open"))
        for _ in range(2):
            await reconciler.advance()
        first = await world.counts()
        items = {each["message_id"]: each for each in await world.messages()}
        (letter,) = (await world.client.get("/v1/dead-letters")).json()["items"]
        refused = await world.client.post(f"/v1/dead-letters/{letter['id']}/discard", json={"reason": "no"})
        assert refused.is_success, refused.text
        await reconciler.advance()
        discarded = await world.counts()
        again = await world.client.post(f"/v1/dead-letters/{letter['id']}/restore", json={"reason": "yes"})
        assert again.is_success, again.text
        await reconciler.advance()
        restored = await world.counts()
    assert first == {"accepted": 3, "done": 1, "under_way": 1, "dead_letters": 1}
    assert (items[str(waiting)]["state"], items[str(waiting)]["place"]) == ("under_way", "retry")
    assert (items[str(dead)]["state"], items[str(dead)]["type"]) == ("dead_letter", "research.requested")
    assert items[str(dead)]["correlation_id"] == str(dead)
    assert datetime.fromisoformat(items[str(waiting)]["place_at"]) > datetime.now(UTC)
    assert discarded == {"accepted": 3, "done": 1, "under_way": 1, "discarded": 1}
    assert restored == first


async def test_a_dead_letter_whose_replay_was_handled_is_done(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator), running(world.monitor), running(world.research):
        await world.send("never")
        await eventually(lambda: world.letters("open"))
        await reconciler.advance()
        open_one = await world.counts()
        again = await world.replay()
        # The replay dies too.
        await eventually(lambda: world.letters("open"))
        await reconciler.advance()
        still_open = await world.counts()
        mended.add(again)
        await world.replay()
        await eventually(lambda: world.letters("resolved", 2))
        await reconciler.advance()
        done = await world.counts()
    assert open_one == still_open == {"accepted": 1, "dead_letters": 1}
    assert done == {"accepted": 1, "done": 1}


async def test_a_message_taken_out_of_a_queue_by_hand_is_missed_and_its_last_hop_named(
    world: LedgerWorld,
) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator):
        lost, kept = await world.send("lost", "kept")
        await reconciler.advance()
        waiting = await world.counts()
        # Its consumer has been away for longer than allowed, and the queue holds both.
        await reconciler.advance()
        still_waiting = await world.counts()
        removed = await world.remove(QUEUE)
        await reconciler.advance()
        with_another_in_the_queue = await world.counts()
        async with running(world.research):
            await eventually(lambda: world.has_outcomes(1))
            for _ in range(3):
                await reconciler.advance()
            found = await world.ledger()
            (item,) = await world.messages(state="missing")
            # It turns up after all.
            await world.broker.publish("commands", QUEUE, removed, type="research.requested")
            await eventually(lambda: world.has_outcomes(2))
            await reconciler.advance()
            after = await world.ledger()
    assert waiting == still_waiting == with_another_in_the_queue == {"accepted": 2, "under_way": 2}
    assert (found["missing"], found["last_24_hours"]["done"]) == (1, 1)
    assert item["message_id"] == str(lost)
    assert (item["sender"], item["consumer"], item["queue"], item["place"]) == (
        "orchestrator",
        "research",
        QUEUE,
        "queue",
    )
    assert f"confirmed it into the queue {QUEUE}" in item["last_hop"]
    assert "research has given it no outcome" in item["last_hop"]
    assert (after["missing"], after["last_24_hours"]["done"]) == (0, 2)
    assert kept != lost


async def test_an_event_taken_from_the_queue_of_the_log_is_missed_though_its_other_queue_has_it(
    world: LedgerWorld, rabbitmq_url: str, make_database: Callable[[str], Awaitable[str]]
) -> None:
    events = Service("events", settings_of(rabbitmq_url, await make_database("events")), CATALOGUE)
    events.consume("event-log", on_batch(treat_event, ResearchFailed))
    await events.connections.open()
    async with running(world.research), serving(message_api(events)) as url:
        world.addresses["events"] = url
        reconciler = world.reconciler(overdue=AT_ONCE)
        async with world.research.database.transaction() as tx:
            lost, _kept = (
                tx.send(ResearchFailed(brand_slug="acme", keyword=each, reason="no_sources", detail="none"))
                for each in ("lost", "kept")
            )
        await eventually(lambda: world.retries(0))
        await world.remove("event-log")
        async with running(events):
            for _ in range(3):
                await reconciler.advance()
            (item,) = await world.messages(queue="event-log", state="missing")
            others = await world.messages(queue="orchestrator-events")
    assert item["message_id"] == str(lost)
    assert (item["sender"], item["consumer"], item["place"]) == ("research", "events", "queue")
    assert "into the queue event-log" in item["last_hop"]
    assert [each["state"] for each in others] == ["under_way", "under_way"]


async def test_a_missing_message_is_closed_once_and_counted_again_if_it_turns_up(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)

    async def close(*ids: UUID, reason: str = "a purge by mistake") -> Any:
        asked = {"ids": [str(each) for each in ids], "reason": reason, "by": "Otto"}
        return await world.client.post("/v1/ledger/messages/close", json=asked)

    async with running(world.orchestrator):
        lost, _kept = await world.send("lost", "kept")
        removed = await world.remove(QUEUE)
        kept = await world.remove(QUEUE)
        for _ in range(2):
            await reconciler.advance()
        await world.broker.publish("commands", QUEUE, kept, type="research.requested")
        refused = [(await close(lost, reason=each)).status_code for each in ("", " ")]
        first = await close(lost, new_event_id())
        again = await close(lost, reason="something else")
        for _ in range(2):
            await reconciler.advance()
        counts = await world.counts()
        found = await world.ledger()
        (item,) = await world.messages(state="closed")
        assert await world.messages(message_id=str(lost)) == [item]
        assert await world.messages(correlation_id=str(lost), state="closed") == [item]
        assert await world.messages(correlation_id="another") == []
        others = await world.messages(state="missing")
        async with running(world.research):
            await world.broker.publish("commands", QUEUE, removed, type="research.requested")
            await eventually(lambda: world.has_outcomes(2))
            await reconciler.advance()
            after = await world.counts()
    assert refused == [422, 422]
    assert (first.json(), again.json()) == ({"closed": [str(lost)]}, {"closed": []})
    assert counts["closed"] == 1
    assert counts["accepted"] == 2
    assert found["missing"] == len(others)
    assert (item["message_id"], item["state"], item["closed_by"]) == (str(lost), "closed", "Otto")
    assert item["closed_why"] == "a purge by mistake"
    assert item["last_hop"]
    assert after == {"accepted": 2, "done": 2}


async def test_a_dead_letter_that_is_lost_on_its_way_is_missed_at_its_queue(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator), running(world.research):
        await world.send("never")
        await eventually(lambda: world.has_outcomes(1))

        async def is_dead() -> bool:
            return await world.broker.depth(f"{QUEUE}-dlq") == 1

        await eventually(is_dead)
        for _ in range(2):
            await reconciler.advance()
        waiting = await world.counts()
        await world.remove(f"{QUEUE}-dlq")
        for _ in range(2):
            await reconciler.advance()
        (item,) = await world.messages(state="missing")
    assert waiting == {"accepted": 1, "under_way": 1}
    assert item["place"] == "dead_letter_queue"
    assert f"{QUEUE}-dlq" in item["last_hop"]


async def test_an_overtaken_message_is_missed_though_its_queue_never_is_empty(world: LedgerWorld) -> None:
    async with running(world.orchestrator):
        (lost,) = await world.send("lost")
        await world.remove(QUEUE)
        async with world.orchestrator.database.connection() as connection:
            await connection.execute("update sent_batches set sent_at = sent_at - interval '11 minutes'")
        reconciler = world.reconciler(quiet=timedelta(hours=1))
        await reconciler.advance()
        await world.send("young")
        async with world.consuming():
            await eventually(lambda: world.has_outcomes(1))
        await world.send("in the queue")
        for _ in range(2):
            await reconciler.advance()
        (item,) = await world.messages(state="missing")
        counts = await world.counts()
    assert item["message_id"] == str(lost)
    assert counts == {"accepted": 3, "done": 1, "under_way": 1, "missing": 1}


async def test_what_is_sent_twice_counts_twice_and_ends_twice(world: LedgerWorld) -> None:
    reconciler = world.reconciler()
    async with running(world.orchestrator):
        event_id = new_event_id()
        for _ in range(2):
            await world.send("k", event_id=event_id)
        await reconciler.advance()
        waiting = await world.counts()
        async with world.consuming():
            await eventually(lambda: world.has_outcomes(1))
        await reconciler.advance()
        done = await world.counts()
    assert waiting == {"accepted": 2, "under_way": 2}
    assert done == {"accepted": 2, "done": 2}


async def test_nothing_is_counted_twice_by_two_replicas_or_after_a_restart(world: LedgerWorld) -> None:
    first, second = world.reconciler(), world.reconciler()
    async with running(world.orchestrator), running(world.research):
        await world.send(*(f"k {number}" for number in range(1500)))
        await eventually(lambda: world.has_outcomes(1500))
        await asyncio.gather(first.advance(), second.advance())
        await asyncio.gather(second.advance(), first.advance())
        counts = await world.counts()
        await world.send(*(f"more {number}" for number in range(10)))
        # Its question to the consumer fails, so that the page is not stored.
        away = world.addresses.pop("research")
        world.addresses["research"] = "http://127.0.0.1:1"
        await world.reconciler().advance()
        unknown = await world.ledger()
        world.addresses["research"] = away
        await eventually(lambda: world.has_outcomes(1510))
        await world.reconciler().advance()
        back = await world.ledger()
    assert counts == {"accepted": 1500, "done": 1500}
    assert unknown["last_24_hours"]["accepted"] == 1500
    absent = {each["name"]: each["away_since"] for each in unknown["services"]}
    assert absent["research"] is not None
    assert absent["orchestrator"] is None
    assert back["last_24_hours"]["done"] == back["last_24_hours"]["accepted"] == 1510
    assert all(each["away_since"] is None for each in back["services"])


async def test_one_replica_makes_a_round_at_a_time(world: LedgerWorld) -> None:
    assert await world.reconciler().tick()
    assert not await world.reconciler().tick()


async def test_what_is_not_recorded_is_not_counted_and_said_so(world: LedgerWorld) -> None:
    world.orchestrator._relay.records_sent = False
    reconciler = world.reconciler()
    async with running(world.orchestrator):
        await world.send("k")
        await reconciler.advance()
        found = await world.ledger()
    assert found["last_24_hours"]["accepted"] == 0
    assert {each["name"]: each["is_recorded"] for each in found["services"]} == {
        "orchestrator": False,
        "research": True,
        "monitor": True,
    }


async def test_a_dead_letter_of_an_erased_brand_is_no_missing_message(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator), running(world.research), running(world.monitor):
        await world.send("never")
        await eventually(lambda: world.letters("open"))
        await reconciler.advance()
        async with world.monitor.database.transaction() as tx:
            await dead_letters.remove(tx.connection, "acme")
        await reconciler.advance()
        removed = await world.counts()
        async with world.monitor.database.transaction() as tx:
            await tx.connection.execute(
                "insert into erased_brands (erasure_id, brand_slug, asked_at, removed) values ($1, 'acme', now() + interval '1 hour', '{}')",
                new_event_id(),
            )
            assert await ERASURES.erasure_times(tx.connection, {"acme"})
        await world.send("never")

        async def is_dropped() -> bool:
            async with world.monitor.database.connection() as connection:
                return bool(await connection.fetchval("select count(*) = 2 from removed_dead_letters"))

        await eventually(is_dropped)
        for _ in range(3):
            await reconciler.advance()
        dropped = await world.counts()
    assert removed == {"accepted": 1, "discarded": 1}
    assert dropped == {"accepted": 2, "discarded": 2}


async def test_old_counts_and_missing_messages_leave_the_ledger(world: LedgerWorld) -> None:
    reconciler = world.reconciler(overdue=AT_ONCE)
    async with running(world.orchestrator):
        await world.send("lost")
        await world.remove(QUEUE)
        for _ in range(2):
            await reconciler.advance()
        assert (await world.ledger())["missing"] == 1
        async with world.monitor.database.connection() as connection:
            await connection.execute("update ledger_counts set hour = hour - interval '8 days'")
            await connection.execute("update ledger_messages set sent_at = sent_at - interval '8 days'")
        await reconciler.forget_old()
        found = await world.ledger()
    assert (found["missing"], found["reaches_back_to"]) == (0, None)


async def test_pages_of_messages_that_are_not_done(world: LedgerWorld) -> None:
    reconciler = world.reconciler()
    async with running(world.orchestrator):
        ids = await world.send(*(f"k {number}" for number in range(5)))
        await reconciler.advance()
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = (await world.client.get("/v1/ledger/messages", params={"limit": 2, **after})).json()
        found += [each["message_id"] for each in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert sorted(found) == sorted(map(str, ids))
    assert await world.messages(queue="x\0") == await world.messages(state="missing") == []
    refused = await world.client.get("/v1/ledger/messages", params={"after": "x"})
    assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
