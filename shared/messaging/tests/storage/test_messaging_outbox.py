"""Delays, leases, replays, dead letters and traces."""

import asyncio
import inspect
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import aiormq
import asyncpg
import pytest
from aiormq.connection import Connection as UnderlayConnection

from chassis import DatabaseUnavailableError
from chassis.database.migrations import Migration, MigrationError, NotMigratedError
from chassis.testing import eventually, running
from envelope import DomainMessage, MessageTooLargeError, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ArticleContext, ResearchCompleted, ResearchRequested, SocialCreate
from messaging import (
    Context,
    DeadLetter,
    QueuePolicy,
    Record,
    Service,
    Transaction,
    Unprocessable,
    on_batch,
    on_each,
)
from messaging.broker import frames
from messaging.broker.bulk_publish import BulkPublisher
from messaging.broker.subscription import Subscription
from messaging.flow.codec import decoder
from messaging.storage import inbox, outbox, partitions
from messaging.storage.migrations import OWN, migrate
from messaging.storage.outbox import OutboxRow

QUEUE = "research-commands"


async def write_all(messages: Sequence[DomainMessage], tx: Transaction) -> None:
    for message in messages:
        await tx.connection.execute(
            "insert into effects values ($1, $2)", message.event_id, message.payload.keyword
        )


@pytest.mark.extended
@pytest.mark.usefixtures("wakes_when_due")
async def test_a_delayed_message_arrives_when_it_is_due_and_not_before(world) -> None:
    now = asyncio.get_running_loop().time
    arrived: dict[str, float] = {}

    async def note(messages: Sequence[DomainMessage], _: Transaction) -> None:
        arrived.update((message.payload.keyword, now()) for message in messages)

    service = world.service("orchestrator")
    service.consume(QUEUE, on_batch(note, ResearchRequested))
    async with running(service):
        sent = now()
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="later"), delay=timedelta(seconds=1.5))
            tx.send(ResearchRequested(brand_slug="acme", keyword="now"))
        await eventually(lambda: len(arrived) == 2)
    assert list(arrived) == ["now", "later"]
    assert arrived["later"] - sent >= 1.5


async def test_the_id_of_a_message_for_later_carries_the_time_it_is_for(world) -> None:
    service = world.service()
    async with running(service), service.database.transaction() as tx:
        event_id = tx.send(ResearchRequested(brand_slug="acme", keyword="k"), delay=timedelta(days=30))
    expected = datetime.now(UTC) + timedelta(days=30)
    assert event_id.version == 7
    assert abs((event_id.int >> 80) / 1000 - expected.timestamp()) < 60


async def test_a_delayed_message_can_be_taken_back(world) -> None:
    service = world.service()
    async with running(service):
        async with service.database.transaction() as tx:
            event_id = tx.send(ResearchRequested(brand_slug="acme", keyword="k"), delay=timedelta(days=1))
        async with service.database.connection() as connection:
            assert await outbox.cancel(connection, event_id)
            assert not await outbox.cancel(connection, event_id)
    assert await world.outbox_is_empty()


async def send_and_fail(service: Service) -> None:
    async with service.database.transaction() as tx:
        tx.send(ResearchRequested(brand_slug="acme", keyword="k"))
        raise ZeroDivisionError


async def test_nothing_leaves_when_the_transaction_fails(world) -> None:
    service = world.service()
    async with running(service):
        with pytest.raises(ZeroDivisionError):
            await send_and_fail(service)
        await eventually(world.outbox_is_empty)
    assert await world.broker.depth(QUEUE) == 0


async def test_a_document_in_a_message_is_refused_where_it_is_sent(world) -> None:
    article = ArticleContext(title="t", keyword="k", meta_description="", key_points=("€" * 2000,) * 20)
    heavy = SocialCreate(
        brand_slug="acme", content_id=uuid4(), article_context=article, channels=("€" * 100,) * 20
    ).model_copy(update={"published_url": "u" * 200_000})
    service = world.service()
    async with running(service):
        with pytest.raises(MessageTooLargeError, match="reference"):
            async with service.database.transaction() as tx:
                tx.send(heavy)


