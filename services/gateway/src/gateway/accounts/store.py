"""Connected accounts, the statements."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from chassis import Connection
from gateway.accounts.domain import Account, Looked, State

_COLUMNS = """
    name, kind, brands, settings, sealed, generation, label, facts, scopes, expires_at, state, detail, connected_at, checked_at
"""


@dataclass(frozen=True, slots=True)
class Row:
    """An account with its credentials, sealed."""

    account: Account
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Connecting:
    """What somebody connects."""

    name: str
    kind: str
    brands: Sequence[str]
    settings: Mapping[str, Any]


async def find(connection: Connection, name: str) -> Row | None:
    row = await connection.fetchrow(f"select {_COLUMNS} from accounts where name = $1", name)  # noqa: S608
    return None if row is None else _row(row)


async def every(connection: Connection) -> list[Row]:
    return [_row(row) for row in await connection.fetch(f"select {_COLUMNS} from accounts order by name")]  # noqa: S608


async def lock(connection: Connection, name: str) -> None:
    """One change of an account after the other; there may be no row to lock yet."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('account ' || $1, 0))", name)


async def put(connection: Connection, given: Connecting, sealed: bytes) -> None:
    """Connects it with these credentials; nothing is known of them yet."""
    await connection.execute(
        """
        insert into accounts (name, kind, brands, settings, sealed) values ($1, $2, $3, $4::jsonb, $5)
        on conflict (name) do update set kind = excluded.kind, brands = excluded.brands, settings = excluded.settings,
            sealed = excluded.sealed, generation = accounts.generation + 1, label = null, facts = '{}', scopes = '{}',
            expires_at = null, state = 'unchecked', detail = null, connected_at = clock_timestamp(), checked_at = null,
            check_due_at = clock_timestamp(), renewing_until = null
        """,
        given.name,
        given.kind,
        list(given.brands),
        json.dumps(given.settings),
        sealed,
    )


async def change(connection: Connection, given: Connecting) -> None:
    """Changes who may use it, and how much it may be asked; its credentials stay."""
    await connection.execute(
        "update accounts set brands = $2, settings = $3::jsonb where name = $1",
        given.name,
        list(given.brands),
        json.dumps(given.settings),
    )


async def remove(connection: Connection, name: str) -> bool:
    return await connection.fetchval("delete from accounts where name = $1 returning true", name) is True


async def erase_once(connection: Connection, erasure_id: UUID, brand: str) -> dict[str, int]:
    """Removes the accounts and logins that are the brand's alone, and takes others from it; how many there were.

    The same erasure again removes nothing and tells the same: by then the name may be another brand's.
    """
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('gateway.erasure', 0))")
    before = await connection.fetchval("select removed from erased_brands where erasure_id = $1", erasure_id)
    if before is not None:
        known: dict[str, int] = json.loads(before)
        return known
    await connection.execute("delete from account_authorizations where brands <@ array[$1]", brand)
    await connection.execute(
        "update account_authorizations set brands = array_remove(brands, $1) where $1 = any (brands)", brand
    )
    await connection.execute(
        """
        insert into erased_accounts (erasure_id, brand_slug, name, kind, brands, settings, sealed, label, facts, scopes, expires_at)
        select $1, $2, name, kind, brands, settings, case when brands <@ array[$2] then sealed end, label, facts, scopes, expires_at
        from accounts where $2 = any (brands)
        """,
        erasure_id,
        brand,
    )
    removed = {
        "accounts": _count(await connection.execute("delete from accounts where brands <@ array[$1]", brand)),
        "shared_accounts": _count(
            await connection.execute(
                "update accounts set brands = array_remove(brands, $1) where $1 = any (brands)", brand
            )
        ),
    }
    await connection.execute(
        "insert into erased_brands (erasure_id, brand_slug, removed) values ($1, $2, $3::jsonb)",
        erasure_id,
        brand,
        json.dumps(removed),
    )
    return removed


