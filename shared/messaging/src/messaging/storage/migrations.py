"""The tables of the inbox and the outbox, and then those of a service, in one database."""

from collections.abc import Iterable
from pathlib import Path

from chassis.database import migrations
from messaging.storage import partitions

OWN = Path(__file__).parent / "migrations"


async def migrate(
    database_url: str, packages: Iterable[str] = (), *, runtime_role: str | None = None
) -> list[str]:
    """Brings a database up to date, today's inbox partitions included; returns the names of the migrations applied now.

    Safe to run from several places at once, and while services are at work.

    Args:
        database_url: of the role that is to own the tables.
        packages: whose migrations follow those of the inbox and the outbox.
        runtime_role: the role that the service runs as, where that is another one.

    Raises:
        MigrationError: an applied migration is not what it was, a package has none, or the runtime role cannot be let in.
    """
    wanted = migrations.read("messaging", OWN)
    for package in packages:
        wanted += migrations.read(package, migrations.of_service(package))
    return await migrations.migrate(
        database_url, wanted, runtime_role=runtime_role, afterwards=partitions.maintain
    )
