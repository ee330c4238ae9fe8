"""Stores this installation's OAuth apps: a client id and secret for each kind of account."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import SecretStr

from chassis import Connections, redaction
from gateway.credentials import Keyring


@dataclass(frozen=True, slots=True)
class OAuthApp:
    """The secret prints masked; None: the app has none."""

    kind: str
    client_id: str
    secret: SecretStr | None
    settings: Mapping[str, Any]
    connected_at: datetime


class OAuthApps:
    """Reads an app from the database for each use."""

    def __init__(self, connections: Connections, keyring: Keyring) -> None:
        self._connections = connections
        self._keyring = keyring

    async def find(self, kind: str) -> OAuthApp | None:
        """Raises CallProblemError: the secret cannot be opened."""
        async with self._connections.connection() as connection:
            row = await connection.fetchrow(
                "select kind, client_id, sealed, settings, connected_at from account_apps where kind = $1",
                kind,
            )
        if row is None:
            return None
        secret = None if row["sealed"] is None else self._keyring.open(f"app {kind}", bytes(row["sealed"]))
        if secret is not None:
            redaction.learn(secret.get_secret_value())
        return OAuthApp(
            row["kind"], row["client_id"], secret, json.loads(row["settings"]), row["connected_at"]
        )

    async def put(
        self, kind: str, client_id: str, secret: SecretStr | None, settings: Mapping[str, Any]
    ) -> None:
        """Raises CallProblemError: `credentials.no_keys`."""
        sealed = None if secret is None else self._keyring.seal(f"app {kind}", secret.get_secret_value())
        async with self._connections.connection() as connection:
            await connection.execute(
                """
                insert into account_apps (kind, client_id, sealed, settings) values ($1, $2, $3, $4::jsonb)
                on conflict (kind) do update set client_id = excluded.client_id, sealed = excluded.sealed,
                    settings = excluded.settings, connected_at = clock_timestamp()
                """,
                kind,
                client_id,
                sealed,
                json.dumps(settings),
            )

    async def reseal(self) -> int:
        """Re-encrypts every secret with the first key of the ring; returns their number."""
        done = 0
        async with self._connections.connection() as connection:
            for row in await connection.fetch(
                "select kind, sealed from account_apps where sealed is not null"
            ):
                before = bytes(row["sealed"])
                await connection.execute(
                    "update account_apps set sealed = $3 where kind = $1 and sealed = $2",
                    row["kind"],
                    before,
                    self._keyring.reseal(f"app {row['kind']}", before),
                )
                done += 1
        return done
