"""`python -m <service>` for a service with queues: its database has the tables of the inbox and the outbox, too."""

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
    """The command line of a service, with its settings from the environment.

    `backfill` takes the database's URL. Each `migrate` runs it at its end: what SQL alone cannot fill in.
    """

    async def migrated(url: str, package: str, role: str | None) -> list[str]:
        applied = await migrate(url, [package], runtime_role=role)
        if backfill is not None:
            await backfill(url)
        return applied

    chassis.command_line.command_line(name, settings, build, migrate=migrated)
