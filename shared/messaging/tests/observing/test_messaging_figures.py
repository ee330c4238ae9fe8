"""Throughput and times of a week: counted in memory, written every few seconds, and read over the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope.brand.payloads import ResearchRequested
from messaging import Service, Unprocessable, on_batch, on_each
from messaging.backbone_routes import backbone_routes
from messaging.flow.figures import FigureNotes
from messaging.observing.counting import SECONDS, durations
from messaging.storage import figures

QUEUE = "research-commands"
FIGURES = "/v1/backbone/figures"
TYPE = "research.requested"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE})),
    "editor": Caller("eve", frozenset(Scope) - {Scope.OPERATE}),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}


async def authorise(request: Request) -> Caller:
    return CALLERS[request.headers["X-Service-Key"]]


@asynccontextmanager
async def asking(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    app = api("Figures", authorise, answers=service.database)
    add_routes(app, backbone_routes(service.database))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://test", headers={"X-Service-Key": "operator"}
    ) as client:
        yield client


def test_stored_histograms_have_a_place_for_each_bound() -> None:
    assert len(SECONDS) + 1 == figures.BUCKETS


def test_quantiles_are_upper_bounds_and_never_above_the_longest() -> None:
    counts = [0] * (len(SECONDS) + 1)
    assert durations(counts, 0.0).p50 is None
    counts[4] = 90
    counts[10] = 10
    found = durations(counts, 2.1)
    assert (found.count, found.p50, found.p95, found.longest) == (100, 0.025, 2.1, 2.1)
    counts[-1] = 1000
    assert durations(counts, 4000.0).p50 == 4000.0


class _Clock:
    now = datetime(2026, 3, 1, 12, 59, 50, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_what_a_service_did_is_read_by_minute_hour_and_type(world: Any) -> None:
    seen: list[Any] = []

    async def handle(message: Any, _context: Any) -> None:
        seen.append(message)
        if len(seen) == 3:
            raise Unprocessable("never")

    service = world.service()
    service.consume(QUEUE, on_each(handle, ResearchRequested))
    clock = _Clock()

    async def no_depths() -> dict[str, Any]:
        return {}

    async with running(service), asking(service) as client:
        notes = FigureNotes(service.connections, service.runners, no_depths, clock)
        await notes.note()
        for _ in range(3):
            await world.send(world.request())
        counts = service.runners[0].settlement.counts

        async def are_all_settled() -> bool:
            return counts.processed[TYPE] == 2 and counts.dead_types[TYPE] == 1

        await eventually(are_all_settled)
        await notes.note()
        # Written again, they count once.
        notes._written.clear()
        await notes.note()
        found = (await client.get(FIGURES, params={"until": "2026-03-01T12:30:00Z", "hours": 2})).json()
        assert [(each["hour"], each["type"], each["handled"], each["dead"]) for each in found["hours"]] == [
            ("2026-03-01T12:00:00Z", TYPE, 2, 1)
        ]
        (times,) = found["times"]
        assert times["waiting"]["count"] == 2
        assert times["working"]["count"] == 3
        assert 0 < times["working"]["p50"] <= times["working"]["p95"] <= times["working"]["longest"]
        assert [(each["minute"], each["handled"]) for each in found["minutes"]] == [
            ("2026-03-01T12:59:00Z", 2)
        ]
        # The next hour begins with nothing.
        clock.now += timedelta(seconds=30)
        await notes.note()
        await world.send(world.request())

        async def is_next_one_settled() -> bool:
            return counts.processed[TYPE] == 3

        await eventually(is_next_one_settled)
        await notes.note()
        found = (await client.get(FIGURES, params={"until": "2026-03-01T13:30:00Z", "hours": 2})).json()
        assert [(each["hour"], each["handled"]) for each in found["hours"]] == [
            ("2026-03-01T12:00:00Z", 2),
            ("2026-03-01T13:00:00Z", 1),
        ]
        assert found["kept_since"] == "2026-03-01T12:00:00Z"


async def test_a_service_writes_them_by_itself_also_when_it_ends(world: Any) -> None:
    async def ignore(_messages: Any, _tx: Any) -> None: ...

    service = world.service()
    service.consume(QUEUE, on_batch(ignore, ResearchRequested))
    async with running(service):
        for _ in range(2):
            await world.send(world.request())

        async def are_settled() -> bool:
            return service.runners[0].settlement.counts.processed[TYPE] == 2

        await eventually(are_settled)
    assert await world.database.fetchval("select sum(handled) from message_hours") == 2
    assert await world.database.fetchval("select sum(handled) from message_minutes") == 2


async def test_processes_are_added_up_and_old_figures_are_deleted(world: Any) -> None:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    waited = tuple([0] * len(SECONDS) + [1])
    async with world.database.acquire() as connection:
        for age in (timedelta(), timedelta(days=9)):
            for _ in range(2):
                row = figures.HourRow(hour - age, QUEUE, TYPE, 1, 2, 3, 4, waited, 9.0, waited, 8.0)
                minute = figures.MinuteRow(hour - age, QUEUE, 1, 2, 3, 4, 7)
                await figures.write(connection, uuid4(), [minute], [row])
        (found,) = await figures.hours(connection, hour, hour + timedelta(hours=1))
        assert (found.handled, found.retried, found.set_aside, found.dead) == (2, 4, 6, 8)
        (times,) = await figures.times(connection, hour, hour + timedelta(hours=1))
        assert (times.waited[-1], times.waited_longest, times.worked_longest) == (2, 9.0, 8.0)
        (minute,) = await figures.minutes(connection, hour, hour + timedelta(hours=1))
        assert (minute.handled, minute.ready) == (2, 7)
        await figures.forget_old(connection)
        assert await figures.kept_since(connection) == hour
        assert await connection.fetchval("select count(*) from message_minutes") == 2


@pytest.mark.parametrize(
    ("caller", "query", "status"),
    [
        ("editor", {}, 403),
        ("bound", {}, 403),
        ("editor", {"hours": "x"}, 403),
        ("operator", {"hours": 0}, 422),
        ("operator", {"hours": 169}, 422),
        ("operator", {"until": "yesterday"}, 422),
        ("operator", {"until": "0001-01-01T00:00:00Z"}, 200),
        ("operator", {"until": "9999-12-31T23:59:59Z"}, 200),
    ],
)
async def test_who_may_ask_and_for_what(world: Any, caller: str, query: dict[str, Any], status: int) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        answer = await client.get(FIGURES, params=query, headers={"X-Service-Key": caller})
        assert answer.status_code == status, answer.text
