"""A process made of the chassis alone, with a real database and no broker anywhere."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from chassis import App, AppSettings, Connection
from chassis.database.migrations import MigrationError, NotMigratedError, migrate, read
from chassis.database.pool import DatabaseUnavailableError
from chassis.testing import Direction, ServerProxy, eventually, running


class Counter(App):
    """Counts visits in a table of its own."""

    def __init__(self, settings: AppSettings) -> None:
        super().__init__("counter", settings, system="kiosk")
        self.serve(Starlette(routes=[Route("/", self.visit)]))
        self.gauge("visits", "Visits so far.", "page", self.visits)

    async def visit(self, _: Request) -> PlainTextResponse:
        async with self.connections.connection() as connection:
            count = await connection.fetchval("update visits set count = count + 1 returning count")
        return PlainTextResponse(str(count))

    async def visits(self, connection: Connection) -> dict[str, float]:
        return {"start": await connection.fetchval("select count from visits")}


def settings(database_url: str, **more: Any) -> AppSettings:
    values = {"database_url": database_url, "service_key": "a-key-for-tests-only", "http_port": 0}
    return AppSettings.model_validate(values | more)


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    (tmp_path / "0001_visits.sql").write_text(
        "create table visits (count bigint not null); insert into visits values (0);"
    )
    return tmp_path


@pytest.fixture
async def migrated(database_url: str, migrations: Path) -> str:
    assert await migrate(database_url, read("counter", migrations)) == ["counter/0001_visits.sql"]
    return database_url


def client_of(app: App) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{app.port}", timeout=60)


async def test_it_serves_tells_its_health_and_shows_its_figures(migrated: str) -> None:
    async with running(Counter(settings(migrated))) as app, client_of(app) as client:
        assert (await client.get("/")).text == "1"
        assert (await client.get("/health/live")).json() == {"status": "ok"}
        assert (await client.get("/health/ready")).json() == {"status": "ok"}
        await app.metrics.sample()
        shown = (await client.get("/metrics")).text
    assert 'kiosk_visits{page="start"} 1.0' in shown
    assert "process_resident_memory_bytes" in shown


async def test_a_counter_with_known_labels_begins_at_zero(migrated: str) -> None:
    app = Counter(settings(migrated))
    sold = app.metrics.counter("sold", "Things sold.", "what", values=[("tea",), ("milk",)])
    sold.labels("tea").inc()
    async with running(app), client_of(app) as client:
        shown = (await client.get("/metrics")).text
    assert 'kiosk_sold_total{what="tea"} 1.0' in shown
    assert 'kiosk_sold_total{what="milk"} 0.0' in shown


async def test_figures_can_have_a_port_that_visitors_do_not_reach(
    migrated: str, free_port: Callable[[], int]
) -> None:
    port = free_port()
    async with running(Counter(settings(migrated, metrics_port=port))) as app, client_of(app) as client:
        assert (await client.get("/")).text == "1"
        assert (await client.get("/metrics")).status_code == 404
        elsewhere = await client.get(f"http://127.0.0.1:{port}/metrics")
        assert "kiosk_http_request_seconds" in elsewhere.text
        assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 404


async def test_while_the_database_is_away_it_is_not_ready_and_says_why(migrated: str) -> None:
    async with (
        ServerProxy(migrated) as proxy,
        running(Counter(settings(proxy.url))) as app,
        client_of(app) as client,
    ):
        proxy.cut()
        response = await client.get("/health/ready")
        assert response.status_code == 503
        assert response.json()["problems"] == {"database": "does not answer"}
        proxy.mend()
        await eventually(app.connections.answers)
        assert (await client.get("/health/ready")).status_code == 200


async def test_a_database_lost_during_the_start_is_waited_for(migrated: str) -> None:
    async with ServerProxy(migrated) as proxy:
        strike = proxy.strike(b"select 1 from schema_migrations", towards=Direction.SERVER)
        async with running(Counter(settings(proxy.url))):
            assert strike.hits == 1


async def test_without_its_tables_it_names_the_command_that_makes_them(database_url: str) -> None:
    with pytest.raises(NotMigratedError, match="python -m counter migrate"):
        await Counter(settings(database_url)).run()


async def test_a_background_task_that_fails_is_started_again(migrated: str) -> None:
    app = Counter(settings(migrated))
    runs = 0
    again = asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("the first time")
        again.set()

    app.background("work", work)
    async with running(app), asyncio.timeout(60):
        await again.wait()
    assert runs == 2


async def test_an_outage_of_the_database_pauses_a_task_in_whatever_group_it_arrives(
    migrated: str,
) -> None:
    app = Counter(settings(migrated))
    away = DatabaseUnavailableError("the server is restarting")
    errors: list[Exception] = [
        ExceptionGroup("readers", [away, ExceptionGroup("batches", [away])]),
        ExceptionGroup("readers", [away, ValueError("and a mistake")]),
    ]
    ended = asyncio.Event()

    async def work() -> None:
        if errors:
            raise errors.pop(0)
        ended.set()

    app.background("work", work)
    with structlog.testing.capture_logs() as lines:
        async with running(app), asyncio.timeout(60):
            await ended.wait()
    assert [line["event"] for line in lines if line.get("task") == "work"] == [
        "background_task_paused",
        "background_task_failed",
    ]


async def test_an_applied_migration_that_has_changed_is_refused(migrated: str, migrations: Path) -> None:
    (migrations / "0001_visits.sql").write_text("create table visits (count integer not null);")

    with pytest.raises(MigrationError, match=r"counter/0001_visits.sql was applied in another form"):
        await migrate(migrated, read("counter", migrations))