async def test_an_old_lease_holder_can_delete_nothing(world) -> None:
    row = outbox.row_for(world.request(), "commands", "research-commands")
    mine, theirs = uuid4(), uuid4()
    async with world.database.acquire() as connection:
        await outbox.insert(connection, [row], mine, timedelta(0))
        (claimed,) = await outbox.claim(connection, 10, theirs, timedelta(seconds=30))
        assert claimed.body == row.body
        assert await outbox.claim(connection, 10, mine, timedelta(seconds=30)) == []
        await outbox.delete(connection, [row.id], mine)
        assert await connection.fetchval("select count(*) from outbox") == 1
        await outbox.delete(connection, [row.id], theirs)
        assert await connection.fetchval("select count(*) from outbox") == 0


async def test_a_handled_replay_is_reported_in_the_same_transaction(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    replay, dead = world.request(), uuid4()
    async with running(service):
        await world.send(replay, headers={"replay-of": str(dead)}, exchange="returns")
        arrived = await world.broker.take("monitor-commands")
    payload = json.loads(arrived.body)["payload"]
    assert payload == {"dead_event_id": str(dead), "replay_event_id": str(replay.event_id), "queue": QUEUE}


async def test_a_replay_that_fails_again_is_a_dead_letter_linked_to_the_old_one(world) -> None:
    async def hopeless(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        raise Unprocessable("still")

    service = world.service()
    service.consume(QUEUE, on_batch(hopeless, ResearchRequested))
    dead = uuid4()
    async with running(service):
        await world.send(world.request(), headers={"replay-of": str(dead)}, exchange="returns")
        arrived = await world.broker.take(f"{QUEUE}-dlq")
    assert arrived.headers["replay-of"] == str(dead)
    assert await world.broker.depth("monitor-commands") == 0


async def test_dead_letters_of_every_kind_reach_their_handler_until_it_takes_them(world) -> None:
    letters: list[DeadLetter] = []
    failures = iter([ConnectionError("not yet"), ConnectionError("not yet")])

    async def record(messages: Sequence[DomainMessage[DeadLetter]], tx: Transaction) -> None:
        if (failure := next(failures, None)) is not None:
            raise failure
        letters.extend(message.payload for message in messages)

    async def hopeless(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        raise Unprocessable("no such brand")

    worker, monitor = world.service(), world.service("monitor")
    monitor.consume_dead_letters(record)
    for runner in monitor.runners:
        runner.settlement._policy = QueuePolicy(max_attempts=None, backoff_base=0.2)
    worker.consume(QUEUE, on_batch(hopeless, ResearchRequested))
    message = world.request()
    async with running(worker), running(monitor):
        await world.send(message)
        await world.send_raw(b"\x00garbage")
        await eventually(lambda: len(letters) == 2)
        await eventually(world.outbox_is_empty)
    by_reason = {letter.reason: letter for letter in letters}
    assert by_reason["permanent"].dead_event_id == message.event_id
    assert by_reason["permanent"].detail == "no such brand"
    assert by_reason["permanent"].service == "research"
    assert by_reason["not_an_envelope"].body == b"\x00garbage"
    assert {letter.queue for letter in letters} == {QUEUE}


async def test_inbox_partitions_come_ahead_of_time_and_go_past_retention(world) -> None:
    today = datetime.now(UTC).date()
    old = today - timedelta(days=20)
    async with world.database.acquire() as connection:
        first, last = partitions.lower_bound(old), partitions.lower_bound(old + timedelta(days=1))
        name = partitions.partition_name(old)
        await connection.execute(
            f"create table {name} partition of processed_events for values from ('{first}') to ('{last}')"
        )
        await inbox.insert(
            connection, QUEUE, [inbox.InboxRow(UUID(int=first.int + 5), "research.requested", "handled")]
        )
        await partitions.maintain(connection)
        names = {
            row["relname"]
            for row in await connection.fetch("select relname from pg_class where relkind = 'r'")
        }
    assert name not in names
    assert {partitions.partition_name(today + timedelta(days=ahead)) for ahead in range(-7, 4)} <= names
    assert await world.outcomes() == {}


@pytest.mark.parametrize("event_id", [uuid4(), UUID(int=0), UUID(int=2**128 - 1)])
async def test_a_foreign_id_is_recognised_as_well(world, event_id: UUID) -> None:
    row = inbox.InboxRow(event_id, "research.requested", "handled")
    async with world.database.acquire() as connection:
        assert await inbox.insert(connection, QUEUE, [row, row]) == {event_id}
        assert await inbox.insert(connection, QUEUE, [row]) == set()
        where = await connection.fetchval("select tableoid::regclass::text from processed_events")
    assert where == "processed_events_default"


async def test_messages_of_several_types_and_outcomes_are_claimed_together_each_as_what_it_is(world) -> None:
    rows = [
        inbox.InboxRow(uuid4(), "research.requested", "handled"),
        inbox.InboxRow(uuid4(), "research.completed", "handled"),
        inbox.InboxRow(uuid4(), "research.requested", "dead"),
    ]
    async with world.database.acquire() as connection:
        assert await inbox.insert(connection, QUEUE, rows[1:2] * 2) == {rows[1].event_id}
        assert await inbox.insert(connection, QUEUE, [*rows, rows[2]]) == {rows[0].event_id, rows[2].event_id}
        stored = await connection.fetch("select event_id, type, queue, outcome from processed_events")
    assert {tuple(each) for each in stored} == {(row.event_id, row.type, QUEUE, row.outcome) for row in rows}


async def test_ids_from_a_clock_that_runs_ahead_move_when_their_day_gets_its_partition(world) -> None:
    day = datetime.now(UTC).date() + timedelta(days=2)
    event_id = UUID(int=partitions.lower_bound(day).int + 7)
    async with world.database.acquire() as connection:
        await connection.execute(f"drop table {partitions.partition_name(day)}")
        await inbox.insert(connection, QUEUE, [inbox.InboxRow(event_id, "research.requested", "dead")])
        await partitions.maintain(connection)
        where = await connection.fetchval("select tableoid::regclass::text from processed_events")
    assert where == partitions.partition_name(day)
    assert await world.outcomes() == {event_id: "dead"}


async def test_they_move_as_well_once_the_next_version_has_added_a_column(world) -> None:
    day = datetime.now(UTC).date() + timedelta(days=2)
    event_id = UUID(int=partitions.lower_bound(day).int + 7)
    async with world.database.acquire() as connection:
        await connection.execute(f"drop table {partitions.partition_name(day)}")
        await inbox.insert(connection, QUEUE, [inbox.InboxRow(event_id, "research.requested", "dead")])
        await connection.execute("alter table processed_events add column region text")
        await partitions.maintain(connection)
        where = await connection.fetchval("select tableoid::regclass::text from processed_events")
    assert where == partitions.partition_name(day)


def test_partition_bounds_enclose_the_ids_made_that_day() -> None:
    event_id = new_event_id()
    today = datetime.fromtimestamp((event_id.int >> 80) / 1000, UTC).date()
    assert partitions.lower_bound(today) <= event_id < partitions.lower_bound(today + timedelta(days=1))
    assert partitions.lower_bound(date(1970, 1, 2)).int == 86_400_000 << 80


async def test_an_applied_migration_may_not_change(world, database_roles, monkeypatch, tmp_path) -> None:
    (tmp_path / "0001_inbox_outbox.sql").write_text("select 'something else'")
    monkeypatch.setattr("messaging.storage.migrations.OWN", tmp_path)
    with pytest.raises(MigrationError, match="add a new file instead"):
        await migrate(database_roles.owner(world.database_url))
    assert Migration("a", "b").checksum != Migration("a", "c").checksum


async def test_migrating_from_two_places_at_once_applies_everything_once(database_url) -> None:
    results = await asyncio.gather(migrate(database_url), migrate(database_url))
    assert sorted(len(result) for result in results) == [0, len(list(OWN.glob("*.sql")))]


async def test_the_client_library_still_has_what_the_quick_way_needs(world) -> None:
    assert frames.install()
    connection = await aiormq.connect(world.rabbitmq_url)
    channel = await connection.channel(publisher_confirms=True)
    try:
        assert BulkPublisher.on(channel) is not None
    finally:
        await connection.close()


@pytest.mark.extended
@pytest.mark.parametrize("way", ["quick", "the client library's own"])
async def test_messages_flow_the_quick_way_and_the_client_librarys_own(world, monkeypatch, way: str) -> None:
    taken: list[int] = []
    if way == "quick":
        take = Subscription.take
        monkeypatch.setattr(
            Subscription, "take", lambda self, delivery: (taken.append(1), take(self, delivery))
        )
    else:
        # As it was before `frames` was installed, if that has happened in this process yet.
        own = inspect.unwrap(getattr(UnderlayConnection, frames._READER_METHOD))
        monkeypatch.setattr(UnderlayConnection, frames._READER_METHOD, own)
        monkeypatch.setattr(frames, "install", lambda: False)
    service = world.service("orchestrator")
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        async with service.database.transaction() as tx:
            for number in range(700):
                tx.send(ResearchRequested(brand_slug="acme", keyword=f"k{number:03}"))
        await eventually(world.outbox_is_empty)
        await eventually(lambda: _all_there(world, 700))
    assert await world.effects() == [f"k{number:03}" for number in range(700)]
    assert len(taken) == (700 if way == "quick" else 0)


async def test_rows_that_cannot_be_sent_at_all_cost_neither_time_nor_the_connection(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        connection = service._publisher._connection
        async with asyncio.timeout(60):
            (outcome,) = await service._publisher.publish(
                [OutboxRow("commands", QUEUE, uuid4(), "t" * 300, None, b"{}")]
            )
        assert isinstance(outcome, OverflowError)
        assert service._publisher._connection is connection
        assert service._publisher.ready


async def _all_there(world, count: int) -> bool:
    return len(await world.effects()) >= count


async def test_acknowledging_out_of_order_loses_nothing(world) -> None:
    """Single handlers that end in any order, on one channel, are acknowledged one by one or together, never too many."""

    async def uneven(message: DomainMessage, _context: Context) -> Record:
        number = int(message.payload.keyword)
        await asyncio.sleep((number * 7 % 5) / 50)
        return lambda tx: write_all([message], tx)

    for number in range(60):
        await world.send(world.request(str(number)))
    service = world.service()
    service.consume(QUEUE, on_each(uneven, ResearchRequested), policy=QueuePolicy(max_concurrency=10))
    async with running(service):
        await eventually(lambda: _all_there(world, 40))
    # An acknowledgement too many would have taken a message that had no effect yet.
    rest = world.service()
    rest.consume(QUEUE, on_each(uneven, ResearchRequested), policy=QueuePolicy(max_concurrency=10))
    async with running(rest):
        await eventually(lambda: _all_there(world, 60))
    assert sorted(map(int, await world.effects())) == list(range(60))
    assert await world.broker.depth(QUEUE) == 0


async def test_a_database_that_is_not_there_is_told_apart_from_a_mistake(world) -> None:
    service = world.service()
    with pytest.raises(DatabaseUnavailableError):
        async with service.database.connection():
            pass
    async with running(service):
        with pytest.raises(asyncpg.UndefinedTableError):
            async with service.database.connection() as connection:
                await connection.execute("select * from nowhere")
        with pytest.raises(ConnectionRefusedError):
            async with service.database.transaction():
                raise ConnectionRefusedError("of somebody else")


async def test_a_service_that_was_never_migrated_says_what_to_do(world, database_url) -> None:
    service = world.service(database_url=database_url)
    with pytest.raises(NotMigratedError, match="migrate"):
        await service.run()


def test_encode_is_what_the_decoder_reads() -> None:
    payload = ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k")
    message = DomainMessage(
        event_id=new_event_id(),
        type="research.completed",
        source="x",
        timestamp=datetime.now(UTC),
        payload=payload,
    )
    assert (
        decoder(CATALOGUE, ["research.completed"], "q")(encode(message), "research.completed", {}) == message
    )
    assert decoder(CATALOGUE, ["research.completed"], "q")(encode(message), None, {}) == message
