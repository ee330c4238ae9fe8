"""Conditions in the own database: unsettled dead letters by failure group and brand, and failing notification routes."""

from collections.abc import Sequence
from typing import Final

from messaging import Database
from monitor.dead_letters import unsettled_groups
from monitor.notifications import store
from monitor.notifications.domain import Condition, NotificationKind, Severity

_MOST_GROUPS: Final = 200
"""Only the largest groups; more would tell operators nothing new."""
_MOST_TYPES: Final = 5


async def dead_letter_conditions(database: Database) -> Sequence[Condition]:
    """Failure groups, with a command but no link: a browser cannot send the API key header."""
    async with database.connection() as connection:
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


async def failing_route_conditions(database: Database) -> Sequence[Condition]:
    """Notification routes that fail; the other routes report them."""
    async with database.connection() as connection:
        failing = await store.failing_routes(connection)
    return [
        Condition(
            NotificationKind.ROUTES,
            key=each["name"],
            severity=Severity.CRITICAL,
            title=f"Notifications do not arrive on route {each['name']}",
            detail=f"{each['problem']}; since {each['failing_since']:%Y-%m-%d %H:%M} UTC, tried again every hour",
            command=f"brandctl notifications test {each['name']}",
        )
        for each in failing
    ]
