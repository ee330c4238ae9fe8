"""What became of the dead letters of given messages, for the ledger."""

from collections.abc import Collection, Iterable
from uuid import UUID

from chassis import Connection
from monitor.dead_letters.domain import DeadLetterState


async def states_of_messages(
    connection: Connection, event_ids: Collection[UUID], queue: str
) -> dict[UUID, DeadLetterState]:
    """Message → the state of its dead letter; if its replay died too, that of the replay's. A removed one counts as discarded."""
    if not event_ids:
        return {}
    rows = await connection.fetch(
        """
        with recursive line as (
            select event_id as message, queue, state, replay_event_id, recorded_at, 1 as depth from dead_messages
            where event_id = any($1::uuid[]) and $2 in (queue, redirected_from)
            union all
            select line.message, next.queue, next.state, next.replay_event_id, next.recorded_at, line.depth + 1
            from line join dead_messages as next on next.event_id = line.replay_event_id and next.queue = line.queue
            where line.depth < 100
        )
        select distinct on (message) message, state from (
            select message, state, depth, recorded_at from line
            union all
            select event_id, 'discarded', 0, removed_at from removed_dead_letters
            where event_id = any($1::uuid[]) and queue = $2
        ) as known order by message, depth desc, recorded_at desc
        """,
        list(event_ids),
        queue,
    )
    return {UUID(int=row["message"].int): DeadLetterState(row["state"]) for row in rows}


async def note_removed(connection: Connection, messages: Iterable[tuple[UUID | None, str]]) -> None:
    """Notes messages (`event_id`, queue) whose dead letters are removed, or not recorded, since their brand is erased."""
    known = sorted({(event_id, queue) for event_id, queue in messages if event_id is not None})
    if known:
        await connection.execute(
            """
            insert into removed_dead_letters (event_id, queue) select * from unnest($1::uuid[], $2::text[])
            on conflict do nothing
            """,
            [event_id for event_id, _ in known],
            [queue for _, queue in known],
        )


async def forget_removed(connection: Connection) -> None:
    """Deletes notes that no ledger asks for any more."""
    await connection.execute("delete from removed_dead_letters where removed_at < now() - interval '30 days'")
