"""SQL over API keys, beside the functions that run it. The database's clock says what has expired."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from chassis import Connection
from chassis.api_keys import ApiKey
from chassis.http.callers import Caller, Scope
from orchestrator.api.keys.domain import usual_limit


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key without its secret."""

    key_id: str
    name: str
    scopes: tuple[Scope, ...]
    brands: tuple[str, ...] | None
    created_at: datetime
    created_by: str
    rotated_at: datetime | None
    former_until: datetime | None
    """Until when the former secret is valid, too; None if there is no former secret."""
    expires_at: datetime | None
    is_expired: bool
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None
    per_minute: int | None
    """Requests per minute; None: the highest limit of its scopes."""


@dataclass(frozen=True, slots=True)
class KeyCredentials:
    """The hashes and limits against which a secret is checked."""

    hashes: tuple[bytes, bytes | None]
    """SHA-256 of the secret and, while valid, of the former one."""
    caller: Caller
    is_revoked: bool
    expired_at: datetime | None
    minute: int
    """The current minute by the database's clock."""


@dataclass(frozen=True, slots=True)
class QuotaShare:
    """Requests that one replica may spend in the current minute."""

    taken: int
    left: int
    """Requests that no replica has taken yet."""
    seconds_left: float
    """Seconds until the minute ends."""


class TakenNameError(ValueError):
    """Another key that is not revoked has this name."""


async def find_locks(connection: Connection, key_ids: Collection[str]) -> dict[str, KeyCredentials]:
    """The known keys among these, by id."""
    rows = await connection.fetch(
        """
        select key_id, name, scopes, brands, per_minute, secret_hash, case when former_until > now() then former_hash end as former_hash,
               revoked_at is not null as is_revoked, case when expires_at <= now() then expires_at end as expired_at,
               (extract(epoch from now()) / 60)::int as minute
        from api_keys where key_id = any($1)
        """,
        list(key_ids),
    )
    return {row["key_id"]: _lock(row) for row in rows}


def _lock(row: asyncpg.Record) -> KeyCredentials:
    brands = None if row["brands"] is None else frozenset(row["brands"])
    # A later version may have stored scopes that this one does not know.
    scopes = frozenset(scope for scope in Scope if scope in row["scopes"])
    return KeyCredentials(
        hashes=(row["secret_hash"], row["former_hash"]),
        caller=Caller(
            row["name"],
            scopes,
            brands,
            key_id=row["key_id"],
            per_minute=row["per_minute"] or usual_limit(scopes),
        ),
        is_revoked=row["is_revoked"],
        expired_at=row["expired_at"],
        minute=row["minute"],
    )


async def note_use(connection: Connection, key_id: str) -> None:
    """Stores the minute of the key's last use, unless another replica has."""
    await connection.execute(
        """
        update api_keys set last_used_at = date_trunc('minute', now())
        where key_id = $1 and (last_used_at is null or last_used_at < date_trunc('minute', now()))
        """,
        key_id,
    )


async def take_share(connection: Connection, key_id: str, quota: int) -> QuotaShare:
    """Takes a twentieth of the key's limit for this minute, less near its end; nothing once all is taken."""
    row = await connection.fetchrow(
        """
        insert into api_key_minutes as known (key_id, minute, share, taken)
        select $1, date_trunc('minute', clock_timestamp()), share, share from (select greatest($2 / 20, 1) as share) as first
        on conflict (key_id) do update
        set minute = excluded.minute,
            share = case when known.minute = excluded.minute
                then least(greatest(least($2 / 20, ($2 - known.taken) / 2), 1), greatest($2 - known.taken, 0)) else excluded.share end,
            taken = case when known.minute = excluded.minute
                then known.taken + least(greatest(least($2 / 20, ($2 - known.taken) / 2), 1), greatest($2 - known.taken, 0))
                else excluded.taken end
        returning share, taken, extract(epoch from minute + interval '1 minute' - clock_timestamp())::float8 as seconds_left
        """,
        key_id,
        quota,
    )
    assert row is not None
    return QuotaShare(row["share"], max(quota - row["taken"], 0), max(row["seconds_left"], 0.0))


