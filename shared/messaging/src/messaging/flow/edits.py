"""An operator's edit of a dead letter: the edited message goes out, and the original can follow no more."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic import ValidationError

from chassis.observing import chains
from envelope import (
    MAX_MESSAGE_BYTES,
    NO_LIMITS,
    Catalogue,
    ChainLimits,
    DeadLetterEdited,
    EnvelopeHead,
    MessageTooLargeError,
    MessageType,
    deadline_in_words,
    new_event_id,
)
from messaging.broker.publisher import user_of
from messaging.flow.edit_checks import EditError, describe_size, edit_errors
from messaging.flow.replays import describe_edit, digest_of
from messaging.flow.sender_check import SenderCheck
from messaging.flow.transactions import Database, Transaction
from messaging.headers import REPLAY_OF
from messaging.storage import origins
from messaging.storage.origins import DeadLetterOrigin

log = structlog.get_logger(__name__)

_READ_AGAIN: Final = "read the dead letter in full and begin again"


@dataclass(frozen=True, slots=True)
class DeadLetterEdit:
    """What an operator makes of a dead letter."""

    message_id: UUID
    """`event_id` of the dead message."""
    original: Mapping[str, Any]
    """The whole dead message, as it was: the service has its digest alone."""
    payload: Mapping[str, Any]
    """The edited payload."""
    by: str
    reason: str = ""
    limits: ChainLimits = NO_LIMITS
    """New limits of its chain, in place of its own."""
    trace: Mapping[str, str] | None = None
    """Headers of the dead message's trace, which the edited message continues."""


class EditRefusalKind(StrEnum):
    """Why a dead letter cannot be edited."""

    UNKNOWN = "unknown"
    """The service did not dead-letter it."""
    EDITED = "edited"
    """It was edited already."""
    REPLAYED = "replayed"
    """It was replayed, or a replay of it waits."""
    UNSUITABLE = "unsuitable"
    """It can never be edited."""


@dataclass(frozen=True, slots=True)
class EditRefusal:
    kind: EditRefusalKind
    detail: str


@dataclass(frozen=True, slots=True)
class EditedMessage:
    """The message that goes out in place of a dead letter."""

    event_id: UUID
    queue: str
    edited_at: datetime


EditResult = EditedMessage | EditRefusal | list[EditError]


def queue_of_type(catalogue: Catalogue, service: str, name: str) -> MessageType | EditRefusal:
    """The message type, if the service consumes it."""
    entry = catalogue.get(name)
    if entry is None:
        return EditRefusal(
            EditRefusalKind.UNSUITABLE,
            f"the catalogue has no type {name[:100]!r}, so nothing says what its fields are",
        )
    if service not in entry.consumers:
        return EditRefusal(
            EditRefusalKind.UNKNOWN,
            f"{name} is not handled by {service}, but by {', '.join(entry.consumers)}, from the queue {entry.queue}: edit it there",
        )
    return entry


async def edit_dead_letter(database: Database, edit: DeadLetterEdit) -> EditResult:
    """Sends the edited message to its queue, or returns why not: a refusal, or the errors of its fields.

    One transaction settles the dead letter, writes the edited message to the outbox, and the report to the recorder. Of two edits at once, the
    second waits for the first and is refused. From then on, no replay of the original is accepted, nor the next attempt of one.

    Raises:
        DatabaseUnavailableError: the database is unavailable; after an outage during the commit, a repetition says whether it was edited.
    """
    try:
        head = EnvelopeHead.model_validate_json(json.dumps(edit.original))
        digest = digest_of(edit.original)
    except ValidationError:
        return EditRefusal(
            EditRefusalKind.UNSUITABLE, f"`original` is no message of this system; {_READ_AGAIN}"
        )
    except ValueError:
        return EditRefusal(EditRefusalKind.UNSUITABLE, "it has a text that no message can have")
    if head.event_id != edit.message_id:
        return EditRefusal(
            EditRefusalKind.UNKNOWN, f"`original` is the message {head.event_id}; {_READ_AGAIN}"
        )
    entry = queue_of_type(database.catalogue, database.service, head.type)
    if isinstance(entry, EditRefusal):
        return entry
    try:
        return await _edit(database, edit, head, entry, digest)
    except MessageTooLargeError as error:  # the report to the recorder, which has the edited payload too
        return [EditError.of((), describe_size(error.size))]


async def _edit(
    database: Database, edit: DeadLetterEdit, head: EnvelopeHead, entry: MessageType, digest: bytes
) -> EditResult:
    async with database.transaction() as tx:
        origin = await _lock(tx, edit.message_id, digest)
        if isinstance(origin, EditRefusal):
            return origin
        if refusal := await _refusal(tx, database, edit, entry, origin):
            return refusal
        if errors := edit_errors(entry, database.catalogue.identity, head.payload, edit.payload):
            return errors
        deadline = edit.limits.deadline or head.deadline
        if deadline is not None and deadline <= datetime.now(UTC):
            return EditRefusal(
                EditRefusalKind.UNSUITABLE,
                f"the deadline of {deadline_in_words(deadline)} has passed: name a later one (`deadline`)",
            )
        if edit.payload == head.payload:
            return EditRefusal(EditRefusalKind.UNSUITABLE, "nothing is changed: replay it instead")
        has_recorder = database.catalogue.recorder is not None
        return await _send(tx, edit, head, entry, origin, has_recorder=has_recorder)


