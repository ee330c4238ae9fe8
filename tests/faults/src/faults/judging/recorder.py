"""Records from outside: the probes' effects, every change of the outbox, and the messages of queues."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Final

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from chassis.database.pool import Pool
from envelope import DeadLetterResolved, EnvelopeHead
from envelope.brand import CATALOGUE, EVENTS, EVENTS_QUEUE
from faults.judging.observation import DeadLetterCopy, HandlerEffect, Leftovers, OutboxChange, QueueArrival
from messaging.flow import dead_letters
from messaging.flow.dead_letters import DeadLetter
from messaging.topology import dead_letter_queue

TABLES: Final = """
-- No unique constraint anywhere: it would hide what happened twice.
create table effects (
    event_id uuid not null, correlation_id text, brand text not null, number bigint not null, keyword text not null,
    worker text not null, locked_at timestamptz not null, written_at timestamptz not null
);
create table brands (brand text primary key, last_number bigint not null);
create table starts (event_id uuid not null);

create table outbox_changes (
    n bigserial, at timestamptz not null, kind text not null, id uuid not null, event_id uuid not null,
    exchange text not null, deliver_at timestamptz not null, attempt integer not null, again boolean not null,
    lease_before uuid, lease_after uuid, worker text not null
);
create function note_outbox_change() returns trigger language plpgsql as $$
declare
    change_of outbox := coalesce(new, old);
    lease_before uuid;
    lease_after uuid;
begin
    if tg_op <> 'INSERT' then lease_before := old.lease; end if;
    if tg_op <> 'DELETE' then lease_after := new.lease; end if;
    insert into outbox_changes (at, kind, id, event_id, exchange, deliver_at, attempt, again, lease_before, lease_after, worker)
    values (
        -- A row's own times were taken when its statement ran, and this comes after it.
        case when tg_op = 'INSERT' then statement_timestamp() else clock_timestamp() end,
        case when tg_op <> 'UPDATE' then lower(tg_op) when lease_after is null then 'give_back' else 'claim' end,
        change_of.id, change_of.event_id, change_of.exchange, change_of.deliver_at,
        coalesce((change_of.headers ->> 'attempt')::integer, 1), change_of.headers ->> 'waits' is not null,
        lease_before, lease_after, current_setting('application_name')
    );
    return null;
end $$;
create trigger note_change after insert or update or delete on outbox
    for each row execute function note_outbox_change();
"""
"""What the recorder adds to a worker's database. Workers go by their application name."""

TAP: Final = "tap"
"""An extra queue bound to all events, as another subscriber's would be."""
OUTGOING: Final = (EVENTS_QUEUE, TAP)
"""The queues that what an effect sends must reach."""
_RESOLVED: Final = CATALOGUE.type_of(DeadLetterResolved).name
_RPC_SECONDS: Final = 10.0
_LARGEST_PREFETCH: Final = 65_535


@asynccontextmanager
async def channel_to(url: str) -> AsyncIterator[AbstractChannel]:
    """A short line to the broker: it may be gone the next time."""
    connection = await aio_pika.connect(url, timeout=_RPC_SECONDS)
    async with connection, connection.channel() as channel:
        yield channel


async def lay_tap(url: str) -> None:
    async with channel_to(url) as channel:
        queue = await channel.declare_queue(TAP, durable=True, arguments={"x-queue-type": "quorum"})
        await queue.bind(EVENTS, "#")


async def depths(url: str, queues: Collection[str]) -> dict[str, int]:
    """Messages ready in each queue; -1 where there is no such queue."""
    found: dict[str, int] = {}
    async with asyncio.timeout(_RPC_SECONDS):
        connection = await aio_pika.connect(url, timeout=_RPC_SECONDS)
        async with connection:
            for queue in queues:
                # A queue that is not there costs the channel.
                async with connection.channel() as channel:
                    try:
                        declared = await channel.declare_queue(queue, passive=True)
                    except aio_pika.exceptions.ChannelNotFoundEntity:
                        found[queue] = -1
                    else:
                        found[queue] = declared.declaration_result.message_count or 0
    return found


