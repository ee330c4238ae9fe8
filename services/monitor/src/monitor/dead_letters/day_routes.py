"""`GET /v1/dead-letters/by-day`: how many messages died on each day."""

from datetime import date
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import MayRead, View, router
from messaging import Database
from monitor.dead_letters.groups import by_day

MOST_DAYS: Final = 90


class DeadLettersOfDay(View):
    day: date
    """In UTC."""
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    """The queue in which they died, without -dlq."""
    recorded: int
    """All that were recorded on that day, and are still kept."""
    open: int
    """Those of them that wait for a decision."""


class DeadLettersByDay(View):
    items: tuple[DeadLettersOfDay, ...]
    """The oldest day first; days without dead letters are left out."""
    first_day: date
    today: date


def day_routes(database: Database) -> APIRouter:
    """The route of dead letters by day."""
    routes = router("/dead-letters")

    @routes.get("/by-day", summary="Dead letters by day and queue")
    async def count_dead_letters_by_day(
        caller: MayRead,
        days: Annotated[int, Query(description="Days, with today.", ge=1, le=MOST_DAYS)] = 7,
    ) -> DeadLettersByDay:
        """Returns how many dead letters were recorded on each day, replays that died again included.

        Settled ones are kept for the setting `RETENTION_DAYS`.
        """
        async with database.connection() as connection:
            found = await by_day(connection, days, caller.brands)
        return DeadLettersByDay(
            items=tuple(DeadLettersOfDay(**row) for row in found.rows),
            first_day=found.first_day,
            today=found.today,
        )

    return routes