@dataclass(frozen=True, slots=True)
class ErasedAccount:
    """An account that an erasure took from a brand, and that can be given back until `forgotten_at`."""

    erasure_id: UUID
    brand: str
    name: str
    kind: str
    erased_at: datetime
    forgotten_at: datetime


async def erased(connection: Connection, kept: timedelta) -> list[ErasedAccount]:
    """All that can be given back, the latest first."""
    rows = await connection.fetch(
        """
        select erasure_id, brand_slug, name, kind, erased_at, erased_at + $1::interval as forgotten_at from erased_accounts
        where erased_at > clock_timestamp() - $1::interval order by erased_at desc, name
        """,
        kept,
    )
    return [
        ErasedAccount(
            row["erasure_id"],
            row["brand_slug"],
            row["name"],
            row["kind"],
            row["erased_at"],
            row["forgotten_at"],
        )
        for row in rows
    ]


async def restore(connection: Connection, erasure_id: UUID, kept: timedelta) -> tuple[list[str], list[str]]:
    """Gives accounts back: the names of those that are connected again, and of those whose name another account has now."""
    # As who connects an account of one of these names at the same time.
    names = await connection.fetch(
        "select name from erased_accounts where erasure_id = $1 order by name", erasure_id
    )
    for row in names:
        await lock(connection, row["name"])
    rows = await connection.fetch(
        """
        with back as (
            delete from erased_accounts where erasure_id = $1 and erased_at > clock_timestamp() - $2::interval
              and (sealed is null or not exists (select from accounts where accounts.name = erased_accounts.name))
            returning *
        ), shared as (
            update accounts set brands = array_append(accounts.brands, back.brand_slug) from back
            where back.sealed is null and accounts.name = back.name and not back.brand_slug = any (accounts.brands)
        ), own as (
            insert into accounts (name, kind, brands, settings, sealed, label, facts, scopes, expires_at)
            select name, kind, brands, settings, sealed, label, facts, scopes, expires_at from back where sealed is not null
        )
        select name from back order by name
        """,
        erasure_id,
        kept,
    )
    taken = await connection.fetch(
        "select name from erased_accounts where erasure_id = $1 and erased_at > clock_timestamp() - $2::interval order by name",
        erasure_id,
        kept,
    )
    return [row["name"] for row in rows], [row["name"] for row in taken]


async def forget_erased(connection: Connection, kept: timedelta) -> None:
    """Deletes for good what an erasure took that long ago."""
    await connection.execute(
        "delete from erased_accounts where erased_at <= clock_timestamp() - $1::interval", kept
    )


async def erased_sealed(connection: Connection) -> list[tuple[str, bytes]]:
    """Name and sealed credentials of each account that can be given back."""
    rows = await connection.fetch("select name, sealed from erased_accounts where sealed is not null")
    return [(row["name"], bytes(row["sealed"])) for row in rows]


async def replace_erased_sealed(connection: Connection, name: str, before: bytes, after: bytes) -> None:
    """The same credentials, sealed with another key."""
    await connection.execute(
        "update erased_accounts set sealed = $3 where name = $1 and sealed = $2", name, before, after
    )


async def set_sealed(connection: Connection, name: str, generation: int, sealed: bytes) -> bool:
    """New credentials in the place of those of that generation. False: somebody has changed them meanwhile."""
    return (
        await connection.fetchval(
            """
            update accounts set sealed = $3, generation = generation + 1, renewing_until = null
            where name = $1 and generation = $2 returning true
            """,
            name,
            generation,
            sealed,
        )
        is True
    )


async def replace_sealed(connection: Connection, name: str, before: bytes, after: bytes) -> None:
    """The same credentials, sealed with another key."""
    await connection.execute(
        "update accounts set sealed = $3 where name = $1 and sealed = $2", name, before, after
    )


async def set_expiry(connection: Connection, name: str, expires_at: datetime | None) -> None:
    await connection.execute("update accounts set expires_at = $2 where name = $1", name, expires_at)