async def empty(url: str, queue: str) -> list[AbstractIncomingMessage]:
    """Takes everything out of a queue."""
    taken: list[AbstractIncomingMessage] = []
    async with channel_to(url) as channel:
        try:
            declared = await channel.declare_queue(queue, passive=True)
        except aio_pika.exceptions.ChannelNotFoundEntity:
            return taken
        wanted = declared.declaration_result.message_count or 0
        arrived: asyncio.Queue[AbstractIncomingMessage] = asyncio.Queue()
        if not wanted:
            return taken
        # No more than those: what arrives meanwhile would be lost on the way.
        await channel.set_qos(prefetch_count=min(wanted, _LARGEST_PREFETCH))
        await declared.consume(arrived.put)
        while len(taken) < wanted:
            async with asyncio.timeout(_RPC_SECONDS):
                taken.append(await arrived.get())
            if len(taken) % _LARGEST_PREFETCH == 0 or len(taken) == wanted:
                await taken[-1].ack(multiple=True)
    return taken


def identity_of(body: bytes) -> str:
    """The command's id: its `event_id`, or a digest of bytes that are no envelope."""
    try:
        return str(EnvelopeHead.model_validate_json(body).event_id)
    except ValueError:
        return f"body:{hashlib.sha256(body).hexdigest()[:24]}"


async def arrivals(url: str, queues: Sequence[str]) -> list[QueueArrival]:
    """Empties queues of messages and says what was in them."""
    return [_arrival(queue, message.body) for queue in queues for message in await empty(url, queue)]


def _arrival(queue: str, body: bytes) -> QueueArrival:
    try:
        head = EnvelopeHead.model_validate_json(body)
    except ValueError:
        return QueueArrival(queue, identity_of(body), None, "", None)
    resolved = head.payload if head.type == _RESOLVED else {}
    return QueueArrival(
        queue=queue,
        event_id=str(head.event_id),
        causation_id=str(head.causation_id) if head.causation_id else None,
        type=head.type,
        correlation_id=head.correlation_id,
        replay_of=resolved.get("dead_event_id"),
        replay=resolved.get("replay_event_id"),
    )


async def letters(url: str, queues: Collection[str]) -> dict[str, tuple[DeadLetterCopy, DeadLetter]]:
    """Empties the dead-letter queues of work queues. By identity: copies of one death are one, as in the monitor."""
    found: dict[str, tuple[DeadLetterCopy, DeadLetter]] = {}
    for queue in queues:
        decode = dead_letters.decoder(queue)
        for message in await empty(url, dead_letter_queue(queue)):
            decoded = decode(message.body, message.type, dict(message.headers))
            letter = getattr(decoded, "payload", None)
            assert isinstance(letter, DeadLetter)
            identity = str(getattr(decoded, "event_id", ""))
            found[identity] = (_letter(identity, letter), letter)
    return found


def _letter(identity: str, letter: DeadLetter) -> DeadLetterCopy:
    return DeadLetterCopy(
        identity=identity,
        command=identity_of(letter.body),
        queue=letter.queue,
        reason=letter.reason.value,
        attempts=letter.attempts,
        correlation_id=letter.correlation_id,
        detail=letter.detail,
    )


async def effects(database: Pool) -> list[HandlerEffect]:
    rows = await database.fetch("select * from effects")
    return [
        HandlerEffect(
            command=str(row["event_id"]),
            correlation_id=row["correlation_id"],
            brand=row["brand"],
            number=row["number"],
            worker=row["worker"],
            locked_at=row["locked_at"],
            written_at=row["written_at"],
        )
        for row in rows
    ]


async def outbox_changes(database: Pool) -> list[OutboxChange]:
    rows = await database.fetch("select * from outbox_changes order by n")
    return [
        OutboxChange(
            kind=row["kind"],
            row=str(row["id"]),
            command=str(row["event_id"]),
            exchange=row["exchange"],
            at=row["at"],
            deliver_at=row["deliver_at"],
            worker=row["worker"],
            attempt=row["attempt"],
            again=row["again"],
            lease_before=str(row["lease_before"]) if row["lease_before"] else None,
            lease_after=str(row["lease_after"]) if row["lease_after"] else None,
        )
        for row in rows
    ]


async def leftovers(url: str, database: Pool, queues: Collection[str]) -> Leftovers:
    return Leftovers(
        queues=await depths(url, queues),
        outbox=await database.fetchval("select count(*) from outbox"),
        markers=await database.fetchval("select count(*) from crash_markers"),
    )


def log_events(lines: Sequence[str]) -> dict[str, int]:
    """Log event → how many lines tell of it."""
    counts: dict[str, int] = {}
    for line in lines:
        try:
            event = json.loads(line)["event"]
        except (ValueError, KeyError, TypeError):
            continue
        counts[event] = counts.get(event, 0) + 1
    return counts
