"""Who has seen which alert."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chassis import Connection
from messaging import Database
from monitor.alerts.domain import Alert

KEPT: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    by: str
    note: str
    at: datetime


async def find(connection: Connection) -> dict[tuple[str, datetime], Acknowledgement]:
    """Returns the acknowledgements by alert and its beginning."""
    rows = await connection.fetch(
        "select alert, began_at, acknowledged_by, note, acknowledged_at from alert_acknowledgements"
    )
    return {
        (row["alert"], row["began_at"]): Acknowledgement(
            row["acknowledged_by"], row["note"], row["acknowledged_at"]
        )
        for row in rows
    }


async def acknowledge(connection: Connection, alert: Alert, *, by: str, note: str) -> bool:
    """Notes who has seen the alert; False: another person was first, whose note stays."""
    made = await connection.fetchval(
        """
        insert into alert_acknowledgements (alert, began_at, acknowledged_by, note) values ($1, $2, $3, $4)
        on conflict do nothing returning true
        """,
        alert.id,
        alert.began_at,
        by,
        note,
    )
    return bool(made)


async def forget_old(database: Database) -> None:
    """Forgets acknowledgements after a month."""
    async with database.connection() as connection:
        await connection.execute(
            "delete from alert_acknowledgements where acknowledged_at < now() - $1::interval", KEPT
        )