async def found_well(connection: Connection, account: Account, looked: Looked, again: timedelta) -> None:
    """What its own side said of it; unless it was connected anew meanwhile."""
    await connection.execute(
        """
        update accounts set state = 'ok', detail = null, label = coalesce($3, label), facts = facts || $4::jsonb,
            scopes = coalesce($5, scopes), expires_at = coalesce($6, expires_at), checked_at = clock_timestamp(),
            check_due_at = clock_timestamp() + $7::interval
        where name = $1 and connected_at = $2
        """,
        account.name,
        account.connected_at,
        looked.label,
        json.dumps({name: value for name, value in looked.facts.items() if value}),
        None if looked.scopes is None else list(looked.scopes),
        looked.expires_at,
        again,
    )


async def found_refused(connection: Connection, account: Account, detail: str, again: timedelta) -> None:
    """It takes no requests any more until somebody connects it again, or it turns out to be well."""
    await connection.execute(
        """
        update accounts set state = 'needs_reconnecting', detail = $3, checked_at = clock_timestamp(),
            check_due_at = clock_timestamp() + $4::interval
        where name = $1 and connected_at = $2
        """,
        account.name,
        account.connected_at,
        detail,
        again,
    )


async def not_looked_at(connection: Connection, account: Account, detail: str, again: timedelta) -> None:
    """It could not be asked: nothing more is known of it than before."""
    await connection.execute(
        """
        update accounts set check_due_at = clock_timestamp() + $4::interval,
            detail = case when state = 'unchecked' then $3 else detail end
        where name = $1 and connected_at = $2
        """,
        account.name,
        account.connected_at,
        detail,
        again,
    )


async def claim_due(connection: Connection, limit: int, within: timedelta) -> list[str]:
    """Names of accounts that are to be looked at, for whoever asks first; so long nobody else gets them."""
    rows = await connection.fetch(
        """
        update accounts set check_due_at = clock_timestamp() + $2::interval
        where name in (
            select name from accounts where check_due_at <= clock_timestamp() order by check_due_at
            limit $1 for update skip locked
        ) returning name
        """,
        limit,
        within,
    )
    return sorted(row["name"] for row in rows)


async def claim_renewal(connection: Connection, name: str, generation: int, within: timedelta) -> bool:
    """Whether this process is to renew the credentials of that generation; so long nobody else does."""
    return (
        await connection.fetchval(
            """
            update accounts set renewing_until = clock_timestamp() + $3::interval
            where name = $1 and generation = $2
              and (renewing_until is null or renewing_until <= clock_timestamp()) returning true
            """,
            name,
            generation,
            within,
        )
        is True
    )


async def end_renewal(connection: Connection, name: str, generation: int) -> None:
    """It came to nothing: the next may try."""
    await connection.execute(
        "update accounts set renewing_until = null where name = $1 and generation = $2", name, generation
    )


async def count(connection: Connection) -> dict[tuple[str, str], int]:
    """Accounts by kind and state, as they are now."""
    now: datetime = await connection.fetchval("select clock_timestamp()")
    counted: dict[tuple[str, str], int] = {}
    for row in await every(connection):
        place = (row.account.kind, row.account.state_at(now).value)
        counted[place] = counted.get(place, 0) + 1
    return counted


def _row(row: Any) -> Row:
    account = Account(
        name=row["name"],
        kind=row["kind"],
        brands=tuple(row["brands"]),
        settings=json.loads(row["settings"]),
        generation=row["generation"],
        label=row["label"],
        facts=json.loads(row["facts"]),
        scopes=tuple(row["scopes"]),
        expires_at=row["expires_at"],
        state=State(row["state"]),
        detail=row["detail"],
        connected_at=row["connected_at"],
        checked_at=row["checked_at"],
    )
    return Row(account, bytes(row["sealed"]))


def _count(status: str) -> int:
    """Of `DELETE 5`."""
    return int(status.rpartition(" ")[2])
