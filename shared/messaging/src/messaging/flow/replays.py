"""Checks replays: a service accepts one only if its own database shows that it dead-lettered that content.

The recorder may send any message to any queue through the exchange `returns`, so a thief of its password could give every service any
command. The record of a service's dead letters is in its own database, where the recorder has no access.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, Final
from uuid import UUID

from chassis.database.pool import Connection, Connections
from messaging.flow.failures import Failure
from messaging.flow.intake import IncomingMessage
from messaging.flow.sender_check import SenderCheck
from messaging.headers import Reason
from messaging.storage import origins
from messaging.storage.origins import DeadLetterOrigin, PublishOrigin
from messaging.topology import RETURNS

_LONGEST_INTEGER: Final = 4_000
"""Digits that Python converts into a number."""
_COPIED: Final = ("type", "source", "correlation_id", "payload")
"""Members that a replay copies unchanged."""


def content_digest(body: bytes) -> bytes | None:
    """SHA-256 of the members that a replay shares with its original: type, source, correlation id and payload.

    None if the body is no JSON object.
    """
    try:
        return digest_of(json.loads(body, parse_int=_integer))
    except (ValueError, RecursionError, AttributeError):
        return None


def digest_of(members: Mapping[str, Any]) -> bytes:
    """As `content_digest`, of a body that is read already.

    Raises:
        ValueError: it has a text that no message can have.
    """
    text = json.dumps([members.get(name) for name in _COPIED], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


class ReplayCheck:
    """Finds the dead letters that the replays of one queue repeat, and refuses replays without one.

    Args:
        connections: of the service's own database.
        sender_check: checks again a message that failed the check when it first came.
    """

    def __init__(self, connections: Connections, sender_check: SenderCheck) -> None:
        self._connections = connections
        self._sender_check = sender_check

    async def check(self, messages: Sequence[IncomingMessage]) -> None:
        """Gives each replay among the messages its `origin`, or a failure.

        Raises:
            DatabaseUnavailableError: the database is unavailable.
        """
        replays = [incoming for incoming in messages if self._sender_check.is_replay(incoming.delivery)]
        returned = [
            incoming for incoming in messages if incoming.replay_of is not None and incoming not in replays
        ]
        if returned:
            await self._check_returned(returned)
        if not replays:
            return
        digests = {incoming.event_id: content_digest(incoming.delivery.body) for incoming in replays}
        async with self._connections.connection() as connection:
            found, edited = await _find(connection, replays, digests)
        for incoming in replays:
            origin = found.get(incoming.event_id)
            if incoming.event_id in edited:
                problem = describe_edit(edited[incoming.event_id])
            else:
                problem = _describe_unknown(incoming) if origin is None else self._problem(incoming, origin)
            incoming.origin = origin
            incoming.is_refused_replay = origin is None
            if problem:
                _refuse(incoming, problem)

    async def _check_returned(self, messages: Sequence[IncomingMessage]) -> None:
        """Gives replays that come back for their next attempt their `origin`, and refuses those whose dead letter was edited since."""
        async with self._connections.connection() as connection:
            found = await origins.find(
                connection, {each.replay_of for each in messages if each.replay_of}, ()
            )
        known = {row.event_id: row for row in found}
        for incoming in messages:
            row = known.get(incoming.replay_of) if incoming.replay_of else None
            if row is None:
                continue
            if row.settled_by in (None, incoming.event_id):
                incoming.origin = row
            elif row.edit is not None:
                incoming.is_refused_replay = True
                _refuse(incoming, describe_edit(row))

    def _problem(self, incoming: IncomingMessage, origin: DeadLetterOrigin) -> str:
        if origin.arrival is None or incoming.message is None:
            return ""
        problem = self._sender_check.problem_at(origin.arrival, incoming.message)
        return problem and f"{problem}; {_describe_remedy(incoming)}"


def describe_edit(row: DeadLetterOrigin) -> str:
    """Who edited the dead letter, when, and as which message it goes on."""
    assert row.edit is not None
    return (
        f"{row.event_id} was edited by {row.edit.by} at {row.edit.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC, and goes on as "
        f"{row.settled_by}: only the edited message is handled, so this one is not needed"
    )


def _refuse(incoming: IncomingMessage, problem: str) -> None:
    incoming.failure = Failure(Reason.FALSE_CLAIM, "UnprovenReplay", problem)
    incoming.message = incoming.handler = None


async def _find(
    connection: Connection, replays: Sequence[IncomingMessage], digests: dict[UUID, bytes | None]
) -> tuple[dict[UUID, DeadLetterOrigin], dict[UUID, DeadLetterOrigin]]:
    """`event_id` of each replay → the dead letter that it repeats; and of those that name an edited one → that one."""
    originals = {incoming.replay_of for incoming in replays if incoming.replay_of is not None}
    known = await origins.find(connection, originals, {each for each in digests.values() if each})
    found: dict[UUID, DeadLetterOrigin] = {}
    edited: dict[UUID, DeadLetterOrigin] = {}
    for incoming in replays:
        named = next((row for row in known if row.event_id == incoming.replay_of), None)
        if named is not None and named.edit is not None and named.settled_by != incoming.event_id:
            # Another dead letter may have the same content, and is not meant.
            edited[incoming.event_id] = named
            continue
        digest = digests[incoming.event_id]
        fitting = [row for row in known if _stands_for(incoming, digest, row)]
        # The one that it names comes first. Another with the same content will do: a replay that the broker itself gave up
        # on has no row, and its own replay names that one.
        fitting.sort(key=lambda row: row.event_id != incoming.replay_of)
        if fitting:
            found[incoming.event_id] = fitting[0]
    older = {
        incoming.replay_of: incoming
        for incoming in replays
        if incoming.replay_of is not None
        and incoming.event_id not in found
        and incoming.event_id not in edited
        and digests[incoming.event_id] is not None
    }
    if older:
        dead = await origins.died_before_upgrade(
            connection, {event_id: incoming.type for event_id, incoming in older.items()}
        )
        for event_id in dead:
            incoming = older[event_id]
            found[incoming.event_id] = DeadLetterOrigin(event_id, digests[incoming.event_id])
    return found, edited


def _stands_for(incoming: IncomingMessage, digest: bytes | None, row: DeadLetterOrigin) -> bool:
    if row.settled_by not in (None, incoming.event_id):
        return False
    if row.digest is None:
        return row.event_id == incoming.replay_of
    return row.digest == digest


def _describe_unknown(incoming: IncomingMessage) -> str:
    replayed = (
        "names no message that it replays" if incoming.replay_of is None else f"replays {incoming.replay_of}"
    )
    return (
        f"it {replayed}, and this service has no unsettled dead letter with that content: it "
        f"did not dead-letter it, or has accepted a replay of it already; {_describe_remedy(incoming)}"
    )


def _describe_remedy(incoming: IncomingMessage) -> str:
    return (
        f"if you know its sender, run `python -m messaging accept-replay {incoming.event_id}` with this service's "
        "DATABASE_URL, then replay this dead letter"
    )


async def lock_origins(connection: Connection, messages: Sequence[IncomingMessage]) -> list[IncomingMessage]:
    """Locks the dead letters of the replays among the messages; returns the replays that another one has overtaken.

    Another replay may have settled the dead letter since `ReplayCheck` looked.
    """
    replays = [incoming for incoming in messages if incoming.origin is not None]
    if not replays:
        return []
    await origins.insert(connection, [incoming.origin for incoming in replays if incoming.origin is not None])
    settled = await origins.lock(
        connection, {incoming.origin.event_id for incoming in replays if incoming.origin}
    )
    late: list[IncomingMessage] = []
    taken: dict[UUID, UUID] = {}
    for incoming in replays:
        assert incoming.origin is not None
        holder = settled.get(incoming.origin.event_id) or taken.setdefault(
            incoming.origin.event_id, incoming.event_id
        )
        if holder != incoming.event_id:
            late.append(incoming)
    return late


def superseded_replay(incoming: IncomingMessage) -> Failure:
    """Builds the failure of a replay whose dead letter another replay has settled."""
    incoming.is_refused_replay = True
    return Failure(Reason.FALSE_CLAIM, "UnprovenReplay", _describe_unknown(incoming))


async def note_outcomes(
    connection: Connection, dead: Sequence[IncomingMessage], settled: Sequence[IncomingMessage]
) -> None:
    """Records messages that die in the running transaction, and the replays that settle their dead letters.

    Args:
        connection: of the running transaction.
        dead: messages dead-lettered in it.
        settled: messages with a final outcome in it.
    """
    new = [origin for incoming in dead if (origin := _origin_of(incoming)) is not None]
    if new:
        await origins.insert(connection, new)
    replaced = {
        original: incoming.event_id
        for incoming in settled
        if not incoming.is_refused_replay
        and (original := incoming.origin.event_id if incoming.origin else incoming.replay_of) is not None
    }
    if replaced:
        await origins.settle(connection, replaced)


def _origin_of(incoming: IncomingMessage) -> DeadLetterOrigin | None:
    if not incoming.has_identity:
        return None
    digest = content_digest(incoming.delivery.body)
    if incoming.is_refused_replay:
        # Settled by itself: known, so that its death here makes no replay of it true.
        return DeadLetterOrigin(incoming.event_id, digest, settled_by=incoming.event_id)
    if incoming.origin is not None:
        arrival = incoming.origin.arrival
    elif incoming.failure is not None and incoming.message is None:
        arrival = _arrival_of(incoming)
    else:
        arrival = None
    return DeadLetterOrigin(incoming.event_id, digest, arrival)


def _arrival_of(incoming: IncomingMessage) -> PublishOrigin | None:
    """The publish origin of a message that has not passed the sender check; None for a retry, which has."""
    exchange, routing_key = incoming.delivery.origin()
    return (
        None if exchange in ("", RETURNS) else PublishOrigin(exchange, routing_key, incoming.delivery.user_id)
    )
