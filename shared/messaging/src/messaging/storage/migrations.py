"""Migrates a database: the tables of inbox and outbox, then those of required libraries, then the service's own."""

from collections.abc import Iterable
from pathlib import Path

from chassis.database import migrations
from chassis.database.migrations import Migration
from messaging.storage import partitions

OWN = Path(__file__).parent / "migrations"
_STANDS_ON = "stands_on.txt"
"""A file beside a service's migrations that names required packages, one a line; their migrations come first."""


async def migrate(
    database_url: str, packages: Iterable[str] = (), *, runtime_role: str | None = None
) -> list[str]:
    """Migrates a database and creates today's inbox partitions; returns the names of the migrations applied now.

    Several processes may run it at once, also while services work.

    Args:
        database_url: of the role that is to own the tables.
        packages: their migrations follow those of inbox and outbox, after those of the packages in their `stands_on.txt`.
        runtime_role: the role that the service runs as, if it is another one.

    Raises:
        MigrationError: an applied migration has changed, a package has none, or the runtime role cannot get access.
    """
    return await migrations.migrate(
        database_url, needed(packages), runtime_role=runtime_role, afterwards=partitions.maintain
    )


def needed(packages: Iterable[str]) -> list[Migration]:
    """The migrations of a database in their order: those of inbox and outbox, of required libraries, then of the packages.

    Raises:
        MigrationError: a package has none.
    """
    wanted = migrations.read("messaging", OWN)
    own = {package: migrations.of_service(package) for package in packages}
    libraries = dict.fromkeys(library for folder in own.values() for library in _required_libraries(folder))
    for package, folder in ({library: migrations.of_service(library) for library in libraries} | own).items():
        wanted += migrations.read(package, folder)
    return wanted


def _required_libraries(folder: Path) -> list[str]:
    file = folder / _STANDS_ON
    return file.read_text().split() if file.is_file() else []
