"""The tables of the inbox and the outbox, then those of libraries that a service stands on, and then its own, in one database."""

from collections.abc import Iterable
from pathlib import Path

from chassis.database import migrations
from messaging.storage import partitions

OWN = Path(__file__).parent / "migrations"
_STANDS_ON = "stands_on.txt"
"""Beside a service's migrations, where there are any: names of packages whose migrations come before them, one a line."""


async def migrate(
    database_url: str, packages: Iterable[str] = (), *, runtime_role: str | None = None
) -> list[str]:
    """Brings a database up to date, today's inbox partitions included; returns the names of the migrations applied now.

    Safe to run from several places at once, and while services are at work.

    Args:
        database_url: of the role that is to own the tables.
        packages: whose migrations follow those of the inbox and the outbox, after those of what they name in `stands_on.txt`.
        runtime_role: the role that the service runs as, where that is another one.

    Raises:
        MigrationError: an applied migration is not what it was, a package has none, or the runtime role cannot be let in.
    """
    wanted = migrations.read("messaging", OWN)
    own = {package: migrations.of_service(package) for package in packages}
    libraries = dict.fromkeys(library for folder in own.values() for library in _required_libraries(folder))
    for package, folder in ({library: migrations.of_service(library) for library in libraries} | own).items():
        wanted += migrations.read(package, folder)
    return await migrations.migrate(
        database_url, wanted, runtime_role=runtime_role, afterwards=partitions.maintain
    )


def _required_libraries(folder: Path) -> list[str]:
    file = folder / _STANDS_ON
    return file.read_text().split() if file.is_file() else []
