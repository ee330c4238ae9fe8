"""Conditions for unsettled dead letters: one for each failure group of a brand, with its count."""

from collections.abc import Sequence
from typing import Final

from messaging import Database
from monitor.dead_letters import unsettled_groups
from monitor.notifications.domain import Condition, NotificationKind, Severity

_MOST_GROUPS: Final = 200
"""Only the largest groups; more would tell operators nothing new."""
_MOST_TYPES: Final = 5


class DeadLettersSource:
    """Reports failure groups with a command but no link: a browser cannot send the API key header."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fetch_conditions(self) -> Sequence[Condition]:
        async with self._database.connection() as connection:
            groups = await unsettled_groups(connection, limit=_MOST_GROUPS)
        return [
            Condition(
                NotificationKind.DEAD_LETTERS,
                # The same failure may affect several brands, and each gets its own notification.
                key=each["group"],
                severity=Severity.WARNING,
                title=f"Dead letters on {each['queue']}: {each['exception_type'] or each['reason']}",
                # Neither body nor detail: both may quote the payload.
                detail=" · ".join(
                    filter(None, [", ".join(each["types"][:_MOST_TYPES]), each["reason"], each["frame"]])
                ),
                command=f"brandctl dead-letters list --group {each['group']}",
                brand=each["brand_slug"],
                count=each["count"],
            )
            for each in groups
        ]
