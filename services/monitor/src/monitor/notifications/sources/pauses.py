"""Conditions for queues that have been paused for long, of the monitor itself and of other services."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from chassis.http.client import NotThereError
from messaging import Database
from messaging.storage import pauses
from monitor.notifications.domain import Condition, NotificationKind, Severity
from monitor.notifications.peer_clients import PeerClient

LONG: Final = timedelta(hours=1)
"""As the alert `QueuePaused` of Prometheus has it."""


async def own_pause_conditions(database: Database) -> Sequence[Condition]:
    """Queues of the monitor itself."""
    async with database.connection() as connection:
        found = await pauses.find(connection)
        now: datetime = await connection.fetchval("select clock_timestamp()")
    return [
        _condition(each.queue, each.by, each.reason, each.since)
        for each in found.values()
        if now - each.since >= LONG
    ]


async def pause_conditions(database: Database, peer: PeerClient) -> Sequence[Condition]:
    """Queues of another service; none of a version that does not tell."""
    try:
        answer = await peer.read("/v1/backbone/pauses", "paused queues")
    except NotThereError:
        return ()
    async with database.connection() as connection:
        now: datetime = await connection.fetchval("select clock_timestamp()")
    return [
        _condition(each["queue"], each["by"], each["reason"], since)
        for each in answer["queues"]
        if now - (since := datetime.fromisoformat(each["since"])) >= LONG
    ]


def _condition(queue: str, by: str, reason: str, since: datetime) -> Condition:
    return Condition(
        NotificationKind.QUEUES,
        key=queue,
        severity=Severity.WARNING,
        title=f"The queue {queue} has been paused for more than an hour",
        detail=f"by {by} since {since:%Y-%m-%d %H:%M} UTC: {reason}",
        command=f"brandctl queues resume {queue}",
    )
