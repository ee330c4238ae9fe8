"""SQL for connected accounts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from chassis import Connection
from gateway.accounts.domain import AccountCheck, AccountState, ConnectedAccount

_COLUMNS = """
    name, kind, brands, settings, sealed, generation, label, facts, scopes, expires_at, state, detail, connected_at, checked_at
"""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """An account with its sealed credentials."""

    account: ConnectedAccount
    sealed: bytes


@dataclass(frozen=True, slots=True)
class AccountSetup:
    """The account that an operator connects."""

    name: str
    kind: str
    brands: Sequence[str]
    settings: Mapping[str, Any]


async def find(connection: Connection, name: str) -> AccountRow | None:
    row = await connection.fetchrow(f"select {_COLUMNS} from accounts where name = $1", name)  # noqa: S608
    return None if row is None else _row(row)


async def list_accounts(connection: Connection) -> list[AccountRow]:
    return [_row(row) for row in await connection.fetch(f"select {_COLUMNS} from accounts order by name")]  # noqa: S608


async def lock(connection: Connection, name: str) -> None:
    """Serializes changes of one account; its row may not exist yet, so there is nothing else to lock."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('account ' || $1, 0))", name)


async def put(connection: Connection, given: AccountSetup, sealed: bytes) -> None:
    """Stores the account with these credentials, unchecked."""
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


async def change(connection: Connection, given: AccountSetup) -> None:
    """Changes brands and limits of an account; its credentials stay."""
    await connection.execute(
        "update accounts set brands = $2, settings = $3::jsonb where name = $1",
        given.name,
        list(given.brands),
        json.dumps(given.settings),
    )


async def remove(connection: Connection, name: str) -> bool:
    return await connection.fetchval("delete from accounts where name = $1 returning true", name) is True


async def erase_once(connection: Connection, erasure_id: UUID, brand: str) -> dict[str, int]:
    """Removes the brand's own accounts and log-ins, and takes the brand from shared ones; returns the numbers.

    A repeated erasure removes nothing and returns the same numbers: another brand may have the name by then.
    """
    await connection.execute("select pg_advisory_xact_lock(hashtextextended('gateway.erasure', 0))")
    before = await connection.fetchval("select removed from erased_brands where erasure_id = $1", erasure_id)
    if before is not None:
        known: dict[str, int] = json.loads(before)
        return known
    await connection.execute("delete from account_authorizations where brands <@ array[$1]", brand)
    await connection.execute("delete from account_arrivals where brand_slug = $1", brand)
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
    """An account that an erasure took; it can be restored until `forgotten_at`."""

    erasure_id: UUID
    brand: str
    name: str
    kind: str
    erased_at: datetime
    forgotten_at: datetime


async def erased(connection: Connection, kept: timedelta) -> list[ErasedAccount]:
    """All accounts that can be restored, newest first."""
    rows = await connection.fetch(
        """
        select erasure_id, brand_slug as brand, name, kind, erased_at, erased_at + $1::interval as forgotten_at from erased_accounts
        where erased_at > clock_timestamp() - $1::interval order by erased_at desc, name
        """,
        kept,
    )
    return [ErasedAccount(**row) for row in rows]


async def restore(connection: Connection, erasure_id: UUID, kept: timedelta) -> tuple[list[str], list[str]]:
    """Restores accounts; returns the restored names, and those that another account has taken."""
    # The same lock as connecting an account of one of these names.
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
    """Deletes accounts that were erased longer ago, and what is known of hand-overs that began before."""
    await connection.execute(
        "delete from account_arrivals where begun_at <= clock_timestamp() - $1::interval", kept
    )
    await connection.execute(
        "delete from erased_accounts where erased_at <= clock_timestamp() - $1::interval", kept
    )


async def erased_sealed(connection: Connection) -> list[tuple[str, bytes]]:
    """Name and sealed credentials of each account that can be restored."""
    rows = await connection.fetch("select name, sealed from erased_accounts where sealed is not null")
    return [(row["name"], bytes(row["sealed"])) for row in rows]


