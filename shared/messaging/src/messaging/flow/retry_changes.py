"""What operators do with messages that wait for another attempt: have it made now, or cancel it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import structlog
from pydantic import ValidationError

from chassis.database.pool import Connection
from envelope import EnvelopeHead
from messaging import headers as header
from messaging.flow.failures import MAX_MESSAGE_CHARS, Failure, failure_headers
from messaging.flow.intake import utc_now
from messaging.flow.replays import content_digest
from messaging.flow.transactions import Database
from messaging.headers import Reason
from messaging.running_code import RunningCode, running_code
from messaging.storage import inbox, origins, outbox, retries
from messaging.storage.origins import DeadLetterOrigin
from messaging.storage.outbox import OutboxRow
from messaging.storage.retries import Retry, RetrySelection
from messaging.topology import RETURNS, work_queues

log = structlog.get_logger(__name__)


class RefusalReason(StrEnum):
    """Why a message that waits stays as it is."""

    GONE = "gone"
    """It waits no more: its attempt has begun, or another operator was faster."""
    SENDING = "sending"
    """The service is handing it to the broker."""
    ENDED = "ended"
    """A copy of the message has an outcome already, so that this one will have no effect."""
    UNSUITABLE = "unsuitable"
    """It is a dead letter that waits to be recorded, which nobody may give up."""


@dataclass(frozen=True, slots=True)
class RetryChange:
    """What became of the messages that an operator selected."""

    ids: list[UUID]
    """Those that changed; of the waits, as the list has them."""
    refused: dict[UUID, RefusalReason]
    """Those that stay as they are."""
    last: UUID | None
    """Id after which the next request continues; None if no more match."""


async def run_now(database: Database, selection: RetrySelection, limit: int, *, by: str) -> RetryChange:
    """Makes up to `limit` of the selected messages due at once; the number of their attempts stays."""
    async with database.transaction() as tx:
        chosen = await retries.choose(tx.connection, selection, limit)
        locked = await retries.lock(tx.connection, chosen)
        await retries.make_due(tx.connection, [each.id for each in locked])
        refused = await _taken(tx.connection, chosen, locked)
    database.publish_due()
    if locked:
        log.info("retries_run_now", count=len(locked), by=by)
    return RetryChange([each.id for each in locked], refused, _last(chosen, selection, limit))


async def cancel(
    database: Database, selection: RetrySelection, limit: int, *, by: str, reason: str
) -> RetryChange:
    """Ends up to `limit` of the selected messages as dead letters, so that they can be replayed.

    One transaction deletes the row that waits, writes that the message is dead, and sends it to the dead letters. A copy of it that is
    still on its way is then a duplicate.
    """
    queues = work_queues(database.catalogue)
    code = running_code(database.catalogue.system, database.service)
    async with database.transaction() as tx:
        chosen = await retries.choose(tx.connection, selection, limit)
        locked = await retries.lock(tx.connection, chosen)
        refused = await _taken(tx.connection, chosen, locked)
        refused |= {each.id: RefusalReason.UNSUITABLE for each in locked if each.queue not in queues}
        ended: list[Retry] = []
        for queue in sorted({each.queue for each in locked} & set(queues)):
            waiting = [each for each in locked if each.queue == queue]
            rows = [
                inbox.InboxRow(each.event_id, each.type, "dead", each.correlation_id, _cause_of(each))
                for each in waiting
            ]
            claimed = await inbox.insert(
                tx.connection, queue, list({row.event_id: row for row in rows}.values())
            )
            for each in waiting:
                if each.event_id in claimed:
                    claimed.discard(each.event_id)
                    ended.append(each)
                else:
                    refused[each.id] = RefusalReason.ENDED
        await retries.delete(tx.connection, [each.id for each in ended])
        await _note_origins(tx.connection, ended)
        for each in ended:
            tx.outgoing.append(_dead_letter(each, database.service, code, by=by, reason=reason))
    database.count_cancelled([each.queue for each in ended])
    if ended:
        log.warning("retries_cancelled", count=len(ended), by=by, reason=reason)
    return RetryChange([each.id for each in ended], refused, _last(chosen, selection, limit))


def _cause_of(retry: Retry) -> UUID | None:
    """Returns the message whose handling sent this one; None if its body does not say."""
    try:
        return EnvelopeHead.model_validate_json(retry.body).causation_id
    except ValidationError:
        return None


def _last(chosen: Sequence[UUID], selection: RetrySelection, limit: int) -> UUID | None:
    return chosen[-1] if selection.ids is None and len(chosen) == limit else None


async def _taken(
    connection: Connection, chosen: Sequence[UUID], locked: Sequence[Retry]
) -> dict[UUID, RefusalReason]:
    """Why those that could not be locked stay as they are."""
    others = set(chosen) - {each.id for each in locked}
    if not others:
        return {}
    sending = await retries.existing(connection, others)
    return {
        each: RefusalReason.SENDING if each in sending else RefusalReason.GONE
        for each in chosen
        if each in others
    }


async def _note_origins(connection: Connection, ended: Sequence[Retry]) -> None:
    """Notes the messages as dead-lettered by this service, so that it accepts their replays.

    One that is a replay itself settles the dead letter that it repeats, and has come as that one came.
    """
    replays = {
        each.event_id: original
        for each in ended
        if (original := header.identity(each.headers, header.REPLAY_OF)) is not None
    }
    known: Mapping[UUID, DeadLetterOrigin] = {}
    if replays:
        known = {row.event_id: row for row in await origins.find(connection, set(replays.values()), ())}
    rows = []
    for each in ended:
        origin = known.get(replays[each.event_id]) if each.event_id in replays else None
        rows.append(
            DeadLetterOrigin(
                each.event_id, content_digest(each.body), None if origin is None else origin.arrival
            )
        )
    if rows:
        await origins.insert(connection, rows)
    if replays:
        await origins.settle(connection, {original: event_id for event_id, original in replays.items()})


def _dead_letter(retry: Retry, service: str, code: RunningCode, *, by: str, reason: str) -> OutboxRow:
    detail = f"cancelled by {by}: {reason}"
    failed_with = header.text(retry.headers, header.FAILURE_TYPE)
    if failed_with:
        detail += f"; its last attempt failed with {failed_with}: {header.text(retry.headers, header.FAILURE_MESSAGE)}"
    now = utc_now()
    attempts = max(retry.attempt - 1, 1)
    facts = failure_headers(
        Failure(Reason.CANCELLED, "RetryCancelled", detail[:MAX_MESSAGE_CHARS]),
        attempts=attempts,
        first_failed_at=header.moment(retry.headers, header.FAILURE_FIRST_AT) or now,
        failed_at=now,
        service=service,
        queue=retry.queue,
        code=code,
    )
    carried = {
        name: value for name, value in retry.headers.items() if name not in {header.WAITS, header.WAITS_FOR}
    }
    row = OutboxRow(
        RETURNS, retry.queue, retry.event_id, retry.type, retry.correlation_id, retry.body, carried
    )
    return outbox.dead_letter_row(row, retry.queue, headers={**facts, header.ATTEMPT: attempts})
