"""`python -m <service>` for a service with queues: its database has the tables of the inbox and the outbox, too."""

from collections.abc import Callable
from typing import TypeVar

import chassis.command_line
from messaging.service import Service
from messaging.settings import ServiceSettings
from messaging.storage.migrations import migrate

SettingsT = TypeVar("SettingsT", bound=ServiceSettings)


def command_line(name: str, settings: type[SettingsT], build: Callable[[SettingsT], Service]) -> None:
    """The command line of a service, with its settings from the environment."""
    chassis.command_line.command_line(
        name, settings, build, migrate=lambda url, package, role: migrate(url, [package], runtime_role=role)
    )
