"""SQL over accounts that need attention, beside the functions that run it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chassis import Connection

EVERY_BRAND: Final = "*"
A_ROUND: Final = timedelta(hours=1)
OUTDATED: Final = timedelta(days=1)
"""Stored account states older than this are unreliable."""


@dataclass(frozen=True, slots=True)
class ReportedAccount:
    """An account that, according to the gateway, soon expires or has expired."""

    name: str
    kind: str
    brands: tuple[str, ...]
    state: str
    """`expiring` or `needs_reconnecting`."""
    detail: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class AccountInTrouble:
    """An account that a brand may use and that needs attention."""

    account: str
    kind: str
    is_over: bool
    """True: it no longer works. False: it stops working soon."""
    detail: str
    expires_at: datetime | None
    since: datetime


async def claim_check(connection: Connection) -> bool:
    """Claims this hour's check; False if it is not due or another replica has it. A crashed replica leaves the next hour to another."""
    taken = await connection.fetchval(
        "update account_looks set next_at = now() + $1::interval where next_at <= now() returning true",
        A_ROUND,
    )
    return taken is True


async def note_accounts(connection: Connection, seen: Sequence[ReportedAccount]) -> None:
    """Replaces all stored accounts. An account with an unchanged state keeps its `since`."""
    rows = [(each, brand) for each in seen for brand in each.brands]
    await connection.execute(
        """
        with seen as materialized (
            select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
                as s (account, brand_slug, kind, state, detail, expires_at)
            where brand_slug = $7 or exists (select from brands where slug = brand_slug)),
        gone as (
            delete from accounts_in_trouble as a
            where not exists (select from seen as s where s.account = a.account and s.brand_slug = a.brand_slug))
        insert into accounts_in_trouble as a (account, brand_slug, kind, state, detail, expires_at, since)
        select account, brand_slug, kind, state, detail, expires_at, now() from seen
        on conflict (account, brand_slug) do update set
            kind = excluded.kind, state = excluded.state, detail = excluded.detail, expires_at = excluded.expires_at,
            since = case when a.state = excluded.state then a.since else excluded.since end
        """,
        [each.name for each, _ in rows],
        [brand for _, brand in rows],
        [each.kind for each, _ in rows],
        [each.state for each, _ in rows],
        [each.detail for each, _ in rows],
        [each.expires_at for each, _ in rows],
        EVERY_BRAND,
    )
    await connection.execute("update account_looks set looked_at = now(), trouble = null")


async def note_trouble(connection: Connection, trouble: str) -> None:
    """Stores why the gateway could not be reached."""
    await connection.execute("update account_looks set trouble = $1", trouble)


async def accounts_in_trouble(connection: Connection, slug: str, *, limit: int) -> list[AccountInTrouble]:
    """The accounts of a brand that need attention: broken ones first, then by expiry."""
    rows = await connection.fetch(
        """
        select account, min(kind) as kind, bool_or(state = 'needs_reconnecting') as is_over, min(detail) as detail,
               min(expires_at) as expires_at, min(since) as since
        from accounts_in_trouble where brand_slug in ($1, $2)
        group by account order by 3 desc, 5 nulls last, account limit $3
        """,
        slug,
        EVERY_BRAND,
        limit,
    )
    return [AccountInTrouble(**row) for row in rows]


async def trouble_with_accounts(connection: Connection) -> str | None:
    """Why the stored accounts are unreliable, in a sentence; None if they are reliable or there is no gateway."""
    trouble: str | None = await connection.fetchval(
        "select trouble from account_looks where trouble is not null and (looked_at is null or looked_at < now() - $1::interval)",
        OUTDATED,
    )
    return None if trouble is None else f"whether accounts end soon could not be asked for a day: {trouble}"
