"""Conditions for messages that were sent and have no outcome, by the place where they were last."""

from collections.abc import Sequence

from messaging import Database
from monitor.ledger import MissingGroup, missing_groups
from monitor.notifications.domain import Condition, NotificationKind, Severity


async def missing_conditions(database: Database) -> Sequence[Condition]:
    async with database.connection() as connection:
        groups = await missing_groups(connection)
    return list(map(_condition, groups))


def _condition(group: MissingGroup) -> Condition:
    return Condition(
        NotificationKind.MISSING,
        key=group.last_queue,
        severity=Severity.CRITICAL,
        title=f"Messages without an outcome, last in the queue {group.last_queue}",
        detail=f"{', '.join(group.types)}; the oldest was sent {group.oldest:%Y-%m-%d %H:%M:%S} UTC",
        command=f"brandctl ledger --state missing --queue {group.queue}",
        count=group.count,
    )
