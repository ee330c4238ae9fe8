"""`GET /v1/backbone/figures`: throughput and times of a week, without Prometheus; part of `backbone_routes`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Self

from fastapi import APIRouter, Query
from pydantic import Field

from chassis.http.api import Moment, View, needs
from chassis.http.callers import Scope
from messaging.flow.transactions import Database
from messaging.observing.counting import Durations, durations
from messaging.storage import figures
from messaging.storage.figures import HourFigures, MinuteFigures, TypeTimes

MOST_HOURS: Final = 168
_HOUR: Final = timedelta(hours=1)
_EARLIEST: Final = datetime(1971, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)


class MinuteView(View):
    """A minute in which all processes of the service did something with messages of a queue, or the depth of the queue changed."""

    minute: datetime
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    handled: int
    retried: int
    """Attempts that failed and are made again."""
    set_aside: int
    """Messages that went back to wait for something that is away."""
    dead: int
    ready: int | None
    """Messages that waited in the queue at the beginning of the minute; null: unknown."""

    @classmethod
    def of(cls, found: MinuteFigures) -> Self:
        return cls(
            minute=found.minute,
            queue=found.queue,
            handled=found.handled,
            retried=found.retried,
            set_aside=found.set_aside,
            dead=found.dead,
            ready=found.ready,
        )


class HourView(View):
    """An hour in which the service did something with messages of a type."""

    hour: datetime
    queue: Annotated[str, Field(examples=["publisher-commands"])]
    type: Annotated[str, Field(examples=["content.publish"])]
    """`unknown`: types that no handler takes."""
    handled: int
    retried: int
    set_aside: int
    dead: int

    @classmethod
    def of(cls, found: HourFigures) -> Self:
        return cls(
            hour=found.hour,
            queue=found.queue,
            type=found.type,
            handled=found.handled,
            retried=found.retried,
            set_aside=found.set_aside,
            dead=found.dead,
        )


class DurationsView(View):
    """Seconds. `p50` and `p95` are upper bounds: half of all, and 19 of 20, took at most so long."""

    count: int
    p50: float | None
    p95: float | None
    longest: float | None
    """Null with the others: nothing was measured."""

    @classmethod
    def of(cls, found: Durations) -> Self:
        return cls(count=found.count, p50=found.p50, p95=found.p95, longest=found.longest)


class TypeTimesView(View):
    queue: str
    type: str
    """`several`: calls of a handler that took messages of several types."""
    waiting: DurationsView
    """From the making of a message to the beginning of its last attempt, wanted delays and retries included."""
    working: DurationsView
    """Calls of handlers; one call may take many messages."""

    @classmethod
    def of(cls, found: TypeTimes) -> Self:
        return cls(
            queue=found.queue,
            type=found.type,
            waiting=DurationsView.of(durations(found.waited, found.waited_longest)),
            working=DurationsView.of(durations(found.worked, found.worked_longest)),
        )


class FiguresView(View):
    since: datetime
    until: datetime
    """The end of the hour that the request names; figures stop before it."""
    minutes: tuple[MinuteView, ...]
    """Of the 60 minutes before `until`, or before now, the oldest first."""
    hours: tuple[HourView, ...]
    """The oldest first; hours in which nothing happened are left out."""
    times: tuple[TypeTimesView, ...]
    """Of all hours, by queue and type."""
    kept_since: datetime | None
    """The oldest hour with figures; null: there are none. What is older than seven days is deleted."""
    now: datetime


def add_figure_routes(routes: APIRouter, database: Database) -> None:
    """Adds the route to those of the backbone."""

    @routes.get(
        "/figures",
        summary="Throughput and times",
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
    )
    async def get_figures(
        hours: Annotated[int, Query(description="Hours to look at.", ge=1, le=MOST_HOURS)] = 24,
        until: Annotated[
            Moment | None, Query(description="A time of the last hour; the default is now.")
        ] = None,
    ) -> FiguresView:
        """Returns what became of messages by minute and hour, and how long they waited and were worked on.

        Each process writes its own counts every 15 seconds. A process that dies loses those of its last seconds.
        """
        async with database.connection() as connection:
            now: datetime = await connection.fetchval("select clock_timestamp()")
            asked = min(max(until or now, _EARLIEST), _LATEST)
            end = asked.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + _HOUR
            begin = end - hours * _HOUR
            # An hour back from a present one that has only begun, so that its page is not empty.
            first_minute = (min(now, end) - _HOUR).replace(second=0, microsecond=0)
            return FiguresView(
                since=begin,
                until=end,
                minutes=tuple(map(MinuteView.of, await figures.minutes(connection, first_minute, end))),
                hours=tuple(map(HourView.of, await figures.hours(connection, begin, end))),
                times=tuple(map(TypeTimesView.of, await figures.times(connection, begin, end))),
                kept_since=await figures.kept_since(connection),
                now=now,
            )
