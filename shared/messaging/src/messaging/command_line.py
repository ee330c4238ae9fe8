"""`python -m <service>` for a service with queues; `migrate` also creates the tables of inbox and outbox."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import chassis.command_line
from messaging.service import Service
from messaging.settings import ServiceSettings
from messaging.storage.migrations import migrate

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def command_line(
    name: str,
    settings: type[SettingsT],
    build: Callable[[SettingsT], Service],
    *,
    backfill: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Runs the command line of a service, with its settings from the environment.

    `backfill` takes the database's URL and fills in data that SQL alone cannot. Each `migrate` runs it at its end.
    """

    async def migrated(url: str, package: str, role: str | None) -> list[str]:
        applied = await migrate(url, [package], runtime_role=role)
        if backfill is not None:
            await backfill(url)
        return applied

    chassis.command_line.command_line(name, settings, build, migrate=migrated)
