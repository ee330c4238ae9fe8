"""The folder of a local run, and the servers and databases in it."""

import asyncio
import json
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import asyncpg
import pytest

from brandctl.local import databases, postgres, services
from brandctl.local.folder import FolderInUseError, LocalFolder


def test_one_run_at_a_time_holds_the_folder(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path / ".local")
    with folder.held():
        with (
            pytest.raises(FolderInUseError, match="another run holds"),
            LocalFolder(tmp_path / ".local").held(),
        ):
            pass
        with LocalFolder(tmp_path / "elsewhere").held():
            pass
    with folder.held():
        pass


def test_passwords_stay_the_same_in_one_checkout_and_differ_from_any_other(tmp_path: Path) -> None:
    one, same, other = (LocalFolder(tmp_path / name) for name in ("a", "a", "b"))
    for folder in (one, other):
        folder.root.mkdir()
    assert one.derive("orchestrator") == same.derive("orchestrator")
    assert one.derive("orchestrator") != one.derive("research")
    assert one.derive("orchestrator") != other.derive("orchestrator")
    assert stat.S_IMODE((one.root / "secret").stat().st_mode) == 0o600


def test_addresses_and_the_key_are_there_while_the_run_is(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    folder.announce({"monitor": "http://127.0.0.1:1"}, "it's a key")
    endpoints = json.loads((tmp_path / "endpoints.json").read_text())
    assert endpoints["monitor_url"] == "http://127.0.0.1:1"
    assert (tmp_path / endpoints["service_key_file"]).read_text().strip() == "it's a key"
    assert folder.settings.read_text().splitlines() == [
        """export SERVICE_KEY='it'"'"'s a key'""",
        "export MONITOR_URL=http://127.0.0.1:1",
    ]
    assert stat.S_IMODE(folder.settings.stat().st_mode) == 0o600
    folder.forget()
    assert list(tmp_path.iterdir()) == []


def test_cleaning_removes_the_data_and_logs_of_a_killed_run(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    (folder.run / "rabbitmq").mkdir(parents=True)
    folder.logs.mkdir()
    (folder.logs / "research.log").touch()
    assert folder.clean() == []
    assert list(folder.run.iterdir()) == []
    assert list(folder.logs.iterdir()) == []


def test_only_a_link_that_we_could_have_made_is_followed_when_data_are_removed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    link = tmp_path / "postgres"
    link.symlink_to(precious)
    postgres.discard(link)
    assert precious.is_dir()
    assert not link.is_symlink()


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (
            "postgresql://root:x@db:5433/postgres?sslmode=require",
            "postgresql://own:p%40ss@db:5433/own?sslmode=require",
        ),
        ("postgresql://root:x@db/postgres", "postgresql://own:p%40ss@db:5432/own"),
        ("postgresql://root:x@[::1]:1/postgres", "postgresql://own:p%40ss@[::1]:1/own"),
    ],
)
def test_a_services_url_is_the_servers_with_its_own_role_and_database(server: str, expected: str) -> None:
    assert databases.url_of(server, "own", "own", "p@ss") == expected


@pytest.fixture
def names(postgres_url: str) -> Iterator[list[str]]:
    names = [f"test_role_{secrets.token_hex(4)}" for _ in range(2)]
    yield names
    asyncio.run(_drop(postgres_url, names))


def test_each_role_reaches_its_own_database_and_no_other(postgres_url: str, names: list[str]) -> None:
    for _ in range(2):  # a server that stays is prepared again by the next run
        made = databases.create(postgres_url, names, lambda role: f"{role}'s", private=False)
    first, second = names
    asyncio.run(_execute(made[first].owner_url, "create table note (text text)"))
    for role in (first, f"{first}_runtime"):
        stray = databases.url_of(postgres_url, second, role, f"{role}'s")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            asyncio.run(_execute(stray, "select 1"))


@pytest.mark.extended
def test_the_role_of_a_service_gets_in_by_a_migration_and_owns_nothing(
    postgres_url: str, names: list[str]
) -> None:
    made = databases.create(postgres_url, names, lambda role: role, private=False)[names[0]]
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        asyncio.run(_execute(made.runtime_url, "select 1"))
    services.migrate({"social": made.migration})
    asyncio.run(_execute(made.runtime_url, "delete from posts"))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        asyncio.run(_execute(made.runtime_url, "create table note (text text)"))


def test_a_service_cannot_take_the_connections_of_the_others(
    postgres_url: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "CONNECTIONS", 2)
    made = databases.create(postgres_url, names, lambda role: role, private=False)
    first, second = (made[name].owner_url for name in names)

    async def one_too_many() -> None:
        held = [await asyncpg.connect(first) for _ in range(2)]
        try:
            with pytest.raises(asyncpg.TooManyConnectionsError, match=f'for role "{names[0]}"'):
                await asyncpg.connect(first)
            await _execute(second, "select 1")
        finally:
            for connection in held:
                await connection.close()

    asyncio.run(one_too_many())


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _drop(server: str, names: Sequence[str]) -> None:
    connection = await asyncpg.connect(server)
    try:
        for name in names:
            await connection.execute(f'drop database if exists "{name}" with (force)')
            await connection.execute(f'drop role if exists "{name}_runtime"')
            await connection.execute(f'drop role if exists "{name}"')
    finally:
        await connection.close()