async def find_edit(database: Database, message_id: UUID) -> DeadLetterOrigin | None:
    """What the service knows of the message as a dead letter; None if it did not dead-letter it."""
    async with database.connection() as connection:
        found = await origins.find(connection, {message_id}, ())
    return found[0] if found else None


async def _lock(tx: Transaction, message_id: UUID, digest: bytes) -> DeadLetterOrigin | EditRefusal:
    """Locks the record of the dead letter; of one that the broker gave up, that of the message which it repeats."""
    looked_for = {message_id}
    while True:
        known = await origins.find(tx.connection, looked_for, {digest})
        named = next((row for row in known if row.event_id == message_id), None)
        if named is not None and named.digest is not None and named.digest != digest:
            return EditRefusal(
                EditRefusalKind.UNKNOWN, f"`original` is not what this service dead-lettered; {_READ_AGAIN}"
            )
        row = named or next((row for row in known if row.event_id in looked_for), known[0] if known else None)
        if row is None or row.digest is None:
            return EditRefusal(
                EditRefusalKind.UNKNOWN,
                "this service has no record of this message's content: it did not dead-letter it, or over a year ago, or the broker "
                "gave it up by itself; let its sender send it anew, then discard this dead letter",
            )
        settled = await origins.lock(tx.connection, {row.event_id})
        if settled.get(row.event_id) == row.settled_by:
            return row
        # Another edit, or a replay, was faster: read what became of it, under the lock.
        looked_for.add(row.event_id)


async def _refusal(
    tx: Transaction, database: Database, edit: DeadLetterEdit, entry: MessageType, origin: DeadLetterOrigin
) -> EditRefusal | None:
    if origin.edit is not None:
        return EditRefusal(EditRefusalKind.EDITED, describe_edit(origin))
    if origin.settled_by is not None and origin.settled_by != origin.event_id:
        return EditRefusal(
            EditRefusalKind.REPLAYED,
            f"it was replayed already, as {origin.settled_by}: edit that one if it died too",
        )
    if origin.settled_by is not None:
        return EditRefusal(
            EditRefusalKind.UNSUITABLE,
            "it is a replay that this service refused, and none of its own dead letters",
        )
    waiting = await origins.waiting_replay(tx.connection, {origin.event_id, edit.message_id})
    if waiting is not None:
        return EditRefusal(
            EditRefusalKind.REPLAYED,
            f"its replay {waiting} waits for the next attempt: cancel that first, or wait for its end",
        )
    if origin.arrival is not None:
        check = SenderCheck(database.catalogue, database.service, entry.queue, user_of(database.broker_url))
        message = _claimed(entry, edit.original, edit.payload)
        if message is not None and (problem := check.problem_at(origin.arrival, message)):
            return EditRefusal(EditRefusalKind.UNSUITABLE, f"an edit makes no false claim true: {problem}")
    return None


def _claimed(entry: MessageType, original: Mapping[str, Any], payload: Mapping[str, Any]) -> Any:
    """The edited message, for the check of its sender; None if its fields are not valid, which is told elsewhere."""
    try:
        return entry.envelope.model_validate_json(json.dumps({**original, "payload": payload}))
    except ValidationError:
        return None


async def _send(
    tx: Transaction,
    edit: DeadLetterEdit,
    head: EnvelopeHead,
    entry: MessageType,
    origin: DeadLetterOrigin,
    *,
    has_recorder: bool,
) -> EditResult:
    event_id = new_event_id()
    members = {
        **edit.original,
        "event_id": str(event_id),
        "causation_id": str(edit.message_id),
        "timestamp": datetime.now(UTC).isoformat(),
        "payload": edit.payload,
    }
    if edit.limits.deadline is not None:
        members["deadline"] = edit.limits.deadline.isoformat()
    if edit.limits.max_cost is not None:
        members["max_cost"] = edit.limits.max_cost
    body = json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        return [EditError.of((), describe_size(len(body)))]
    # The broker itself gave up a message without a row: with one, the next edit of it hears who was first.
    await origins.insert(tx.connection, [DeadLetterOrigin(edit.message_id, origin.digest, origin.arrival)])
    replaced = {origin.event_id, edit.message_id}
    edited_at = await origins.settle_by_edit(tx.connection, replaced, event_id, edit.by)
    tx.send_raw(
        queue=entry.queue,
        body=body,
        event_id=event_id,
        type=head.type,
        correlation_id=head.correlation_id,
        headers={REPLAY_OF: str(edit.message_id)},
        continues=edit.trace or {},
    )
    chains.name_chain(head.correlation_id)
    if has_recorder:
        report = DeadLetterEdited(
            dead_event_id=edit.message_id,
            edited_event_id=event_id,
            queue=entry.queue,
            edited_at=edited_at,
            edited_by=edit.by,
            reason=edit.reason,
            content=dict(edit.payload),
        )
        tx.send(report, correlation_id=head.correlation_id)
    log.info(
        "dead_letter_edited",
        dead_event_id=str(edit.message_id),
        edited_event_id=str(event_id),
        queue=entry.queue,
        type=head.type,
        correlation_id=head.correlation_id,
        reason=edit.reason,
        by=edit.by,
    )
    return EditedMessage(event_id, entry.queue, edited_at)
