"""The command line `python -m <service>`: run the service, or migrate its database."""

import argparse
import asyncio
import gc
import linecache
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog
import uvloop
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from chassis import redaction
from chassis.app import App
from chassis.database.migrations import (
    MigrationError,
    MigrationInterruptedError,
    NotMigratedError,
    migrate_package,
)
from chassis.observing import logs, traces
from chassis.secret_files import SecretFileError
from chassis.settings import AppSettings, MigrationSettings

SettingsT = TypeVar("SettingsT", bound=AppSettings)
AnySettingsT = TypeVar("AnySettingsT", bound=BaseSettings)

log = structlog.get_logger(__name__)

REFUSED: Final = 65
"""Exit code of a migration that failed for good, so a retry does not help. All other failures exit with 1."""

Migrate = Callable[[str, str, str | None], Awaitable[list[str]]]
"""(database URL, package, runtime role) → names of the newly applied migrations."""


def command_line(
    name: str,
    settings: type[SettingsT],
    build: Callable[[SettingsT], App],
    *,
    migrate: Migrate = migrate_package,
) -> None:
    """Run the command line of a process, with its settings from the environment."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=f"The {name} service. Settings come from environment variables: {_variables(settings)}.",
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=("run", "migrate"),
        default="run",
        help="run (the default): start the service; migrate: bring its database up to date and end",
    )
    if parser.parse_args().command == "migrate":
        _migrate(name, _read(MigrationSettings), migrate)
        return
    values = _read(settings)
    logs.configure(name, values.log_level, values.log_format)
    traces.configure(name, values.otel_exporter_otlp_endpoint, version=values.service_version)

    async def run() -> None:
        # Built inside the loop, as its parts belong to the loop.
        app = build(values)
        # Caches of sources (read for field docstrings) and of folder listings: half a megabyte.
        linecache.clearcache()
        sys.path_importer_cache.clear()
        # Modules, models and routes stay until the end; frozen, the garbage collector skips them.
        gc.collect()
        gc.freeze()
        await app.run()

    try:
        uvloop.run(run())
    except NotMigratedError as error:
        sys.exit(str(error))
    except Exception:
        # Python's own traceback would bypass the log and its redaction.
        log.critical("service_failed", exc_info=True)
        sys.exit(1)


def _read(settings: type[AnySettingsT]) -> AnySettingsT:
    try:
        values = settings()
    except SecretFileError as error:
        sys.exit(f"settings are missing or wrong:\n  {error}")
    except ValidationError as error:
        sys.exit("\n".join(["settings are missing or wrong:", *_problems(error)]))
    redaction.learn_settings(values)
    return values


def _migrate(name: str, settings: MigrationSettings, migrate: Migrate) -> None:
    async def run() -> list[str]:
        return await migrate(settings.database_url.get_secret_value(), name, settings.database_runtime_role)

    try:
        applied = asyncio.run(run())
    except (MigrationError, OSError) as error:
        sys.stderr.write(f"cannot migrate the database of {name}: {redaction.text(str(error))}\n")
        passing = isinstance(error, MigrationInterruptedError | OSError)
        sys.exit(1 if passing else REFUSED)
    sys.stdout.write(f"{name}: {', '.join(applied) if applied else 'the database is up to date'}\n")


def _variables(settings: type[AppSettings]) -> str:
    return ", ".join(
        f"{field.upper()}{' (required)' if info.is_required() else ''}"
        for field, info in settings.model_fields.items()
    )


def _problems(error: ValidationError) -> list[str]:
    return [
        f"  {'.'.join(str(part) for part in detail['loc']).upper()}: {detail['msg']}"
        for detail in error.errors(include_input=False, include_url=False)
    ]
