"""Dead letters that people have edited: what their consumers report, and what becomes of the dead letter then."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from chassis import Connection
from envelope import DeadLetterEdited, DomainMessage
from envelope.brand import CATALOGUE
from messaging import Transaction
from messaging.erasure import is_of_erased_brand
from monitor.dead_letters import store
from monitor.dead_letters.domain import DeadMessageId
from monitor.erased import ERASURES, brand_in


async def record_edits(messages: Sequence[DomainMessage[DeadLetterEdited]], tx: Transaction) -> None:
    """Stores edits, and marks their dead letters as sent again; they are resolved when the edited message is handled."""
    await store.lock_exclusive(tx.connection)
    brands = {brand for each in messages if (brand := brand_in(each.payload.content)) is not None}
    erased = await ERASURES.erasure_times(tx.connection, brands) if brands else {}
    kept = [
        each
        for each in messages
        if (brand := brand_in(each.payload.content)) is None
        or not is_of_erased_brand(brand, each.timestamp, erased)
    ]
    edits = [each.payload for each in kept]
    await tx.connection.executemany(
        "insert into dead_letter_edits (edited_event_id, dead_event_id, queue, content, brand_slug, edited_by, reason, edited_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing",
        [
            (
                edit.edited_event_id,
                edit.dead_event_id,
                CATALOGUE.name_today(edit.queue),
                json.dumps(edit.content).encode(),
                brand_in(edit.content),
                edit.edited_by,
                edit.reason,
                edit.edited_at,
            )
            for edit in edits
        ],
    )
    await _apply(tx.connection, [edit.edited_event_id for edit in edits])


async def apply_known_edits(connection: Connection, event_ids: Collection[UUID]) -> None:
    """Marks dead letters as sent again whose edits were reported before they were recorded."""
    rows = await connection.fetch(
        "select edited_event_id from dead_letter_edits where dead_event_id = any($1::uuid[])", list(event_ids)
    )
    if rows:
        await _apply(connection, [row["edited_event_id"] for row in rows])


async def _apply(connection: Connection, edited: Sequence[UUID]) -> None:
    # A dead letter that was discarded here meanwhile, or is not recorded yet, is edited all the same. One that an operator has
    # replayed meanwhile keeps that replay, which its consumer refuses.
    await connection.execute(
        """
        update dead_messages d set state = 'replaying', replayed_at = f.edited_at, replay_event_id = f.edited_event_id,
                                   decided_by = f.edited_by, decided_why = nullif(f.reason, ''), resolution = null, resolved_at = null
        from (select distinct on (e.edited_event_id) e.edited_event_id, e.edited_at, e.edited_by, e.reason, m.id
              from dead_letter_edits e
              join dead_messages m on m.event_id = e.dead_event_id and m.queue = e.queue
              where e.edited_event_id = any($1::uuid[]) and m.replay_event_id is null and m.state in ('open', 'discarded')
                and not exists (select from dead_messages o where o.replay_event_id = e.edited_event_id)
              order by e.edited_event_id, m.recorded_at desc, m.id) f
        where d.id = f.id
        """,
        list(edited),
    )
    # The edited message may have died before its report arrived.
    died = await connection.fetch(
        """
        select original.id as original, again.id as again from dead_messages original
        join dead_messages again on again.event_id = original.replay_event_id and again.queue = original.queue
        where original.replay_event_id = any($1::uuid[]) and original.state = 'replaying'
        """,
        list(edited),
    )
    if died:
        replaced: Mapping[DeadMessageId, DeadMessageId] = {
            DeadMessageId(row["original"]): DeadMessageId(row["again"]) for row in died
        }
        await connection.execute(
            "update dead_messages d set replay_of = f.original from unnest($1::uuid[], $2::uuid[]) as f (original, again)"
            " where d.id = f.again",
            list(replaced),
            list(replaced.values()),
        )
        await store.close_replaced(connection, replaced)
    # Or it was handled before.
    await store.resolve_handled(connection, edited)


async def rename_queues_of_edits(connection: Connection, names: Mapping[str, str]) -> None:
    """Renames queues (former → current name)."""
    rows = await connection.fetch(
        "update dead_letter_edits e set queue = f.today from unnest($1::text[], $2::text[]) as f (former, today)"
        " where e.queue = f.former returning e.edited_event_id",
        list(names),
        list(names.values()),
    )
    if rows:
        await _apply(connection, [row["edited_event_id"] for row in rows])


async def forget_edits_of_brand(connection: Connection, brand: str) -> None:
    await connection.execute("delete from dead_letter_edits where brand_slug = $1", brand)


async def delete_old_edits(connection: Connection, older_than: timedelta) -> None:
    """Deletes edits whose dead letters are deleted."""
    await connection.execute(
        """
        delete from dead_letter_edits e where edited_at < now() - $1::interval
          and not exists (select from dead_messages d where d.event_id = e.dead_event_id and d.queue = e.queue)
        """,
        older_than,
    )
