"""Conditions for failing notification routes; the other routes report them."""

from collections.abc import Sequence

from messaging import Database
from monitor.notifications import store
from monitor.notifications.domain import Condition, NotificationKind, Severity


class RoutesSource:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def fetch_conditions(self) -> Sequence[Condition]:
        async with self._database.connection() as connection:
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
