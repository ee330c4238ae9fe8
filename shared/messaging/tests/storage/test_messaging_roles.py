"""The role that a service runs as works with its tables, and can neither change them nor take them away."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from chassis.database import grants
from chassis.database.migrations import MigrationInterruptedError
from chassis.http.audit import log as audit_log
from chassis.http.audit.log import Change
from messaging.storage import inbox, migrations, partitions
from messaging.storage.migrations import migrate

ROW = "insert into crash_markers (queue, event_id, starts) values ('q', gen_random_uuid(), 1)"


@pytest.fixture
async def url(make_database) -> str:
    return await make_database()


@pytest.fixture
async def runtime(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
async def owner(url: str, database_roles) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_roles.owner(url))
    yield connection
    await connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "drop table outbox",
        "drop table processed_events_default",
        "alter table processed_events add column note text",
        "alter table outbox disable trigger all",
        "truncate processed_events",
        "truncate processed_events_default",
        "delete from processed_events_default",
        "insert into schema_migrations (name, checksum) values ('messaging/0003.sql', '')",
        "delete from schema_migrations",
        "create table note (text text)",
        "create temporary table outbox (id uuid)",
        "create schema another",
        "create function f() returns integer language sql return 1",
        "create index note on outbox (type)",
        "create or replace function maintain_processed_events() returns void language sql begin atomic end",
        "alter function maintain_processed_events() reset search_path",
        "alter role current_user connection limit -1",
    ],
)
async def test_what_a_service_has_no_business_with_is_refused(
    runtime: asyncpg.Connection, statement: str
) -> None:
    role = await runtime.fetchval("select quote_ident(current_user)")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await runtime.execute(statement.replace("current_user", role))


async def test_it_reads_and_writes_rows(runtime: asyncpg.Connection) -> None:
    await runtime.execute(ROW)
    await runtime.execute("update crash_markers set starts = 2")
    assert await runtime.fetchval("delete from crash_markers returning starts") == 2
    assert await runtime.fetchval("select count(*) from schema_migrations") > 0


async def test_it_has_partitions_made_and_dropped_without_owning_any(
    runtime: asyncpg.Connection, owner: asyncpg.Connection
) -> None:
    today = datetime.now(UTC).date()
    old, ahead = today - timedelta(days=20), today + timedelta(days=2)
    first, last = partitions.lower_bound(old), partitions.lower_bound(old + timedelta(days=1))
    await owner.execute(
        f"create table {partitions.partition_name(old)} partition of processed_events"
        f" for values from ('{first}') to ('{last}');"
        f"drop table {partitions.partition_name(ahead)}"
    )
    early = UUID(int=partitions.lower_bound(ahead).int + 7)
    await inbox.insert(runtime, "q", [inbox.InboxRow(early, "research.requested", "handled")])

    await partitions.maintain(runtime)

    assert await runtime.fetchval("select to_regclass($1)", partitions.partition_name(old)) is None
    where = await runtime.fetchval(
        "select tableoid::regclass::text from processed_events where event_id = $1", early
    )
    assert where == partitions.partition_name(ahead)
    owners = await runtime.fetch(
        "select distinct tableowner from pg_tables where tablename ~ '^processed_events'"
    )
    assert [row["tableowner"] for row in owners] == [await owner.fetchval("select current_user")]


async def test_maintenance_works_on_the_tables_of_the_service_whatever_the_caller_looks_at(
    runtime: asyncpg.Connection, owner: asyncpg.Connection
) -> None:
    """A table of the same name that comes first for the caller, as a temporary one does."""
    database = await owner.fetchval("select quote_ident(current_database())")
    role = await runtime.fetchval("select quote_ident(current_user)")
    await owner.execute(f"grant temporary on database {database} to {role}")
    await runtime.execute(
        "create temporary table processed_events_default (event_id uuid, processed_at date)"
    )
    await runtime.execute(
        "insert into pg_temp.processed_events_default values (gen_random_uuid(), '2000-01-01')"
    )
    await partitions.maintain(runtime)
    assert await runtime.fetchval("select count(*) from pg_temp.processed_events_default") == 1


@pytest.mark.parametrize("service", ["messaging", "gateway"])
async def test_the_database_alone_numbers_and_dates_rows_of_the_audit_log(
    make_database, database_roles, service: str
) -> None:
    """Also where a version before let the role write all columns."""
    url = await make_database(service)
    runtime, owner = await asyncpg.connect(url), await asyncpg.connect(database_roles.owner(url))
    role = database_roles.runtime_role
    await owner.execute(
        f"grant insert on audit_log to {role}; grant usage on sequence audit_log_id_seq to {role}"
    )
    forged = "insert into audit_log (at, caller, key_id, operation, path) values ('2020-01-01', 'c', 'k', 'o', 'p')"
    numbered = (
        "insert into audit_log (id, caller, key_id, operation, path) overriding system value"
        " values (1000000, 'c', 'k', 'o', 'p')"
    )
    try:
        await runtime.execute(forged)
        for _ in range(2):
            await grants.grant(owner, role)
            for statement in (forged, numbered, "select nextval('audit_log_id_seq')"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await runtime.execute(statement)
        change = Change("c", "k", "o", "p", "127.0.0.1", "acme", "chain", {"a": 1}, {"a": 2})
        await audit_log.write(runtime, change)
        (entry,) = await audit_log.page(runtime, caller="c", limit=1)
        assert entry.change == change
        assert entry.at > datetime.now(UTC) - timedelta(hours=1)
        # Once all is as it should be, nothing is granted anew.
        assert await owner.fetch(grants._MISSING, role) == []
    finally:
        await runtime.close()
        await owner.close()


async def test_nobody_else_may_call_what_runs_as_the_owner(owner: asyncpg.Connection) -> None:
    privileged = await owner.fetch(
        """
        select proname, has_function_privilege('public', oid, 'execute') as anybody, proconfig[1] as search_path
        from pg_proc where prosecdef and proowner = current_user::regrole
        order by proname
        """
    )
    assert [tuple(row) for row in privileged] == [
        ("forget_audit_log", False, "search_path=public, pg_temp"),
        ("maintain_processed_events", False, "search_path=public, pg_temp"),
    ]


async def test_an_installation_in_which_one_role_did_both_is_upgraded_in_place_and_back(
    database_url: str, database_roles, monkeypatch
) -> None:
    """The role that has the tables keeps them: the version before works beside the new one, and after it."""
    with monkeypatch.context() as before:
        before.setattr(
            "messaging.storage.migrations.migrations.read",
            lambda prefix, folder, read=migrations.migrations.read: read(prefix, folder)[:1],
        )
        before.setattr("messaging.storage.migrations.partitions.maintain", _nothing)
        await migrate(database_url)
    old = await asyncpg.connect(database_url)
    await old.execute(ROW)
    runtime_url = database_roles.runtime(database_url)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await asyncpg.connect(runtime_url)

    await migrate(database_url, runtime_role=database_roles.runtime_role)

    new = await asyncpg.connect(runtime_url)
    for connection in (old, new, old):
        await connection.execute(ROW)
        await partitions.maintain(connection)
    assert await new.fetchval("select count(*) from crash_markers") == 4
    await old.execute("create table what_the_version_before_may_want (n integer)")
    await old.close()
    await new.close()
    assert await migrate(database_url, runtime_role=database_roles.runtime_role) == []


async def _nothing(connection: asyncpg.Connection) -> None:
    """The version before made its own partitions."""


async def test_a_role_that_is_not_there_is_named(database_url: str) -> None:
    with pytest.raises(
        MigrationInterruptedError, match=r'role "nobody_here" does not exist: DATABASE_RUNTIME_ROLE'
    ):
        await migrate(database_url, runtime_role="nobody_here")


async def test_letting_a_role_in_again_while_it_is_at_work_changes_nothing(
    url: str, database_roles, runtime: asyncpg.Connection
) -> None:
    async with runtime.transaction():
        await runtime.execute(ROW)
        async with asyncio.timeout(60):
            again = await migrate(database_roles.owner(url), runtime_role=database_roles.runtime_role)
    assert again == []
