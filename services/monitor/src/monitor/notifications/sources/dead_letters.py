"""Open dead letters, alike ones together: a hundred that failed alike are one notification, with their number."""

from collections.abc import Sequence
from typing import Final

from messaging import Database
from monitor.dead_letters import unsettled_groups
from monitor.notifications.domain import Condition, NotificationKind, Severity

_MOST_GROUPS: Final = 200
"""The largest; beyond that many kinds of failure, one more tells nobody anything."""
_MOST_TYPES: Final = 5


class DeadLettersSource:
    """They have a command and no link: the API takes a key in a header, which nobody can send by opening an address."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fetch_conditions(self) -> Sequence[Condition]:
        async with self._database.connection() as connection:
            groups = await unsettled_groups(connection, limit=_MOST_GROUPS)
        return [
            Condition(
                NotificationKind.DEAD_LETTERS,
                # The same failure strikes several brands, and each is told of its own.
                key=each["group"],
                severity=Severity.WARNING,
                title=f"Dead letters on {each['queue']}: {each['exception_type'] or each['reason']}",
                # Neither body nor detail: both may quote what the message said.
                detail=" · ".join(
                    filter(None, [", ".join(each["types"][:_MOST_TYPES]), each["reason"], each["frame"]])
                ),
                command=f"brandctl dead-letters list --group {each['group']}",
                brand=each["brand_slug"],
                count=each["count"],
            )
            for each in groups
        ]