async def replace_erased_sealed(connection: Connection, name: str, before: bytes, after: bytes) -> None:
    """Replaces the sealed credentials with the same ones under another key."""
    await connection.execute(
        "update erased_accounts set sealed = $3 where name = $1 and sealed = $2", name, before, after
    )


async def set_sealed(connection: Connection, name: str, generation: int, sealed: bytes) -> bool:
    """Stores new credentials in place of those of a generation. Returns False if they have changed since."""
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
    """Replaces the sealed credentials with the same ones under another key."""
    await connection.execute(
        "update accounts set sealed = $3 where name = $1 and sealed = $2", name, before, after
    )


async def mark_healthy(
    connection: Connection, account: ConnectedAccount, checked: AccountCheck, again: timedelta
) -> None:
    """Stores the provider's description, unless the account was reconnected since."""
    await _note_check(
        connection,
        account,
        again,
        """
        state = 'ok', detail = null, label = coalesce($4, label), facts = facts || $5::jsonb, scopes = coalesce($6, scopes),
        expires_at = coalesce($7, expires_at), checked_at = clock_timestamp()
        """,
        checked.label,
        json.dumps({name: value for name, value in checked.facts.items() if value}),
        None if checked.scopes is None else list(checked.scopes),
        checked.expires_at,
    )


async def mark_refused(
    connection: Connection, account: ConnectedAccount, detail: str, again: timedelta
) -> None:
    """Marks the account as unusable until it is reconnected, or a check succeeds."""
    changes = "state = 'needs_reconnecting', detail = $4, checked_at = clock_timestamp()"
    await _note_check(connection, account, again, changes, detail)


async def mark_unchecked(
    connection: Connection, account: ConnectedAccount, detail: str, again: timedelta
) -> None:
    """Stores that a check failed without an answer; the account's state stays."""
    changes = "detail = case when state = 'unchecked' then $4 else detail end"
    await _note_check(connection, account, again, changes, detail)


async def _note_check(
    connection: Connection, account: ConnectedAccount, again: timedelta, changes: str, *values: object
) -> None:
    """Sets the time of the next check, and these columns, whose values begin at $4."""
    await connection.execute(
        f"""
        update accounts set check_due_at = clock_timestamp() + $3::interval, {changes}
        where name = $1 and connected_at = $2
        """,  # noqa: S608  (texts of this module)
        account.name,
        account.connected_at,
        again,
        *values,
    )


async def claim_due(connection: Connection, limit: int, within: timedelta) -> list[str]:
    """Claims due accounts for a check and returns their names; other replicas skip them for this long."""
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
    """Claims the renewal of a generation's credentials; returns whether this process got it."""
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
    """Releases a claim after a failed renewal."""
    await connection.execute(
        "update accounts set renewing_until = null where name = $1 and generation = $2", name, generation
    )


async def count(connection: Connection) -> dict[tuple[str, str], int]:
    """Numbers of accounts by kind and state."""
    now: datetime = await connection.fetchval("select clock_timestamp()")
    counted: dict[tuple[str, str], int] = {}
    for row in await list_accounts(connection):
        place = (row.account.kind, row.account.state_at(now).value)
        counted[place] = counted.get(place, 0) + 1
    return counted


def _row(row: Any) -> AccountRow:
    given = dict(row)
    sealed = bytes(given.pop("sealed"))
    given |= {
        "brands": tuple(row["brands"]),
        "scopes": tuple(row["scopes"]),
        "state": AccountState(row["state"]),
    }
    given |= {"settings": json.loads(row["settings"]), "facts": json.loads(row["facts"])}
    return AccountRow(ConnectedAccount(**given), sealed)


def _count(status: str) -> int:
    """The number in `DELETE 5`."""
    return int(status.rpartition(" ")[2])
