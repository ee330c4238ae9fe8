"""Migrations beside the work: those that must not run inside a transaction, and those that find a table in use."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest

from chassis.database.migrations import MigrationError
from chassis.testing import eventually
from messaging.storage import migrations
from messaging.storage.migrations import migrate

TABLE = "create table things (name text not null);"
INDEX = "-- outside a transaction\ncreate index concurrently if not exists things_name on things (name);"
UNIQUE = INDEX.replace("create index", "create unique index")


@pytest.fixture
def add(monkeypatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Adds a migration file to those of the library."""
    for path in migrations.OWN.glob("*.sql"):
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.setattr("messaging.storage.migrations.OWN", tmp_path)

    def add(name: str, sql: str) -> None:
        (tmp_path / name).write_text(sql)

    add("0100_things.sql", TABLE)
    return add


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def valid(connection: asyncpg.Connection) -> bool | None:
    return await connection.fetchval(
        "select indisvalid from pg_index where indexrelid = to_regclass('things_name')"
    )


async def test_an_index_can_be_built_beside_the_work(add, database_url, connection) -> None:
    add("0101_index.sql", INDEX)

    assert "messaging/0101_index.sql" in await migrate(database_url)
    assert await valid(connection)
    assert await migrate(database_url) == []


async def test_without_saying_so_it_would_run_inside_a_transaction(add, database_url) -> None:
    add("0101_index.sql", INDEX.partition("\n")[2])

    with pytest.raises(MigrationError, match="transaction"):
        await migrate(database_url)


async def test_a_build_that_failed_is_not_taken_for_an_index(add, database_url, connection) -> None:
    await migrate(database_url)
    await connection.execute("insert into things values ('twice'), ('twice')")
    add("0101_index.sql", UNIQUE)
    with pytest.raises(MigrationError, match=r"0101_index\.sql: could not create unique index"):
        await migrate(database_url)
    assert await valid(connection) is False
    await connection.execute("truncate things")

    assert await migrate(database_url) == ["messaging/0101_index.sql"]
    assert await valid(connection) is True


async def test_an_index_is_built_while_another_waits_for_its_turn_to_migrate(
    add, database_url, connection
) -> None:
    await migrate(database_url)
    add("0101_index.sql", INDEX)
    # Whoever has written to the table is waited for, so that both are under way before one can end.
    writing = connection.transaction()
    await writing.start()
    await connection.execute("insert into things values ('one')")
    tasks = [asyncio.create_task(migrate(database_url)) for _ in range(2)]
    observer = await asyncpg.connect(database_url)
    try:

        async def both_are_under_way() -> bool:
            others = (
                "select count(*) from pg_stat_activity where datname = current_database() and query ~* $1"
            )
            building = await observer.fetchval(f"{others} and wait_event_type = 'Lock'", "^-- outside")
            waiting = await observer.fetchval(others, "^select pg_try_advisory_lock")
            return building == 1 and waiting == 1

        await eventually(both_are_under_way)
        await writing.commit()
        results = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await observer.close()

    assert sorted(results) == [[], ["messaging/0101_index.sql"]]
    assert await valid(connection)


@pytest.mark.extended
async def test_a_migration_that_waits_for_a_backup_holds_up_nobody_else(
    add, database_url, connection
) -> None:
    await migrate(database_url)
    add("0101_column.sql", "alter table things add column label text;")
    reader = await asyncpg.connect(database_url)
    reading = reader.transaction(isolation="repeatable_read", readonly=True)
    await reading.start()
    await reader.fetch("select * from things")
    migrating = asyncio.create_task(migrate(database_url))
    try:
        waiting = "select count(*) from pg_locks where not granted and relation = 'things'::regclass"
        await eventually(lambda: connection.fetchval(waiting))
        # The migration waits for the reader, and this for the migration.
        async with asyncio.timeout(60):
            await connection.execute("insert into things (name) values ('meanwhile')")
        assert not migrating.done()
        await reading.rollback()
        assert await migrating == ["messaging/0101_column.sql"]
    finally:
        migrating.cancel()
        await reader.close()

    assert await connection.fetchval("select count(label) from things") == 0


async def test_tables_of_what_a_service_stands_on_come_before_its_own_and_once(
    monkeypatch, tmp_path: Path, database_url: str
) -> None:
    """Two services in one database, which both stand on the same library."""
    for package, sql in {
        "library": "create table lent (name text primary key);",
        "borrower": "create table loans (name text references lent);",
        "other": "create table others (name text references lent);",
    }.items():
        (tmp_path / package / "migrations").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "migrations" / "0001_it.sql").write_text(sql)
    for package in ("borrower", "other"):
        (tmp_path / package / "migrations" / "stands_on.txt").write_text("library\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    applied = await migrate(database_url, ["borrower", "other"])

    assert applied[-3:] == ["library/0001_it.sql", "borrower/0001_it.sql", "other/0001_it.sql"]
    assert await migrate(database_url, ["borrower", "other"]) == []
