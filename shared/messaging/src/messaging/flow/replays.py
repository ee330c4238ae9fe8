"""Replays: a service takes one only if its own database knows that it dead-lettered that content.

The recorder may send anything to any queue by way of the exchange `returns`, so whoever holds its password could give every
service any command. What a service has dead-lettered stands in its own database, where the recorder has no access.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from chassis.database.pool import Connection, Connections
from messaging.flow.claims import Claims
from messaging.flow.failures import Failure
from messaging.flow.intake import Work
from messaging.headers import Reason
from messaging.storage import origins
from messaging.storage.origins import Arrival, DeadLetterOrigin
from messaging.topology import RETURNS

_LONGEST_INTEGER: Final = 4_000
"""Digits that Python turns into a number."""
_COPIED: Final = ("type", "source", "correlation_id", "payload")
"""What a replay leaves as it is."""


def content_digest(body: bytes) -> bytes | None:
    """SHA-256 of what a replay shares with its original: type, source, correlation id and payload.

    None if the body is no JSON object.
    """
    try:
        members = json.loads(body, parse_int=_integer)
        text = json.dumps([members.get(name) for name in _COPIED], sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError, AttributeError):
        return None
    return hashlib.sha256(text.encode()).digest()


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


class ReplayCheck:
    """Looks up what the replays of one queue stand for, and refuses those that stand for nothing.

    Args:
        connections: of the service's own database.
        claims: judges again what nobody believed when it first came.
    """

    def __init__(self, connections: Connections, claims: Claims) -> None:
        self._connections = connections
        self._claims = claims

    async def check(self, works: Sequence[Work]) -> None:
        """Gives each replay among the works its `origin`, or a failure.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        replays = [work for work in works if self._claims.is_replay(work.delivery)]
        if not replays:
            return
        digests = {work.event_id: content_digest(work.delivery.body) for work in replays}
        async with self._connections.connection() as connection:
            found = await _find(connection, replays, digests)
        for work in replays:
            origin = found.get(work.event_id)
            problem = _unknown(work) if origin is None else self._problem(work, origin)
            work.origin = origin
            work.is_refused_replay = origin is None
            if problem:
                work.failure = Failure(Reason.FALSE_CLAIM, "UnprovenReplay", problem)
                work.message = work.handler = None

    def _problem(self, work: Work, origin: DeadLetterOrigin) -> str:
        if origin.arrival is None or work.message is None:
            return ""
        problem = self._claims.problem_at(origin.arrival, work.message)
        return problem and f"{problem}; {_way_out(work)}"


async def _find(
    connection: Connection, replays: Sequence[Work], digests: dict[UUID, bytes | None]
) -> dict[UUID, DeadLetterOrigin]:
    """`event_id` of each replay → what it stands for."""
    originals = {work.replay_of for work in replays if work.replay_of is not None}
    known = await origins.find(connection, originals, {each for each in digests.values() if each})
    found: dict[UUID, DeadLetterOrigin] = {}
    for work in replays:
        digest = digests[work.event_id]
        fitting = [row for row in known if _stands_for(work, digest, row)]
        # The one that it names comes first. Another with the same content will do: a replay that the broker itself gave up
        # on has no row, and its own replay names that one.
        fitting.sort(key=lambda row: row.event_id != work.replay_of)
        if fitting:
            found[work.event_id] = fitting[0]
    older = {
        work.replay_of: work
        for work in replays
        if work.replay_of is not None and work.event_id not in found and digests[work.event_id] is not None
    }
    if older:
        dead = await origins.died_before_upgrade(
            connection, {event_id: work.type for event_id, work in older.items()}
        )
        for event_id in dead:
            work = older[event_id]
            found[work.event_id] = DeadLetterOrigin(event_id, digests[work.event_id])
    return found


def _stands_for(work: Work, digest: bytes | None, row: DeadLetterOrigin) -> bool:
    if row.settled_by not in (None, work.event_id):
        return False
    if row.digest is None:
        return row.event_id == work.replay_of
    return row.digest == digest


def _unknown(work: Work) -> str:
    replayed = "names no message that it replays" if work.replay_of is None else f"replays {work.replay_of}"
    return (
        f"it {replayed}, and no dead letter of this service with that content waits for a replay: this service "
        f"did not dead-letter it, or took a replay of it already; {_way_out(work)}"
    )


def _way_out(work: Work) -> str:
    return (
        f"if you know where it comes from, run `python -m messaging accept-replay {work.event_id}` with this service's "
        "DATABASE_URL, then replay this dead letter"
    )


async def lock_origins(connection: Connection, works: Sequence[Work]) -> list[Work]:
    """Locks what the replays among the works stand for; returns the replays that come too late.

    Another replay may have taken its place since `ReplayCheck` looked.
    """
    replays = [work for work in works if work.origin is not None]
    if not replays:
        return []
    await origins.insert(connection, [work.origin for work in replays if work.origin is not None])
    settled = await origins.lock(connection, {work.origin.event_id for work in replays if work.origin})
    late: list[Work] = []
    taken: dict[UUID, UUID] = {}
    for work in replays:
        assert work.origin is not None
        holder = settled.get(work.origin.event_id) or taken.setdefault(work.origin.event_id, work.event_id)
        if holder != work.event_id:
            late.append(work)
    return late


def came_too_late(work: Work) -> Failure:
    """The failure of a replay whose dead letter another replay has settled."""
    work.is_refused_replay = True
    return Failure(Reason.FALSE_CLAIM, "UnprovenReplay", _unknown(work))


async def note_outcomes(connection: Connection, dead: Sequence[Work], settled: Sequence[Work]) -> None:
    """Writes down what dies in the running transaction, and which replays have taken their originals' places.

    Args:
        connection: of the running transaction.
        dead: what is dead-lettered in it.
        settled: all that has a final outcome in it.
    """
    new = [origin for work in dead if (origin := _origin_of(work)) is not None]
    if new:
        await origins.insert(connection, new)
    replaced = {
        original: work.event_id
        for work in settled
        if not work.is_refused_replay
        and (original := work.origin.event_id if work.origin else work.replay_of) is not None
    }
    if replaced:
        await origins.settle(connection, replaced)


def _origin_of(work: Work) -> DeadLetterOrigin | None:
    if not work.has_identity:
        return None
    digest = content_digest(work.delivery.body)
    if work.is_refused_replay:
        # Settled by itself: known, so that its death here makes no replay of it true.
        return DeadLetterOrigin(work.event_id, digest, settled_by=work.event_id)
    if work.origin is not None:
        arrival = work.origin.arrival
    elif work.failure is not None and work.message is None:
        arrival = _arrival_of(work)
    else:
        arrival = None
    return DeadLetterOrigin(work.event_id, digest, arrival)


def _arrival_of(work: Work) -> Arrival | None:
    """How a message came that nobody has believed yet; a retry of our own was believed before."""
    exchange, routing_key = work.delivery.origin()
    return None if exchange in ("", RETURNS) else Arrival(exchange, routing_key, work.delivery.user_id)