async def set_limit(connection: Connection, key_id: str, per_minute: int | None) -> KeyRow | None:
    """Sets a key's requests per minute; None: the limit of its scopes. Returns None if there is no such key."""
    statement = "update api_keys set per_minute = $2 where key_id = $1 returning *"
    return _one(await _rows(connection, statement, key_id, per_minute))


async def insert_key(
    connection: Connection,
    key: ApiKey,
    *,
    name: str,
    scopes: Collection[Scope],
    brands: Collection[str] | None,
    expires_at: datetime | None,
    per_minute: int | None = None,
    by: str,
) -> KeyRow:
    """Stores a new key.

    Raises:
        TakenNameError: another key has the name.
    """
    try:
        made = await _rows(
            connection,
            """
            insert into api_keys (key_id, name, scopes, brands, secret_hash, expires_at, created_by, per_minute)
            values ($1, $2, $3, $4, $5, $6, $7, $8) returning *
            """,
            key.id,
            name,
            list(scopes),
            None if brands is None else list(brands),
            key.hashed(),
            expires_at,
            by,
            per_minute,
        )
    except asyncpg.UniqueViolationError as error:
        raise TakenNameError(
            f"there is a key named '{name}' already; rotate it if it was lost, or revoke it first"
        ) from error
    return made[0]


async def find_key(connection: Connection, key_id: str) -> KeyRow | None:
    return _one(await _rows(connection, "select * from api_keys where key_id = $1", key_id))


async def list_keys(connection: Connection, *, after: str, limit: int) -> list[KeyRow]:
    """A page of keys by id, after `after`; revoked ones included."""
    statement = "select * from api_keys where key_id > $1 order by key_id limit $2"
    return await _rows(connection, statement, after, limit)


async def rotate_key(connection: Connection, key: ApiKey, grace: timedelta) -> KeyRow | None:
    """Replaces a key's secret. The former secret stays valid for `grace`; the one before that ends now.

    Returns:
        None if there is no such key, or it was revoked.
    """
    statement = """
        update api_keys set former_hash = secret_hash, former_until = now() + $3, secret_hash = $2, rotated_at = now()
        where key_id = $1 and revoked_at is null returning *
        """
    return _one(await _rows(connection, statement, key.id, key.hashed(), grace))


async def revoke_key(connection: Connection, key_id: str, *, by: str) -> KeyRow | None:
    """Revokes a key for good; a revoked key stays as it is. Returns None if there is no such key."""
    statement = """
        update api_keys set revoked_at = coalesce(revoked_at, now()), revoked_by = coalesce(revoked_by, $2)
        where key_id = $1 returning *
        """
    return _one(await _rows(connection, statement, key_id, by))


async def _rows(connection: Connection, statement: str, *values: object) -> list[KeyRow]:
    """The keys that a statement selects or returns."""
    rows = await connection.fetch(
        f"""
        with found as ({statement})
        select key_id, name, scopes, brands, created_at, created_by, rotated_at, expires_at, revoked_at, revoked_by,
               last_used_at, per_minute, case when former_until > now() then former_until end as former_until,
               coalesce(expires_at <= now(), false) as is_expired
        from found order by key_id
        """,  # noqa: S608  (statements of this module)
        *values,
    )
    return [_key(row) for row in rows]


def _one(rows: list[KeyRow]) -> KeyRow | None:
    return next(iter(rows), None)


def _key(row: asyncpg.Record) -> KeyRow:
    values = dict(row)
    values["scopes"] = tuple(scope for scope in Scope if scope in row["scopes"])
    values["brands"] = None if row["brands"] is None else tuple(row["brands"])
    return KeyRow(**values)
